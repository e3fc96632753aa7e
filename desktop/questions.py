"""What waits for the owner, as cards that look and answer the same in chat, bubble and rounds.

The first answer wins, wherever it was given; the cards go when the core says that it is answered.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QPlainTextEdit, QVBoxLayout, QWidget

from core.errors import ApxError
from desktop import pieces
from desktop.flow import Wrap
from desktop.slots import slot
from desktop.words import Words


@dataclass(frozen=True, slots=True)
class Question:
    """An open question. A permission has the whole command in `draft`."""

    id: str
    kind: str  # conversation or permission
    who: str
    text: str
    draft: str = ""
    conversation_id: str = ""


WIDEST = 620
Answer = Callable[[str, str, str], Awaitable[None]]  # question id, choice, text
Read = Callable[[], Awaitable[Sequence[Question]]]


class Questions(QObject):
    """The open questions, read again whenever one is asked or answered."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.open: tuple[Question, ...] = ()
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

    def _take(self, questions: tuple[Question, ...]) -> None:
        if questions != self.open:
            self.open = questions
            self.changed.emit()


class Buttons(QWidget):
    """The choices of one question. Whoever presses twice answers once."""

    def __init__(self, question: Question, answer: Answer, words: Words, *, small: bool = False) -> None:
        super().__init__()
        self._question, self._answer, self._words = question, answer, words
        talk = question.kind == "conversation"
        self._short = ".short" if small else ""
        self.yes = pieces.button("primary", press=self._yes)
        self.other = pieces.button("" if question.draft else "primary", press=self._open_field)
        self.no = pieces.button("" if talk else "danger", press=self._no)
        self.yes.setVisible(bool(question.draft) or not talk)
        self.other.setVisible(talk)
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
        said, talk = self._words, self._question.kind == "conversation"
        who = self._question.who
        self.yes.setText(said(("card.send" if talk else "card.allow") + self._short))
        self.other.setText(said("card.write" + self._short if self._question.draft else "card.answer"))
        self.no.setText(said("card.leave" if talk else "card.deny"))
        self.send.setText(said("card.send_mine"))
        self.back.setText(said("card.back"))
        for button in (self.yes, self.other, self.no, self.send):
            pieces.name(button, f"{button.text()}: {who}" if who else button.text())
        pieces.name(self.field, said("card.field"))

    def _yes(self) -> None:
        self._give("send" if self._question.kind == "conversation" else "allow", self._question.draft)

    def _no(self) -> None:
        self._give("leave" if self._question.kind == "conversation" else "deny", "")

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


class QuestionCard(pieces.Card):
    """One question with what it is about."""

    def __init__(self, question: Question, answer: Answer, words: Words, *, small: bool = False) -> None:
        super().__init__("warn", pad=12 if small else 16)
        self._question, self._words = question, words
        self.chip = pieces.Chip("", "warn")
        self.who = pieces.Elided(role="strong")
        self.text = pieces.label(wrap=True)
        self.draft = pieces.label(role="code" if question.kind == "permission" else "small", wrap=True)
        self.buttons = Buttons(question, answer, words, small=small)
        head = pieces.row(self.chip, gap=10)
        head.addWidget(self.who, 1)
        self.column.addLayout(head)
        self.column.addWidget(self.text)
        self.column.addWidget(self.draft)
        self.column.addWidget(self.buttons)
        self.text.setText(question.text)
        self.text.setVisible(bool(question.text))
        self.draft.setVisible(bool(question.draft))
        words.changed.connect(self.retitle)
        self.retitle()

    def retitle(self) -> None:
        said, question = self._words, self._question
        permission = question.kind == "permission"
        self.chip.say(said("card.permission" if permission else "card.waits"), "warn")
        self.who.say(question.who)
        self.draft.setText(question.draft if permission else said("card.draft", draft=question.draft))


class QuestionList(QWidget):
    """All open questions, one card each; takes no room when there are none."""

    def __init__(self, questions: Questions, words: Words, *, margin: int, small: bool = False) -> None:
        super().__init__()
        self._questions, self._words, self._small = questions, words, small
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(margin, 0, margin, 8)
        self.column.setSpacing(8)
        self._cards: dict[str, QWidget] = {}
        self.more = pieces.label(role="small")
        self.column.addWidget(self.more)
        questions.changed.connect(self.refresh)
        words.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Keep the cards of questions that stay: what is being written in one is not lost."""
        shown = self._questions.open[
            :1
        ]  # the conversation is why people are here; the rest waits in the rounds
        for key in set(self._cards) - {question.id for question in shown}:
            gone = self._cards.pop(key)
            self.column.removeWidget(gone)
            gone.hide()
            gone.deleteLater()
        for place, question in enumerate(shown):
            if question.id not in self._cards:
                card = QuestionCard(question, self._questions.answer, self._words, small=self._small)
                self._cards[question.id] = pieces.at_most(card, WIDEST)
                self.column.insertWidget(place, self._cards[question.id])
        rest = len(self._questions.open) - len(shown)
        self.more.setText(self._words("card.more", n=rest))
        self.more.setVisible(rest > 0)
        self.setVisible(bool(shown))
