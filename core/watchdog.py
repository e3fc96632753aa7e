"""A thread that notices when the loop stands still, and writes down where.

A loop that is blocked cannot fire its own time limits, so whoever watches it must not be on it.
"""

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.store import now

if TYPE_CHECKING:
    from core.app import App

log = logging.getLogger(__name__)

LAG_S = 5.0
EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Stall:
    """One time that the loop stood still; `where` is the innermost line of it."""

    at: str
    seconds: float
    where: str


class Watchdog:
    """Asks the loop for a sign of life. `last` is the latest stall; nothing runs before `open`."""

    def __init__(self, *, lag_s: float = LAG_S, every_s: float = EVERY_S) -> None:
        self._lag_s, self._every_s = lag_s, every_s
        self._beat, self._leave = threading.Event(), threading.Event()
        self.last: Stall | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Watchdog"]:
        """Watch the loop of whoever calls until the block is left."""
        watched = (asyncio.get_running_loop(), threading.get_ident())
        thread = threading.Thread(target=self._watch, args=watched, name="watchdog", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._leave.set()
            self._beat.set()
            await asyncio.to_thread(thread.join)

    def _watch(self, loop: asyncio.AbstractEventLoop, thread_id: int) -> None:
        while not self._leave.wait(self._every_s):
            self._beat.clear()
            began = time.monotonic()
            with suppress(RuntimeError):  # the loop is closed already
                loop.call_soon_threadsafe(self._beat.set)
            if self._beat.wait(self._lag_s):
                continue
            stack = traceback.extract_stack(sys._current_frames().get(thread_id))
            shown = "".join(traceback.format_list(stack))
            log.error("The loop has stood still for %.1f s:\n%s", time.monotonic() - began, shown)
            self._beat.wait()
            inner = stack[-1] if stack else None
            where = f"{inner.filename.rpartition('/')[2]}:{inner.lineno} {inner.name}" if inner else "?"
            self.last = Stall(now(), round(time.monotonic() - began, 1), where)
            log.warning("The loop goes on after %.1f s", self.last.seconds)


@asynccontextmanager
async def watchdog(app: "App") -> AsyncIterator[None]:
    """The part: the loop is watched while the app lives."""
    async with Watchdog().open() as one:
        app.services[Watchdog] = one
        try:
            yield
        finally:
            del app.services[Watchdog]
