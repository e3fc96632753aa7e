"""Which files the file tools reach: those of the project, and the pictures and papers that came with a message.

A path is judged where it really leads. What keeps credentials is not read, whoever asks; writing such a file is for
the gate to ask about, and writing into our own home is for nobody.
"""

import os
import stat
from pathlib import Path

from core import projects
from core.errors import Invalid, NotFound, Refused
from core.runs.credentials import Place, holds_credentials, real, same_file, within
from core.runs.visible import deceives, visible
from core.tool import Context

MAX_PATH = 4096


async def place(ctx: Context) -> Place:
    """The disk of a turn, with the project's folder as the place to work in."""
    root = await projects.root(ctx.store, ctx.home, ctx.turn.project_id)
    return Place(ctx.home, Path.home(), root, root)


def resolve(text: str, where: Place, *, write: bool = False) -> Path:
    """The real path that a text names, or the sentence that says why not."""
    if not text.strip() or "\0" in text or len(text) > MAX_PATH:
        raise Invalid("Give the path of a file in the project.")
    if deceives(text):
        raise Invalid(f"The path has letters that are not what they look like: {visible(text)}")
    given = Path(text).expanduser() if text.startswith("~") else Path(text)
    path = real(where.cwd / given)
    check(path, where, text, write=write)
    return path


def check(path: Path, where: Place, text: str, *, write: bool = False) -> None:
    """Refuse a real path that is outside, ours, or keeps credentials."""
    root, ours = real(where.root), real(where.home.root)
    if within(path, real(where.home.media)) and not write:
        return
    if not within(path, root):
        raise Refused(f"{text} is outside of the project ({root}). The file tools stay inside.")
    if within(path, ours) and not within(root, ours):
        raise Refused(f"{text} belongs to the app itself.")
    if not write and holds_credentials(path, where.home, where.user):
        raise Refused(f"{text} keeps credentials; it is not read.")


def readable(path: Path, where: Place) -> bool:
    """A file that was found may be opened."""
    try:
        check(real(path), where, path.name)
    except Refused:
        return False
    return True


def read(path: Path, where: Place, text: str, limit: int) -> tuple[bytes, int]:
    """The first bytes of a file that was resolved, and its size; it is checked again once it is open."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise NotFound(f"There is no file {text}.") from None
    except OSError as error:
        raise Refused(f"{text} cannot be read: {error.strerror}.") from error
    try:
        info = os.fstat(handle)
        if stat.S_ISDIR(info.st_mode):
            raise Invalid(f"{text} is a folder. list_files shows what is in it.")
        if not stat.S_ISREG(info.st_mode):
            raise Refused(f"{text} is no plain file.")
        # A folder on the way may have become a link meanwhile, and a second name may be that of a secret.
        if real(path) != path or (info.st_nlink > 1 and same_file(info, where)):
            raise Refused(f"{text} keeps credentials; it is not read.")
        data = b""
        while len(data) < limit and (piece := os.read(handle, limit - len(data))):
            data += piece
        return data, info.st_size
    finally:
        os.close(handle)
