"""Slots that are coroutines, with their types. What goes wrong in one reaches `sys.excepthook`, never nobody.

Their tasks are known here, so that whoever closes the core can wait for them first.
"""

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, cast

from qasync import asyncSlot

P = ParamSpec("P")
PATIENCE_S = 3.0
_running: set["asyncio.Task[Any]"] = set()


def slot(
    *types: type,
) -> Callable[[Callable[P, Coroutine[Any, Any, None]]], Callable[P, "asyncio.Task[None]"]]:
    """Make a coroutine function a slot. Its body starts in the loop's next round, so it looks at its state first."""

    def make(function: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, "asyncio.Task[None]"]:
        @functools.wraps(function)
        async def known(*args: P.args, **kwargs: P.kwargs) -> None:
            task = asyncio.current_task()
            assert task is not None
            _running.add(task)
            try:
                await function(*args, **kwargs)
            finally:
                _running.discard(task)

        return cast("Callable[P, asyncio.Task[None]]", asyncSlot(*types)(known))

    return make


async def settle() -> None:
    """Let the slots that are under way end, and end those that do not."""
    await asyncio.sleep(0)  # those that were called a moment ago begin
    waiting = _running - {asyncio.current_task()}
    if not waiting:
        return
    _, late = await asyncio.wait(waiting, timeout=PATIENCE_S)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)
