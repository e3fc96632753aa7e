"""Memory, skills and tasks as a part of the app: what runs are told, what they may call, and an index kept fresh."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from core.events import MemoryChanged, RunClosed
from core.memory import Memory
from core.memory_broker import Broker
from core.memory_index import Index
from core.tools import memory, skills, tasks

if TYPE_CHECKING:
    from datetime import tzinfo

    from core.app import App

CORE = (
    *memory.TOOLS,
    *skills.TOOLS,
    tasks.create_task,
    tasks.list_tasks,
    tasks.complete_task,
)
FULL = (*memory.MORE, tasks.get_task, tasks.update_task, tasks.comment_task)


@asynccontextmanager
async def knowledge(app: "App") -> AsyncIterator[None]:
    """The part: its tools are offered and questions are told what is known, while the block lasts."""

    def zone() -> "tzinfo | None":
        try:
            return ZoneInfo(app.identity.now.timezone) if app.identity.now.timezone else None
        except (ZoneInfoNotFoundError, ValueError):
            return None

    async with AsyncExitStack() as stack:
        index = await stack.enter_async_context(Index.open(app.home.search))
        known = Memory(app.store, app.bus, app.home, zone)
        app.services |= {Memory: known, Index: index, Broker: Broker(known, index, app.store)}
        for kind in (Memory, Index, Broker):
            stack.callback(app.services.pop, kind)
        stack.callback(app.tools.add(*CORE))
        stack.callback(app.tools.add(*FULL, full_only=True))
        await stack.enter_async_context(_kept_fresh(app, index))
        yield


@asynccontextmanager
async def _kept_fresh(app: "App", index: Index) -> AsyncIterator[None]:
    """What is said and remembered is found a moment later; nobody waits for that."""
    news = asyncio.Event()
    news.set()

    def tell(_: Any) -> None:
        news.set()

    async def work() -> None:
        while await news.wait():
            news.clear()
            await index.catch_up(app.store)

    stops = [app.bus.subscribe(kind, tell) for kind in (RunClosed, MemoryChanged)]
    feeding = asyncio.create_task(work(), name="search index")
    try:
        yield
    finally:
        for stop in stops:
            stop()
        feeding.cancel()
        with suppress(asyncio.CancelledError):
            await feeding
