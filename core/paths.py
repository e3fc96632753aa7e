"""Where a home keeps its things, and how a file is replaced without ever being half there."""

import os
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

PACKAGE = Path(__file__).parent
ASSETS = PACKAGE.parent / "assets"


@dataclass(frozen=True, slots=True)
class Home:
    """One owner's folder, `~/.apx` unless `APX_HOME` says otherwise. Everything of a home is below `root`."""

    root: Path

    @classmethod
    def find(cls) -> "Home":
        """The home that the environment names."""
        return cls(Path(os.environ.get("APX_HOME") or Path.home() / ".apx").expanduser().absolute())

    @property
    def config(self) -> Path:
        return self.root / "config.json"

    @property
    def identity(self) -> Path:
        return self.root / "identity.json"

    @property
    def memory(self) -> Path:
        return self.root / "memory.md"

    @property
    def db(self) -> Path:
        return self.root / "apx.db"

    @property
    def search(self) -> Path:
        return self.root / "search.db"

    @property
    def token(self) -> Path:
        return self.root / "owner.token"

    @property
    def daemon(self) -> Path:
        return self.root / "daemon.json"

    @property
    def lock(self) -> Path:
        return self.root / "apx.lock"

    @property
    def vault_key(self) -> Path:
        return self.root / "vault.key"

    @property
    def media(self) -> Path:
        return self.root / "media"

    @property
    def media_in(self) -> Path:
        return self.media / "in"

    @property
    def media_out(self) -> Path:
        return self.media / "out"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def skills(self) -> Path:
        return self.root / "skills"

    @property
    def projects(self) -> Path:
        return self.root / "projects"

    @property
    def browser(self) -> Path:
        return self.root / "browser"

    @property
    def workspace(self) -> Path:
        """The folder of the default project, which has no folder of the owner's."""
        return self.projects / "default" / "files"

    def make(self) -> None:
        """Create the folders, readable by their owner alone."""
        for folder in (self.root, self.media_in, self.media_out, self.logs, self.skills, self.projects):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def replace(path: Path, text: str, *, mode: int = 0o600) -> None:
    """Write a file as a whole: whoever reads sees the old text or the new, and so does a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    fresh = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.chmod(mode)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def set_aside(path: Path) -> Path:
    """Move an unreadable file out of the way under a dated name, and say which."""
    aside = path.with_name(f"{path.name}.broken-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}")
    path.rename(aside)
    return aside
