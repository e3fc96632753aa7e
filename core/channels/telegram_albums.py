"""Files that were sent together arrive one by one: a question with an album waits until no more of it comes."""

import asyncio
from collections.abc import Callable

from core.channels.telegram_question import Question


class Albums:
    """One open question for each address; `begin` gets it when nothing has joined it for a moment."""

    def __init__(self, window_s: float, begin: Callable[[str, Question], None]) -> None:
        self._window_s, self._begin = window_s, begin
        self._open: dict[str, tuple[Question, asyncio.TimerHandle]] = {}

    def waits(self, address: str) -> bool:
        """Whether something is open there."""
        return address in self._open

    def hold(self, address: str, question: Question) -> None:
        """Wait for more; what is open there already is part of the same question."""
        if before := self.drop(address):
            question.take(before)
        timer = asyncio.get_running_loop().call_later(self._window_s, self._close, address)
        self._open[address] = (question, timer)

    def drop(self, address: str) -> Question | None:
        """Wait no longer, and do not begin."""
        if address not in self._open:
            return None
        question, timer = self._open.pop(address)
        timer.cancel()
        return question

    def leave(self) -> None:
        """The app closes: the updates stay open for the next start."""
        for address in tuple(self._open):
            self.drop(address)

    def _close(self, address: str) -> None:
        if question := self.drop(address):
            self._begin(address, question)
