"""The card of a permission: the whole of what would run, what is odd about it, and a yes, an always or a no.

It counts down to the moment when no answer is a no, and says how it ended when that was decided elsewhere.
"""

import asyncio
from datetime import UTC, datetime
from functools import partial

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QSizePolicy

from core.errors import ApxError
from desktop import pieces
from desktop.code import Code
from desktop.flow import Wrap
from desktop.questions import Answer, Question
from desktop.slots import slot
from desktop.words import Words

CHOICES = (("approve", "primary"), ("always", ""), ("deny", "danger"))


class PermissionCard(pieces.Card):
    """One permission. `give` takes its id and approve, always or deny; the first answer counts, wherever given."""

    def __init__(self, question: Question, give: Answer, words: Words, *, small: bool = False) -> None:
        super().__init__("warn", pad=12 if small else 16)
        self._question, self._give, self._words, self._small = question, give, words, small
        self.ended = False
        self.chip = pieces.Chip("", "warn")
        self.what = pieces.Elided(role="strong")
        self.asker = pieces.Elided(role="small")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.command = Code(question.draft, 3 if small else 10)
        self.why = pieces.label(question.text, "small", wrap=True)
        self.why.setVisible(bool(question.text) and not (small and question.warnings))
        self.left = pieces.label(role="small")
        self.wrong = pieces.label(role="error", wrap=True)
        self.wrong.hide()
        head = pieces.row(self.chip, gap=10)
        head.addWidget(self.what, 1)
        self.column.addLayout(head)
        self.column.addWidget(self.asker)
        self.column.addWidget(self.command)
        self.odd = [pieces.label(role="error", wrap=True) for _ in question.warnings]
        for line in self.odd:
            self.column.addWidget(line)
        self.column.addWidget(self.why)
        offered = [(choice, kind) for choice, kind in CHOICES if choice in question.choices]
        self.buttons = {
            choice: pieces.button(kind, press=partial(self.answer, choice)) for choice, kind in offered
        }
        self.choices = Wrap(*self.buttons.values(), gap=8)
        below = pieces.row(gap=12)
        below.addWidget(self.choices, 1)
        if not small:
            below.addWidget(self.left, 0, Qt.AlignmentFlag.AlignVCenter)
        else:
            head.addWidget(self.left)
        self.column.addLayout(below)
        self.column.addWidget(self.wrong)
        self._clock = QTimer(self)
        self._clock.setInterval(1000)
        self._clock.timeout.connect(self.tick)
        if question.expires_at is not None:
            self._clock.start()
        words.changed.connect(self.retitle)
        self.retitle()

    def retitle(self) -> None:
        said, question = self._words, self._question
        if not self.ended:
            self.chip.say(said("card.permission"), "warn")
        self.what.say(question.who)
        self.asker.say(question.asker)
        pieces.name(self.command, said("card.command"))
        for line, warning in zip(self.odd, question.warnings, strict=True):
            line.setText(said("card.warning", text=warning))
        for choice, button in self.buttons.items():
            button.setText(said(f"card.choice.{choice}" + (".short" if self._small else "")))
            pieces.name(button, f"{said(f'card.choice.{choice}')}: {question.who}")
        self.tick()

    def tick(self) -> None:
        """How long an answer is still taken."""
        until = self._question.expires_at
        if until is None or self.ended:
            return
        seconds = max(0, int((until - datetime.now(UTC)).total_seconds()))
        clock = f"{seconds // 60}:{seconds % 60:02d}"
        self.left.setText(clock if self._small else self._words("card.expires", left=clock))
        self.left.setAccessibleName(self._words("card.expires", left=clock))

    def end(self, sentence: str, tone: str = "") -> None:
        """It was decided elsewhere, or nobody answered in time: the card says so and offers nothing more."""
        self.ended = True
        self._clock.stop()
        self.tone(tone)
        self.chip.say(self._words("card.ended"), tone)
        self.choices.hide()
        self.wrong.hide()
        self.left.hide()
        self.why.setText(sentence)
        self.why.show()
        for line in self.odd:
            line.hide()

    @slot(str)
    async def answer(self, choice: str) -> None:
        """Give an answer once."""
        if self.ended or not self.choices.isEnabled():
            return
        self.choices.setEnabled(False)
        self.wrong.hide()
        try:
            await self._give(self._question.id, choice, "")
        except ApxError as error:
            self.wrong.setText(str(error))
            self.wrong.show()
            self.choices.setEnabled(True)
        except asyncio.CancelledError:
            self.choices.setEnabled(True)
            raise
