"""The agents of a project as data: a name, what they are told, a model and a face. Calling one is elsewhere."""

import re
import sqlite3
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass, fields

from core import icons
from core.errors import Invalid, NotFound, Refused
from core.store import Store, new_id, now

MAX_INSTRUCTIONS = 50_000
_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,47}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Agent:
    """`model` is empty where the project's agents answer with the assistant's own."""

    id: str
    project_id: str
    slug: str
    name: str
    instructions: str
    model: str
    icon: str
    created_at: str


async def listed(store: Store, project_id: str | None = None) -> list[Agent]:
    """The agents of a project, or of all of them, in the order of their slugs."""
    rows = await store.all(
        "select * from agents where ?1 is null or project_id = ?1 order by project_id, slug", project_id
    )
    return [_agent(row) for row in rows]


async def find(store: Store, project_id: str, slug: str) -> Agent:
    """One agent by its slug."""
    row = await store.one(
        "select * from agents where project_id = ? and slug = ?", project_id, slug.strip().lower()
    )
    if row is None:
        raise NotFound(f"There is no agent {slug[:60]!r} in this project. `apx agent list` shows them.")
    return _agent(row)


async def add(
    store: Store,
    project_id: str,
    *,
    name: str,
    slug: str = "",
    instructions: str = "",
    model: str = "",
    icon: str = "",
    taken: Collection[str] = (),
) -> Agent:
    """A new agent; without an icon it gets one that nobody of its project wears, `taken` ones left out as well."""
    name = " ".join(name.split())[:80]
    slug = slug.strip().lower() or slug_of(name)
    if not name:
        raise Invalid("An agent needs a name.", fields=("name",))
    if not _SLUG.fullmatch(slug):
        raise Invalid(
            f"{slug[:60]!r} cannot be an agent's slug: small letters, digits and hyphens, 48 at most.",
            fields=("slug",),
        )
    if icon and icon not in icons.ICONS:
        raise Invalid(f"There is no icon {icon[:40]!r}; `apx identity show` names them.", fields=("icon",))
    if len(instructions) > MAX_INSTRUCTIONS:
        raise Invalid(f"Instructions have at most {MAX_INSTRUCTIONS} characters.", fields=("instructions",))
    worn = {one.icon for one in await listed(store, project_id)}
    agent = Agent(
        new_id("agt"), project_id, slug, name, instructions, model.strip(), icon or _face(worn, taken), now()
    )
    columns = [field.name for field in fields(Agent)]
    try:
        await store.run(
            f"insert into agents ({', '.join(columns)}) values ({', '.join('?' * len(columns))})",
            *(getattr(agent, column) for column in columns),
        )
    except sqlite3.IntegrityError as error:
        raise Refused(f"This project has an agent {slug!r} already. Give another slug.") from error
    return agent


async def remove(store: Store, project_id: str, slug: str) -> Agent:
    """Forget an agent; what it said and did stays to be read."""
    agent = await find(store, project_id, slug)
    await store.run("delete from agents where id = ?", agent.id)
    return agent


def slug_of(name: str) -> str:
    """A slug out of a name: no accents, no spaces."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain)[:48].strip("-")


def _face(worn: Collection[str], taken: Collection[str]) -> str:
    """The first face nobody wears; when all are worn, the first that is not the assistant's."""
    for avoided in ({*worn, *taken}, set(taken)):
        if left := [key for key in icons.ICONS if key not in avoided]:
            return left[0]
    return icons.DEFAULT


def _agent(row: sqlite3.Row) -> Agent:
    return Agent(**{field.name: row[field.name] for field in fields(Agent)})
