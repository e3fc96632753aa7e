"""Files to people: one function decides whether a file may leave, and the bytes it checked are the bytes sent.

The path is judged as written and where it really leads; the file is opened once, no link followed, read to a
bound, sniffed, hashed, and copied under its hash. Nothing is read from the original after that.
"""

import asyncio
import math
import os
import re
import stat
import tempfile
import unicodedata
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from core import filetypes, protected
from core.errors import Refused
from core.paths import Home
from core.runs.turn import Attachment
from core.settings import FileDelivery
from core.store import Store, new_id, now
from core.texts import t

MB = 1024 * 1024


class NotSendable(Refused):
    """A file stays here; `reason` is the key of the sentence, without its area."""

    code = "not_sendable"

    def __init__(self, reason: str, lang: str, **values: object) -> None:
        super().__init__(t(f"delivery.{reason}", lang, **values))
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Place:
    """Whose disk it is: our home, the owner's folder, and the project that relative paths belong to."""

    home: Home
    owner: Path
    project: Path | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """What an open file is, without its bytes."""

    regular: bool
    size: int
    links: int


def judge_text(text: str) -> str | None:
    """What is wrong with a path as it is written; nothing is looked up, so nothing is contacted."""
    name = text.replace("\\", "/").rpartition("/")[2]
    rules = (
        ("empty_path", not text.strip()),
        ("nul", "\0" in text),
        ("invisible", any(_invisible(letter) for letter in text)),
        ("file_url", re.match(r"file:", text, re.IGNORECASE)),
        ("url", re.match(r"data:|[a-z][a-z0-9+.-]+://", text, re.IGNORECASE)),
        ("unc", text.startswith(("\\\\", "//", "\\/", "/\\"))),
        ("windows", re.match(r"[A-Za-z]:", text) or "\\" in text),
        ("stream", re.search(r"\.[A-Za-z][A-Za-z0-9]{0,9}:", name)),
        ("trailing_dot", name not in {".", ".."} and name != name.rstrip(". ")),
    )
    return next((reason for reason, wrong in rules if wrong), None)


def _invisible(letter: str) -> bool:
    # The joiner belongs to emoji; every other format character only changes what a name looks like.
    return (
        letter != "\0"
        and letter != "\u200d"
        and unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    )


def judge_place(path: Path, place: Place) -> str | None:
    """What is wrong with where a path leads, asked about the written path and about the real one."""
    root, ours = place.home.root, Path(os.path.realpath(place.home.root))
    # What was received or made to be shown, and what the tools of the default project wrote.
    for folder in (place.home.media, place.home.workspace):
        # By its own name only: put in its place, a link to the whole home would open all of it.
        for top in (folder, ours / folder.relative_to(root)):
            if protected.inside(path, top):
                return _wrong_with(path, path.relative_to(top))
    mine = protected.inside(path, ours) or protected.inside(path, root)
    return "own_home" if mine else _wrong_with(path, path)


def _wrong_with(path: Path, within: Path) -> str | None:
    """The rules for a place of its own: `within` are the folders that count."""
    rules = (
        ("system", protected.system_file(path)),
        ("runs", filetypes.runs(path.name)),
        ("secret_folder", protected.secret_folder(within)),
        ("secret_file", protected.secret_name(path.name)),
    )
    return next((reason for reason, wrong in rules if wrong), None)


def judge(path: Path, facts: Facts, place: Place, policy: FileDelivery) -> str | None:
    """What is wrong with a file that is open, before a byte of it is read."""
    if not facts.regular:
        return "not_a_file"
    if wrong := judge_place(path, place):
        return wrong
    type = filetypes.TYPES.get(filetypes.extension(path.name))
    if type is None:
        return "unknown_type"
    if not getattr(policy.kinds, type.kind):
        return "kind_off"
    # A second name can be the name of a secret. A picture proves by its bytes that it is none.
    if facts.links > 1 and (
        type.kind == "document" or protected.inside(path, Path(os.path.realpath(place.home.root)))
    ):
        return "hard_link"
    if facts.size == 0:
        return "empty"
    return "too_large" if facts.size > policy.max_mb * MB else None


@dataclass(frozen=True, slots=True)
class Taken:
    """A file that may leave, as it was when it was checked."""

    data: bytes
    name: str
    type: filetypes.Type


def take(text: str, policy: FileDelivery, place: Place, *, lang: str = "en") -> Taken:
    """Judge, open once, read and sniff; raises `NotSendable` with its own sentence for every refusal."""
    shown = "".join("?" if _invisible(letter) or letter == "\0" else letter for letter in text)[:200]
    max_mb: object = policy.max_mb

    def refuse(reason: str, size: int = 0) -> NotSendable:
        kinds = ", ".join(kind for kind, on in policy.kinds if on) or "-"
        kind = getattr(filetypes.TYPES.get(filetypes.extension(shown)), "kind", "")
        values = {
            "path": shown,
            "kinds": kinds,
            "kind": kind,
            "size": f"{math.ceil(size * 10 / MB) / 10:.1f}",  # upwards: more than the limit reads as more
            "max": f"{max_mb:.1f}",
        }
        return NotSendable(reason, lang, **values)

    if wrong := judge_text(text):
        raise refuse(wrong)
    given = _absolute(text, place)
    if given is None:
        raise refuse("relative")
    if wrong := judge_place(given, place):
        raise refuse(wrong)
    try:
        real = given.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise refuse("not_found") from error
    if (
        not text.startswith(("/", "~"))
        and place.project
        and not protected.inside(real, place.project.resolve())
    ):
        raise refuse("outside_project")
    if wrong := judge_place(real, place):
        raise refuse(wrong)
    try:
        data, facts = _read(real, lambda facts: judge(real, facts, place, policy), policy.max_mb * MB)
    except _Stopped as stopped:
        raise refuse(stopped.reason, stopped.size) from stopped
    except OSError as error:
        raise refuse("not_found") from error
    if len(data) != facts.size:
        raise refuse("changed")
    if wrong := filetypes.check(real.name, data):
        raise refuse(wrong)
    return Taken(data, real.name, filetypes.TYPES[filetypes.extension(real.name)])


def _absolute(text: str, place: Place) -> Path | None:
    if text == "~" or text.startswith("~/"):
        return Path(os.path.normpath(place.owner / text[2:]))
    if text.startswith("/"):
        return Path(os.path.normpath(text))
    return (
        Path(os.path.normpath(place.project / text)) if place.project and not text.startswith("~") else None
    )


class _Stopped(Exception):
    def __init__(self, reason: str, size: int) -> None:
        super().__init__(reason)
        self.reason, self.size = reason, size


def _read(real: Path, verdict: Callable[[Facts], str | None], max_bytes: int) -> tuple[bytes, Facts]:
    """The bytes of exactly this path: every folder on the way is entered without following a link."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    with ExitStack() as stack:
        folder = os.open("/", flags | os.O_DIRECTORY)
        stack.callback(os.close, folder)
        for part in real.parts[1:-1]:
            folder = os.open(part, flags | os.O_DIRECTORY, dir_fd=folder)
            stack.callback(os.close, folder)
        # Looked at before it is opened: opening a device or a pipe can already do something.
        before = os.stat(real.name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISREG(before.st_mode):
            raise _Stopped("not_a_file", 0)
        handle = os.open(real.name, flags | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=folder)
        stack.callback(os.close, handle)
        there = os.fstat(handle)
        if (there.st_dev, there.st_ino) != (before.st_dev, before.st_ino):
            raise _Stopped("changed", 0)
        facts = Facts(stat.S_ISREG(there.st_mode), there.st_size, there.st_nlink)
        if wrong := verdict(facts):
            raise _Stopped(wrong, facts.size)
        pieces, left = [], min(facts.size, max_bytes) + 1
        while left > 0 and (piece := os.read(handle, min(left, 1 << 20))):
            pieces.append(piece)
            left -= len(piece)
        after = os.fstat(handle)
        if (after.st_size, after.st_mtime_ns) != (there.st_size, there.st_mtime_ns):
            raise _Stopped("changed", after.st_size)
        return b"".join(pieces), facts


def _keep(data: bytes, folder: Path, ending: str) -> tuple[Path, str]:
    """Store bytes under their hash. What lies there already is written again unless it is the same."""
    digest = filetypes.digest(data)
    path = folder / f"{digest[:16]}.{ending}"
    if path.is_symlink() or not path.is_file() or path.read_bytes() != data:
        handle, fresh = tempfile.mkstemp(dir=folder, prefix=".")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(fresh).replace(path)
    return path, digest


def _label(wanted: str, real: str) -> str:
    """The name people see: what was asked for, on one line, with the ending that the bytes have."""
    ending = filetypes.extension(real)
    label = "".join(
        letter for letter in wanted if not _invisible(letter) and letter not in '/\\:*?"<>|\0'
    ).strip(". ")
    if not label:
        label = real
    if filetypes.extension(label) != ending:
        label = f"{label}.{ending}"
    return label if len(label) <= 120 else f"{label[: 119 - len(ending)]}.{ending}"


async def deliver(
    path_text: str,
    *,
    policy: FileDelivery,
    home: Home,
    store: Store,
    run_id: str | None = None,
    project_root: Path | None = None,
    caption: str = "",
    name: str = "",
    lang: str = "en",
    owner: Path | None = None,
) -> Attachment:
    """A checked copy of a file, ready to go with an answer. The same file twice in one run is one attachment."""
    place = Place(home, owner or Path.home(), project_root)
    taken = await asyncio.to_thread(take, path_text, policy, place, lang=lang)
    label = _label(name, taken.name)
    if filetypes.runs(label):
        raise NotSendable("runs", lang, path=label)
    ending = filetypes.extension(taken.name)
    path, digest = await asyncio.to_thread(_keep, taken.data, home.media_out, ending)
    known = await store.one(
        "select id, name from media where direction = 'out' and sha256 = ? and run_id is ? and name = ?",
        *(digest, run_id, label),
    )
    id = known["id"] if known else new_id("med")
    if known is None:
        await store.run(
            "insert into media (id, path, name, kind, mime, size, sha256, direction, run_id, created_at)"
            " values (?, ?, ?, ?, ?, ?, ?, 'out', ?, ?)",
            *(id, str(path), label, taken.type.kind, taken.type.mime, len(taken.data), digest, run_id, now()),
        )
    return Attachment(id, path, label, taken.type.kind, taken.type.mime, len(taken.data), caption)
