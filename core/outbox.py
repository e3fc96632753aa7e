"""Every message that leaves: a row before the attempt, a receipt after.

    queued → attempted → delivered | rejected | unknown
    queued → not_attempted

A failure that provably had no effect goes back to `queued`. One that may have had an effect becomes `unknown`
and is never repeated by itself, not even by a restart. A message that a channel has to cut keeps a row for
each part, so what is sent again after a stop is only what was not sent.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from core.errors import Invalid, NotFound, Refused
from core.events import Bus, Delivery
from core.lane import Lane, Pace, Send, Split, finish
from core.message import CLOSED, STATES, Button, Later, Message, OutcomeUnknown, Part, Receipt
from core.store import Store, new_id, now

__all__ = ["Button", "Later", "Message", "Outbox", "OutcomeUnknown", "Pace", "Part", "Receipt"]


class Outbox:
    """A post is committed before it is answered; each served channel has one worker that sends in order."""

    def __init__(self, store: Store, bus: Bus, *, pace: Pace | None = None) -> None:
        self._store, self._bus = store, bus
        self._pace = pace or Pace()
        self._lanes: dict[str, Lane] = {}
        self._refused: dict[str, str] = {}
        self._running = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Outbox"]:
        """From here to the end of the block messages go out."""
        await self.start()
        try:
            yield self
        finally:
            await self.stop()

    async def start(self) -> None:
        """Settle what a stopped process left half done, then send what is queued."""
        await self._settle()
        self._running = True
        for lane in self._lanes.values():
            lane.begin()

    async def stop(self) -> None:
        """Let the request that is out come back, then stop. What is queued stays queued."""
        self._running = False
        await asyncio.gather(*(lane.end() for lane in self._lanes.values()))

    # What everybody calls

    async def post(self, message: Message) -> str:
        """Queue a message; the same key gives the same id and no second message."""
        why_not = self._refused.get(message.channel, "")
        state = "not_attempted" if why_not else "queued"
        id, fresh = await self._insert(message, state, why_not)
        if fresh:
            self._tell(id, message.channel, state, why_not)
            if lane := self._lanes.get(message.channel):
                lane.wake.set()
            elif not why_not and (why_not := self._refused.get(message.channel, "")):
                await self.close(id, "not_attempted", why_not)  # refused while the row was written
        return id

    async def record(self, message: Message, state: str = "attempted") -> str:
        """Write down a send that is done elsewhere, before it is done. A key on record is refused."""
        if state not in STATES:
            raise Invalid(f"No such delivery state: {state}.")
        id, fresh = await self._insert(message, state, "")
        if not fresh:
            raise Refused(
                f"This is on record already as {(await self.state(id)).state}; it is not done twice."
            )
        self._tell(id, message.channel, state)
        return id

    async def close(self, id: str, state: str, reason: str = "", receipt: str = "") -> None:
        """The outcome of a recorded send; the first outcome stays."""
        if state not in CLOSED:
            raise Invalid(f"{state} is not an outcome.")
        changed = await self._store.run(
            "update outbox set state = ?, reason = ?, receipt = ?, closed_at = ?"
            " where id = ? and state in ('queued', 'attempted')",
            *(state, reason, json.dumps([receipt] if receipt else []), now(), id),
        )
        row = await self._store.one("select channel from outbox where id = ?", id)
        if row is None:
            raise NotFound(f"There is no message {id}.")
        if changed:
            self._tell(id, row["channel"], state, reason)

    async def learn(self, id: str, state: str, reason: str) -> None:
        """Evidence turned up for a message whose outcome was unknown: it is known now."""
        if state not in CLOSED:
            raise Invalid(f"{state} is not an outcome.")
        changed = await self._store.run(
            "update outbox set state = ?, reason = ? where id = ? and state = 'unknown'", state, reason, id
        )
        row = await self._store.one("select channel from outbox where id = ?", id)
        if changed and row is not None:
            self._tell(id, row["channel"], state, reason)

    async def find(self, key: str) -> Receipt | None:
        """How the message of this key stands, if there is one."""
        row = await self._store.one("select id from outbox where key = ?", key)
        return await self.state(row["id"]) if row else None

    async def state(self, id: str) -> Receipt:
        """How a message stands now."""
        row = await self._store.one("select state, reason, receipt from outbox where id = ?", id)
        if row is None:
            raise NotFound(f"There is no message {id}.")
        if row["receipt"]:
            receipts = json.loads(row["receipt"])
        else:
            rows = await self._store.all(
                "select receipt from outbox_parts where message_id = ? and state = 'delivered'"
                " order by position",
                id,
            )
            receipts = [part["receipt"] for part in rows]
        return Receipt(id, row["state"], row["reason"], tuple(receipts))

    async def wait(self, id: str, timeout_s: float) -> Receipt:
        """The outcome, or how it stands when the time is up."""
        closed = asyncio.Event()

        def told(event: Delivery) -> None:
            if event.message_id == id and event.state in CLOSED:
                closed.set()

        leave = self._bus.subscribe(Delivery, told)
        try:
            receipt = await self.state(id)
            if receipt.state not in CLOSED:
                with suppress(TimeoutError):
                    await asyncio.wait_for(closed.wait(), timeout_s)
                receipt = await self.state(id)
        finally:
            leave()
        return receipt

    # What channels call

    def serve(self, channel: str, send: Send, split: Split) -> Callable[[], Awaitable[None]]:
        """Send the messages of `channel`, one part at a time. Await what is returned to stop.

        `send` raises Later, OutcomeUnknown, NotConfigured (not attempted) or another ApxError (rejected).
        """
        if channel in self._lanes:
            raise Invalid(f"The channel {channel} is served already.")
        lane = Lane(channel, send, split, self._store, self._tell, self._pace)
        self._lanes[channel] = lane
        self._refused.pop(channel, None)
        if self._running:
            lane.begin()

        async def leave() -> None:
            if self._lanes.get(channel) is lane:
                del self._lanes[channel]
            await lane.end()

        return leave

    async def refuse(self, channel: str, reason: str) -> None:
        """Nobody can serve this channel as it is set up: what waits and what comes is not attempted."""
        self._refused[channel] = reason
        rows = await self._store.all(
            "select id, state from outbox where channel = ? and state in ('queued', 'attempted')", channel
        )
        for row in rows:
            await self._store.run(
                "update outbox_parts set state = 'not_attempted', reason = ?"
                " where message_id = ? and state = 'queued'",
                *(reason, row["id"]),
            )
            parts = await self._store.all("select state from outbox_parts where message_id = ?", row["id"])
            if not parts and row["state"] == "queued":
                await self.close(row["id"], "not_attempted", reason)
            elif parts and all(part["state"] in CLOSED for part in parts):
                await finish(self._store, self._tell, row["id"])

    def hurry(self, channel: str) -> None:
        """Something changed that may let resting messages through (a new token, a new address)."""
        if lane := self._lanes.get(channel):
            lane.hurry()

    # Rows

    async def _settle(self) -> None:
        """What was out when the process ended may have arrived: unknown. What was not out yet goes on."""
        why = "The program stopped before the answer came."
        for row in await self._store.all("select id from outbox where state = 'attempted'"):
            await self._store.run(
                "update outbox_parts set state = 'unknown', reason = ?"
                " where message_id = ? and state = 'attempted'",
                *(why, row["id"]),
            )
            parts = await self._store.all("select state from outbox_parts where message_id = ?", row["id"])
            if not parts:
                await self.close(row["id"], "unknown", why)
            elif any(part["state"] == "queued" for part in parts):
                await self._store.run("update outbox set state = 'queued' where id = ?", row["id"])
            else:
                await finish(self._store, self._tell, row["id"])

    async def _insert(self, message: Message, state: str, reason: str) -> tuple[str, bool]:
        id = new_id("msg")
        values = {
            "id": id,
            "key": message.key,
            "channel": message.channel,
            "recipient": message.to,
            "kind": message.kind,
            "payload": json.dumps(message.payload()),
            "origin": json.dumps(dict(message.origin)),
            "state": state,
            "reason": reason,
            "created_at": now(),
            "closed_at": now() if state in CLOSED else None,
        }
        async with self._store.transaction() as db:
            if message.key is not None:
                async with db.execute("select id from outbox where key = ?", (message.key,)) as cursor:
                    if row := await cursor.fetchone():
                        return row["id"], False
            await db.execute(
                f"insert into outbox ({', '.join(values)}) values ({', '.join('?' * len(values))})",
                tuple(values.values()),
            )
        return id, True

    def _tell(self, id: str, channel: str, state: str, reason: str = "") -> None:
        self._bus.emit(Delivery(message_id=id, channel=channel, state=state, reason=reason))
