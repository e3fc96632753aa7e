"""What waits for the owner: the questions themselves, and the buttons of those that a round asks.

The first answer wins, wherever it was given.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QPlainTextEdit, QVBoxLayout, QWidget

from core.errors import ApxError
from desktop import pieces
from desktop.flow import Wrap
from desktop.slots import slot
from desktop.words import Words


@dataclass(frozen=True, slots=True)
class Question:
    """An open question. A permission has the whole command in `draft`, why it is asked in `text`."""

    id: str
    kind: str  # conversation or permission
    who: str
    text: str
    draft: str = ""
    conversation_id: str = ""
    asker: str = ""  # of a permission: who, from where
    warnings: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    expires_at: datetime | None = None


Answer = Callable[[str, str, str], Awaitable[None]]  # question id, choice, text
Read = Callable[[], Awaitable[Sequence[Question]]]


class Questions(QObject):
    """The open questions, read again whenever one is asked or answered."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.open: tuple[Question, ...] = ()
        self.endings: dict[str, tuple[str, str]] = {}  # id: how a permission ended elsewhere, and its tone
        self._read: Read | None = None
        self._answer: Answer | None = None

    def serve(self, read: Read | None, answer: Answer | None) -> None:
        """Where questions come from and answers go; None when the core is closed."""
        self._read, self._answer = read, answer
        if read is None:
            self._take(())

    @slot()
    async def refresh(self) -> None:
        if self._read is not None:
            self._take(tuple(await self._read()))

    async def answer(self, question_id: str, choice: str, text: str) -> None:
        """Give the owner's answer; raises `ApxError` when it could not be taken."""
        if self._answer is not None:
            await self._answer(question_id, choice, text)
            await self.refresh()

    def end(self, question_id: str, sentence: str, tone: str = "") -> None:
        """How one that is shown was decided elsewhere."""
        self.endings[question_id] = (sentence, tone)

    def _take(self, questions: tuple[Question, ...]) -> None:
        if questions != self.open:
            self.open = questions
            self.changed.emit()


class Buttons(QWidget):
    """The choices of one question. Whoever presses twice answers once."""

    def __init__(self, question: Question, answer: Answer, words: Words, *, small: bool = False) -> None:
        super().__init__()
        self._question, self._answer, self._words = question, answer, words
        self._short = ".short" if small else ""
        self.yes = pieces.button("primary", press=self._yes)
        self.other = pieces.button("" if question.draft else "primary", press=self._open_field)
        self.no = pieces.button(press=self._no)
        self.yes.setVisible(bool(question.draft))
        self.field = QPlainTextEdit(question.draft)
        self.field.setFixedHeight(76)
        self.field.setTabChangesFocus(True)
        self.send = pieces.button(
            "primary", press=lambda: self._give("write", self.field.toPlainText().strip())
        )
        self.back = pieces.button(press=self._shut_field)
        self.wrong = pieces.label(role="error", wrap=True)
        self.wrong.hide()
        self._writing = QWidget()
        self._choices = Wrap(self.yes, self.other, self.no, gap=8)
        inside = QVBoxLayout(self._writing)
        inside.setContentsMargins(0, 0, 0, 0)
        inside.addWidget(self.field)
        inside.addLayout(pieces.row(self.send, self.back, 1))
        self._writing.hide()
        self.field.textChanged.connect(lambda: self.send.setEnabled(bool(self.field.toPlainText().strip())))
        self.send.setEnabled(bool(question.draft))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        for widget in (self._choices, self._writing, self.wrong):
            column.addWidget(widget)
        words.changed.connect(self.retitle)
        self.retitle()

    def retitle(self) -> None:
        said, who = self._words, self._question.who
        self.yes.setText(said("card.send" + self._short))
        self.other.setText(said("card.write" + self._short if self._question.draft else "card.answer"))
        self.no.setText(said("card.leave"))
        self.send.setText(said("card.send_mine"))
        self.back.setText(said("card.back"))
        for button in (self.yes, self.other, self.no, self.send):
            pieces.name(button, f"{button.text()}: {who}" if who else button.text())
        pieces.name(self.field, said("card.field"))

    def _yes(self) -> None:
        self._give("send", self._question.draft)

    def _no(self) -> None:
        self._give("leave", "")

    def _open_field(self) -> None:
        self._choices.hide()
        self._writing.show()
        self.field.setFocus()
        self.field.selectAll()

    def _shut_field(self) -> None:
        self._writing.hide()
        self._choices.show()
        self.other.setFocus()

    @slot(str, str)
    async def _give(self, choice: str, text: str) -> None:
        if not self.isEnabled() or (choice == "write" and not text):
            return
        self.setEnabled(False)
        self.wrong.hide()
        try:
            await self._answer(self._question.id, choice, text)
        except ApxError as error:
            self.wrong.setText(str(error))
            self.wrong.show()
            self.setEnabled(True)
        except asyncio.CancelledError:
            self.setEnabled(True)
            raise
