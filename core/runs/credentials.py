"""Which files keep credentials, and whether a command changed one of them all the same.

The gate asks before a write that can be seen coming. A program can do what nobody saw coming, so the files that are
known are compared before and after it.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.paths import Home
from core.protected import FOLDERS

_SECRET_NAME = re.compile(
    r"\.env(\..+)?|auth\.json|\.?credentials.*(\.json|\.toml|\.ya?ml)?|id_(rsa|dsa|ed25519|ecdsa).*|.*\.(pem|key|p12|pfx|keystore|jks|ppk)"
    r"|\.netrc|_netrc|\.npmrc|\.pypirc|\.pgpass|\.htpasswd|\.git-credentials|\.my\.cnf|.*\.kdbx|owner\.token|vault\.key"
    r"|service[-_]account.*\.json|mcps\.json",
    re.IGNORECASE,
)
_SAMPLE = re.compile(r".*\.(example|sample|template|dist|pub)", re.IGNORECASE)
# What a home holds besides secrets.
_OPEN_IN_HOME = frozenset({"media", "skills", "logs", "projects", "memory.md"})
_SECRET_IN_PROJECT = re.compile(r"(config|mcps)\.json.*", re.IGNORECASE)
# Where a stranger could name the same file in a folder that is not known.
OURS = frozenset({"config.json", "identity.json", "clients.json", "daemon.json", "apx.db"})
MAX_HASHED = 4 * 1024 * 1024
MAX_ENTRIES = 4000


@dataclass(frozen=True, slots=True)
class Place:
    """Whose disk it is, and where a call works: `root` is the project's folder, `cwd` is in it."""

    home: Home
    user: Path
    root: Path
    cwd: Path


def real(path: Path) -> Path:
    """Where a path really leads; what leads nowhere, or round in a circle, stays as it is written."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:
        return path


def within(path: Path, folder: Path) -> bool:
    """`path` is `folder` or below it."""
    return path == folder or folder in path.parents


def secret_name(name: str) -> bool:
    """A file is called like one that keeps credentials."""
    return bool(_SECRET_NAME.fullmatch(name)) and not _SAMPLE.fullmatch(name)


def secret_folders(user: Path) -> Iterator[Path]:
    """The folders of keys, passwords, cloud logins and browser profiles below a user's home."""
    return (user.joinpath(*folder) for folder in FOLDERS)


def _in_secret_folder(place: Path, user: Path) -> bool:
    if not within(place, user):
        return False
    below = tuple(part.casefold() for part in place.relative_to(user).parts)
    return any(below[: len(folder)] == folder for folder in FOLDERS)


def holds_credentials(path: Path, home: Home, user: Path) -> bool:
    """Whether a file is one that keeps credentials, by its own name or by where it really is."""
    for place in {path, real(path)}:
        if secret_name(place.name) or _in_secret_folder(place, user):
            return True
        for root in {home.root, real(home.root)}:
            if not within(place, root):
                continue
            below = place.relative_to(root).parts
            if below and below[0] not in _OPEN_IN_HOME:
                return True
            if len(below) == 3 and below[0] == "projects" and _SECRET_IN_PROJECT.fullmatch(below[2]):
                return True
    return False


# Before and after a command

Print = tuple[int, int, str]  # inode, size, hash


def _known(place: Place) -> Iterator[Path]:
    """The credential files there are: those of our home, of the user, and of the project, without the database."""
    home, user = place.home, place.user
    yield from (
        one for one in _files(home.root, 1) if not one.name.startswith(("apx.db", "apx.lock", "daemon."))
    )
    yield from (one for one in _files(home.projects, 2) if _SECRET_IN_PROJECT.fullmatch(one.name))
    yield from (one for one in _files(user, 1) if secret_name(one.name))
    for folder in (".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh"):
        yield from _files(user / folder, 3)
    yield from (one for one in _files(place.root, 6) if secret_name(one.name))


def _files(folder: Path, depth: int) -> Iterator[Path]:
    left = MAX_ENTRIES
    todo = [(folder, depth)]
    while todo and left > 0:
        here, deep = todo.pop()
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    left -= 1
                    if entry.is_dir(follow_symlinks=False):
                        if deep > 1 and entry.name not in {".git", "node_modules", ".venv", "__pycache__"}:
                            todo.append((Path(entry.path), deep - 1))
                    else:
                        yield Path(entry.path)
        except OSError:
            continue


def prints(place: Place) -> dict[Path, Print]:
    """What the known credential files look like now."""
    found: dict[Path, Print] = {}
    for path in _known(place):
        try:
            found[path] = _print(path)
        except OSError:
            continue
    return found


def _print(path: Path) -> Print:
    info = path.lstat()
    if stat.S_ISLNK(info.st_mode):
        return info.st_ino, 0, str(path.readlink())
    if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_HASHED:
        return info.st_ino, info.st_size, str(info.st_mtime_ns)
    mode = stat.S_IMODE(info.st_mode)
    return info.st_ino, info.st_size, f"{mode:o}:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def changed(before: dict[Path, Print], after: dict[Path, Print]) -> list[Path]:
    """The files that are other files now, new, or gone. One that was replaced by the same bytes is the same."""
    return sorted(
        path for path in before.keys() | after.keys() if before.get(path, ())[1:] != after.get(path, ())[1:]
    )


def same_file(info: os.stat_result, place: Place) -> bool:
    """An open file is a known credential file under a second name."""
    for path in _known(place):
        try:
            other = path.stat()
        except OSError:
            continue
        if (other.st_dev, other.st_ino) == (info.st_dev, info.st_ino):
            return True
    return False
