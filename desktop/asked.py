"""The card of the agent's questions in the conversation: answers to press, room for words, pressed once.

What is chosen and written is kept with the entry, so that a card that scrolls away and comes back is as it was left.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QSizePolicy, QVBoxLayout, QWidget

from desktop import pieces, theme
from desktop.flow import Wrap
from desktop.messages import Asking, Entry
from desktop.pieces import Button, Card
from desktop.rows import Row
from desktop.words import Words

if TYPE_CHECKING:
    from core.runs.turn import Asked

WIDEST = 620


def answer_of(asking: Asking) -> str:
    """What is chosen and written, as the message that it becomes; empty until every question has something."""
    each = [_one(asking, place) for place in range(len(asking.questions))]
    if not all(each):
        return ""
    if len(each) == 1:
        return each[0]
    return "\n".join(f"{number}. {one}" for number, one in enumerate(each, 1))


def _one(asking: Asking, place: int) -> str:
    written = " ".join(asking.written.get(place, "").split())
    options = asking.questions[place].options
    picked = [one for one in options if one in asking.picked.get(place, ())]
    return ", ".join([*picked, *([written] if written else [])])


class Option(Button):
    """One answer to press; where several may hold it stays pressed."""

    def __init__(self, text: str, press: Callable[[], object]) -> None:
        super().__init__()
        self.whole = text
        self.setProperty("option", True)
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.clicked.connect(lambda: press())

    def minimumSizeHint(self) -> QSize:
        return QSize(60, super().minimumSizeHint().height())

    def fit(self, width: int) -> None:
        """All of the text, on as many lines as it needs."""
        metrics, room = self.fontMetrics(), max(60, width - 34)
        lines = [""]
        for word in self.whole.split():
            longer = f"{lines[-1]} {word}".strip()
            if metrics.horizontalAdvance(longer) <= room or not lines[-1]:
                lines[-1] = longer
            else:
                lines.append(word)
        shown = [metrics.elidedText(one, Qt.TextElideMode.ElideRight, room) for one in lines]
        self.setText("\n".join(shown).replace("&", "&&"))  # an ampersand is no shortcut
        pieces.put(self, "lines", len(shown) > 1)
        pieces.name(self, self.whole)


class Asks(QWidget):
    """One question with its answers and the field for another one."""

    def __init__(self, asked: "Asked", number: str, picked: list[str], written: str) -> None:
        super().__init__()
        self.asked = asked
        self.text = pieces.label(f"{number}{asked.question}", wrap=True)
        self.hint = pieces.label(role="small")
        self.options: list[Option] = []
        self.field = QLineEdit(written)
        self.field.setMaxLength(4000)
        self.picked = picked
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self.text)
        column.addWidget(self.hint)
        self.hint.setVisible(asked.multiple and bool(asked.options))
        for option in asked.options:
            made = Option(option, partial(self._press, option))
            made.setChecked(option in picked)
            self.options.append(made)
        if self.options:
            column.addWidget(Wrap(*self.options, gap=8))
        self.row = pieces.row(self.field, gap=8)
        column.addLayout(self.row)
        self.pressed: Callable[[str], object] = lambda option: None

    def _press(self, option: str) -> None:
        had = option in self.picked
        if not self.asked.multiple:
            self.picked.clear()
        elif had:
            self.picked.remove(option)
        if not (had and self.asked.multiple):
            self.picked.append(option)
        for one in self.options:
            one.setChecked(one.whole in self.picked)
        self.pressed(option)

    def fit(self, width: int) -> None:
        for option in self.options:
            option.fit(width)


class QuestionsRow(Row):
    """The card. A single question with answers to press is answered by one press."""

    def __init__(self, entry: Entry, words: Words, answer: Callable[[Entry, str], object]) -> None:
        self._answer = answer
        super().__init__(entry, words)

    @property
    def asking(self) -> Asking:
        assert self.entry.asking is not None
        return self.entry.asking

    def build(self) -> None:
        self.card = Card("warn", gap=12)
        self.chip = pieces.Chip("", "warn")
        self.card.column.addLayout(pieces.row(self.chip, 1))
        self.asks: list[Asks] = []
        many = len(self.asking.questions) > 1
        for place, asked in enumerate(self.asking.questions):
            picked = self.asking.picked.setdefault(place, [])
            one = Asks(asked, f"{place + 1}. " if many else "", picked, self.asking.written.get(place, ""))
            one.pressed = self._pressed
            one.field.textChanged.connect(partial(self._written, place))
            one.field.returnPressed.connect(self.send)
            self.asks.append(one)
            self.card.column.addWidget(one)
        self.button = pieces.button("primary", "send", self.send)
        if many:
            self.card.column.addLayout(pieces.row(self.button, 1))
        else:
            self.asks[0].row.addWidget(self.button)
        self.said = QWidget()
        inside = QHBoxLayout(self.said)
        inside.setContentsMargins(0, 0, 0, 0)
        inside.setSpacing(8)
        self.mark = QLabel()
        self.given = pieces.label(role="strong", wrap=True)
        self.given.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        inside.addWidget(self.mark, 0, Qt.AlignmentFlag.AlignTop)
        inside.addWidget(self.given, 1)
        self.card.column.addWidget(self.said)
        self.card.setMaximumWidth(WIDEST)
        outside = QHBoxLayout(self)
        outside.setContentsMargins(0, 4, 0, 10)
        outside.addWidget(self.card, 1)
        outside.addStretch(0)
        theme.current().changed.connect(self.show_entry)

    def show_entry(self) -> None:
        said, asking = self.words, self.asking
        waits = asking.answer is None
        key = "ask.waits" if waits else "ask.answered" if asking.answer else "ask.passed"
        tone = "warn" if waits else "accent" if asking.answer else ""
        self.chip.say(said(key), tone)
        self.card.tone("warn" if waits else "")
        self.mark.setPixmap(theme.icon("check", "accent").pixmap(QSize(18, 18)))
        self.given.setText(asking.answer or "")
        self.said.setVisible(bool(asking.answer))
        for one in self.asks:
            one.hint.setText(said("ask.several"))
            one.field.setPlaceholderText(said("ask.other" if one.options else "ask.field"))
            pieces.name(
                one.field, f"{one.asked.question}: {said('ask.other' if one.options else 'ask.field')}"
            )
            one.field.setVisible(waits)
            one.hint.setVisible(waits and one.asked.multiple and bool(one.options))
            for option in one.options:
                # What nobody answered stays to be read.
                option.setEnabled(waits)
                option.setVisible(not asking.answer)
        self.button.setText(said("ask.send"))
        self.button.setVisible(waits)
        self._ready()

    def _pressed(self, option: str) -> None:
        only = len(self.asks) == 1 and not self.asks[0].asked.multiple
        if only:
            self.asking.written.clear()
            self.send()
        self._ready()

    def _written(self, place: int, text: str) -> None:
        self.asking.written[place] = text
        one = self.asks[place]
        if text.strip() and not one.asked.multiple and one.picked:
            # One answer: words of one's own take the place of what was pressed.
            one.picked.clear()
            for option in one.options:
                option.setChecked(False)
        self._ready()

    def _ready(self) -> None:
        self.button.setEnabled(bool(answer_of(self.asking)))

    def send(self) -> None:
        """Give the answer, once; whoever takes it says whether it went."""
        text = answer_of(self.asking)
        if text and self.asking.answer is None:
            self._answer(self.entry, text)
            self.show_entry()

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        for one in self.asks:
            one.fit(min(WIDEST, self.width()) - 34)
