"""The HTTP API as a part of the app: built once, bound to its port, announced when it answers."""

import asyncio
import json
import logging
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

from core.api import wake
from core.api.access import Access
from core.api.feed import Feed
from core.api.guard import ASGI, ASGIScope, Guard, Receive, Send
from core.api.listening import Server, bind
from core.app import App
from core.errors import Unavailable
from core.paths import Home, replace

log = logging.getLogger(__name__)
CALM_S = 8.0


class Routes:
    """The routes, imported beside the loop: the framework takes longer to import than all else to start.

    The import holds the interpreter for tenths of a second, which an alert must not wait for: it happens when
    somebody needs a route, or else once the start has calmed down.
    """

    def __init__(self, app: App, access: Access, feed: Feed) -> None:
        self._build = partial(self._make, app, access, feed)
        self._made: asyncio.Task[ASGI] | None = None
        self._later = asyncio.get_running_loop().call_later(CALM_S, self._begin)

    @staticmethod
    def _make(app: App, access: Access, feed: Feed) -> ASGI:
        from core.api.build import build

        return build(app, access, feed)

    def _begin(self) -> "asyncio.Task[ASGI]":
        self._later.cancel()
        if self._made is None:
            self._made = asyncio.create_task(asyncio.to_thread(self._build))
        return self._made

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        routes = await asyncio.shield(self._begin())
        await routes(scope, receive, send)

    async def aclose(self) -> None:
        """A thread cannot be stopped, only waited for."""
        self._later.cancel()
        if self._made is None:
            return
        (failed,) = await asyncio.gather(self._made, return_exceptions=True)
        if isinstance(failed, BaseException):
            log.error("The routes could not be made", exc_info=failed)


def alive(app: App) -> dict[str, Any]:
    """What anybody may know."""
    return {"status": "ok", "version": app.version, "uptime_s": round(time.monotonic() - app.started_at, 3)}


@asynccontextmanager
async def serve(app: App) -> AsyncIterator[None]:
    """Answer on the configured port until the block is left; `daemon.json` says where."""
    async with answering(app, app.config.now.host, app.config.now.port) as port:
        announce(app.home, port)
        log.info("The API answers on port %d", port)
        try:
            yield
        finally:
            retract(app.home)


@asynccontextmanager
async def answering(app: App, host: str, port: int) -> AsyncIterator[int]:
    """The API on a port, which is the one that is yielded; nobody is told where."""
    access = Access(app.home, app.store)
    sockets = bind(host, port)
    feed = Feed(app.bus)
    routes = Routes(app, access, feed)
    door = Guard(routes, access, lambda: app.config.now.host, lambda: alive(app), partial(wake.take, app))
    server = Server(door)
    task = asyncio.create_task(server.serve(sockets=sockets), name="http")
    try:
        up = asyncio.create_task(server.up.wait())
        await asyncio.wait({up, task}, return_when=asyncio.FIRST_COMPLETED)
        up.cancel()
        if task.done():
            task.result()
            raise Unavailable(f"The API did not start on port {port}.")
        yield sockets[0].getsockname()[1]
    finally:
        feed.close()
        server.stop()
        await task
        await routes.aclose()


def announce(home: Home, port: int) -> None:
    """Say which process answers on which port."""
    here: dict[str, Any] = {"pid": os.getpid(), "port": port}
    here["started_at"] = datetime.now(UTC).isoformat(timespec="milliseconds")
    replace(home.daemon, json.dumps(here) + "\n")


def retract(home: Home) -> None:
    """Take the announcement back, if it is ours."""
    with suppress(OSError, ValueError, KeyError):
        if json.loads(home.daemon.read_text(encoding="utf-8"))["pid"] == os.getpid():
            home.daemon.unlink()
