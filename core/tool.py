"""A tool as a value: what the model reads, what the gate reads, and what runs.

The dispatcher asks the gate before `run`; a tool never does.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pydantic import BaseModel

from core.events import Bus
from core.paths import Home
from core.runs.turn import Attachment, Turn
from core.store import Store

if TYPE_CHECKING:
    from core.config import Config
    from core.identity import IdentityFile
    from core.outbox import Outbox
    from core.runs.budget import Budget


class Effect(StrEnum):
    """What a call does to the world; the gate decides by it."""

    READ = "read"
    WRITE = "write"
    SEND = "send"
    DANGER = "danger"


@dataclass(slots=True)
class Context:
    """What a running tool may reach. `attach` is None where the channel cannot deliver files.

    `budget` is what is left of the run's steps, `offered` which tools it has now: whoever delegates shares both.
    `take` brings families of tools down from the run's shelf and answers with their names.
    """

    store: Store
    bus: Bus
    home: Home
    config: "Config"
    identity: "IdentityFile"
    outbox: "Outbox"
    turn: Turn
    run_id: str
    attach: Callable[[Attachment], Awaitable[None]] | None = None
    services: Mapping[type, Any] = field(default_factory=dict)
    budget: "Budget | None" = None
    offered: Callable[[], "tuple[Tool, ...]"] = tuple
    take: Callable[[Iterable[str]], list[str]] | None = None


_MADE: WeakKeyDictionary[type[BaseModel], dict[str, Any]] = WeakKeyDictionary()


def _parameters(args: type[BaseModel]) -> dict[str, Any]:
    """Made once: building them takes longer than everything else that a turn does with a tool."""
    if (known := _MADE.get(args)) is not None:
        return known
    parameters = args.model_json_schema()
    parameters.pop("title", None)
    for value in parameters.get("properties", {}).values():
        value.pop("title", None)
    _MADE[args] = parameters
    return parameters


async def described(tools: "Iterable[Tool]") -> None:
    """Have the schemas of tools made beside the loop, which those of all would hold for a tenth of a second."""
    if fresh := [one.args for one in tools if one.args not in _MADE]:
        await asyncio.to_thread(lambda: [_parameters(args) for args in fresh])


Handler = Callable[[Any, Context], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Tool:
    """`args` is the model of the arguments, `about` what the model is told, `group` the family it is found under.

    `effect_of` answers where the effect depends on the arguments; `effect` is then the gravest it can be.
    """

    name: str
    about: str
    args: type[BaseModel]
    run: Handler
    effect: Effect
    group: str = ""
    effect_of: Callable[[Any, Context], Awaitable[Effect]] | None = None

    def schema(self) -> dict[str, Any]:
        """The function in the chat-completions form; its parameters are shared, so nobody changes them in place."""
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.about, "parameters": _parameters(self.args)},
        }


def tool(effect: Effect, *, name: str | None = None, group: str = "") -> Callable[[Handler], Tool]:
    """Make a tool of a coroutine function: its docstring is for the model, its first annotation the arguments."""

    def make(run: Handler) -> Tool:
        hints = inspect.get_annotations(run, eval_str=True)
        args = hints[next(iter(inspect.signature(run).parameters))]
        return Tool(
            name=name or run.__name__,
            about=inspect.getdoc(run) or "",
            args=args,
            run=run,
            effect=effect,
            group=group,
        )

    return make
