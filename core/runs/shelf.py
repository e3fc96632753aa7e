"""The tools of one run: those at hand, and those that it may take down from the shelf while it works."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from core.errors import NotFound
from core.runs.gate import rated
from core.tool import Context, Effect, Tool

NAME = "discover_tools"


class Discover(BaseModel):
    """Arguments of discover_tools."""

    model_config = ConfigDict(extra="forbid")
    query: str = Field(
        "", description="A word of what is needed; empty: everything there is.", max_length=200
    )
    activate: list[str] = Field(
        default_factory=list, description="Names of tools to have from the next step on.", max_length=50
    )


class Shelf:
    """`offered` is what the dispatcher knows and `schemas` what the model is told; both grow together."""

    def __init__(self, at_hand: Iterable[Tool], more: Iterable[Tool] = (), *, risk: bool = False) -> None:
        self._risk = risk
        self._more = {tool.name: tool for tool in more}
        self.offered: dict[str, Tool] = {}
        self.schemas: list[dict[str, Any]] = []
        for tool in at_hand:
            self._put(tool)
        if self._more:
            self._put(self._discover())

    def _put(self, tool: Tool) -> None:
        self.offered[tool.name] = tool
        schema = tool.schema()
        self.schemas.append(rated(tool, schema) if self._risk else schema)

    def take(self, families: Iterable[str]) -> list[str]:
        """Whole families from the shelf, for the next step; the names of their tools."""
        wanted = set(families)
        fresh = [tool for tool in self._more.values() if tool.group in wanted]
        for tool in fresh:
            self._put(self._more.pop(tool.name))
        return [tool.name for tool in fresh]

    def _discover(self) -> Tool:
        async def discover_tools(args: Discover, ctx: Context) -> str:
            return self._answer(args)

        about = (
            "See what other tools there are, and have them from the next step on. Not loaded yet: "
            f"{', '.join(self._more)}."
        )
        return Tool(
            name=NAME, about=about, args=Discover, run=discover_tools, effect=Effect.READ, group="steering"
        )

    def _answer(self, args: Discover) -> str:
        known = self._more.keys() | self.offered.keys()
        if unknown := [name for name in args.activate if name not in known]:
            raise NotFound(
                f"There is no tool {', '.join(unknown)}. There are: {', '.join(self._more) or 'no more'}."
            )
        fresh = [name for name in dict.fromkeys(args.activate) if name in self._more]
        for name in fresh:
            self._put(self._more.pop(name))
        if args.activate:
            return f"At hand from the next step on: {', '.join(args.activate)}."
        word = args.query.casefold()
        lines = [
            f"- {tool.name} ({tool.group or 'other'}): {tool.about.splitlines()[0] if tool.about else ''}"
            for tool in self._more.values()
            if word in f"{tool.name} {tool.group} {tool.about}".casefold()
        ]
        return "\n".join(lines) or "Nothing more of that kind. Without a query everything is listed."
