"""One poller for one bot on this computer, whichever home or program it belongs to.

The operating system keeps the lock, and lets go of it however the process ends. Its file names the bot by a hash.
"""

import fcntl
import hashlib
import json
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from core.store import now


@dataclass(frozen=True, slots=True)
class Holder:
    """Who asks the bot already."""

    pid: int
    home: str
    since: str


def folder(fallback: Path) -> Path:
    """A folder that every process of this person shares and nobody else can write to; `fallback` if there is none."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    path = Path(runtime) / "apx" if runtime else Path(tempfile.gettempdir()) / f"apx-{os.getuid()}"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        known = path.lstat()
    except OSError:
        return fallback
    ours = path.is_dir() and not path.is_symlink() and known.st_uid == os.getuid()
    return path if ours and not known.st_mode & 0o022 else fallback


class BotLock:
    """The right to ask one bot. `take` answers with who has it, or with None when it is ours now."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._handle: int | None = None
        self._path = Path()

    def take(self, server: str, bot_id: int) -> Holder | None:
        """Have the lock, unless somebody else has it."""
        if self._handle is not None:
            return None
        name = hashlib.sha256(f"{server.rstrip('/')} {bot_id}".encode()).hexdigest()[:16]
        while True:
            path = folder(self._home) / f"telegram-{name}.lock"
            try:
                handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            except FileNotFoundError:
                if path.parent == self._home:
                    raise
                continue  # whoever was the last to leave took the folder away meanwhile
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = _holder(handle)
                os.close(handle)
                return holder
            if _same(handle, path):
                break
            os.close(handle)  # whoever had it took the file away meanwhile
        os.ftruncate(handle, 0)
        os.pwrite(
            handle, json.dumps({"pid": os.getpid(), "home": str(self._home), "since": now()}).encode(), 0
        )
        self._handle, self._path = handle, path
        return None

    def release(self) -> None:
        """Somebody else may have it; the file goes while it is still ours, and with the last one the folder."""
        if self._handle is not None:
            self._path.unlink(missing_ok=True)
            if self._path.parent != self._home:
                with suppress(OSError):
                    self._path.parent.rmdir()
            os.close(self._handle)
            self._handle = None


def _same(handle: int, path: Path) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.fstat(handle), path.stat())
    return False


def _holder(handle: int) -> Holder:
    with suppress(ValueError, KeyError, TypeError):
        known = json.loads(os.pread(handle, 4096, 0))
        return Holder(int(known["pid"]), str(known["home"]), str(known["since"]))
    return Holder(0, "?", "")
