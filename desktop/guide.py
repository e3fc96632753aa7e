"""The first steps: a name, somebody who thinks, Telegram, the phone; each says whether it is done and what to press."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.errors import ApxError
from desktop import pieces
from desktop.checks import Checklist, Examine
from desktop.fold import Fold
from desktop.pieces import Card, Chip, scrolled
from desktop.settings.editors import Line
from desktop.settings.form import Row
from desktop.slots import slot
from desktop.window import Screen
from desktop.words import Words

WIDEST = 720


@dataclass(frozen=True, slots=True)
class Facts:
    """What is set up already."""

    agent_name: str
    owner_name: str
    model: str  # empty while nobody thinks
    telegram: bool
    phone: bool

    @property
    def fresh(self) -> bool:
        """Nothing was set up yet: the guide is the first thing to show."""
        return not self.model and not self.telegram and not self.phone


class StepCard(Card):
    """One step: its title, whether it is done, why it matters, and what to press."""

    def __init__(self, words: Words, number: int, key: str) -> None:
        super().__init__(gap=10)
        self._words, self._key, self._number = words, key, number
        self.done = False
        self.title = pieces.label(role="strong")
        self.chip = Chip()
        self.why = pieces.label(role="small", wrap=True)
        head = pieces.row(gap=12)
        head.addWidget(self.title, 1)
        head.addWidget(self.chip)
        self.column.addLayout(head)
        self.column.addWidget(self.why)

    def put(self, done: bool) -> None:
        said, self.done = self._words, done
        self.title.setText(f"{self._number}. {said(f'guide.{self._key}')}")
        self.why.setText(said(f"guide.{self._key}.why"))
        self.chip.say(said("guide.done" if done else "guide.open"), "accent" if done else "")


class Guide(Screen):
    """Four steps in any order, and everything that was looked at below them."""

    wanted = Signal(str)  # a screen, or settings.<page>
    finished = Signal()

    def __init__(
        self,
        words: Words,
        *,
        facts: Callable[[], Facts],
        name: Callable[[str, Any], Awaitable[object]],
        practice: Callable[[], Awaitable[object]],
        examine: Examine,
    ) -> None:
        super().__init__(words, "guide")
        self._facts, self._practice = facts, practice
        self.hide_it = pieces.button("quiet", press=self.finished.emit)
        self.bar.addWidget(self.hide_it)
        self.hello = pieces.label(role="muted", wrap=True)
        keys = ("name", "model", "telegram", "phone")
        self.steps = {key: StepCard(words, place, key) for place, key in enumerate(keys, 1)}

        async def agent(value: Any) -> None:
            await name("agent_name", value)

        async def owner(value: Any) -> None:
            await name("owner_name", value)

        self.agent = Row(words, "identity.agent_name", Line(), agent)
        self.owner = Row(words, "identity.owner_name", Line(), owner)
        for row in (self.agent, self.owner):
            row.setMinimumHeight(64)  # a row of two that wrap does not get the height it needs by itself
        names = pieces.row(self.agent, self.owner, gap=16)
        self.steps["name"].column.addLayout(names)
        self.try_it = pieces.button("primary", press=self._begin_practice)
        self.choose = pieces.button(press=lambda: self.wanted.emit("settings.models"))
        self.telegram = pieces.button(press=lambda: self.wanted.emit("settings.telegram"))
        self.phone = pieces.button(press=lambda: self.wanted.emit("phone"))
        self.wrong = pieces.label(role="error", wrap=True)
        self.wrong.hide()
        self.steps["model"].column.addLayout(pieces.row(self.try_it, self.choose, 1))
        self.steps["model"].column.addWidget(self.wrong)
        self.steps["telegram"].column.addLayout(pieces.row(self.telegram, 1))
        self.steps["phone"].column.addLayout(pieces.row(self.phone, 1))
        self.checks = Checklist(words, examine)
        self.fold = Fold(self._look)
        inside = QVBoxLayout()
        inside.setSpacing(12)
        inside.addWidget(self.hello)
        for step in self.steps.values():
            inside.addWidget(step)
        inside.addWidget(self.fold)
        inside.addStretch()
        narrow = QWidget()
        narrow.setMaximumWidth(WIDEST)
        narrow.setLayout(inside)
        inside.setContentsMargins(0, 0, 0, 0)
        around = QVBoxLayout()
        around.addWidget(narrow)
        self.column.addWidget(scrolled(around, (24, 20, 24, 20)), 1)
        self.retitle()
        self.refresh()

    def _look(self, column: QVBoxLayout) -> None:
        column.addWidget(self.checks)
        self.checks.look()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    def retitle(self) -> None:
        super().retitle()
        said = self.words
        self.hide_it.setText(said("guide.hide"))
        self.hello.setText(said("guide.hello"))
        self.try_it.setText(said("guide.model.practice"))
        self.choose.setText(said("guide.model.choose"))
        self.telegram.setText(said("guide.telegram.go"))
        self.phone.setText(said("guide.phone.go"))
        self.fold.say(said("guide.checks"))
        self.refresh()

    def refresh(self) -> None:
        """What is set up may be other things now."""
        facts = self._facts()
        self.agent.put(facts.agent_name)
        self.owner.put(facts.owner_name)
        self.steps["name"].put(bool(facts.owner_name))
        self.steps["model"].put(bool(facts.model))
        self.steps["telegram"].put(facts.telegram)
        self.steps["phone"].put(facts.phone)
        self.try_it.setVisible(not facts.model)

    @slot()
    async def _begin_practice(self) -> None:
        self.wrong.hide()
        try:
            await self._practice()
        except ApxError as error:
            self.wrong.setText(str(error))
            self.wrong.show()
        self.refresh()
