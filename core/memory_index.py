"""Full-text search over facts and conversations, in a file of its own that can be thrown away.

The database never waits for it and never fails with it: it is fed afterwards, and a file that is broken is made
again from what the database holds. A search that takes too long is interrupted, not waited for.
"""

import asyncio
import logging
import os
import re
import sqlite3
import unicodedata
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from core.store import Store

log = logging.getLogger(__name__)

FORMAT = 1
BATCH = 300
Kind = Literal["fact", "message"]
T = TypeVar("T")
_WORD = re.compile(r"[^\W_]+")
_FEED: dict[Kind, str] = {
    "fact": "select id, text from facts where id > ? order by id limit ?",
    "message": "select id, text from messages where id > ? and role in ('user', 'assistant') order by id limit ?",
}


def folded(text: str) -> str:
    """Without accents and capitals, as the index compares."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(one for one in plain if not unicodedata.combining(one))


def words(text: str) -> list[str]:
    """The words of a text, each once. Nothing that could be an operator of the search language is left."""
    return list(dict.fromkeys(_WORD.findall(folded(text[:4000]))))


def stem(word: str) -> str:
    """The part of a word that its plural and its other endings share, roughly, in Spanish and in English."""
    return word if len(word) < 5 else word[: max(4, len(word) - 2)]


class Index:
    """One connection, one thread. `None` as an answer means that the index cannot be used now."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="search")

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path) -> AsyncIterator["Index"]:
        """The index of a home; its file is opened with the first use."""
        index = cls(path)
        try:
            yield index
        finally:
            index._interrupt()
            with suppress(sqlite3.Error):
                await asyncio.get_running_loop().run_in_executor(index._pool, index._close)
            index._pool.shutdown()

    async def search(
        self, kind: Kind, sought: Sequence[str], *, every: bool = False, newest: bool = False, limit: int = 30
    ) -> list[int] | None:
        """The ids of what has any (or every) one of these words or beginnings of words, the best match first.

        `newest` puts the latest first instead, which costs the same however much was ever said.
        """
        if not sought:
            return []
        # Each word is quoted, so that none of them is an operator.
        query = (" AND " if every else " OR ").join(
            f'"{word.replace(chr(34), "")}"{"*" if len(word) > 3 else ""}' for word in sought[:24]
        )
        return await self._run(partial(self._search, kind, query, "rowid desc" if newest else "rank", limit))

    async def catch_up(self, store: Store) -> None:
        """Take in what was written since; as much as it takes, in small steps."""
        for kind, sql in _FEED.items():
            while True:
                last = await self._run(partial(self._last, kind))
                if last is None:
                    return
                rows = await store.all(sql, last, BATCH)
                fresh = [(row["id"], row["text"]) for row in rows]
                if fresh and await self._run(partial(self._add, kind, fresh)) is None:
                    return
                if len(rows) < BATCH:
                    break

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, self._guarded, work)
        except asyncio.CancelledError:
            self._interrupt()
            raise

    def _guarded(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        for last in (False, True):
            try:
                return work(self._opened())
            except sqlite3.Error as error:
                if "interrupted" in str(error):
                    return None
                log.warning("The search index is made again: %s", error)
                self._throw_away()
                if last:
                    return None
            except OSError as error:
                log.warning("The search index cannot be used: %s", error)
                return None
        return None

    def _opened(self) -> sqlite3.Connection:
        if self._db is not None:
            return self._db
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        try:
            db.execute("pragma synchronous = off")
            if db.execute("pragma user_version").fetchone()[0] != FORMAT:
                tables = "".join(
                    f"drop table if exists {kind}s; create virtual table {kind}s using fts5("
                    "text, content = '', prefix = '3 4 5', tokenize = 'unicode61 remove_diacritics 2');"
                    for kind in _FEED
                )
                db.executescript(
                    f"{tables} drop table if exists fed;"
                    "create table fed (kind text primary key, last integer not null);"
                    f"pragma user_version = {FORMAT};"
                )
        except sqlite3.Error:
            db.close()
            raise
        self._db = db
        return db

    def _search(self, kind: Kind, query: str, order: str, limit: int, db: sqlite3.Connection) -> list[int]:
        found = db.execute(
            f"select rowid from {kind}s where {kind}s match ? order by {order} limit ?", (query, limit)
        )
        return [int(row[0]) for row in found]

    def _last(self, kind: Kind, db: sqlite3.Connection) -> int:
        row = db.execute("select last from fed where kind = ?", (kind,)).fetchone()
        return int(row[0]) if row else 0

    def _add(self, kind: Kind, fresh: list[tuple[int, str]], db: sqlite3.Connection) -> bool:
        db.execute("begin immediate")
        try:
            db.executemany(f"insert into {kind}s (text, rowid) values (?2, ?1)", fresh)
            db.execute("insert or replace into fed (kind, last) values (?, ?)", (kind, fresh[-1][0]))
            db.execute("commit")
        except sqlite3.Error:
            if db.in_transaction:
                db.execute("rollback")
            raise
        return True

    def _interrupt(self) -> None:
        if self._db is not None:
            with suppress(sqlite3.Error):
                self._db.interrupt()

    def _close(self) -> None:
        if self._db is not None:
            db, self._db = self._db, None
            db.close()

    def _throw_away(self) -> None:
        with suppress(sqlite3.Error):
            self._close()
        for end in ("", "-journal", "-wal", "-shm"):
            self._path.with_name(self._path.name + end).unlink(missing_ok=True)
