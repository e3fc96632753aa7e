"""The one database of a home: one file, one connection, one owner process.

Nothing else may open the file by path inside this process: closing any other descriptor of it would drop
SQLite's locks. The journal mode is set once, at creation, and only read after that.
"""

import asyncio
import sqlite3
import threading
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiosqlite

from core.errors import Unavailable

SCHEMA = Path(__file__).parent / "schema"


def now() -> str:
    """UTC, ISO 8601 with milliseconds: sorts as text."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def new_id(prefix: str) -> str:
    """A unique id that sorts by the moment it was made."""
    return f"{prefix}_{time.time_ns() // 1_000_000:011x}{uuid.uuid4().hex[:12]}"


Statement = tuple[str, Sequence[Any]]


class _Connection(aiosqlite.Connection):
    """A trip to the connection's thread costs more than most statements: here several of them make one."""

    async def write(self, statements: Sequence[Statement]) -> None:
        given_up = threading.Event()
        try:
            await self._execute(self._write, statements, given_up)  # type: ignore[no-untyped-call]
        except asyncio.CancelledError:
            given_up.set()
            raise

    def _write(self, statements: Sequence[Statement], given_up: threading.Event) -> None:
        db = self._conn
        db.execute("begin immediate")
        try:
            for sql, values in statements:
                db.execute(sql, values)
            db.execute("rollback" if given_up.is_set() else "commit")
        except BaseException:
            db.rollback()
            raise

    async def read(self, questions: Sequence[Statement]) -> list[list[sqlite3.Row]]:
        return await self._execute(self._read, questions)  # type: ignore[no-untyped-call, no-any-return]

    def _read(self, questions: Sequence[Statement]) -> list[list[sqlite3.Row]]:
        return [self._conn.execute(sql, values).fetchall() for sql, values in questions]


class Store:
    """SQL beside its feature: this class only gives the connection, and keeps writers apart."""

    def __init__(self, db: _Connection) -> None:
        self._db = db
        self._writing = asyncio.Lock()

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path) -> AsyncIterator["Store"]:
        """The database at `path`, created or migrated first. The folder must exist."""
        fresh = not path.exists()
        db = _Connection(lambda: sqlite3.connect(path, isolation_level=None), iter_chunk_size=64)
        await db
        try:
            db.row_factory = sqlite3.Row
            if fresh:
                path.chmod(0o600)
                await db.execute("pragma journal_mode = wal")
            async with db.execute("pragma journal_mode") as cursor:
                mode = (await cursor.fetchone() or [""])[0]
            if mode != "wal":
                raise Unavailable(
                    f"The database {path.name} is in journal mode {mode}, not WAL; it is not ours to change."
                )
            await db.execute("pragma synchronous = full")
            await db.execute("pragma foreign_keys = on")
            await db.execute("pragma busy_timeout = 5000")
            store = cls(db)
            await store._migrate()
            yield store
        except sqlite3.DatabaseError as error:
            if "not a database" in str(error) or "malformed" in str(error):
                raise Unavailable(
                    f"The database {path.name} cannot be read ({error}). Restore it from a copy."
                ) from error
            raise
        finally:
            await db.close()

    async def _migrate(self) -> None:
        """Apply each script once, by its own number: areas number theirs apart, so a lower one may come later."""
        have = (await self.one("pragma user_version") or [0])[0]
        known = await self.one("select 1 from sqlite_master where name = 'scripts'")
        scripts = {int(path.name.split("_")[0]): path for path in SCHEMA.glob("[0-9]*.sql")}
        if known is None:
            before = ",".join(f"({number})" for number in scripts if number <= have)
            await self._db.executescript(
                "begin immediate;\ncreate table scripts (number integer primary key);\n"
                + (f"insert into scripts values {before};\n" if before else "")
                + "commit;"
            )
        applied = {row["number"] for row in await self.all("select number from scripts")}
        for number, path in sorted(scripts.items()):
            if number in applied:
                continue
            # One script is one transaction; its number is kept with it.
            await self._db.executescript(
                f"begin immediate;\n{path.read_text(encoding='utf-8')}\ninsert into scripts values ({number});\n"
                f"pragma user_version = {max(have, number)};\ncommit;"
            )
            have = max(have, number)

    async def all(self, sql: str, *args: Any) -> list[sqlite3.Row]:
        """Every row of a question."""
        # One trip to the connection's thread, where a cursor of ours would take three.
        return list(await self._db.execute_fetchall(sql, args))

    async def one(self, sql: str, *args: Any) -> sqlite3.Row | None:
        """The first row of a question, if there is one."""
        return next(iter(await self._db.execute_fetchall(sql, args)), None)

    async def several(self, *questions: Statement) -> list[list[sqlite3.Row]]:
        """The rows of several questions, for the time of one."""
        return await self._db.read(questions)

    async def run(self, sql: str, *args: Any) -> int:
        """One statement, committed; the number of rows it touched."""
        async with self._writing:
            # Outside "begin" a statement is its own transaction, and one trip instead of three.
            cursor = await self._db.execute(sql, args)
            return cursor.rowcount

    async def together(self, *statements: Statement) -> None:
        """Statements that are known beforehand, committed as one: all or none. Cancelled before that is none."""
        async with self._writing:
            await self._db.write(statements)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[aiosqlite.Connection]:
        """All of it or none of it. Cancelled halfway counts as none."""
        async with self._writing:
            await self._db.execute("begin immediate")
            try:
                yield self._db
            except BaseException:
                await asyncio.shield(self._db.rollback())
                raise
            await asyncio.shield(self._db.commit())
