"""The small programs every phone has: echo, cat, grep, sed and their kin."""

import asyncio
import re
from collections.abc import Iterable

from bridge.simulator.phone import SimPhone
from bridge.simulator.shell import Io, Program

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "0": "\0", "a": "\a"}


def _unescape(text: str) -> str:
    return re.sub(r"\\([ntr\\0a])", lambda m: ESCAPES[m.group(1)], text)


def _options(args: list[str], with_value: str = "") -> tuple[dict[str, str], list[str]]:
    """Short options, bundled or not; those in `with_value` take the next word."""
    found: dict[str, str] = {}
    rest: list[str] = []
    words = iter(args[1:])
    for word in words:
        if word == "--":
            return found, [*rest, *words]
        if not word.startswith("-") or word == "-":
            rest.append(word)
            continue
        if word.startswith("--"):
            found[word[2:].partition("=")[0]] = word.partition("=")[2]
            continue
        for i, letter in enumerate(word[1:], 2):
            if letter in with_value:
                found[letter] = word[i:] or next(words, "")
                break
            found[letter] = ""
    return found, rest


async def _inputs(phone: SimPhone, io: Io, paths: Iterable[str], name: str) -> bytes | None:
    out = b""
    for path in paths:
        if path in ("-", "/dev/stdin"):
            out += await io.stdin.read()
        elif path in phone.files:
            out += phone.files[path]
        elif path != "/dev/null":
            await io.complain(f"{name}: {path}: No such file or directory\n")
            return None
    return out


async def echo(phone: SimPhone, args: list[str], io: Io) -> int:
    """mksh's echo interprets escapes, unless -E is given."""
    words, newline, raw = args[1:], True, False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        newline, raw = newline and "n" not in words[0], raw or "E" in words[0]
        words = words[1:]
    text = " ".join(words)
    await io.say((text if raw else _unescape(text)) + ("\n" if newline else ""))
    return 0


async def printf(phone: SimPhone, args: list[str], io: Io) -> int:
    form, values = _unescape(args[1] if args[1:] else ""), args[2:]
    count = len(re.findall(r"%[sdb]", form))
    while True:
        now, values = values[:count], values[count:]
        given = iter([*now, *[""] * count])
        await io.say(re.sub(r"%([sdb%])", lambda m: "%" if m.group(1) == "%" else next(given), form))  # noqa: B023
        if not values or not count:
            return 0


async def cat(phone: SimPhone, args: list[str], io: Io) -> int:
    if not args[1:]:
        while (line := await io.stdin.line()) is not None:
            await io.out.write(line)
        return 0
    data = await _inputs(phone, io, args[1:], "cat")
    if data is None:
        return 1
    await io.out.write(data)
    return 0


async def grep(phone: SimPhone, args: list[str], io: Io) -> int:
    options, rest = _options(args, "meABC")
    pattern = options.get("e")
    if pattern is None:
        if not rest:
            await io.complain("grep: no REGEX\n")
            return 2
        pattern, rest = rest[0], rest[1:]
    if "F" in options:
        pattern = "|".join(re.escape(p) for p in pattern.split("\n"))
    elif "E" not in options and args[0] != "egrep":
        pattern = re.sub(r"\\([|(){}+?])|([|(){}+?])", lambda m: m.group(1) or "\\" + m.group(2), pattern)
    if "w" in options:
        pattern = rf"\b(?:{pattern})\b"
    try:
        wanted = re.compile(pattern.encode(), re.IGNORECASE if "i" in options else 0)
    except re.error:
        await io.complain(f"grep: bad REGEX '{pattern}'\n")
        return 2
    if rest:
        data = await _inputs(phone, io, rest, "grep")
        if data is None:
            return 2
        io.stdin = type(io.stdin)(data)
    limit, count = int(options.get("m") or 0), 0
    after, due = int(options.get("A") or options.get("C") or 0), 0
    while (line := await io.stdin.line()) is not None:
        body = line.rstrip(b"\n")
        found = wanted.search(body)
        if "x" in options and found:
            found = wanted.fullmatch(body)
        if bool(found) == ("v" in options):
            if due > 0 and "q" not in options and "c" not in options:
                due -= 1
                await io.out.write(body + b"\n")
            continue
        count, due = count + 1, after
        if "q" in options:
            return 0
        if "c" not in options:
            shown = b"\n".join(m.group() for m in wanted.finditer(body)) if "o" in options else body
            await io.out.write(shown + b"\n")
        if limit and count >= limit:
            break
    if "c" in options:
        await io.say(f"{count}\n")
    return 0 if count else 1


async def head(phone: SimPhone, args: list[str], io: Io) -> int:
    args = [args[0], *(f"-n{a[1:]}" if re.fullmatch(r"-\d+", a) else a for a in args[1:])]
    options, rest = _options(args, "nc")
    data = await _inputs(phone, io, rest, args[0]) if rest else None
    if rest and data is None:
        return 1
    source = type(io.stdin)(data) if data is not None else io.stdin
    if args[0] == "tail" or "c" in options:
        everything = await source.read()
        if "c" in options:
            n = int(options["c"])
            await io.out.write(everything[-n:] if args[0] == "tail" else everything[:n])
            return 0
        wanted = options.get("n", "10")
        lines = everything.splitlines(keepends=True)
        await io.out.write(b"".join(lines[int(wanted) - 1 :] if wanted[0] == "+" else lines[-int(wanted) :]))
        return 0
    for _ in range(int(options.get("n", "10"))):
        if (line := await source.line()) is None:
            break
        await io.out.write(line)
    return 0


async def wc(phone: SimPhone, args: list[str], io: Io) -> int:
    options, rest = _options(args)
    data = await _inputs(phone, io, rest or ["-"], "wc")
    if data is None:
        return 1
    counts = {"l": data.count(b"\n"), "w": len(data.split()), "c": len(data)}
    await io.say(" ".join(str(counts[k]) for k in counts if not options or k in options) + "\n")
    return 0


async def cut(phone: SimPhone, args: list[str], io: Io) -> int:
    options, _ = _options(args, "dfcb")
    first, sign, last = (options.get("f") or options.get("c") or "1").partition("-")
    start = int(first or 1) - 1
    stop = int(last) if last else (None if sign else start + 1)
    sep = options.get("d", "\t").encode()
    while (line := await io.stdin.line()) is not None:
        body = line.rstrip(b"\n")
        shown = sep.join(body.split(sep)[start:stop]) if "f" in options else body[start:stop]
        await io.out.write(shown + b"\n")
    return 0


async def tr(phone: SimPhone, args: list[str], io: Io) -> int:
    options, sets = _options(args)
    text = (await io.stdin.read()).decode(errors="replace")
    source = _unescape(sets[0]) if sets else ""
    if "d" in options:
        await io.say("".join(c for c in text if c not in source))
    else:
        to = _unescape(sets[1]) if sets[1:] else ""
        await io.say(
            text.translate({ord(c): to[min(i, len(to) - 1)] for i, c in enumerate(source)} if to else {})
        )
    return 0


async def sed(phone: SimPhone, args: list[str], io: Io) -> int:
    """`s/A/B/[g]` and `[-n] N[,M]p` or `/A/p`, which is what anybody uses over adb."""
    options, rest = _options(args, "e")
    script = options.get("e") or (rest.pop(0) if rest else "")
    data = await _inputs(phone, io, rest or ["-"], "sed")
    if data is None:
        return 1
    lines = data.decode(errors="replace").splitlines()
    if m := re.fullmatch(r"s(.)(.*?)\1(.*?)\1(g?)", script):
        pattern, to = m.group(2), m.group(3)
        if "E" not in options and "r" not in options:
            pattern = re.sub(r"\\([|(){}+?])|([|(){}+?])", lambda x: x.group(1) or "\\" + x.group(2), pattern)
        lines = [
            re.sub(pattern, to.replace("&", r"\g<0>"), line, count=0 if m.group(4) else 1) for line in lines
        ]
    elif m := re.fullmatch(r"(\d+)(?:,(\d+|\$))?([pd])", script):
        first = int(m.group(1))
        last = len(lines) if m.group(2) == "$" else int(m.group(2) or first)
        inside = lines[first - 1 : last]
        lines = inside if m.group(3) == "p" else lines[: first - 1] + lines[last:]
    elif m := re.fullmatch(r"/(.*)/([pd])", script):
        lines = [line for line in lines if bool(re.search(m.group(1), line)) == (m.group(2) == "p")]
    else:
        await io.complain(f"sed: bad pattern '{script}'\n")
        return 1
    await io.say("".join(line + "\n" for line in lines))
    return 0


async def rm(phone: SimPhone, args: list[str], io: Io) -> int:
    options, rest = _options(args)
    code = 0
    for path in rest:
        if phone.files.pop(path, None) is None and "f" not in options:
            await io.complain(f"rm: {path}: No such file or directory\n")
            code = 1
    return code


async def ls(phone: SimPhone, args: list[str], io: Io) -> int:
    _, rest = _options(args)
    code = 0
    for path in rest or ["/sdcard"]:
        found = sorted(f for f in phone.files if f == path or f.startswith(path.rstrip("/") + "/"))
        if not found and path.rstrip("/") not in ("/sdcard", "/data/local/tmp"):
            await io.complain(f"ls: {path}: No such file or directory\n")
            code = 1
        for file in found:
            await io.say((file if file == path else file[len(path.rstrip("/")) + 1 :]) + "\n")
    return code


async def sleep(phone: SimPhone, args: list[str], io: Io) -> int:
    await asyncio.sleep(float(args[1]) if args[1:] else 0)
    return 0


async def test(phone: SimPhone, args: list[str], io: Io) -> int:
    words = args[1:-1] if args[0] == "[" else args[1:]
    if words[:1] == ["!"]:
        return int(await test(phone, ["test", *words[1:]], io) == 0)
    if len(words) == 1:
        return int(not words[0])
    if len(words) == 2:
        on = words[1]
        held = {
            "-z": not on,
            "-n": bool(on),
            "-e": on in phone.files,
            "-f": on in phone.files,
            "-s": bool(phone.files.get(on)),
            "-d": on in ("/sdcard", "/data/local/tmp"),
        }
        return int(not held.get(words[0], False))
    if len(words) == 3:
        a, op, b = words
        if op in ("=", "==", "!="):
            return int((a == b) != (op != "!="))
        if re.fullmatch(r"-?\d+", a) and re.fullmatch(r"-?\d+", b):
            x, y = int(a), int(b)
            held = {"-eq": x == y, "-ne": x != y, "-lt": x < y, "-gt": x > y, "-le": x <= y, "-ge": x >= y}
            return int(not held.get(op, False))
    return int(bool(words))


async def true(phone: SimPhone, args: list[str], io: Io) -> int:
    return int(args[0] == "false")


async def shell_id(phone: SimPhone, args: list[str], io: Io) -> int:
    await io.say(
        "uid=2000(shell) gid=2000(shell) groups=2000(shell),1004(input),1007(log) context=u:r:shell:s0\n"
    )
    return 0


async def date(phone: SimPhone, args: list[str], io: Io) -> int:
    form = next((a[1:] for a in args[1:] if a.startswith("+")), "%a %b %d %H:%M:%S %Z %Y")
    now = phone.now()
    await io.say(
        now.strftime(form.replace("%s", str(int(now.timestamp()))).replace("%N", f"{now.microsecond:06}000"))
        + "\n"
    )
    return 0


PROGRAMS: dict[str, Program] = {
    "echo": echo,
    "printf": printf,
    "cat": cat,
    "grep": grep,
    "egrep": grep,
    "head": head,
    "tail": head,
    "wc": wc,
    "cut": cut,
    "tr": tr,
    "sed": sed,
    "rm": rm,
    "ls": ls,
    "sleep": sleep,
    "test": test,
    "[": test,
    "true": true,
    "false": true,
    ":": true,
    "id": shell_id,
    "date": date,
}
