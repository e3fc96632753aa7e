"""The project's files: look, read, write, change."""

import asyncio
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from core.errors import Invalid, NotFound, Refused
from core.runs.credentials import Place, real, within
from core.tool import Context, Effect, tool
from core.tools import places

MAX_READ = 64 * 1024
MAX_EDIT = 4 * 1024 * 1024
MAX_LISTED = 500
GROUP = "files"
PATH = "Relative to the project, or absolute inside of it."


class Arguments(BaseModel):
    """Arguments of these tools: what is not declared is a mistake of the model, and told to it."""

    model_config = ConfigDict(extra="forbid")


class ListFiles(Arguments):
    path: str = Field(".", description=PATH, max_length=4096)
    depth: int = Field(1, description="How many levels down.", ge=1, le=6)


class ReadFile(Arguments):
    path: str = Field(description=PATH, max_length=4096)
    from_line: int = Field(1, description="The first line that is wanted.", ge=1)
    lines: int = Field(2000, description="How many lines.", ge=1, le=20_000)


class WriteFile(Arguments):
    path: str = Field(description=PATH, max_length=4096)
    content: str = Field(description="The whole new text of the file.", max_length=2_000_000)


class EditFile(Arguments):
    path: str = Field(description=PATH, max_length=4096)
    old: str = Field(description="The exact text that is there now.", min_length=1, max_length=200_000)
    new: str = Field(description="The text to put in its place.", max_length=200_000)
    all: bool = Field(False, description="Change every place where it stands, not just the only one.")


@tool(Effect.READ, group=GROUP)
async def list_files(args: ListFiles, ctx: Context) -> str:
    """See what is in a folder of the project: names, sizes, folders with a slash."""
    where = await places.place(ctx)
    return await asyncio.to_thread(_listed, args, where)


def _listed(args: ListFiles, where: Place) -> str:
    top = places.resolve(args.path, where)
    if not top.is_dir():
        raise NotFound(f"There is no folder {args.path}.")
    lines: list[str] = []
    _list(top, top, args.depth, where, lines)
    if len(lines) > MAX_LISTED:
        lines = [*lines[:MAX_LISTED], f"[cut: only the first {MAX_LISTED}]"]
    return "\n".join(lines) or "The folder is empty."


def _list(folder: Path, top: Path, depth: int, where: Place, lines: list[str]) -> None:
    ours = real(where.home.root)
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda one: one.name)
    except OSError as error:
        raise Refused(f"{folder.name} cannot be listed: {error.strerror}.") from error
    for entry in entries:
        if len(lines) > MAX_LISTED:
            return
        path = Path(entry.path)
        name = str(path.relative_to(top))
        if entry.is_dir(follow_symlinks=False):
            lines.append(f"{name}/")
            if depth > 1 and not (path == ours and not within(top, ours)):
                with suppress(Refused):
                    _list(path, top, depth - 1, where, lines)
        elif entry.is_symlink():
            lines.append(f"{name} -> {path.readlink()}")
        else:
            lines.append(f"{name}  {entry.stat(follow_symlinks=False).st_size}")


@tool(Effect.READ, group=GROUP)
async def read_file(args: ReadFile, ctx: Context) -> str:
    """Read a text file of the project, at most 64 kB at a time."""
    where = await places.place(ctx)
    return await asyncio.to_thread(_read, args, where)


def _read(args: ReadFile, where: Place) -> str:
    path = places.resolve(args.path, where)
    data, size = places.read(path, where, args.path, MAX_EDIT)
    if b"\0" in data[:8192]:
        raise Invalid(f"{args.path} is not text ({size} bytes).")
    lines = data.decode("utf-8", "replace").splitlines(keepends=True)
    wanted = lines[args.from_line - 1 : args.from_line - 1 + args.lines]
    if not wanted:
        if not lines:
            return "The file is empty."
        raise Invalid(f"{args.path} has {len(lines)} lines.")
    text, count = "", 0
    for line in wanted:
        if len(text.encode()) + len(line.encode()) > MAX_READ:
            break
        text, count = text + line, count + 1
    if not count:
        text, count = wanted[0].encode()[:MAX_READ].decode("utf-8", "ignore"), 1
    last = args.from_line + count - 1
    if last < len(lines) or size > len(data):
        whole = len(lines) if size == len(data) else f"more than {len(lines)}"
        text += f"\n[lines {args.from_line} to {last} of {whole}; the next ones with from_line={last + 1}]"
    return text


@tool(Effect.WRITE, group=GROUP)
async def write_file(args: WriteFile, ctx: Context) -> str:
    """Make a text file in the project, or put a new text in the place of the whole old one."""
    where = await places.place(ctx)
    return await asyncio.to_thread(_write, args, where)


def _write(args: WriteFile, where: Place) -> str:
    path = places.resolve(args.path, where, write=True)
    if path.is_dir():
        raise Invalid(f"{args.path} is a folder.")
    existed = path.exists()
    _replace(path, args.content, where, args.path)
    return f"{'Replaced' if existed else 'Made'} {args.path} ({len(args.content.encode())} bytes)."


@tool(Effect.WRITE, group=GROUP)
async def edit_file(args: EditFile, ctx: Context) -> str:
    """Change a stretch of a text file of the project; the rest stays as it is, to the letter."""
    where = await places.place(ctx)
    return await asyncio.to_thread(_edit, args, where)


def _edit(args: EditFile, where: Place) -> str:
    path = places.resolve(args.path, where, write=True)
    data, size = places.read(path, where, args.path, MAX_EDIT)
    if size > len(data):
        raise Invalid(f"{args.path} is too large to edit ({size} bytes).")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Invalid(f"{args.path} is not UTF-8 text; it stays as it is.") from error
    old, new = args.old, args.new
    if "\r\n" in text and "\r\n" not in old:
        # The model sees no difference between the two kinds of line ends, and the file keeps its own.
        old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
    count = text.count(old)
    if count == 0:
        raise NotFound(f"That text is not in {args.path}. Read it again: it has to be exact.")
    if count > 1 and not args.all:
        raise Invalid(f"That text is {count} times in {args.path}. Give more of it, or set all.")
    _replace(path, text.replace(old, new), where, args.path)
    return f"Changed {args.path} in {count} place{'s' if count > 1 else ''}."


def _replace(path: Path, text: str, where: Place, given: str) -> None:
    """The whole file at once, under its own rights; a file of two names becomes one of its own."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # What was made or swapped meanwhile must not lead out.
        places.check(real(path.parent) / path.name, where, given, write=True)
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
        handle, fresh = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            Path(fresh).chmod(mode)
            Path(fresh).replace(path)
        except BaseException:
            Path(fresh).unlink(missing_ok=True)
            raise
    except UnicodeEncodeError as error:
        raise Invalid("The text has half characters that no file can hold.") from error
    except OSError as error:
        raise Refused(f"{given} cannot be written: {error.strerror}.") from error


TOOLS = (list_files, read_file, write_file, edit_file)
