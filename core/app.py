"""The living whole: one home, one database, one runner, and the parts that join it.

Parts are entered in order and left in reverse, so whatever a part needs is there before it and still there
while it leaves.
"""

import fcntl
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

from core.config import Config
from core.errors import AlreadyRunning
from core.events import Bus
from core.identity import IdentityFile
from core.outbox import Outbox
from core.paths import Home
from core.runs.llm import Models
from core.runs.registry import Tools
from core.runs.runner import Runner
from core.store import Store
from core.vault import Vault


def version() -> str:
    """The installed version, or that of a bare checkout."""
    with suppress(metadata.PackageNotFoundError):
        return metadata.version("apx")
    return "0.1.0"


@contextmanager
def owned(home: Home) -> Iterator[None]:
    """Hold the home for this process: the operating system lets go of the lock however the process ends."""
    home.make()
    handle = os.open(home.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise AlreadyRunning(
                f"{home.root} is already in use{_holder(handle)}. Stop that one first."
            ) from error
        os.ftruncate(handle, 0)
        os.pwrite(
            handle, json.dumps({"pid": os.getpid(), "since": datetime.now(UTC).isoformat()}).encode(), 0
        )
        yield
    finally:
        os.close(handle)


def _holder(handle: int) -> str:
    with suppress(ValueError, KeyError):
        held = json.loads(os.pread(handle, 4096, 0))
        return f" by process {held['pid']} since {held['since'][:19]}"
    return " by another process"


class App:
    """What every part is given. `routers` join the HTTP API, `services` the context of tools."""

    def __init__(self, home: Home, bus: Bus, store: Store) -> None:
        self.home = home
        self.bus = bus
        self.store = store
        self.vault = Vault(home, store)
        self.config = Config(home, bus, self.vault)
        self.identity = IdentityFile(home, bus, self.config)
        self.outbox = Outbox(store, bus)
        self.tools = Tools()
        self.models = Models(self.config)
        self.services: dict[type, Any] = {}
        self.routers: list[Any] = []
        self.started_at = time.monotonic()
        self.version = version()
        self.runner = Runner(
            store=store,
            bus=bus,
            home=home,
            config=self.config,
            identity=self.identity,
            outbox=self.outbox,
            models=self.models,
            tools=self.tools,
            services=self.services,
        )

    @classmethod
    @asynccontextmanager
    async def open(cls, home: Home, parts: Sequence["Part"] = ()) -> AsyncIterator["App"]:
        """The app of a home with its parts, until the block is left. `AlreadyRunning` says who holds the home."""
        async with AsyncExitStack() as stack:
            stack.enter_context(owned(home))
            store = await stack.enter_async_context(Store.open(home.db))
            app = cls(home, Bus(), store)
            stack.push_async_callback(app.models.aclose)
            await stack.enter_async_context(app.config.followed())
            await stack.enter_async_context(app.identity.followed())
            await stack.enter_async_context(app.runner.open())
            await stack.enter_async_context(app.outbox.open())
            for part in parts:
                await stack.enter_async_context(part(app))
            yield app


Part = Callable[[App], AbstractAsyncContextManager[None]]
