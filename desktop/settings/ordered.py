"""A list whose order matters: rows with buttons for up, down and away, and a line to add one."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from desktop import pieces
from desktop.settings.editors import Suggested
from desktop.words import Words


class Ordered(QWidget):
    """An editor of models in their order; every change is a new whole list."""

    changed = Signal()

    def __init__(self, words: Words, offered: Sequence[str], *, most: int = 8) -> None:
        super().__init__()
        self._words, self._most = words, most
        self.items: list[str] = []
        self.rows = QVBoxLayout()
        self.rows.setSpacing(4)
        self.field = Suggested(offered, words("settings.super_agent.model.example"))
        self.field.setEditText("")
        self.field.setMaximumWidth(340)
        self.add = pieces.button("", "plus", self._add)
        line = pieces.row(gap=8)
        line.addWidget(self.field, 1)
        line.addWidget(self.add)
        line.addStretch(0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(8)
        column.addLayout(self.rows)
        column.addLayout(line)
        words.changed.connect(self.retitle)
        self.retitle()

    def retitle(self) -> None:
        self.add.setText(self._words("settings.ordered.add"))
        pieces.name(self.field, self._words("settings.ordered.field"))
        self._draw()

    def value(self) -> list[str]:
        return list(self.items)

    def put(self, value: Any) -> None:
        if list(value or ()) != self.items:
            self.items = list(value or ())
            self._draw()

    def wrong(self, is_wrong: bool) -> None:
        self.field.wrong(is_wrong)

    def _add(self) -> None:
        text = self.field.currentText().strip()
        if text:
            self.field.setEditText("")
            self._change([*self.items, text])

    def _move(self, place: int, by: int) -> None:
        items = list(self.items)
        items.insert(place + by, items.pop(place))
        self._change(items)

    def _remove(self, place: int) -> None:
        self._change(self.items[:place] + self.items[place + 1 :])

    def _change(self, items: list[str]) -> None:
        self.items = items
        self._draw()
        self.changed.emit()

    def _draw(self) -> None:
        pieces.clear(self.rows)
        last = len(self.items) - 1
        for place, item in enumerate(self.items):
            line = pieces.row(pieces.label(f"{place + 1}.", "muted"), gap=6)
            line.addWidget(pieces.Elided(item), 1)
            for icon, key, press, able in (
                ("chevron-up", "up", partial(self._move, place, -1), place > 0),
                ("chevron-down", "down", partial(self._move, place, 1), place < last),
                ("trash", "remove", partial(self._remove, place), True),
            ):
                button = pieces.button("quiet", icon, press)
                button.setEnabled(able)
                pieces.name(button, self._words(f"settings.ordered.{key}", model=item), tip=True)
                line.addWidget(button)
            self.rows.addLayout(line)
        self.add.setEnabled(len(self.items) < self._most)
