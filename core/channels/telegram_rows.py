"""The stored updates of one bot as a table of work: waiting, working, then done, failed or ignored."""

import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from core.channels.telegram_update import Inbound, read
from core.store import Store, now

TRIES = 3
KEPT = timedelta(days=30)
CLOSED = frozenset({"done", "failed", "ignored"})


class Rows:
    """`bot` says which bot it is: number and name."""

    def __init__(self, store: Store, bot: Callable[[], tuple[int, str]]) -> None:
        self._store, self._bot = store, bot

    @property
    def bot_id(self) -> int:
        """The bot's number; 0 while it is not known."""
        return self._bot()[0]

    def key(self, update_id: int) -> str:
        """What the one answer to an update is called in the outbox."""
        return f"telegram/{self.bot_id}/{update_id}"

    def read(self, row: sqlite3.Row) -> Inbound:
        """What a row says."""
        bot_id, username = self._bot()
        return read(json.loads(row["body"]), bot_id=bot_id, username=username)

    async def in_state(self, state: str) -> list[sqlite3.Row]:
        """The updates that are waiting, or those that were being worked on."""
        return await self._store.all(
            "select * from telegram_updates where bot_id = ? and state = ? order by rowid", self.bot_id, state
        )

    async def mark(self, update_id: int, state: str) -> None:
        """How an update stands now."""
        await self._store.run(
            "update telegram_updates set state = ?, tries = tries + ?, closed_at = ?"
            " where bot_id = ? and update_id = ?",
            *(state, state == "working", now() if state in CLOSED else None, self.bot_id, update_id),
        )

    async def done(self, updates: list[int]) -> None:
        """They have been answered."""
        for id in updates:
            await self.mark(id, "done")

    async def again(self, update_id: int) -> bool:
        """Let an update be tried once more; False when it has been tried often enough."""
        row = await self._store.one(
            "select tries from telegram_updates where bot_id = ? and update_id = ?", self.bot_id, update_id
        )
        more = row is not None and row["tries"] < TRIES
        await self.mark(update_id, "waiting" if more else "failed")
        return more

    async def forget_old(self) -> None:
        """What was closed long ago is not kept."""
        long_ago = (datetime.now(UTC) - KEPT).isoformat(timespec="milliseconds")
        await self._store.run("delete from telegram_updates where closed_at < ?", long_ago)

    async def before(self, inbound: Inbound) -> list[Inbound]:
        """What came earlier about the same message: the message itself, and its edits."""
        rows = await self._store.all(
            "select * from telegram_updates where bot_id = ? and update_id != ? and rowid <"
            " (select rowid from telegram_updates where bot_id = ? and update_id = ?)"
            " and coalesce(json_extract(body, '$.message.message_id'),"
            " json_extract(body, '$.edited_message.message_id')) = ? order by rowid",
            *(self.bot_id, inbound.update_id, self.bot_id, inbound.update_id, inbound.message_id),
        )
        return [one for one in map(self.read, rows) if one.chat_id == inbound.chat_id]
