"""Notices a model that says one thing over and over in one answer: it would go on until its time is over.

Pure where it decides. A circle is a stretch of words that repeats exactly, often, and up to the very end.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

REPEATS = "repeats"  # why such an answer ended
ENOUGH = 2400  # letters that are nothing but repetition
UNIT = 400  # the longest stretch that is looked for: six times at least
SAMPLE = 60
EVERY = 400


def circle(text: str) -> int:
    """Where to cut a text that ends in a circle, so that it says the thing twice; 0 where it ends in none."""
    size = len(text)
    if size < ENOUGH + UNIT:
        return 0
    period = _period(text)
    if not period:
        return 0
    begins = size - period
    while begins and text[begins - 1] == text[begins - 1 + period]:
        begins -= 1
    return min(begins + 2 * period, size)


def _period(text: str) -> int:
    """How long the stretch is that the end of a text repeats; 0 where it repeats none."""
    size, sample = len(text), text[-SAMPLE:]
    before = size - SAMPLE
    # The end may stand in its own stretch more than once.
    while (before := text.rfind(sample, size - SAMPLE - UNIT, before + SAMPLE - 1)) >= 0:
        period = size - SAMPLE - before
        if text[-ENOUGH:] == text[-ENOUGH - period : -period]:
            return period
    return 0


@dataclass(slots=True)
class Ear:
    """Passes the pieces of an answer on; `circling` is set once they go round in a circle."""

    tell: Callable[[str], None]
    circling: asyncio.Event = field(default_factory=asyncio.Event)
    _heard: str = ""
    _since: int = 0

    def hear(self, piece: str) -> None:
        """One more piece."""
        if self.circling.is_set():
            return
        self.tell(piece)
        self._heard = (self._heard + piece)[-2 * (ENOUGH + UNIT) :]
        self._since += len(piece)
        if self._since >= EVERY:
            self._since = 0
            if circle(self._heard):
                self.circling.set()
