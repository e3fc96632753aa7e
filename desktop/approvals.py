"""Permissions that a tool call waits for, asked on the screen: an open card, and a yes or a no."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Protocol

from core.errors import Refused
from desktop.questions import Question
from desktop.words import Words


class Wanted(Protocol):
    """What is asked for, as the dispatcher says it."""

    @property
    def id(self) -> str: ...
    @property
    def tool(self) -> str: ...
    @property
    def args(self) -> Mapping[str, Any]: ...


class Approvals:
    """The calls that wait now. A call that is cancelled while it waits takes its card with it."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._waiting: dict[str, tuple[Wanted, asyncio.Future[bool]]] = {}

    async def ask(self, wanted: Wanted) -> bool:
        """The owner's yes or no."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting[wanted.id] = (wanted, answer)
        try:
            return await answer
        finally:
            del self._waiting[wanted.id]

    def open(self) -> list[Question]:
        """The cards of what waits: the whole command, or every argument."""
        return [
            Question(
                id=wanted.id,
                kind="permission",
                who=self._words("card.allow.what", tool=wanted.tool.replace("_", " ")),
                text="",
                draft=command(wanted.args),
            )
            for wanted, _ in self._waiting.values()
        ]

    def holds(self, id: str) -> bool:
        return id in self._waiting

    def answer(self, id: str, yes: bool) -> None:
        """Give the answer; the first one wins."""
        waiting = self._waiting.get(id)
        if waiting is None or waiting[1].done():
            raise Refused(self._words("card.gone"))
        waiting[1].set_result(yes)


def command(args: Mapping[str, Any]) -> str:
    """Arguments as people read them: a single text as itself, more of them by name."""
    if len(args) == 1 and isinstance(only := next(iter(args.values())), str):
        return only
    return "\n".join(
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in args.items()
    )
