"""Slots that are coroutines, with their types; what goes wrong in one reaches `sys.excepthook`, never nobody."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, cast

from qasync import asyncSlot

P = ParamSpec("P")


def slot(
    *types: type,
) -> Callable[[Callable[P, Coroutine[Any, Any, None]]], Callable[P, "asyncio.Task[None]"]]:
    """Make a coroutine function a slot. Its body starts in the loop's next round, so it looks at its state first."""
    return cast(
        "Callable[[Callable[P, Coroutine[Any, Any, None]]], Callable[P, asyncio.Task[None]]]",
        asyncSlot(*types),
    )
