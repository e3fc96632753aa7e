"""The worker of one outward channel: in order, at its pace, never twice what may have arrived."""

import asyncio
import json
import logging
import sqlite3
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from core.errors import ApxError, NotConfigured
from core.message import Later, Message, OutcomeUnknown, Part, unpacked, whole
from core.store import Store, now

log = logging.getLogger(__name__)

LONGEST_REST_S = 24 * 3600.0  # a clock that jumped must not silence a channel for ever

Send = Callable[[Part], Awaitable[str]]
Split = Callable[[Message], list[Part]]
Tell = Callable[[str, str, str, str], None]


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast one recipient is written to, and how long a failure without effect rests."""

    burst: int = 5
    per_s: float = 1.0
    first_s: float = 1.0
    most_s: float = 60.0

    def rest_s(self, attempts: int, after_s: float | None) -> float:
        """What the channel asked for, or a back-off that doubles."""
        return min(
            after_s or self.first_s * 2 ** min(attempts - 1, 20), LONGEST_REST_S if after_s else self.most_s
        )


async def finish(store: Store, tell: Tell, id: str) -> None:
    """Close a message whose parts are all closed."""
    rows = await store.all(
        "select state, reason, receipt from outbox_parts where message_id = ? order by position", id
    )
    state, reason = whole([(row["state"], row["reason"]) for row in rows])
    receipts = json.dumps([row["receipt"] for row in rows if row["state"] == "delivered"])
    await store.run(
        "update outbox set state = ?, reason = ?, receipt = ?, closed_at = ? where id = ?",
        *(state, reason, receipts, now(), id),
    )
    row = await store.one("select channel from outbox where id = ?", id)
    tell(id, row["channel"] if row else "", state, reason)


class Lane:
    """A channel that takes messages. One worker, so that nothing overtakes; nothing runs before `begin`."""

    def __init__(self, channel: str, send: Send, split: Split, store: Store, tell: Tell, pace: Pace) -> None:
        self.channel = channel
        self.wake = asyncio.Event()
        self._send, self._split, self._store, self._tell, self._pace = send, split, store, tell, pace
        self._closing = False
        self._task: asyncio.Task[None] | None = None
        self._again: asyncio.TimerHandle | None = None
        # Message id → monotonic time: what the channel asked for, and what is only our patience.
        self._asked_until: dict[str, float] = {}
        self._rest_until: dict[str, float] = {}
        self._recent: dict[str, deque[float]] = {}

    def begin(self) -> None:
        """Start sending."""
        if self._task is None or self._task.done():
            self._closing = False
            self._task = asyncio.create_task(self._work(), name=f"outbox {self.channel}")
            self._task.add_done_callback(self._ended)

    async def end(self, *, patience_s: float = 5.0) -> None:
        """Stop; a request that is out gets a moment to come back."""
        self._closing = True
        self.wake.set()
        if self._again:
            self._again.cancel()
        if self._task:
            await asyncio.wait({self._task}, timeout=patience_s)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def hurry(self) -> None:
        """Something changed that may let messages through; a wait that the channel asked for stays."""
        self._rest_until.clear()
        self.wake.set()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or (bug := task.exception()) is None:
            return
        # The part that met the bug is marked unknown, so going on cannot repeat it.
        log.error("Sending on %s met a bug", self.channel, exc_info=bug)
        if not self._closing:
            self._again = asyncio.get_running_loop().call_later(5, self.begin)

    async def _work(self) -> None:
        while not self._closing:
            self.wake.clear()
            part, rest_s = await self._next()
            if part is None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.wake.wait(), rest_s)
            elif await self._paced(part.to):
                await self._attempt(part)

    async def _next(self) -> tuple[Part | None, float | None]:
        """The part whose turn it is, or how long nothing is to be done.

        A resting recipient holds up its own later messages and nobody else's.
        """
        held: set[str] = set()
        soonest: float | None = None
        rows = await self._store.all(
            "select * from outbox where channel = ? and state in ('queued', 'attempted') order by rowid",
            self.channel,
        )
        for row in rows:
            if row["recipient"] in held:
                continue
            part = await self._part(row)
            if part is None:
                continue
            id = row["id"]
            wait_s = max(self._asked_until.get(id, 0), self._rest_until.get(id, 0)) - time.monotonic()
            if wait_s <= 0:
                return part, None
            held.add(row["recipient"])
            soonest = min(wait_s, soonest or wait_s)
        return None, soonest

    async def _part(self, row: sqlite3.Row) -> Part | None:
        """The first part of a message that is still to be sent; a message without any is closed."""
        id = row["id"]
        if await self._store.one("select 1 from outbox_parts where message_id = ?", id) is None:
            await self._cut(row)
        found = await self._store.one(
            "select position, payload, not_before from outbox_parts"
            " where message_id = ? and state = 'queued' order by position limit 1",
            id,
        )
        if found is None:
            await finish(self._store, self._tell, id)
            return None
        if found["not_before"] and id not in self._asked_until:
            rest = datetime.fromisoformat(found["not_before"]) - datetime.now(UTC)
            self._asked_until[id] = time.monotonic() + min(rest.total_seconds(), LONGEST_REST_S)
        values = unpacked(json.loads(found["payload"]))
        return Part(**values, to=row["recipient"], message_id=id, position=found["position"])

    async def _cut(self, row: sqlite3.Row) -> None:
        message = Message(
            channel=self.channel,
            to=row["recipient"],
            kind=row["kind"],
            origin=json.loads(row["origin"]),
            **unpacked(json.loads(row["payload"])),
        )
        why = "There was nothing in it to send."
        parts: list[Part] = []
        try:
            parts = self._split(message)
        except ApxError as error:
            why = str(error)
        cut = [(json.dumps(part.payload()), "queued", "") for part in parts] or [("{}", "rejected", why)]
        async with self._store.transaction() as db:
            await db.executemany(
                "insert into outbox_parts (message_id, position, payload, state, reason)"
                " values (?, ?, ?, ?, ?)",
                [(row["id"], position, *values) for position, values in enumerate(cut)],
            )

    async def _attempt(self, part: Part) -> None:
        id = part.message_id
        async with self._store.transaction() as db:
            await db.execute(
                "update outbox_parts set state = 'attempted', attempts = attempts + 1, attempted_at = ?,"
                " not_before = null where message_id = ? and position = ?",
                (now(), id, part.position),
            )
            first = await db.execute(
                "update outbox set state = 'attempted' where id = ? and state = 'queued'", (id,)
            )
        self._rest_until.pop(id, None)
        self._asked_until.pop(id, None)
        if first.rowcount:
            self._tell(id, self.channel, "attempted", "")
        try:
            receipt = await self._send(part)
        except Later as error:
            await self._rest(part, error)
        except OutcomeUnknown as error:
            await self._mark(part, "unknown", str(error))
        except NotConfigured as error:
            await self._mark(part, "not_attempted", str(error))
        except ApxError as error:
            await self._mark(part, "rejected", str(error))
        except BaseException:
            # Cancelled, or a bug of ours, with the request possibly out.
            await self._mark(part, "unknown", "The sending was cut off before an answer came.")
            raise
        else:
            await self._mark(part, "delivered", "", receipt)

    async def _rest(self, part: Part, error: Later) -> None:
        id = part.message_id
        row = await self._store.one(
            "select attempts from outbox_parts where message_id = ? and position = ?", id, part.position
        )
        rest_s = self._pace.rest_s(row["attempts"] if row else 1, error.after_s)
        (self._asked_until if error.after_s else self._rest_until)[id] = time.monotonic() + rest_s
        until = None
        if error.after_s:  # kept over a restart; our own patience begins anew
            until = (datetime.now(UTC) + timedelta(seconds=rest_s)).isoformat(timespec="milliseconds")
        async with self._store.transaction() as db:
            await db.execute(
                "update outbox_parts set state = 'queued', reason = ?, not_before = ?"
                " where message_id = ? and position = ?",
                (str(error), until, id, part.position),
            )
            await db.execute("update outbox set state = 'queued', reason = ? where id = ?", (str(error), id))
        self._tell(id, self.channel, "queued", str(error))

    async def _mark(self, part: Part, state: str, reason: str, receipt: str = "") -> None:
        where = (part.message_id, part.position)
        async with self._store.transaction() as db:
            await db.execute(
                "update outbox_parts set state = ?, reason = ?, receipt = ?"
                " where message_id = ? and position = ?",
                (state, reason, receipt, *where),
            )
            if state in {"rejected", "not_attempted"}:
                # What follows a refused part would be read without its beginning.
                await db.execute(
                    "update outbox_parts set state = 'not_attempted', reason = ?"
                    " where message_id = ? and position > ?",
                    (reason, *where),
                )
        left = "select 1 from outbox_parts where message_id = ? and state = 'queued'"
        if await self._store.one(left, part.message_id) is None:
            await finish(self._store, self._tell, part.message_id)

    async def _paced(self, to: str) -> bool:
        """A few at once, then one recipient's pace; False when the lane closed meanwhile."""
        recent = self._recent.setdefault(to, deque(maxlen=self._pace.burst))
        while len(recent) == recent.maxlen and not self._closing:
            wait_s = recent[0] + self._pace.burst / self._pace.per_s - time.monotonic()
            if wait_s <= 0:
                break
            self.wake.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self.wake.wait(), wait_s)
        recent.append(time.monotonic())
        return not self._closing
