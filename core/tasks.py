"""What is to be done, by project, with its thread of comments."""

import sqlite3
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any

from core.errors import Invalid, NotFound
from core.events import Bus, TaskChanged
from core.store import Store, now

STATES = ("open", "done", "dropped")
STATUSES = ("pending", "running", "in_review", "blocked")
MAX_TITLE, MAX_BODY, MAX_COMMENT = 200, 20_000, 10_000


@dataclass(frozen=True, slots=True)
class Task:
    """`state` is whether it is still to be done, `status` how far it is while it is open; `due` a date or a moment."""

    id: int
    project_id: str
    title: str
    body: str
    state: str
    status: str
    due: str | None
    author: str
    run_id: str | None
    created_at: str
    updated_at: str
    closed_at: str | None
    comments: int


@dataclass(frozen=True, slots=True)
class Comment:
    """One line of a task's thread."""

    id: int
    task_id: int
    author: str
    text: str
    run_id: str | None
    at: str


SELECT = "select t.*, (select count(*) from task_comments c where c.task_id = t.id) as comments from tasks t"


def _task(row: sqlite3.Row) -> Task:
    return Task(**dict(row))


def _text(value: Any, name: str, limit: int) -> str:
    text = str(value).strip()
    if name == "title":
        text = " ".join(text.split())
    if not text and name != "body":
        raise Invalid(f"The {name} is empty.", fields=(name,))
    if len(text) > limit:
        raise Invalid(f"The {name} has {len(text)} letters; {limit} fit.", fields=(name,))
    return text


def _due(value: Any) -> str | None:
    if value in (None, ""):
        return None
    text = str(value).strip()
    try:
        if len(text) <= 10:
            return date.fromisoformat(text).isoformat()
        return datetime.fromisoformat(text.replace("Z", "+00:00")).isoformat(timespec="minutes")
    except ValueError as error:
        raise Invalid(
            f"{text[:40]!r} is no date. Write it like 2026-03-31 or 2026-03-31T18:00.", fields=("due",)
        ) from error


def _choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise Invalid(f"{name} is one of {', '.join(choices)}.", fields=(name,))
    return str(value)


_CHECKS = {
    "title": lambda value: _text(value, "title", MAX_TITLE),
    "body": lambda value: _text(value, "body", MAX_BODY),
    "state": lambda value: _choice(value, "state", STATES),
    "status": lambda value: _choice(value, "status", STATUSES),
    "due": _due,
}


async def create(
    store: Store,
    bus: Bus,
    *,
    project_id: str,
    title: str,
    body: str = "",
    due: str | None = None,
    author: str = "owner",
    run_id: str | None = None,
) -> Task:
    """A new task, open and pending."""
    at = now()
    values = (
        project_id,
        _text(title, "title", MAX_TITLE),
        _text(body, "body", MAX_BODY),
        _due(due),
        author,
        run_id,
    )
    async with store.transaction() as db:
        cursor = await db.execute(
            "insert into tasks (project_id, title, body, due, author, run_id, created_at, updated_at)"
            " values (?, ?, ?, ?, ?, ?, ?, ?)",
            (*values, at, at),
        )
        id = int(cursor.lastrowid or 0)
    return await _told(store, bus, id, run_id)


async def listed(
    store: Store, *, project_id: str | None = None, state: str | None = "open", limit: int = 200
) -> list[Task]:
    """Tasks of one project or of all: what is due first stands first, the undated after it, newest last."""
    if state is not None:
        _choice(state, "state", STATES)
    rows = await store.all(
        f"{SELECT} where (?1 is null or project_id = ?1) and (?2 is null or state = ?2)"
        " order by state != 'open', due is null, due, id limit ?3",
        *(project_id, state, limit),
    )
    return [_task(row) for row in rows]


async def find(store: Store, task_id: int, project_id: str | None = None) -> Task:
    """One task; of another project it is not found."""
    row = await store.one(f"{SELECT} where id = ?1 and (?2 is null or project_id = ?2)", task_id, project_id)
    if row is None:
        raise NotFound(f"There is no task {task_id}. `apx task list` shows them.")
    return _task(row)


async def thread(store: Store, task_id: int) -> list[Comment]:
    """What was said about a task, oldest first."""
    rows = await store.all("select * from task_comments where task_id = ? order by id", task_id)
    return [Comment(**dict(row)) for row in rows]


async def whole(store: Store, task_id: int, project_id: str | None = None) -> dict[str, Any]:
    """A task with its thread, as JSON."""
    task = asdict(await find(store, task_id, project_id))
    return task | {"thread": [asdict(one) for one in await thread(store, task_id)]}


async def update(
    store: Store,
    bus: Bus,
    task_id: int,
    changes: dict[str, Any],
    *,
    project_id: str | None = None,
    run_id: str | None = None,
) -> Task:
    """Change fields of a task: title, body, state, status, due. All of them or none."""
    before = await find(store, task_id, project_id)
    if unknown := set(changes) - set(_CHECKS):
        raise Invalid(f"A task has no {', '.join(sorted(unknown))}.", fields=tuple(sorted(unknown)))
    if not changes:
        raise Invalid("Name at least one field to change.")
    values = {name: _CHECKS[name](value) for name, value in changes.items()}
    at = now()
    if values.get("state", before.state) != before.state:
        values["closed_at"] = None if values["state"] == "open" else at
    names = ", ".join(f"{name} = ?" for name in values)
    await store.run(f"update tasks set {names}, updated_at = ? where id = ?", *values.values(), at, task_id)
    return await _told(store, bus, task_id, run_id)


async def comment(
    store: Store,
    bus: Bus,
    task_id: int,
    text: str,
    *,
    author: str = "owner",
    project_id: str | None = None,
    run_id: str | None = None,
) -> Comment:
    """One more line in a task's thread."""
    said = _text(text, "comment", MAX_COMMENT)
    await find(store, task_id, project_id)
    at = now()
    async with store.transaction() as db:
        cursor = await db.execute(
            "insert into task_comments (task_id, author, text, run_id, at) values (?, ?, ?, ?, ?)",
            (task_id, author, said, run_id, at),
        )
        await db.execute("update tasks set updated_at = ? where id = ?", (at, task_id))
    await _told(store, bus, task_id, run_id)
    return Comment(int(cursor.lastrowid or 0), task_id, author, said, run_id, at)


async def _told(store: Store, bus: Bus, task_id: int, run_id: str | None) -> Task:
    task = await find(store, task_id)
    bus.emit(TaskChanged(task_id=task.id, state=task.state, project_id=task.project_id, run_id=run_id))
    return task
