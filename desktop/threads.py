"""The conversations beside the chat: what each is called, where it is held, and a new one."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QVBoxLayout

from core.errors import ApxError
from desktop import pieces, when
from desktop.pieces import Elided, Press, scrolled
from desktop.slots import slot
from desktop.words import Words

WIDTH = 252


@dataclass(frozen=True, slots=True)
class Listed:
    """A conversation of the list; one of another channel is only read here."""

    thread: str
    channel: str
    title: str
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Doors:
    """Where conversations are read, opened and begun."""

    read: Callable[[], Awaitable[Sequence[Listed]]]
    go: Callable[[Listed], Awaitable[None]]
    begin: Callable[[], Awaitable[None]]


class Conversations(QObject):
    """The list of them, and which is shown."""

    changed = Signal()
    failed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.listed: tuple[Listed, ...] = ()
        self.current = ""
        self.locked = False  # an answer is on its way: one conversation at a time
        self._doors: Doors | None = None

    def serve(self, doors: Doors | None) -> None:
        """Where they come from; None when the core is closed."""
        self._doors = doors
        if doors is None:
            self.listed = ()
            self.changed.emit()

    @slot()
    async def refresh(self) -> None:
        if self._doors is not None:
            found = tuple(await self._doors.read())
            if found != self.listed:
                self.listed = found
                self.changed.emit()

    def show_current(self, thread: str, *, locked: bool) -> None:
        """Which one is on the screen, and whether another one may be now."""
        if (thread, locked) != (self.current, self.locked):
            self.current, self.locked = thread, locked
            self.changed.emit()

    def title(self) -> str:
        """What the one on the screen is called; empty while it is new."""
        return next((one.title for one in self.listed if one.thread == self.current), "")

    @slot(object)
    async def go(self, one: Listed) -> None:
        """Show a conversation."""
        if self._doors is not None and not self.locked and one.thread != self.current:
            await self._try(self._doors.go(one))

    @slot()
    async def begin(self) -> None:
        """Begin a new one."""
        if self._doors is not None and not self.locked:
            await self._try(self._doors.begin())

    async def _try(self, work: Awaitable[None]) -> None:
        try:
            await work
        except ApxError as error:
            self.failed.emit(str(error))


class ThreadCard(Press):
    """One conversation of the list."""

    def __init__(self, one: Listed, words: Words, *, chosen: bool) -> None:
        super().__init__()
        self.one = one
        self.setProperty("listed", True)
        self.setProperty("chosen", chosen)
        today = datetime.now().astimezone().date()
        at = when.day(one.last_at, words, today)
        facts = [when.clock(one.last_at) if at == words("when.today") else at]
        if one.channel != "desktop":
            name = words.known(f"channel.{one.channel}", one.channel)
            facts.insert(0, name[:1].upper() + name[1:])
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 7, 10, 7)
        column.setSpacing(1)
        column.addWidget(Elided(one.title, "strong" if chosen else ""))
        column.addWidget(Elided(" · ".join(facts), "small"))
        pieces.name(self, f"{one.title}, {', '.join(facts)}")


class ThreadList(QFrame):
    """The panel: new, and those that there are, the last one first."""

    def __init__(self, conversations: Conversations, words: Words) -> None:
        super().__init__()
        self._conversations, self._words = conversations, words
        self.setProperty("side", True)
        self.setFixedWidth(WIDTH)
        self.cards: list[ThreadCard] = []
        self.new = pieces.button("", "plus", conversations.begin)
        self.wrong = pieces.label(role="error", wrap=True)
        self.wrong.hide()
        self.none = pieces.label(role="small", wrap=True)
        self.list = QVBoxLayout()
        self.list.setSpacing(2)
        self.list.addStretch()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        head = QVBoxLayout()
        head.setContentsMargins(12, 12, 12, 8)
        for widget in (self.new, self.wrong, self.none):
            head.addWidget(widget)
        column.addLayout(head)
        column.addWidget(scrolled(self.list, (8, 0, 8, 12)), 1)
        conversations.changed.connect(self.draw)
        conversations.failed.connect(self._fail)
        words.changed.connect(self.draw)
        self.draw()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.draw()

    def draw(self) -> None:
        """Show the list as it is now; nobody looks at one that is not on the screen."""
        if self.isHidden():
            return
        said, known = self._words, self._conversations
        self.new.setText(said("threads.new"))
        self.new.setEnabled(not known.locked)
        self.new.setToolTip(said("threads.locked") if known.locked else "")
        self.none.setText(said("threads.none"))
        self.none.setVisible(not known.listed)
        self.wrong.hide()
        for card in self.cards:
            self.list.removeWidget(card)
            card.hide()
            card.deleteLater()
        self.cards = []
        for place, one in enumerate(known.listed):
            card = ThreadCard(one, said, chosen=one.thread == known.current)
            card.clicked.connect(lambda one=one: known.go(one))
            card.setEnabled(not known.locked or one.thread == known.current)
            self.cards.append(card)
            self.list.insertWidget(place, card)

    def _fail(self, why: str) -> None:
        self.wrong.setText(why)
        self.wrong.show()
