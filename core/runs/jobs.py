"""Work that one agent handed to another, kept: it outlives the turn that asked, and the process that did it.

A job ends once: the first ending stays. Whoever wakes its asker claims that first, so that a result never wakes twice.
"""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from core.errors import Invalid, NotFound
from core.store import Store, new_id, now

MAX_BODY = 2000
MAX_RESULT = 8000
LIFE_S = 3600.0
KEPT_DAYS = 7


class State(StrEnum):
    """How a job stands. Only `RUNNING` is not an ending, and only `DONE` brought an answer."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    LOST = "lost"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Job:
    """One hand-over. `waited` says that somebody waits for it, `wake` that its asker is woken when it ends.

    `origin` is the conversation with the owner that it came out of, where there is one that can be written to.
    """

    id: str
    project_id: str
    kind: str
    sender: str
    sender_project: str
    recipient: str
    thread: str
    body: str
    wake: bool
    waited: bool
    depth: int
    status: State
    run_id: str
    parent_id: str | None
    created_at: str
    deadline_at: str
    closed_at: str | None
    result: str
    woken_at: str | None
    origin: dict[str, str] = field(default_factory=dict)

    @property
    def running_s(self) -> int:
        """For how long it has gone on, or did."""
        until = datetime.fromisoformat(self.closed_at) if self.closed_at else datetime.now(UTC)
        return max(0, int((until - datetime.fromisoformat(self.created_at)).total_seconds()))

    def shown(self) -> dict[str, Any]:
        """As programs read it: who asked is `from`, who works is `to`."""
        values = asdict(self) | {"running_s": self.running_s}
        del values["origin"]
        return {
            {"sender": "from", "recipient": "to"}.get(name, name): value for name, value in values.items()
        }


async def begin(
    store: Store,
    *,
    project_id: str,
    sender: str,
    sender_project: str,
    recipient: str,
    thread: str,
    body: str,
    wake: bool,
    waited: bool,
    depth: int,
    parent_id: str | None = None,
    life_s: float = LIFE_S,
    kind: str = "a2a",
    origin: Mapping[str, str] | None = None,
) -> Job:
    """A job that runs from now on; committed before anything is asked of anybody."""
    at = datetime.now(UTC)
    job = Job(
        id=new_id("job"),
        project_id=project_id,
        kind=kind,
        sender=sender,
        sender_project=sender_project,
        recipient=recipient,
        thread=thread,
        body=_cut(body, MAX_BODY),
        wake=wake,
        waited=waited,
        depth=depth,
        status=State.RUNNING,
        run_id=new_id("run") if kind == "a2a" else "",  # a program's work is no run of ours
        parent_id=parent_id,
        created_at=at.isoformat(timespec="milliseconds"),
        deadline_at=(at + timedelta(seconds=life_s)).isoformat(timespec="milliseconds"),
        closed_at=None,
        result="",
        woken_at=None,
        origin=dict(origin or {}),
    )
    values = asdict(job) | {"origin": json.dumps(job.origin) if job.origin else ""}
    await store.run(
        f"insert into jobs ({', '.join(values)}) values ({', '.join('?' * len(values))})", *values.values()
    )
    return job


async def close(store: Store, id: str, status: State, result: str) -> bool:
    """End a job; whether this was its first ending."""
    return bool(
        await store.run(
            "update jobs set status = ?, result = ?, closed_at = ?, waited = 0 where id = ? and status = 'running'",
            *(status, _cut(result, MAX_RESULT), now(), id),
        )
    )


async def leave(store: Store, id: str) -> bool:
    """Nobody waits for it any more: its asker will be woken. False when it has ended meanwhile."""
    return bool(
        await store.run(
            "update jobs set waited = 0, wake = 1 where id = ? and status = 'running' and waited", id
        )
    )


async def claim(store: Store, id: str) -> bool:
    """Take the waking of a job's asker; whoever comes second gets False."""
    return bool(await store.run("update jobs set woken_at = ? where id = ? and woken_at is null", now(), id))


async def lose_running(store: Store, result: str) -> int:
    """Close what a former process left running; how many there were."""
    return await store.run(
        "update jobs set status = 'lost', result = ?, closed_at = ?, waited = 0 where status = 'running'",
        *(result, now()),
    )


async def prune(store: Store, days: float = KEPT_DAYS) -> int:
    """Forget jobs that ended long ago and whose askers know; how many there were."""
    before = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="milliseconds")
    return await store.run(
        "delete from jobs where status != 'running' and closed_at < ? and (not wake or woken_at is not null)",
        before,
    )


async def unwoken(store: Store) -> list[Job]:
    """Those that ended without their asker having been told."""
    rows = await store.all(
        "select * from jobs where status != 'running' and wake and woken_at is null order by id"
    )
    return [_job(row) for row in rows]


async def find(store: Store, id: str) -> Job:
    """One job by id."""
    row = await store.one("select * from jobs where id = ?", id)
    if row is None:
        raise NotFound(f"There is no job {id[:60]!r}.")
    return _job(row)


async def recent(
    store: Store,
    *,
    open: bool = False,
    project_id: str | None = None,
    sender: str | None = None,
    recipient: str | None = None,
    status: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> list[Job]:
    """The latest jobs, newest first; an unknown status is an error."""
    where, values = _where(open, project_id, sender, recipient, status)
    rows = await store.all(
        f"select * from jobs where {where} order by created_at desc, id desc limit ? offset ?",
        *(*values, limit, offset),
    )
    return [_job(row) for row in rows]


async def count(
    store: Store,
    *,
    open: bool = False,
    project_id: str | None = None,
    sender: str | None = None,
    recipient: str | None = None,
    status: str | None = None,
) -> int:
    """How many there are of a kind."""
    where, values = _where(open, project_id, sender, recipient, status)
    row = await store.one(f"select count(*) as n from jobs where {where}", *values)
    return int(row["n"]) if row else 0


def _where(
    open: bool, project_id: str | None, sender: str | None, recipient: str | None, status: str | None
) -> tuple[str, list[str]]:
    if status is not None and status not in set(State):
        raise Invalid(f"No such status: {status[:40]}. There are: {', '.join(State)}.", fields=("status",))
    wanted = {"project_id": project_id, "sender": sender, "recipient": recipient, "status": status}
    parts = [f"{name} = ?" for name, value in wanted.items() if value is not None]
    parts += ["status = 'running'"] if open else []
    return " and ".join(parts) or "1", [value for value in wanted.values() if value is not None]


async def at_work(store: Store) -> list[dict[str, Any]]:
    """Who works now, for whom, and below each what it has handed on: the composer's list."""
    rows = await store.all(
        "select jobs.*, agents.name as agent_name, agents.icon as agent_icon from jobs"
        " left join agents on agents.project_id = jobs.project_id and agents.slug = jobs.recipient"
        " where status = 'running' order by jobs.id"
    )
    entries: dict[str, dict[str, Any]] = {}
    for row in rows:
        job = _job(row)
        entries[job.id] = {
            "job_id": job.id,
            "from": job.sender,
            "agent": job.recipient,
            "name": row["agent_name"] or "",
            "icon": row["agent_icon"] or "",
            "project_id": job.project_id,
            "thread": job.thread,
            "run_id": job.run_id,
            "what": job.body[:200],
            "waited": job.waited,
            "since": job.created_at,
            "running_s": job.running_s,
            "below": [],
        }
    roots: list[dict[str, Any]] = []
    for row in rows:
        above = entries.get(row["parent_id"])
        (above["below"] if above else roots).append(entries[row["id"]])
    return roots


def _job(row: sqlite3.Row) -> Job:
    values: dict[str, Any] = {one.name: row[one.name] for one in fields(Job)}
    values |= {name: bool(row[name]) for name in ("wake", "waited")}
    origin = json.loads(row["origin"]) if row["origin"] else {}
    return Job(**values | {"status": State(row["status"]), "origin": origin})


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
