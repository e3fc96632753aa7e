"""What is known, with where it came from: only what the owner said or wrote may become a rule.

Facts of the owner's also stand in a notebook that may be edited by hand. The notebook wins: a line that was
taken out is forgotten, one that was written in is the owner's. Facts of other sources are never in it.
"""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from pathlib import Path
from typing import Any

from core import notebook
from core.errors import Invalid, NotFound
from core.events import Bus, MemoryChanged
from core.neutral import one_line
from core.notebook import MAX_FACT
from core.paths import Home
from core.projects import DEFAULT
from core.store import Store, now

log = logging.getLogger(__name__)


class Source(StrEnum):
    """Who a fact is from. Only `OWNER` may become a rule."""

    OWNER = "owner"
    THIRD_PARTY = "third_party"
    WEB = "web"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Fact:
    """`channel`, `sender` and `run_id` say why it is believed."""

    id: int
    project_id: str
    text: str
    source: Source
    channel: str
    sender: str
    run_id: str | None
    at: str
    forgotten_at: str | None


def _fact(row: sqlite3.Row) -> Fact:
    return Fact(**dict(row) | {"source": Source(row["source"])})


class Memory:
    """The facts of a home. `zone` is the owner's, for the notebook's days."""

    def __init__(
        self, store: Store, bus: Bus, home: Home, zone: Callable[[], tzinfo | None] = lambda: None
    ) -> None:
        self._store = store
        self._bus = bus
        self._home = home
        self._zone = zone
        self._changing = asyncio.Lock()
        self._seen: dict[str, tuple[int, int, int] | None] = {}
        self._read: dict[tuple[str, ...], list[Fact]] = {}  # what holds, until something changes

    async def remember(
        self,
        text: str,
        *,
        source: Source,
        channel: str = "",
        sender: str = "owner",
        run_id: str | None = None,
        project_id: str = DEFAULT,
    ) -> Fact:
        """Keep a fact. One that is known already is not kept twice; the owner's word stands above another's."""
        said = one_line(text, MAX_FACT)
        if not said:
            raise Invalid("There is nothing to remember.", fields=("text",))
        async with self._changing:
            await self._follow(project_id)
            same = [one for one in await self._known(project_id) if one.text.casefold() == said.casefold()]
            for one in same:
                if one.source in (Source.OWNER, source):
                    return one
            seen = self._seen.get(project_id)
            if source is Source.OWNER:
                # The notebook first: whatever stops us in between, its line is found again.
                seen = await self._note(project_id, said, channel)
            fact = Fact(0, project_id, said, source, channel, sender, run_id, now(), None)
            async with self._changed() as db:
                if source is Source.OWNER:
                    for one in same:
                        await db.execute("update facts set forgotten_at = ? where id = ?", (fact.at, one.id))
                id = await self._insert(db, fact)
            self._seen[project_id] = seen
        self._bus.emit(MemoryChanged(fact_id=id, project_id=project_id, run_id=run_id))
        return await self.find(id)

    async def forget(self, fact_id: int) -> Fact:
        """Let a fact count for nothing any more; it stays readable in the list of everything."""
        async with self._changing:
            await self._follow((await self.find(fact_id)).project_id)
            fact = await self.find(fact_id)
            if fact.forgotten_at is None:
                seen = self._seen.get(fact.project_id)
                if fact.source is Source.OWNER:
                    text = notebook.read(self._path(fact.project_id)) or ""
                    seen = await self._rewritten(fact.project_id, notebook.removed(text, fact.text))
                async with self._changed() as db:
                    await db.execute("update facts set forgotten_at = ? where id = ?", (now(), fact_id))
                self._seen[fact.project_id] = seen
        self._bus.emit(MemoryChanged(fact_id=fact_id, project_id=fact.project_id))
        return await self.find(fact_id)

    async def find(self, fact_id: int) -> Fact:
        """One fact, forgotten or not."""
        row = await self._store.one("select * from facts where id = ?", fact_id)
        if row is None:
            raise NotFound(f"There is no fact {fact_id}. `apx memory list` shows them.")
        return _fact(row)

    async def known(self, project_id: str = DEFAULT, *, source: Source | None = None) -> list[Fact]:
        """What holds in a project, its own and the general, newest first; the notebook as it is now."""
        async with self._changing:
            for one in dict.fromkeys((DEFAULT, project_id)):
                await self._follow(one)
            return [one for one in await self._known(DEFAULT, project_id) if source in (None, one.source)]

    async def everything(self, limit: int = 200) -> list[Fact]:
        """All facts of all projects, the forgotten ones too, newest first."""
        rows = await self._store.all("select * from facts order by id desc limit ?", limit)
        return [_fact(row) for row in rows]

    async def by_id(self, ids: list[int], project_id: str = DEFAULT) -> dict[int, Fact]:
        """Those of these facts that hold in a project."""
        marks = ",".join("?" * len(ids))
        rows = await self._store.all(
            f"select * from facts where id in ({marks}) and forgotten_at is null and project_id in (?, ?)",
            *(*ids, DEFAULT, project_id),
        )
        return {row["id"]: _fact(row) for row in rows}

    async def _known(self, *project_ids: str) -> list[Fact]:
        if project_ids in self._read:
            return self._read[project_ids]
        marks = ",".join("?" * len(project_ids))
        rows = await self._store.all(
            f"select * from facts where project_id in ({marks}) and forgotten_at is null order by id desc",
            *project_ids,
        )
        self._read[project_ids] = [_fact(row) for row in rows]
        return self._read[project_ids]

    async def _insert(self, db: Any, fact: Fact) -> int:
        cursor = await db.execute(
            "insert into facts (project_id, text, source, channel, sender, run_id, at) values (?, ?, ?, ?, ?, ?, ?)",
            (
                fact.project_id,
                fact.text,
                fact.source,
                fact.channel,
                fact.sender,
                fact.run_id,
                fact.at,
            ),
        )
        return int(cursor.lastrowid)

    def _path(self, project_id: str) -> Path:
        return self._home.memory if project_id == DEFAULT else self._home.projects / project_id / "memory.md"

    @asynccontextmanager
    async def _changed(self) -> AsyncIterator[Any]:
        """A change of facts: what was read before counts no more, however this ends."""
        try:
            async with self._store.transaction() as db:
                yield db
        finally:
            self._read.clear()

    async def _note(
        self, project_id: str, said: str, channel: str, at: datetime | None = None
    ) -> tuple[int, int, int] | None:
        text = notebook.read(self._path(project_id)) or ""
        when = (at or datetime.now(UTC)).astimezone(self._zone())
        return await self._rewritten(project_id, notebook.added(text, said, when, channel))

    async def _rewritten(self, project_id: str, text: str) -> tuple[int, int, int] | None:
        """The notebook as it is now; it counts as read only once the facts agree with it."""
        self._seen.pop(project_id, None)
        path = self._path(project_id)
        await asyncio.to_thread(notebook.write, path, text)
        return _print(path)

    async def _follow(self, project_id: str) -> None:
        """Take over what was edited by hand. A notebook that cannot be read changes nothing."""
        path = self._path(project_id)
        seen = _print(path)
        if project_id in self._seen and self._seen[project_id] == seen:
            return
        try:
            text = notebook.read(path)
        except (Invalid, OSError) as error:
            log.warning("The notebook is not followed: %s", error)
            self._seen[project_id] = seen
            return
        ours = [one for one in await self._known(project_id) if one.source is Source.OWNER]
        if text is None:
            # A file that is gone is no wish to forget: what is known is written again.
            for one in reversed(ours):
                await self._note(project_id, one.text, one.channel, datetime.fromisoformat(one.at))
            self._seen[project_id] = _print(path)
            return
        lines, have = notebook.facts(text), {one.text for one in ours}
        kept = set(lines)
        gone = [one.id for one in ours if one.text not in kept]
        fresh = [line for line in lines if line not in have]
        if gone or fresh:
            at = now()
            async with self._changed() as db:
                for id in gone:
                    await db.execute("update facts set forgotten_at = ? where id = ?", (at, id))
                for line in fresh:
                    await self._insert(
                        db, Fact(0, project_id, line, Source.OWNER, "notebook", "owner", None, at, None)
                    )
            self._bus.emit(MemoryChanged(fact_id=0, project_id=project_id))
        self._seen[project_id] = seen


def _print(path: Path) -> tuple[int, int, int] | None:
    try:
        info = path.stat()
    except OSError:
        return None
    return info.st_ino, info.st_mtime_ns, info.st_size
