"""What was looked at and how it stands, each failure with its remedy: the same that `apx doctor` says."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.errors import ApxError
from desktop import pieces
from desktop.pieces import Chip
from desktop.slots import slot
from desktop.words import Words

TONES = {"ok": "accent", "warn": "warn", "fail": "danger"}


class Check(Protocol):
    """One thing that was looked at."""

    @property
    def name(self) -> str: ...
    @property
    def level(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def remedy(self) -> str: ...


Examine = Callable[[], Awaitable[Sequence[Check]]]


class Checklist(QWidget):
    """Looks when it is asked to, and says what it found, the worst first."""

    def __init__(self, words: Words, examine: Examine) -> None:
        super().__init__()
        self._words, self._examine = words, examine
        self.found: tuple[Check, ...] = ()
        self.again = pieces.button("", "refresh", self.look)
        self.lines = QVBoxLayout()
        self.lines.setSpacing(12)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        column.addLayout(self.lines)
        column.addLayout(pieces.row(self.again, 1))
        words.changed.connect(self.look)
        self.again.setText(words("checks.again"))

    @slot()
    async def look(self) -> None:
        """Look at everything now."""
        self.again.setText(self._words("checks.again"))
        if not self.again.isEnabled():
            return
        self.again.setEnabled(False)
        try:
            order = list(TONES)
            self.found = tuple(sorted(await self._examine(), key=lambda one: -order.index(str(one.level))))
            self._draw()
        except ApxError as error:
            pieces.clear(self.lines)
            self.lines.addWidget(pieces.label(str(error), "error", wrap=True))
        finally:
            self.again.setEnabled(True)

    def _draw(self) -> None:
        pieces.clear(self.lines)
        for one in self.found:
            text = pieces.label(one.text, wrap=True)
            line = pieces.row(gap=12)
            line.addWidget(text, 1)
            line.addWidget(Chip(self._words(f"checks.{one.level}"), TONES[str(one.level)]))
            self.lines.addLayout(line)
            if one.remedy:
                # The window has a place for what the terminal has a command for.
                remedy = self._words.known(f"checks.remedy.{one.name}", one.remedy)
                self.lines.addWidget(pieces.label(remedy, "small", wrap=True))
