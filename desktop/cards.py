"""What waits for the owner as cards that look and answer the same in chat and bubble, the most pressing first."""

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QVBoxLayout, QWidget

from desktop import pieces
from desktop.permission import PermissionCard
from desktop.questions import Answer, Buttons, Question, Questions
from desktop.words import Words

WIDEST = 620
LINGERS_MS = 6000


class QuestionCard(pieces.Card):
    """One question of a round with what it is about."""

    def __init__(self, question: Question, answer: Answer, words: Words, *, small: bool = False) -> None:
        super().__init__("warn", pad=12 if small else 16)
        self._question, self._words = question, words
        self.chip = pieces.Chip("", "warn")
        self.who = pieces.Elided(role="strong")
        self.text = pieces.label(wrap=True)
        self.draft = pieces.label(role="small", wrap=True)
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
        self.chip.say(self._words("card.waits"), "warn")
        self.who.say(self._question.who)
        self.draft.setText(self._words("card.draft", draft=self._question.draft))


class QuestionList(QWidget):
    """The question to answer next, one card; takes no room when there is none.

    With `rounds` false the questions of rounds are left to the other places that show them.
    """

    def __init__(
        self, questions: Questions, words: Words, *, margin: int, small: bool = False, rounds: bool = True
    ) -> None:
        super().__init__()
        self._questions, self._words, self._small, self._rounds = questions, words, small, rounds
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(margin, 0, margin, 8)
        self.column.setSpacing(8)
        self.cards: dict[str, PermissionCard | QuestionCard] = {}
        self._holders: dict[str, QWidget] = {}
        self.more = pieces.label(role="small")
        self.column.addWidget(self.more)
        questions.changed.connect(self.refresh)
        words.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Keep the cards of questions that stay: what is being written in one is not lost."""
        # The conversation is why people are here, so one at a time. A permission has somebody waiting on it.
        here = [one for one in self._questions.open if self._rounds or one.kind == "permission"]
        waiting = sorted(here, key=lambda one: one.kind != "permission")
        shown = waiting[:1]
        for key in set(self.cards) - {question.id for question in shown}:
            self._go(key, still_open=any(one.id == key for one in waiting))
        for place, question in enumerate(shown):
            if question.id not in self.cards:
                self._come(place, question)
        rest = waiting[1:]
        rounds = all(one.kind == "conversation" for one in rest)
        self.more.setText(self._words("card.more" if rounds else "card.more.here", n=len(rest)))
        self.more.setVisible(bool(rest))
        self.setVisible(bool(self.cards))

    def _come(self, place: int, question: Question) -> None:
        kind = PermissionCard if question.kind == "permission" else QuestionCard
        card = kind(question, self._questions.answer, self._words, small=self._small)
        self.cards[question.id] = card
        self._holders[question.id] = pieces.at_most(card, WIDEST)
        self.column.insertWidget(place, self._holders[question.id])

    def _go(self, key: str, *, still_open: bool) -> None:
        """Take a card away; one that was answered elsewhere says so for a moment first."""
        card = self.cards[key]
        ending = None if still_open else self._questions.endings.get(key)
        if ending is None or not isinstance(card, PermissionCard):
            self._take(key)
        elif not card.ended:
            card.end(*ending)
            QTimer.singleShot(LINGERS_MS, card, lambda: self._take(key))

    def _take(self, key: str) -> None:
        if self.cards.pop(key, None) is None:
            return
        holder = self._holders.pop(key)
        self.column.removeWidget(holder)
        holder.hide()
        holder.deleteLater()
        self.setVisible(bool(self.cards))
