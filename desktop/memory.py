"""What the agent knows for later conversations, whom it has it from, and a way to make it forget."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol

from PySide6.QtWidgets import QLineEdit, QStackedWidget, QVBoxLayout

from core.errors import ApxError
from desktop import pieces, when
from desktop.following import Following
from desktop.pieces import Card, Chip, Notice, scrolled
from desktop.settings.editors import Choice
from desktop.slots import slot
from desktop.words import Words

SHOWN = ("known", "owner", "others", "forgotten")


class Fact(Protocol):
    """One fact, as the core keeps it."""

    @property
    def id(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def channel(self) -> str: ...
    @property
    def sender(self) -> str: ...
    @property
    def project_id(self) -> str: ...
    @property
    def at(self) -> str: ...
    @property
    def forgotten_at(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Known:
    """What the screen asks of the core. `everything` has the forgotten ones, too."""

    everything: Callable[[], Awaitable[Sequence[Fact]]]
    remember: Callable[[str], Awaitable[object]]
    forget: Callable[[int], Awaitable[object]]


def wanted(fact: Fact, shown: str, text: str) -> bool:
    """Whether a fact is one of those that are shown."""
    if text.casefold() not in fact.text.casefold() or (fact.forgotten_at is not None) != (
        shown == "forgotten"
    ):
        return False
    return shown in {"known", "forgotten"} or (fact.source == "owner") == (shown == "owner")


class FactCard(Card):
    """One fact: what, from whom, since when."""

    def __init__(self, fact: Fact, words: Words, forget: Callable[[], object]) -> None:
        super().__init__(gap=6, pad=14)
        gone = fact.forgotten_at is not None
        text = pieces.label(fact.text, "muted" if gone else "", wrap=True)
        self.button = pieces.button("quiet", "trash", forget)
        self.button.setVisible(not gone)
        pieces.name(self.button, words("memory.forget", fact=fact.text), tip=True)
        head = pieces.row(gap=8)
        head.addWidget(text, 1)
        head.addWidget(self.button)
        moment = datetime.fromisoformat(fact.at)
        facts = [when.day(moment, words, datetime.now().astimezone().date())]
        if fact.channel:
            facts.append(words.known(f"channel.{fact.channel}", fact.channel))
        if fact.source != "owner" and fact.sender not in {"", "owner"}:
            facts.append(fact.sender)
        if fact.project_id != "default":
            facts.append(words("card.project", project=fact.project_id))
        tone = "accent" if fact.source == "owner" else "warn"
        line = pieces.row(Chip(words(f"memory.source.{fact.source}"), tone), gap=8)
        line.addWidget(pieces.Elided(" · ".join(facts), "small"), 1)
        self.column.addLayout(head)
        self.column.addLayout(line)


class MemoryScreen(Following):
    """Reads through callables, again whenever something is remembered or forgotten."""

    def __init__(self, words: Words, known: Known) -> None:
        super().__init__(words, "memory")
        self._known = known
        self._facts: tuple[Fact, ...] | None = None
        self._failure = ""
        self.cards: dict[int, FactCard] = {}
        self.shown = Choice([(one, "") for one in SHOWN])
        self.shown.setFixedWidth(190)
        self.shown.changed.connect(self._draw)
        self.search = QLineEdit()
        self.search.setClearButtonEnabled(True)
        self.search.setMaximumWidth(240)
        self.search.textChanged.connect(lambda _: self._draw())
        self.bar.addWidget(self.shown)
        self.bar.addWidget(self.search, 2)
        self.field = QLineEdit()
        self.field.returnPressed.connect(self.remember)
        self.add = pieces.button("primary", "plus", self.remember)
        self.wrong = pieces.label(role="error", wrap=True)
        self.wrong.hide()
        top = QVBoxLayout()
        top.setContentsMargins(24, 16, 24, 0)
        line = pieces.row(gap=8)
        line.addWidget(self.field, 1)
        line.addWidget(self.add)
        top.addLayout(line)
        top.addWidget(self.wrong)
        self.notice = Notice("memory")
        self.list = QVBoxLayout()
        self.list.setSpacing(8)
        self.list.addStretch()
        self.stack = QStackedWidget()
        self.stack.addWidget(self.notice)
        self.stack.addWidget(scrolled(self.list, (24, 16, 24, 20)))
        self.column.addLayout(top)
        self.column.addWidget(self.stack, 1)
        self.retitle()
        self.follow()

    def retitle(self) -> None:
        super().retitle()
        said = self.words
        self.shown.offer([(one, said(f"memory.show.{one}")) for one in SHOWN])
        self.search.setPlaceholderText(said("activity.search"))
        self.field.setPlaceholderText(said("memory.new"))
        self.add.setText(said("memory.add"))
        pieces.name(self.search, said("activity.search"))
        pieces.name(self.field, said("memory.new"))
        pieces.name(self.shown, said("memory.show"))
        self._draw()

    async def read(self) -> None:
        self._facts = tuple(await self._known.everything())
        self._failure = ""
        self._draw()

    def failed(self, why: str) -> None:
        self._failure = why
        self._draw()

    def _draw(self) -> None:
        said = self.words
        for card in self.cards.values():
            self.list.removeWidget(card)
            card.hide()
            card.deleteLater()
        self.cards = {}
        text, shown = self.search.text().strip(), self.shown.value()
        facts = [one for one in self._facts or () if wanted(one, shown, text)]
        for place, fact in enumerate(facts):
            card = FactCard(fact, said, partial(self.forget, fact.id))
            self.cards[fact.id] = card
            self.list.insertWidget(place, card)
        if self._failure:
            self.notice.say(said("memory.failed"), self._failure, icon="warning")
        elif self._facts is None:
            self.notice.say(said("memory.loading"), "")
        elif text or shown != "known":
            self.notice.say(said("activity.none_so"), said("memory.none_so.why"))
        else:
            self.notice.say(said("memory.empty"), said("memory.empty.why"), icon="memory")
        self.stack.setCurrentIndex(1 if facts and not self._failure else 0)

    @slot()
    async def remember(self) -> None:
        """The fact that is written in the field."""
        text = self.field.text().strip()
        if text and self.add.isEnabled():
            self.add.setEnabled(False)
            if await self._try(self._known.remember(text)):
                self.field.clear()
            self.add.setEnabled(True)

    @slot(int)
    async def forget(self, fact_id: int) -> None:
        """Let a fact count for nothing any more."""
        await self._try(self._known.forget(fact_id))

    async def _try(self, change: Awaitable[object]) -> bool:
        self.wrong.hide()
        try:
            await change
        except ApxError as error:
            self.wrong.setText(str(error))
            self.wrong.show()
            return False
        self.follow()
        return True
