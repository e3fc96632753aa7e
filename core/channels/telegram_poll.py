"""Asking one bot for its updates: each is stored before the next offset is asked, and silence is noticed.

Progress is a poll that was answered, not a connection that stands. A poll that hangs takes its connections with it;
when new ones do not help either, the channel says that it failed, and goes on trying slowly.
"""

import asyncio
import json
import logging
import random
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from core.channels.telegram_lock import BotLock
from core.channels.telegram_update import ALLOWED
from core.channels.telegram_wire import BotError, Line
from core.store import Store, now

log = logging.getLogger(__name__)

ID_RESET = timedelta(days=6)  # after a week without updates Telegram counts from another number
BATCH = 100
REBUILDS = 3


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds. `slack_s` is what a long poll may take beyond its own time before it counts as hung.

    `album_s` is how long an album waits for one more of its files, `fetch_s` how long for their bytes. `witness_s` is
    how often the server is asked whether something waits while polls bring nothing.
    """

    poll_s: float = 25.0
    slack_s: float = 10.0
    first_s: float = 1.0
    most_s: float = 60.0
    conflict_s: float = 30.0
    typing_s: float = 4.0
    press_s: float = 5.0
    album_s: float = 0.8
    fetch_s: float = 20.0
    aside_s: float = 5.0
    witness_s: float = 300.0


class Say(Protocol):
    """A sentence in the owner's language."""

    def __call__(self, key: str, **values: object) -> str:
        """The text of a key."""


class Poller:
    """One poll at a time for one token. `stored` is called after new rows are committed, `state` when it changes.

    States: starting, online, offline, conflict, unauthorized, failed.
    """

    def __init__(
        self,
        store: Store,
        make: Callable[[], Line],
        timing: Timing,
        *,
        server: str,
        lock: BotLock,
        say: Say,
        stored: Callable[[], None],
        state: Callable[[str, str], None],
        interval_s: Callable[[], float] = lambda: 0.3,
    ) -> None:
        self._store, self._make, self._timing = store, make, timing
        self._server, self._lock, self._say = server, lock, say
        self._stored, self._tell, self._interval_s = stored, state, interval_s
        self.line = make()
        self.bot_id, self.username, self.reads_groups = 0, "", False
        self.state, self.detail = "starting", ""
        self.answered_at: str | None = None
        self._asked_at, self._witnessed_at = 0.0, time.monotonic()
        self._quick = self._nothing = self._doubt = False
        self._more = True  # of an earlier start, perhaps
        self._rebuilt = 0
        self._own_poll_until = 0.0  # the server may still hold a poll that we gave up

    async def run(self) -> None:
        """Poll until cancelled."""
        failures = 0
        try:
            while True:
                try:
                    async with asyncio.timeout(self._timing.poll_s + self._timing.slack_s):
                        if not self.bot_id:
                            await self._meet()
                        if ours := await self._ours():
                            await self._ask()
                    if ours:
                        await self._not_too_often()
                        await self._witness()
                        failures = 0
                    else:
                        await asyncio.sleep(self._timing.conflict_s)
                except TimeoutError:
                    failures += 1
                    await self._hung(failures)
                except BotError as error:
                    failures += 1
                    if error.status == 0 and error.effect:
                        await self._hung(failures)
                    else:
                        await asyncio.sleep(await self._failed(error, failures))
        finally:
            self._lock.release()
            await self.line.hang_up()

    async def _meet(self) -> None:
        me = await self.line.call("getMe")
        id = me.get("id") if isinstance(me, dict) else None
        if not isinstance(id, int):
            raise BotError("The server does not say which bot this is.", status=502)
        self.reads_groups = bool(me.get("can_read_all_group_messages"))
        self.bot_id, self.username = id, str(me.get("username") or "")

    async def _ours(self) -> bool:
        """Nobody else on this computer asks this bot; otherwise it is said who does."""
        holder = await asyncio.to_thread(self._lock.take, self._server, self.bot_id)
        if holder is not None:
            since = holder.since[:19].replace("T", " ")
            said = self._say("telegram.conflict_here", pid=holder.pid, home=holder.home, since=since)
            self._change("conflict", said)
        return holder is None

    async def _ask(self) -> None:
        self._asked_at = time.monotonic()
        self._quick = self.state != "online" or self._more or self._doubt
        offset = await self._offset()
        updates = await self.line.call(
            "getUpdates",
            offset=offset,
            limit=BATCH,
            timeout=0 if self._quick else int(self._timing.poll_s) or None,
            allowed_updates=list(ALLOWED),
        )
        self.answered_at, self._rebuilt = now(), 0
        self._change("online", "")
        had = offset or 0
        fresh = [one for one in updates if _has_id(one, had)] if isinstance(updates, list) else []
        self._nothing = not fresh
        if fresh:
            self._doubt = False
            async with self._store.transaction() as db:
                await db.executemany(
                    "insert into telegram_updates (bot_id, update_id, body, received_at) values (?, ?, ?, ?)"
                    " on conflict (bot_id, update_id) do nothing",
                    [(self.bot_id, one["update_id"], json.dumps(one), now()) for one in fresh],
                )
        # What waits in more than one piece is looked at as a whole.
        had_more, self._more = self._more, len(fresh) >= BATCH
        if not self._more and (fresh or had_more):
            self._stored()

    async def _offset(self) -> int | None:
        # The last one that was stored, not the highest: the server may count from a lower number again.
        row = await self._store.one(
            "select update_id, received_at from telegram_updates where bot_id = ? order by rowid desc limit 1",
            self.bot_id,
        )
        if row is None or datetime.now(UTC) - datetime.fromisoformat(row["received_at"]) > ID_RESET:
            return None
        return int(row["update_id"]) + 1

    async def _not_too_often(self) -> None:
        # A server that answers an empty poll at once would be asked without end.
        at_once = time.monotonic() - self._asked_at < min(1.0, self._timing.poll_s / 2)
        if self._nothing and not self._quick and at_once:
            await asyncio.sleep(self._interval_s())

    async def _witness(self) -> None:
        """Polls bring nothing: does nothing wait? What waits twice in a row cannot reach us on this connection."""
        due = time.monotonic() - self._witnessed_at > self._timing.witness_s
        if not self._nothing or not (due or self._doubt):
            return
        self._witnessed_at = time.monotonic()
        waits = int((await self._webhook()).get("pending_update_count") or 0)
        if waits and self._doubt:
            self._doubt = False
            raise BotError(f"{waits} updates wait and do not come.", effect=True)
        self._doubt = bool(waits)

    async def _webhook(self) -> dict[str, Any]:
        """What the server knows of the bot's updates; nothing if it does not say so soon."""
        try:
            async with asyncio.timeout(self._timing.aside_s):
                known = await self.line.call("getWebhookInfo")
        except (BotError, TimeoutError) as error:
            log.info("The server does not say what waits: %s", error)
            return {}
        return known if isinstance(known, dict) else {}

    async def _failed(self, error: BotError, failures: int) -> float:
        """Say what is wrong, and how long to leave it alone."""
        if error.status == 409:
            if time.monotonic() < self._own_poll_until:
                return self._backoff(failures)
            await self._conflict(error)
            return self._timing.conflict_s * (1 + random.random() / 4)
        if error.status in {401, 404}:
            self._change("unauthorized", error.description)
            return self._timing.most_s
        self._change("offline", error.description)
        return error.retry_after_s or self._backoff(failures)

    async def _conflict(self, error: BotError) -> None:
        """Who has the bot: a web address, or another program that asks as we do."""
        address = str((await self._webhook()).get("url") or "")
        if address:
            # The rest of the address may be a secret.
            host = urllib.parse.urlsplit(address).hostname or "?"
            self._change("conflict", self._say("telegram.conflict_webhook", host=host))
        else:
            self._change("conflict", self._say("telegram.conflict_elsewhere", why=error.description))

    async def _hung(self, failures: int) -> None:
        """The question was taken and not answered: such a connection is not to be trusted with the next one."""
        self._rebuilt += 1
        old, self.line = self.line, self._make()
        await old.hang_up()
        self._own_poll_until = time.monotonic() + self._timing.poll_s
        if self._rebuilt > REBUILDS:
            self._change("failed", self._say("telegram.failed", n=REBUILDS))
            await asyncio.sleep(self._timing.most_s)
        else:
            self._change("offline", self._say("telegram.hung"))
            await asyncio.sleep(self._backoff(failures))

    def _backoff(self, failures: int) -> float:
        return min(self._timing.first_s * 2.0 ** min(failures - 1, 10), self._timing.most_s) * (
            1 + random.random() / 4
        )

    def _change(self, state: str, detail: str) -> None:
        if (state, detail) != (self.state, self.detail):
            self.state, self.detail = state, detail
            self._tell(state, detail)


def _has_id(update: Any, had: int) -> bool:
    id = update.get("update_id") if isinstance(update, dict) else None
    return isinstance(id, int) and not isinstance(id, bool) and had <= id < 2**53
