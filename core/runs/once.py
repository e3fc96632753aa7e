"""What a turn has already done to the world, so that a model that forgets does not do it twice.

Reading is always allowed again, and so is a command line or a gesture: the same one twice is another act.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.tool import Effect, Tool

# A click in another program, twice, is two clicks.
GESTURES = frozenset({"mcp", "phone", "shell", "code"})
DONE = "Already done in this turn, with exactly these arguments; it was not done again. It had answered: {result}"
UNKNOWN = (
    "error: this was already tried in this turn with exactly these arguments, and whether it had its effect is not "
    "known. It was not tried again; look, or ask the owner."
)


@dataclass(slots=True)
class Once:
    """The sends and writes of one turn, judge rounds included."""

    _done: dict[tuple[str, str], str] = field(default_factory=dict)
    _files: set[tuple[str, str]] = field(default_factory=set)

    def before(self, tool: Tool, effect: Effect, args: Mapping[str, Any]) -> tuple[str, bool] | None:
        """What the model is told instead of a second time: the words, and whether the first one held."""
        if not _counts(tool, effect):
            return None
        known = self._done.get(_key(tool, args))
        if known is None:
            return None
        return (UNKNOWN, False) if known == UNKNOWN else (DONE.format(result=known[:300]), True)

    def after(
        self, tool: Tool, effect: Effect, args: Mapping[str, Any], result: str, *, ok: bool, unknown: bool
    ) -> None:
        """Take down what was done, or may have been; what failed may be tried again."""
        if effect is Effect.READ:
            return
        key = _key(tool, args)
        # Other work may have changed the files since: writing the same again is then no repetition.
        for stale in self._files - {key}:
            self._done.pop(stale, None)
        self._files &= {key}
        if not _counts(tool, effect) or not (ok or unknown):
            return
        self._done[key] = result if ok else UNKNOWN
        if tool.group == "files":
            self._files.add(key)


def _counts(tool: Tool, effect: Effect) -> bool:
    return effect is Effect.SEND or (effect is Effect.WRITE and tool.group not in GESTURES)


def _key(tool: Tool, args: Mapping[str, Any]) -> tuple[str, str]:
    return tool.name, json.dumps(args, sort_keys=True, ensure_ascii=False, default=str)
