"""Asking one bot for its updates: each is stored before the next offset is asked, and silence is noticed."""

import asyncio
import json
import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from core.channels.telegram_update import ALLOWED
from core.channels.telegram_wire import BotError, Line
from core.store import Store, now

log = logging.getLogger(__name__)

ID_RESET = timedelta(days=6)  # after a week without updates Telegram counts from another number


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds. `slack_s` is what a long poll may take beyond its own time before it counts as hung."""

    poll_s: float = 25.0
    slack_s: float = 10.0
    first_s: float = 1.0
    most_s: float = 60.0
    conflict_s: float = 30.0
    typing_s: float = 4.0
    press_s: float = 5.0


class Poller:
    """One poll at a time for one token. `stored` is called after new rows are committed, `state` when it changes."""

    def __init__(
        self,
        store: Store,
        make: Callable[[], Line],
        timing: Timing,
        *,
        stored: Callable[[], None],
        state: Callable[[str, str], None],
        interval_s: Callable[[], float] = lambda: 0.3,
    ) -> None:
        self._store, self._make, self._timing = store, make, timing
        self._stored, self._tell, self._interval_s = stored, state, interval_s
        self.line = make()
        self.bot_id, self.username = 0, ""
        self.state, self.detail = "starting", ""
        self.answered_at: str | None = None
        self._asked_at, self._empty = 0.0, False

    async def run(self) -> None:
        """Poll until cancelled."""
        failures = 0
        try:
            while True:
                try:
                    async with asyncio.timeout(self._timing.poll_s + self._timing.slack_s):
                        if not self.bot_id:
                            await self._meet()
                        await self._ask(quick=self.state != "online")
                    await self._not_too_often()
                    failures = 0
                except BotError as error:
                    failures += 1
                    await asyncio.sleep(self._failed(error, failures))
                except TimeoutError:
                    failures += 1
                    self._change("offline", "The server took the question and never answered.")
                    await self._new_line()
                    await asyncio.sleep(self._backoff(failures))
        finally:
            await self.line.hang_up()

    async def _not_too_often(self) -> None:
        # A server that answers an empty poll at once would be asked without end.
        if self._empty and time.monotonic() - self._asked_at < min(1.0, self._timing.poll_s / 2):
            await asyncio.sleep(self._interval_s())

    async def _meet(self) -> None:
        me = await self.line.call("getMe")
        id = me.get("id") if isinstance(me, dict) else None
        if not isinstance(id, int):
            raise BotError("The server does not say which bot this is.", status=502)
        self.bot_id, self.username = id, str(me.get("username") or "")

    async def _ask(self, *, quick: bool) -> None:
        self._asked_at = time.monotonic()
        offset = await self._offset()
        updates = await self.line.call(
            "getUpdates",
            offset=offset,
            timeout=0 if quick else int(self._timing.poll_s) or None,
            allowed_updates=list(ALLOWED),
        )
        self.answered_at = now()
        self._change("online", "")
        had = offset or 0
        fresh = [one for one in updates if _has_id(one, had)] if isinstance(updates, list) else []
        self._empty = not fresh and not quick
        if fresh:
            async with self._store.transaction() as db:
                await db.executemany(
                    "insert into telegram_updates (bot_id, update_id, body, received_at) values (?, ?, ?, ?)"
                    " on conflict (bot_id, update_id) do nothing",
                    [(self.bot_id, one["update_id"], json.dumps(one), now()) for one in fresh],
                )
            self._stored()

    async def _offset(self) -> int | None:
        row = await self._store.one(
            "select update_id, received_at from telegram_updates where bot_id = ? order by update_id desc limit 1",
            self.bot_id,
        )
        if row is None or datetime.now(UTC) - datetime.fromisoformat(row["received_at"]) > ID_RESET:
            return None
        return int(row["update_id"]) + 1

    def _failed(self, error: BotError, failures: int) -> float:
        """Say what is wrong, and how long to leave it alone."""
        if error.status == 409:
            self._change("conflict", error.description)
            return self._timing.conflict_s * (1 + random.random() / 4)
        if error.status in {401, 404}:
            self._change("unauthorized", error.description)
            return self._timing.most_s
        self._change("offline", error.description)
        return error.retry_after_s or self._backoff(failures)

    def _backoff(self, failures: int) -> float:
        return min(self._timing.first_s * 2.0 ** min(failures - 1, 10), self._timing.most_s) * (
            1 + random.random() / 4
        )

    async def _new_line(self) -> None:
        # A pool whose connection hangs is not to be trusted with the next one.
        old, self.line = self.line, self._make()
        await old.hang_up()

    def _change(self, state: str, detail: str) -> None:
        if (state, detail) != (self.state, self.detail):
            self.state, self.detail = state, detail
            self._tell(state, detail)


def _has_id(update: Any, had: int) -> bool:
    id = update.get("update_id") if isinstance(update, dict) else None
    return isinstance(id, int) and not isinstance(id, bool) and had <= id < 2**53
