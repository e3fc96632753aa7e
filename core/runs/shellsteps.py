"""The commands of a shell line in the order in which they would run, with their words as they would be.

Followed through `cd`, variables, loops, wrappers such as `env` and `sudo`, and shells inside shells.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from core.runs.credentials import Place
from core.runs.shellreader import parse
from core.runs.shellwords import UNKNOWN, Command, Script

SHELLS = frozenset(
    {"sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "ash", "busybox", "csh", "tcsh", "rbash"}
)
# Programs that take a program as text; what it names is looked for in the text.
_LANGUAGES = "python pypy node deno bun perl ruby php lua luajit tclsh osascript pwsh"
_EDITORS = "awk gawk mawk nawk sed ed ex vi vim nvim emacs"
CODE = SHELLS | set(f"{_LANGUAGES} {_EDITORS} eval trap alias".split())
# They run another program, or one that they are given as text.
_BUILDERS = "make cmake ninja npm npx pnpm yarn pip pipx uv uvx cargo go mvn gradle"
_REMOTE = "git ssh docker podman kubectl adb"
_RUNNERS = "gdb java dotnet R source . expect script find parallel watch crontab at systemd-run"
_OTHERS = "jq sqlite3 psql mysql tar rsync"
INTERPRETERS = CODE | set(f"{_BUILDERS} {_REMOTE} {_RUNNERS} {_OTHERS}".split())
# The command that they run stands in their arguments.
WRAPPERS = frozenset(
    {
        "env",
        "sudo",
        "doas",
        "nohup",
        "command",
        "builtin",
        "exec",
        "time",
        "nice",
        "ionice",
        "timeout",
        "setsid",
    }
    | {"stdbuf", "xargs", "chroot", "unshare", "flock", "strace", "su", "runuser", "chronic"}
)
_VERSION = re.compile(r"[-.]?\d+(\.\d+)*$")


def program(word: str) -> str:
    """The plain name of a program: /usr/bin/python3.11 is python."""
    name = word.rpartition("/")[2]
    plain = _VERSION.sub("", name)
    return plain if plain in INTERPRETERS else name


@dataclass(slots=True)
class Step:
    """One command with its words as they would be, where it would run, and what its variables were."""

    command: Command
    words: list[str]  # UNKNOWN where nobody can tell
    cwd: Path | None  # None: not known
    known: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def program(self) -> str:
        return program(self.words[0]) if self.words else ""


def steps(script: Script, place: Place, environment: dict[str, str]) -> Iterator[Step]:
    """The commands of a script in order, followed through `cd`, variables, wrappers and shells inside shells."""
    known: dict[str, tuple[str, ...]] = {name: (value,) for name, value in environment.items()}
    known |= {"IFS": (" ",), "PWD": (str(place.cwd),)}
    yield from _follow(script, place, place.cwd, known, 0)


def _follow(
    script: Script, place: Place, cwd: Path | None, known: dict[str, tuple[str, ...]], depth: int
) -> Iterator[Step]:
    for command in script.commands:
        for name, value in command.assigns:
            # Several branches may set it: all of their values are possible.
            fresh = tuple(value.values(known)) or ("",)
            known[name] = tuple(dict.fromkeys((*fresh, *known.get(name, ()))))[:16]
        if loop := command.loop:
            known[loop[0]] = tuple(one for word in loop[1] for one in word.values(known))[:64] or ("",)
        step = Step(command, [one for word in command.words for one in word.values(known)], cwd, dict(known))
        yield step
        scripts = list(_scripts(step))
        inner = unwrapped(step.words)
        if inner != step.words and inner:
            step = Step(command, inner, cwd, dict(known))
            scripts += _scripts(step)
            yield step
        if step.program in {"cd", "pushd"}:
            cwd = _changed(step, place, cwd)
        elif step.program in {"export", "readonly", "local", "declare", "typeset"}:
            for word in step.words[1:]:
                name, equals, text = word.partition("=")
                if equals:
                    known[name] = (text, *known.get(name, ()))[:16]
        if depth < 5:
            for text in scripts:
                yield from _follow(parse(text), place, cwd, dict(known), depth + 1)


def unwrapped(words: Sequence[str]) -> list[str]:
    """The command inside `env`, `sudo`, `timeout 5`, `xargs` and the like."""
    left = list(words)
    while left and program(left[0]) in WRAPPERS:
        wrapper = program(left.pop(0))
        while left and (
            left[0].startswith("-")
            or (wrapper in {"env", "sudo", "doas"} and re.match(r"[A-Za-z_]\w*=", left[0]))
            or (
                wrapper in {"timeout", "nice", "ionice", "stdbuf"} and re.fullmatch(r"[\d.]+[smhd]?", left[0])
            )
        ):
            flag = left.pop(0)
            if (
                flag in {"-u", "-g", "-n", "-I", "-C", "-k", "-s", "-P", "-L", "-a", "-S"}
                and left
                and wrapper != "command"
            ):
                if wrapper == "env" and flag == "-S":
                    left = [*left[0].split(), *left[1:]]
                elif not left[0].startswith("-"):
                    left.pop(0)
    return left


def _changed(step: Step, place: Place, cwd: Path | None) -> Path | None:
    targets = [word for word in step.words[1:] if not re.fullmatch(r"-[LPe@]*|--", word)]
    if not targets:
        return place.user if not step.command.words[1:] else None
    if len(targets) > 1 or UNKNOWN in targets[0] or targets[0] == "-":
        return None
    return located(targets[0], place, cwd)


def _scripts(step: Step) -> Iterator[str]:
    """The shell text that a command is given: `sh -c TEXT`, `eval TEXT`, `sh <<END`."""
    if step.program in SHELLS:
        for n, word in enumerate(step.words[:-1]):
            if re.fullmatch(r"-[a-z]*c[a-z]*", word):
                yield step.words[n + 1]
                break
        for redirect in step.command.redirects:
            yield redirect.body
            if redirect.op == "<<<":
                yield from redirect.target.values(step.known)
    elif step.program == "eval":
        yield " ".join(step.words[1:])
    elif step.program in {"su", "runuser", "script"}:
        for n, word in enumerate(step.words[:-1]):
            if word in {"-c", "--command"}:
                yield step.words[n + 1]


def located(text: str, place: Place, cwd: Path | None) -> Path | None:
    """Where a word points if it is a path; None when it counts from a folder that is not known."""
    if "\0" in text:
        return None
    if text == "~" or text.startswith("~/"):
        text = str(place.user) + text[1:]
    if text.startswith("/"):
        return Path(text)
    return None if cwd is None else cwd / text
