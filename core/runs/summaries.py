"""The summaries of long threads, as rows beside the lines they stand for. No line is ever changed or taken away.

They are written after a turn, so that nobody waits for one; what failed or lost something is kept as refused, with
why, and tried again some lines later.
"""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from core.errors import ApxError, NotFound
from core.events import Bus, ThreadCompacted
from core.runs import auxiliary, compaction
from core.runs.attempts import Desk
from core.runs.compaction import FIRST, MAX_LINES, Line, Summary
from core.runs.history import came_with
from core.runs.selection import unattended
from core.runs.spoken import without_thinking
from core.runs.turn import Message, Run, Turn
from core.store import Store, new_id, now

log = logging.getLogger(__name__)

PURPOSE = "compact"
TRY_AGAIN_AFTER = 10  # lines, when a summary was refused

_LATEST = (
    "select last_id, lines, summary from compactions where thread = ?1 and state = 'kept'"
    " order by last_id desc, id desc limit 1"
)
_SUMMED = "coalesce((select max(last_id) from compactions where thread = ?1 and state = 'kept'), 0)"
_BEFORE = (
    "select id, role, text, meta from messages where thread = ?1 and role in ('user', 'assistant')"
    " and id < coalesce((select min(id) from messages where run_id = ?2), 9223372036854775807)"
)


async def lines(store: Store, thread: str) -> list[Line]:
    """All that was said in a thread, oldest first."""
    rows = await store.all(
        "select id, role, text, meta from messages where thread = ? and role in ('user', 'assistant') order by id",
        thread,
    )
    return [_line(row) for row in rows]


async def latest(store: Store, thread: str) -> Summary | None:
    """The summary in force of a thread."""
    return _summary(await store.all(_LATEST, thread))


def _line(row: sqlite3.Row) -> Line:
    return Line(row["id"], row["role"], row["text"], came_with(row))


def _summary(rows: Sequence[sqlite3.Row]) -> Summary | None:
    return Summary(rows[0]["last_id"], rows[0]["lines"], rows[0]["summary"]) if rows else None


async def conversation(store: Store, thread: str, run_id: str) -> list[Message]:
    """A thread as a run is told it: without the run's own question. Never fails, and waits for no model.

    Of a long one only the two ends are read, whatever it has grown to.
    """
    kept, first, last, counted = await store.several(
        (_LATEST, (thread,)),
        (f"{_BEFORE} order by id limit ?3", (thread, run_id, FIRST)),
        (f"{_BEFORE} and id > {_SUMMED} order by id desc limit ?3", (thread, run_id, MAX_LINES + 1)),
        (f"select count(*) as lines from ({_BEFORE} and id > {_SUMMED})", (thread, run_id)),
    )
    begun, ends = [_line(row) for row in first], [_line(row) for row in reversed(last)]
    summary = _summary(kept)
    covered = summary.last_id if summary else 0
    apart = [one for one in begun if one not in ends]  # the first ones, where the latest do not reach them
    unread = counted[0]["lines"] - len(ends) - sum(one.id > covered for one in apart)
    return compaction.told([*begun, *(one for one in ends if one not in begun)], summary, unread=unread)


async def shown(store: Store, thread: str) -> dict[str, Any]:
    """How long a thread is, its summary in force, and every attempt at one; `NotFound` without lines."""
    said = await lines(store, thread)
    if not said:
        raise NotFound(f"Nothing was said in the thread {thread!r}.")
    rows = await store.all(
        "select id, at, state, why, lines, first_id, last_id, target, summary from compactions"
        " where thread = ? order by id desc limit 20",
        thread,
    )
    best = await latest(store, thread)
    return {
        "thread": thread,
        "lines": len(said),
        "told": len(compaction.told(said, best)),
        "summary": best.text if best else "",
        "attempts": [dict(row) for row in rows],
    }


class Summaries:
    """Writes them, one thread at a time each, while the block of `open` lasts."""

    def __init__(self, store: Store, bus: Bus, desk: Desk, lang: Callable[[], str]) -> None:
        self._store, self._bus, self._desk, self._lang = store, bus, desk, lang
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def after(self, run: Run) -> None:
        """A run has ended: see whether its thread has grown too long."""
        thread = run.turn.thread
        if run.turn.sealed or run.turn.previous or run.turn.cue or not thread or thread in self._tasks:
            return
        task = asyncio.create_task(self._look(run), name=f"summary of {thread}")
        self._tasks[thread] = task
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks = {thread: one for thread, one in self._tasks.items() if one is not task}
        if not task.cancelled() and (bug := task.exception()):
            log.error("A summary met a bug", exc_info=bug)

    async def settled(self) -> None:
        """Wait for those that are being written."""
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _look(self, run: Run) -> None:
        row = await self._store.one(
            "select count(*) as lines, coalesce(sum(length(text)), 0) as chars from messages"
            f" where thread = ?1 and (id > {_SUMMED} or id in (select id from messages where thread = ?1"
            " and role in ('user', 'assistant') order by id limit ?2))",
            *(run.turn.thread, FIRST),
        )
        if row and (row["lines"] > MAX_LINES or row["chars"] > compaction.CONTEXT_CHARS):
            await self._write(run, force=False)

    async def now(self, thread: str) -> dict[str, Any]:
        """Sum a thread up because somebody asked for it: `shown`, with why not where that could not be."""
        row = await self._store.one(
            "select id, channel, project_id, target, cost_micros, priced from runs where thread = ? and target != ''"
            " order by started_at desc limit 1",
            thread,
        )
        if row is None:
            raise NotFound(f"No model has answered in the thread {thread!r}.")
        turn = Turn(
            text="", channel=row["channel"], thread=thread, sender="owner", project_id=row["project_id"]
        )
        if (running := self._tasks.get(thread)) is not None:
            await asyncio.gather(running, return_exceptions=True)
        run = Run(id=row["id"], turn=turn, target=row["target"])
        run.cost_micros, run.priced = row["cost_micros"], bool(row["priced"])  # the new cost comes on top
        why = await self._write(run, force=True)
        return await shown(self._store, thread) | {"why": why}

    async def _write(self, run: Run, *, force: bool) -> str:
        """One attempt; why there is no new summary, or nothing."""
        thread = run.turn.thread
        said, before = await lines(self._store, thread), await latest(self._store, thread)
        open_ = [*said[:FIRST], *(one for one in said[FIRST:] if before is None or one.id > before.last_id)]
        if not force and not compaction.too_long(open_):
            return ""
        _, middle, _ = compaction.split(open_)
        if not middle:
            return "There are not enough lines to sum up."
        if not force and await self._refused_lately(thread, middle):
            return ""
        text, target, why = await self._ask(run, middle, before)
        count = len(middle) + (before.lines if before else 0)
        await self._store.run(
            "insert into compactions (id, thread, first_id, last_id, lines, summary, state, why, target, run_id,"
            " at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(new_id("cmp"), thread, said[FIRST].id, middle[-1].id, count, text),
            *("refused" if why else "kept", why, target, run.id, now()),
        )
        if why:
            log.info("The summary of thread %s was refused: %s", thread, why)
            return why
        self._bus.emit(ThreadCompacted(thread=thread, lines=count, project_id=run.turn.project_id))
        return ""

    async def _ask(self, run: Run, middle: Sequence[Line], before: Summary | None) -> tuple[str, str, str]:
        """The summary, who wrote it, and why it cannot be used."""
        wanted = compaction.anchors(middle)
        try:
            reply, target = await auxiliary.ask(
                self._desk,
                run,
                compaction.question(middle, before, wanted),
                purpose=PURPOSE,
                max_tokens=compaction.MAX_TOKENS,
                lang=self._lang(),
                unattended=unattended(run.turn),
            )
        except ApxError as error:
            return "", "", str(error)
        text = without_thinking(reply.text)
        return text, target, compaction.lost(text, wanted, reply.finish)

    async def _refused_lately(self, thread: str, middle: Sequence[Line]) -> bool:
        row = await self._store.one(
            "select max(last_id) as last_id from compactions where thread = ? and state = 'refused'", thread
        )
        if row is None or row["last_id"] is None:
            return False
        return sum(one.id > int(row["last_id"]) for one in middle) < TRY_AGAIN_AFTER
