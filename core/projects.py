"""The owner's projects: a name and a folder under an id that stays."""

import re
import sqlite3
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from core.errors import Invalid, NotFound, Refused
from core.paths import Home
from core.store import Store, new_id, now

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Project:
    """`path` is empty for the default project, which is no folder."""

    id: str
    name: str
    path: str
    created_at: str


async def listed(store: Store) -> list[Project]:
    """All of them, the default one first."""
    rows = await store.all("select * from projects order by id != 'default', name")
    return [_project(row) for row in rows]


async def find(store: Store, named: str) -> Project:
    """A project by id, or by name where only one has it; "0" is the default one."""
    wanted = DEFAULT if named == "0" else named
    rows = await store.all("select * from projects where id = ?1 or name = ?1 order by id != ?1", wanted)
    if not rows:
        raise NotFound(f"There is no project {named[:60]!r}. `apx project list` shows them.")
    if rows[0]["id"] != wanted and len(rows) > 1:
        raise Invalid(
            f"{len(rows)} projects are called {named!r}. Use an id: {', '.join(r['id'] for r in rows)}."
        )
    return _project(rows[0])


async def add(store: Store, folder: str, *, name: str = "") -> Project:
    """Remember a folder as a project; the same folder again is the same project."""
    path = Path(folder).expanduser()
    if not path.is_absolute() or not path.is_dir():
        raise Invalid(f"{folder} is not a folder here. Give the full path of one.", fields=("path",))
    path = path.resolve()
    async with store.transaction() as db:
        for row in await db.execute_fetchall("select * from projects where path = ?", (str(path),)):
            return _project(row)
        project = Project(_slug(name or path.name), (name or path.name)[:80], str(path), now())
        taken = await db.execute_fetchall("select 1 from projects where id = ?", (project.id,))
        if any(True for _ in taken) or project.id in {DEFAULT, ""}:
            project = Project(new_id("prj"), project.name, project.path, project.created_at)
        await db.execute(
            "insert into projects (id, name, path, created_at) values (?, ?, ?, ?)",
            (project.id, project.name, project.path, project.created_at),
        )
    return project


async def remove(store: Store, named: str) -> Project:
    """Forget a project that nothing happened in yet; its folder is not touched."""
    project = await find(store, named)
    if project.id == DEFAULT:
        raise Refused("The default project stays.")
    try:
        await store.run("delete from projects where id = ?", project.id)
    except sqlite3.IntegrityError as error:
        raise Refused(
            f"{project.name} has runs, rooms, alerts, facts or tasks that name it; it stays so that they can be read."
        ) from error
    return project


async def root(store: Store, home: Home, project_id: str) -> Path:
    """The folder that a project's tools work in; the default project has one in the home, made here."""
    row = await store.one("select path from projects where id = ?", project_id)
    if row is not None and row["path"]:
        return Path(row["path"])
    home.workspace.mkdir(parents=True, exist_ok=True, mode=0o700)
    return home.workspace


def _project(row: sqlite3.Row) -> Project:
    return Project(row["id"], row["name"], row["path"], row["created_at"])


def _slug(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:48]
