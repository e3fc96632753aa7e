"""Memory, skills and tasks as a part of the app: what runs are told, what they may call, and an index kept fresh."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from core.events import ConfigChanged, MemoryChanged, RunClosed
from core.memory import Memory
from core.memory_broker import Broker
from core.memory_index import Index
from core.runs.embeddings import Embeddings
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
CALM_S = 5.0


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
        runner = app.runner
        meanings = Embeddings(app.store, app.config, app.models, runner.router, runner.spending)
        broker = Broker(known, index, app.store, meaning=meanings.meaning)
        app.services |= {Memory: known, Index: index, Broker: broker, Embeddings: meanings}
        for kind in (Memory, Index, Broker, Embeddings):
            stack.callback(app.services.pop, kind)
        stack.callback(app.tools.add(*CORE))
        stack.callback(app.tools.add(*FULL, full_only=True))
        await stack.enter_async_context(_kept_fresh(app, index, meanings))
        yield


@asynccontextmanager
async def _kept_fresh(app: "App", index: Index, meanings: Embeddings) -> AsyncIterator[None]:
    """What is said and remembered is found a moment later; nobody waits for that."""
    news, facts = asyncio.Event(), asyncio.Event()
    news.set()
    facts.set()

    def tell(_: Any) -> None:
        news.set()

    def learn(event: MemoryChanged | ConfigChanged) -> None:
        if isinstance(event, MemoryChanged) or "memory.embeddings" in event.keys:
            facts.set()

    async def feed() -> None:
        while await news.wait():
            news.clear()
            await index.catch_up(app.store)

    async def understand() -> None:
        while await facts.wait():
            # Several facts make one request, and a command that only opens the app for a moment makes none.
            await asyncio.sleep(CALM_S)
            facts.clear()
            await meanings.catch_up()

    stops = [app.bus.subscribe(kind, tell) for kind in (RunClosed, MemoryChanged)]
    stops += [app.bus.subscribe(MemoryChanged, learn), app.bus.subscribe(ConfigChanged, learn)]
    tasks = [
        asyncio.create_task(feed(), name="search index"),
        asyncio.create_task(understand(), name="meanings"),
    ]
    try:
        yield
    finally:
        for stop in stops:
            stop()
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
