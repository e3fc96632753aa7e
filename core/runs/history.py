"""What happened, kept: runs, their steps, and what was said in each thread."""

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from core.errors import Invalid, NotFound
from core.runs.turn import Attachment, Message, Run, Status, Turn
from core.store import Statement, Store, new_id, now


@dataclass(frozen=True, slots=True)
class Row:
    """A run as a list shows it."""

    id: str
    project_id: str
    parent_id: str | None
    channel: str
    thread: str
    sender: str
    status: Status
    text: str
    target: str
    selected_by: str
    error_kind: str
    tokens_in: int
    tokens_out: int
    cost_micros: int
    priced: int
    started_at: str
    closed_at: str | None
    ending: str
    judge: list[dict[str, Any]]


async def begin(store: Store, turn: Turn, parent_id: str | None = None) -> Run:
    """A run that has started, and the question in its thread; committed before anything is asked of a model."""
    run = Run(id=turn.run_id or new_id("run"), turn=turn)
    opened: Statement = (
        "insert into runs (id, project_id, parent_id, channel, thread, sender, answerer, status, started_at)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(run.id, turn.project_id, parent_id, turn.channel, turn.thread, turn.sender, turn.answerer),
            *(run.status, now()),
        ),
    )
    asked: Statement = (
        "insert into messages (thread, channel, author, role, text, run_id, at, meta)"
        " values (?, ?, ?, 'user', ?, ?, ?, ?)",
        (turn.thread, turn.channel, turn.sender, turn.text, run.id, now(), _with(turn)),
    )
    brought: list[Statement] = [
        ("update media set run_id = ? where id = ? and run_id is null", (run.id, file.media_id))
        for file in turn.attachments
    ]
    # The line of a room stands in the thread already, for several runs: each keeps which one it answered.
    cued: Statement = (STEP, step_values(run.id, "asked", {"text": turn.text, "author": turn.sender}))
    said = [] if turn.sealed else [cued] if turn.cue else [asked]
    await store.together(opened, *said, *brought)
    return run


def _with(turn: Turn) -> str:
    """What is kept beside a question: the files that came with it."""
    files = [asdict(one) | {"path": str(one.path)} for one in turn.attachments]
    return json.dumps({"files": files} if files else {}, ensure_ascii=False)


def came_with(row: sqlite3.Row) -> tuple[Attachment, ...]:
    """The files that came with the question of a row; those of an answer are the owner's, not the model's."""
    if row["role"] != "user" or row["meta"] == "{}":
        return ()
    files = json.loads(row["meta"]).get("files") or ()
    return tuple(Attachment(**one | {"path": Path(one["path"])}) for one in files if "path" in one)


async def close(store: Store, run: Run, *, author: str = "agent") -> None:
    """The ending of a run, with its answer in the thread; what failed stays there as a note, not as an answer."""
    answered = run.status in (Status.DONE, Status.BUDGET_EXCEEDED) and not run.turn.aside
    role = "assistant" if answered else "note"
    files = [
        {"media_id": f.media_id, "name": f.name, "kind": f.kind, "caption": f.caption} for f in run.files
    ]
    meta = json.dumps(
        {"status": run.status}
        | ({"files": files} if files else {})
        | ({"judge": run.judge} if run.judge else {})
        | ({"questions": [asdict(one) for one in run.questions]} if run.questions else {}),
        ensure_ascii=False,
    )
    closed: Statement = (
        "update runs set status = ?, text = ?, target = ?, error_kind = ?, tokens_in = ?, tokens_out = ?,"
        " closed_at = ?, ending = ?, judge = ? where id = ?",
        (
            *(run.status, run.text, run.target, run.error_kind or "", run.tokens_in, run.tokens_out),
            *(now(), run.ending, json.dumps(run.judge, ensure_ascii=False), run.id),
        ),
    )
    said: Statement = (
        "insert into messages (thread, channel, author, role, text, run_id, at, meta)"
        " values (?, ?, ?, ?, ?, ?, ?, ?)",
        (run.turn.thread, run.turn.channel, author, role, run.text, run.id, now(), meta),
    )
    kept = not run.turn.sealed and (run.text or run.files)
    await store.together(closed, *([said] if kept else []))


async def selected(store: Store, run_id: str, target: str, by: str) -> None:
    """Which model a run goes to, and who chose it; the question in the thread says so, too."""
    await store.together(
        ("update runs set target = ?, selected_by = ? where id = ?", (target, by, run_id)),
        (
            "update messages set meta = json_set(meta, '$.selected_by', ?, '$.target', ?)"
            " where run_id = ? and role = 'user'",
            (by, target, run_id),
        ),
    )


STEP = "insert into run_steps (run_id, at, kind, body) values (?, ?, ?, ?)"


def step_values(run_id: str, kind: str, body: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """The values of `STEP`, for whoever keeps a step together with something else."""
    return run_id, now(), kind, json.dumps(body, ensure_ascii=False, default=str)


async def step(store: Store, run_id: str, kind: str, body: Mapping[str, Any]) -> None:
    """One more thing that happened in a run: request, reply, failure, tool, judge, stuck or note."""
    await store.run(STEP, *step_values(run_id, kind, body))


async def lose_unfinished(store: Store) -> int:
    """Close what a former process left running: its outcome is not known. How many there were."""
    return await store.run(
        "update runs set status = ?, closed_at = ? where status = ?", Status.LOST, now(), Status.RUNNING
    )


async def recent(
    store: Store,
    *,
    status: Collection[str] = (),
    project_id: str | None = None,
    channel: str | None = None,
    limit: int = 50,
) -> list[Row]:
    """The latest runs, newest first.

    An unknown status is an error: an empty page has to mean "no such runs".
    """
    if unknown := set(status) - {str(one) for one in Status}:
        raise Invalid(
            f"No such status: {', '.join(sorted(unknown))}. There are: {', '.join(Status)}.",
            fields=("status",),
        )
    wanted = sorted(set(status) or {str(one) for one in Status})
    where, values = f"status in ({', '.join('?' * len(wanted))})", list(wanted)
    for name, value in (("project_id", project_id), ("channel", channel)):
        if value is not None:
            where, values = f"{where} and {name} = ?", [*values, value]
    rows = await store.all(
        f"select * from runs where {where} order by started_at desc, id desc limit ?", *values, limit
    )
    return [_row(row) for row in rows]


def _row(row: sqlite3.Row) -> Row:
    values = {field.name: row[field.name] for field in fields(Row)}
    return Row(**values | {"status": Status(row["status"]), "judge": json.loads(row["judge"])})


async def find(store: Store, run_id: str) -> Row:
    """One run by id."""
    row = await store.one("select * from runs where id = ?", run_id)
    if row is None:
        raise NotFound(f"There is no run {run_id}.")
    return _row(row)


async def steps(store: Store, run_id: str) -> list[dict[str, Any]]:
    """Everything that happened in a run, in order."""
    rows = await store.all("select at, kind, body from run_steps where run_id = ? order by id", run_id)
    return [{"at": row["at"], "kind": row["kind"], **json.loads(row["body"])} for row in rows]


async def transcript(store: Store, run_id: str) -> list[dict[str, Any]]:
    """What was said and done in a run, by its id and not by its time: question, tool calls, answer."""
    await find(store, run_id)
    said = await store.all(
        "select role, author, text, at, meta from messages where run_id = ? order by id", run_id
    )
    lines = [{"kind": row["role"], **dict(row), "meta": json.loads(row["meta"])} for row in said]
    done = [
        one
        for one in await steps(store, run_id)
        if one["kind"] in {"tool", "failure", "note", "judge", "stuck"}
    ]
    asked = [one | {"kind": "user"} for one in await steps(store, run_id) if one["kind"] == "asked"]
    opening = [*asked, *(line for line in lines if line["kind"] == "user")]
    return [*opening, *done, *(line for line in lines if line["kind"] != "user")]


async def conversation(store: Store, thread: str, *, limit: int = 40) -> list[Message]:
    """The last lines of a thread, oldest first, as a model is shown them."""
    rows = await store.all(
        "select role, text from messages where thread = ? and role in ('user', 'assistant') order by id desc limit ?",
        thread,
        limit,
    )
    return [Message(row["role"], row["text"]) for row in reversed(rows)]


async def active_threads(
    store: Store, *, besides: str, hours: float = 6, threads: int = 3, lines: int = 3
) -> list[tuple[str, Sequence[Message]]]:
    """The owner's latest conversations on other channels, newest first: (channel, last lines)."""
    since = (datetime.now(UTC) - timedelta(hours=hours)).isoformat(timespec="milliseconds")
    rows = await store.all(
        "with latest as (select thread, channel, max(id) as last from messages where thread != ? and at >= ?"
        " and channel not in ('a2a', 'group') and role in ('user', 'assistant')"
        " group by thread order by last desc limit ?)"
        " select latest.thread, latest.channel, said.role, said.text from latest join messages as said on said.id in"
        " (select id from messages where thread = latest.thread and role in ('user', 'assistant')"
        " order by id desc limit ?) order by latest.last desc, said.id",
        *(besides, since, threads, lines),
    )
    return [
        (channel, [Message(row["role"], row["text"]) for row in said])
        for (_, channel), said in groupby(rows, key=itemgetter("thread", "channel"))
    ]


async def between(store: Store, thread: str, me: str, *, limit: int) -> list[Message]:
    """The last lines of a thread of two agents as one of them remembers it: its own words, notes too, are its answers.

    The other's notes were for itself alone.
    """
    rows = await store.all(
        "select author, text from messages where thread = ? and text != '' and (role != 'note' or author = ?)"
        " order by id desc limit ?",
        *(thread, me, limit),
    )
    return [Message("assistant" if row["author"] == me else "user", row["text"]) for row in reversed(rows)]


async def left_in(store: Store, thread: str, channel: str, author: str, text: str) -> None:
    """A line that joins a thread and asks nobody for an answer."""
    await store.run(
        "insert into messages (thread, channel, author, role, text, at) values (?, ?, ?, 'user', ?, ?)",
        *(thread, channel, author, text, now()),
    )
