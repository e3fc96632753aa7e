"""Find things in the project: files by their names, lines by what is in them."""

import asyncio
import fnmatch
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from core.errors import Invalid, NotFound, Unavailable
from core.runs.credentials import Place, real, secret_name, within
from core.runs.surroundings import surroundings
from core.tool import Context, Effect, tool
from core.tools import places
from core.tools.files import GROUP, Arguments

MAX_FILES = 20_000
MAX_FOUND = 200
SEARCH_S = 15.0
SKIPPED = frozenset(
    {".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".tox"}
)
WORKER = (sys.executable, "-I", str(Path(__file__).with_name("searching.py")))


class Glob(Arguments):
    pattern: str = Field(description="Such as *.py or src/**/*.md.", min_length=1, max_length=400)
    path: str = Field(".", description="The folder to begin in.", max_length=4096)


class Grep(Arguments):
    pattern: str = Field(description="A regular expression of Python.", min_length=1, max_length=2000)
    path: str = Field(".", description="A folder or a file of the project.", max_length=4096)
    include: str = Field("", description="Only files of these names, such as *.py.", max_length=200)
    ignore_case: bool = Field(False, description="Capital and small letters are the same.")


class SearchFiles(Arguments):
    text: str = Field(description="Words to look for, in names and in texts.", min_length=1, max_length=500)
    path: str = Field(".", description="The folder to begin in.", max_length=4096)


def walk(top: Path, where: Place) -> Iterator[Path]:
    """The files below a folder that may be read, in order; links, caches and what keeps credentials are left out."""
    ours, seen = real(where.home.root), 0
    inside = within(top, ours)
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(
            name for name in folders if name not in SKIPPED and (inside or Path(folder, name) != ours)
        )
        for name in sorted(files):
            seen += 1
            if seen > MAX_FILES:
                return
            path = Path(folder, name)
            if not secret_name(name) and not path.is_symlink() and places.readable(path, where):
                yield path


def _top(text: str, where: Place) -> Path:
    top = places.resolve(text, where)
    if not top.exists():
        raise NotFound(f"There is no {text} in the project.")
    return top


@tool(Effect.READ, group=GROUP)
async def glob(args: Glob, ctx: Context) -> str:
    """Find files of the project by a pattern for their names."""
    where = await places.place(ctx)

    def find() -> list[str]:
        top = _top(args.path, where)
        right = re.compile(_translated(args.pattern))
        names = (str(path.relative_to(top)) for path in walk(top, where))
        return [name for name in names if right.fullmatch(name)]

    return _told(await asyncio.to_thread(find), "No file has such a name.")


def _translated(pattern: str) -> str:
    """`**` crosses folders, `*` does not; a pattern without a slash counts at every depth."""
    parts = pattern.removeprefix("./").split("/")
    if len(parts) == 1:
        parts = ["**", *parts]
    out = ""
    for n, part in enumerate(parts):
        last = n == len(parts) - 1
        if part == "**":
            out += ".*" if last else "(?:.*/)?"
            continue
        # fnmatch wraps in (?s:...)\Z and lets * and ? cross slashes.
        body = fnmatch.translate(part).removeprefix("(?s:").removesuffix(")\\Z")
        out += body.replace(".*", "[^/]*") + ("" if last else "/")
    return f"(?s:{out})"


@tool(Effect.READ, group=GROUP)
async def grep(args: Grep, ctx: Context) -> str:
    """Find lines in the project's files by a regular expression; answers path:line: text."""
    try:
        re.compile(args.pattern)
    except re.error as error:
        raise Invalid(f"The pattern does not work: {error}.") from error
    flags = "(?i)" if args.ignore_case else ""
    where = await places.place(ctx)
    top, paths = await asyncio.to_thread(_files, args.path, where, args.include)
    return _told(await _lines(f"{flags}{args.pattern}", paths, top), "No line matches.")


@tool(Effect.READ, group=GROUP)
async def search_files(args: SearchFiles, ctx: Context) -> str:
    """Find plain words in the names and texts of the project's files, whatever their capitals."""
    where = await places.place(ctx)
    top, paths = await asyncio.to_thread(_files, args.path, where, "")
    word = args.text.casefold()
    names = [str(path.relative_to(top)) for path in paths if word in path.name.casefold()]
    lines = await _lines(f"(?i){re.escape(args.text)}", paths, top)
    return _told([*names, *lines], "Nothing was found.")


def _files(text: str, where: Place, include: str) -> tuple[Path, list[Path]]:
    top = _top(text, where)
    if top.is_file():
        return top.parent, [top]
    return top, [path for path in walk(top, where) if not include or fnmatch.fnmatch(path.name, include)]


async def _lines(pattern: str, paths: list[Path], top: Path) -> list[str]:
    asked = json.dumps({"pattern": pattern, "paths": [str(one) for one in paths], "limit": MAX_FOUND})
    process = await asyncio.create_subprocess_exec(
        *WORKER,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=surroundings(),
    )
    try:
        async with asyncio.timeout(SEARCH_S):
            said, _ = await process.communicate(asked.encode("utf-8", "surrogateescape"))
    except TimeoutError:
        raise Unavailable(
            f"The search took longer than {SEARCH_S:g} s. Use a simpler pattern or a smaller folder."
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise Invalid("The search failed; the pattern may not work on these files.")
    return [f"{Path(path).relative_to(top)}:{number}: {line}" for path, number, line in json.loads(said)]


def _told(found: list[str], nothing: str) -> str:
    if len(found) > MAX_FOUND:
        return "\n".join([*found[:MAX_FOUND], f"[cut: only the first {MAX_FOUND}]"])
    return "\n".join(found) or nothing


TOOLS = (search_files, glob, grep)
