"""Whether a run goes round in circles. Pure: calls in, a finding out.

A call counts by its name, its arguments and what came back, so looking at something that changes never counts.
"""

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from core.runs.turn import Call

WINDOW = 20
LONGEST_CYCLE = 3

# Notes to the model, which no person reads.
NOTE = (
    "[system note] You seem to be stuck: {what}. Repeating it will not help. Try another way, or say plainly what "
    "keeps you from going on."
)
CLOSING = (
    "[system note] You went on going round in circles, so this turn closes here: there are no more tools. Say in a few "
    "natural sentences what is done, what is not and what keeps you from it. Claim nothing that no tool result shows."
)


class Circle(StrEnum):
    """The shapes of going round."""

    ACTION_REPEAT = "action_repeat"
    ERROR_REPEAT = "error_repeat"
    ALTERNATION = "alternation"
    FAILING_TOOL = "failing_tool"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was seen, of which tool, how often in a row."""

    kind: Circle
    tool: str
    times: int

    @property
    def note(self) -> str:
        """What the model is told."""
        what = {
            Circle.ACTION_REPEAT: f"{self.tool} gave the same result {self.times} times in a row",
            Circle.ERROR_REPEAT: f"the same call of {self.tool} failed {self.times} times in a row",
            Circle.ALTERNATION: f"the same few calls came back {self.times} times with the same results",
            Circle.FAILING_TOOL: f"{self.tool} failed {self.times} times in a row, whatever its arguments",
        }
        return NOTE.format(what=what[self.kind])


@dataclass(frozen=True, slots=True)
class _Seen:
    tool: str
    args: str
    result: str | None  # None: it failed, with whatever words


@dataclass(slots=True)
class Stuck:
    """Remembers the latest calls. The first finding wants a note and a fresh look; the second an early end."""

    action_repeat: int = 4
    error_repeat: int = 3
    enabled: bool = True
    found: int = 0
    _latest: deque[_Seen] = field(init=False)

    def __post_init__(self) -> None:
        longest = max(self.action_repeat * LONGEST_CYCLE, self.error_repeat * 2)
        self._latest = deque(maxlen=max(WINDOW, longest))

    @property
    def over(self) -> bool:
        """It was told, and went round again."""
        return self.found > 1

    def after(self, call: Call) -> Finding | None:
        """Take a call that ended; the finding, if it closes a circle."""
        if not self.enabled:
            return None
        args = json.dumps(call.args, sort_keys=True, ensure_ascii=False, default=str)
        self._latest.append(_Seen(call.tool, args, call.result if call.ok else None))
        finding = self._look()
        if finding is not None:
            self.found += 1
            self._latest.clear()
        return finding

    def _look(self) -> Finding | None:
        seen = list(self._latest)
        last = seen[-1]
        if last.result is None:
            if (same := _run(seen, lambda one: one == last)) >= self.error_repeat:
                return Finding(Circle.ERROR_REPEAT, last.tool, same)
            failing = _run(seen, lambda one: one.tool == last.tool and one.result is None)
            if failing >= self.error_repeat * 2:
                return Finding(Circle.FAILING_TOOL, last.tool, failing)
        elif (same := _run(seen, lambda one: one == last)) >= self.action_repeat:
            return Finding(Circle.ACTION_REPEAT, last.tool, same)
        rounds = max(2, self.action_repeat - 1)
        for length in range(2, LONGEST_CYCLE + 1):
            tail = seen[-length * rounds :]
            if len(tail) == length * rounds and all(one == tail[n % length] for n, one in enumerate(tail)):
                return Finding(Circle.ALTERNATION, last.tool, rounds)
        return None


def _run(seen: list[_Seen], holds: Callable[[_Seen], bool]) -> int:
    """How many of the latest hold, without a gap."""
    count = 0
    for one in reversed(seen):
        if not holds(one):
            break
        count += 1
    return count
