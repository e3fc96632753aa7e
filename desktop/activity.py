"""Everything the agent did, newest first: found by state, channel and words, and opened at the right."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from PySide6.QtCore import QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QLineEdit, QStackedWidget, QVBoxLayout

from desktop import pieces, when
from desktop.following import Following
from desktop.inside import Given, Read, RunDetail, Stop, channel, state_chip, title, took
from desktop.pieces import Notice, Press
from desktop.ran import STATES, Ran, Wanted
from desktop.settings.editors import Choice
from desktop.words import Words

PAGE = 60
TYPING_MS = 250


class RunCard(Press):
    """One run of the list."""

    def __init__(self, one: Ran, words: Words) -> None:
        super().__init__()
        self.setProperty("card", True)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 12, 16, 12)
        column.setSpacing(6)
        name = title(one, words)
        today = datetime.now().astimezone().date()
        at = f"{when.day(one.started_at, words, today)} {when.clock(one.started_at)}"
        facts = [channel(one, words), at]
        if one.seconds is not None:
            facts.append(took(one.seconds))
        column.addWidget(pieces.Elided(name, "strong"))
        line = pieces.row(gap=8)
        if one.status != "completed":
            line.addWidget(state_chip(one, words))
        line.addWidget(pieces.Elided(" · ".join(facts), "small"), 1)
        column.addLayout(line)
        pieces.name(self, f"{name}: {words(f'run.state.{one.status}')}, {', '.join(facts)}")

    def choose(self, chosen: bool) -> None:
        pieces.put(self, "tone", "accent" if chosen else "")


class Activity(Following):
    """Reads through callables, again whenever a run begins, ends or asks."""

    def __init__(
        self,
        words: Words,
        *,
        runs: Callable[[Wanted], Awaitable[Sequence[Ran]]],
        channels: Callable[[], Awaitable[Sequence[str]]],
        read: Read,
        given: Given,
        stop: Stop,
    ) -> None:
        super().__init__(words, "activity")
        self._runs, self._channels = runs, channels
        self._shown: tuple[Ran, ...] | None = None
        self._limit, self._chosen, self._failure = PAGE, "", ""
        self._known: list[str] = []
        self.cards: dict[str, RunCard] = {}
        self.state = Choice([(key, "") for key in STATES])
        self.channel = Choice([("", "")])
        self.search = QLineEdit()
        self.search.setClearButtonEnabled(True)
        self.search.setMinimumWidth(120)
        self.search.setMaximumWidth(240)
        for choice in (self.state, self.channel):
            choice.setFixedWidth(172)
            choice.changed.connect(self._from_start)
            self.bar.addWidget(choice)
        self.bar.addWidget(self.search, 2)
        self.notice = Notice("activity")
        self.notice.pressed.connect(self._help)
        self.list = QVBoxLayout()
        self.list.setSpacing(8)
        self.more = pieces.button("quiet", press=self._further)
        self.list.addWidget(self.more)
        self.list.addStretch()
        self.detail = RunDetail(words, read, given, stop)
        body = self.columns(self.list, self.detail, above=20)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.notice)
        self.stack.addWidget(body)
        self.column.addWidget(self.stack, 1)
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(TYPING_MS)
        self._typing.timeout.connect(self._from_start)
        self.search.textChanged.connect(lambda _: self._typing.start())
        words.changed.connect(self.follow)
        self.retitle()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.follow()

    def follow(self) -> None:
        """Something about a run happened; nobody looks at a list that is not on the screen."""
        if self.isVisible():
            super().follow()

    def rest(self) -> None:
        """Read nothing more: the core is about to close."""
        super().rest()
        self._typing.stop()
        self._typing.blockSignals(True)

    def retitle(self) -> None:
        super().retitle()
        said = self.words
        self.state.offer([(key, said(f"activity.state.{key or 'all'}")) for key in STATES])
        self._offer_channels()
        self.search.setPlaceholderText(said("activity.search"))
        self.more.setText(said("activity.more"))
        for widget, key in ((self.state, "state"), (self.channel, "channel"), (self.search, "search")):
            pieces.name(widget, said(f"activity.{key}"))
        self._shown = None
        self._say()

    def _offer_channels(self) -> None:
        said = self.words
        named = [(one, said.known(f"channel.{one}", one)) for one in self._known]
        self.channel.offer(
            [("", said("activity.channel.all")), *((one, name[:1].upper() + name[1:]) for one, name in named)]
        )

    @property
    def wanted(self) -> Wanted:
        """What the filters say."""
        return Wanted(
            self.state.value() or "", self.channel.value() or "", self.search.text().strip(), self._limit
        )

    def _filtered(self) -> bool:
        return bool(self.state.value() or self.channel.value() or self.search.text().strip())

    def _say(self) -> None:
        said = self.words
        if self._failure:
            self.notice.say(said("activity.failed"), self._failure, said("rounds.retry"), icon="warning")
        elif self._shown is None:
            self.notice.say(said("activity.loading"), "")
        elif self._filtered():
            self.notice.say(said("activity.none_so"), said("activity.none_so.why"), said("activity.clear"))
        else:
            self.notice.say(said("activity.empty"), said("activity.empty.why"), icon="activity")

    def _help(self) -> None:
        self.state.put("")
        self.channel.put("")
        self.search.clear()
        self._from_start()

    def _from_start(self) -> None:
        self._limit = PAGE
        self.refresh()

    def _further(self) -> None:
        self._limit += PAGE
        self.refresh()

    def failed(self, why: str) -> None:
        self._failure = why
        self._say()
        self.stack.setCurrentWidget(self.notice)

    async def read(self) -> None:
        known = list(await self._channels())
        if known != self._known:
            self._known = known
            self._offer_channels()
        found = tuple(await self._runs(self.wanted))
        self._failure = ""
        if found != self._shown:
            self._shown = found
            self._list(found)
        self._say()
        self.stack.setCurrentIndex(1 if found else 0)
        if found:
            await self.detail.show_run(next((one for one in found if one.id == self._chosen), found[0]))

    def _list(self, found: Sequence[Ran]) -> None:
        for card in self.cards.values():
            self.list.removeWidget(card)
            card.hide()
            card.deleteLater()
        self.cards = {}
        for place, one in enumerate(found):
            card = RunCard(one, self.words)
            card.clicked.connect(lambda key=one.id: self.choose(key))
            self.cards[one.id] = card
            self.list.insertWidget(place, card)
        self.more.setVisible(len(found) >= self._limit)
        self._mark()

    def choose(self, run_id: str) -> None:
        """Show that run at the right."""
        self._chosen = run_id
        self._mark()
        self.refresh()

    def _mark(self) -> None:
        chosen = self._chosen if self._chosen in self.cards else next(iter(self.cards), "")
        for key, card in self.cards.items():
            card.choose(key == chosen)
