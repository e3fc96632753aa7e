"""A file that others may edit while we live: how it is told that it changed, and how often that is looked at."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

LOOK_EVERY_S = 0.5

Stamp = tuple[int, int] | None


def stamp(path: Path) -> Stamp:
    """What changes when the file does; None where there is none."""
    with suppress(OSError):
        stat = path.stat()
        return stat.st_mtime_ns, stat.st_size
    return None


@asynccontextmanager
async def looking(look: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """`look` is awaited every half second while inside."""

    async def again() -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            await look()

    task = asyncio.create_task(again())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
