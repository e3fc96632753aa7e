"""What the screen of rooms is made of: a room in the list, who is in it, and the form of a new one."""

import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QMenu, QSizePolicy, QVBoxLayout, QWidget

from core.errors import ApxError
from desktop import blobs, pieces, theme, when
from desktop.flow import Wrap
from desktop.pieces import Card, Press
from desktop.room import Person
from desktop.settings.editors import Switch
from desktop.slots import slot
from desktop.speaker import portrait
from desktop.words import Words

FACES = 4
ALL_AT_FIRST = 5  # so few are all meant, most likely


class Room(Protocol):
    """A room, as the core keeps it."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def members(self) -> Sequence[Person]: ...
    @property
    def last(self) -> str: ...
    @property
    def last_at(self) -> str: ...
    @property
    def created_at(self) -> str: ...


class RoomCard(Press):
    """One room of the list."""

    def __init__(self, room: Room, words: Words, *, answering: bool) -> None:
        super().__init__()
        self.setProperty("card", True)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 12, 16, 12)
        column.setSpacing(6)
        moment = datetime.fromisoformat(room.last_at or room.created_at)
        today = datetime.now().astimezone().date()
        at = when.clock(moment) if moment.astimezone().date() == today else when.day(moment, words, today)
        head = pieces.row(gap=2)
        head.addWidget(pieces.Elided(room.title, "strong"), 1)
        for one in room.members[:FACES]:
            head.addWidget(portrait(one.icon, 20, "idle" if one.here else "asleep"))
        if (more := len(room.members) - FACES) > 0:
            head.addWidget(pieces.label(f"+{more}", "small"))
        last = re.sub(r"[*_`#]+", "", room.last)  # the marks of bold and headings say nothing in one line
        told = words("rooms.answering") if answering else last or words("rooms.quiet")
        line = pieces.row(gap=8)
        line.addWidget(pieces.Elided(told, "small"), 1)
        line.addWidget(pieces.label(at, "small"))
        column.addLayout(head)
        column.addLayout(line)
        pieces.name(self, room.title)

    def choose(self, chosen: bool) -> None:
        pieces.put(self, "tone", "accent" if chosen else "")


class Face(Press):
    """A member as a chip; pressing it opens what can be done with it."""

    def __init__(self, person: Person, words: Words) -> None:
        super().__init__()
        self.person = person
        self.setProperty("face", True)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        line = QHBoxLayout(self)
        line.setContentsMargins(4, 2, 10, 2)
        line.setSpacing(6)
        line.addWidget(portrait(person.icon, 22, "idle" if person.here else "asleep"))
        line.addWidget(pieces.label(person.name, "" if person.here else "muted"))
        told = f"@{person.handle}" if person.here else words("rooms.gone", name=person.name)
        pieces.name(self, f"{person.name}, {told}")
        self.setToolTip(told)


class Members(QWidget):
    """Who is in the room, and the way to let somebody in or out."""

    mentioned = Signal(str)
    left = Signal(str)
    joined = Signal(object)

    def __init__(self, words: Words) -> None:
        super().__init__()
        self._words = words
        self._others: Sequence[Person] = ()
        self.faces: dict[str, Face] = {}
        self.add = pieces.button("quiet", "plus", lambda: self._drop(self.others(), self.add))
        self.add.setProperty("small", True)
        self.menu: QMenu | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(24, 10, 24, 6)
        self._wrap: QWidget | None = None

    def show_people(self, members: Sequence[Person], others: Sequence[Person]) -> None:
        """The members in their order; `others` could join."""
        self._others = others
        self.add.setParent(None)
        if self._wrap is not None:
            self._column.removeWidget(self._wrap)
            self._wrap.hide()
            self._wrap.deleteLater()
        self.faces = {one.slug: Face(one, self._words) for one in members}
        for face in self.faces.values():
            face.clicked.connect(lambda face=face: self._drop(self.choices(face.person), face))
        self.add.setText(self._words("rooms.add"))
        self.add.setEnabled(bool(others))
        self.add.setToolTip("" if others else self._words("rooms.nobody_else"))
        self._wrap = Wrap(*self.faces.values(), self.add, gap=8)
        self._column.addWidget(self._wrap)
        self.add.show()

    def choices(self, person: Person) -> QMenu:
        """What can be done with a member."""
        said, menu = self._words, QMenu(self)
        if person.here:
            ask = menu.addAction(said("rooms.ask", name=person.name))
            ask.triggered.connect(lambda: self.mentioned.emit(person.handle))
        out = menu.addAction(theme.icon("close"), said("rooms.remove"))
        out.triggered.connect(lambda: self.left.emit(person.slug))
        return menu

    def others(self) -> QMenu:
        """Who could join."""
        menu = QMenu(self)
        for one in self._others:
            action = menu.addAction(blobs.icon(one.icon or "noche"), f"{one.name}  @{one.handle}")
            action.triggered.connect(lambda _=False, one=one: self.joined.emit(one))
        return menu

    def _drop(self, menu: QMenu, under: QWidget) -> None:
        self.menu = menu
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(under.mapToGlobal(QPoint(0, under.height() + 4)))


class NewRoom(Card):
    """A title and who is in it; says what is missing before it is pressed."""

    made = Signal(str)
    closed = Signal()

    def __init__(self, words: Words, create: Callable[[str, Sequence[Person]], Awaitable[Room]]) -> None:
        super().__init__(gap=12, pad=20)
        self._words, self._create = words, create
        self.heading = pieces.label(role="strong")
        self.why = pieces.label(role="muted", wrap=True)
        self.title = QLineEdit()
        self.title.setMaxLength(80)
        self.title.textChanged.connect(lambda _: self._look())
        self.title.returnPressed.connect(self.submit)
        self.who = pieces.label(role="strong")
        self.people = QVBoxLayout()
        self.people.setSpacing(8)
        self._touched = False
        self.few = pieces.label(role="small", wrap=True)
        self.wrong = pieces.label(role="error", wrap=True)
        self.wrong.hide()
        self.make = pieces.button("primary", press=self.submit)
        self.cancel = pieces.button("", press=self.closed.emit)
        self.switches: dict[str, tuple[Switch, Person]] = {}
        for widget in (self.heading, self.why, self.title, self.who):
            self.column.addWidget(widget)
        self.column.addLayout(self.people)
        self.column.addWidget(self.few)
        self.column.addWidget(self.wrong)
        self.column.addLayout(pieces.row(self.make, self.cancel, 1))
        words.changed.connect(self.retitle)
        self.retitle()

    def retitle(self) -> None:
        said = self._words
        self.heading.setText(said("rooms.new"))
        self.why.setText(said("rooms.new.why"))
        self.title.setPlaceholderText(said("rooms.title"))
        pieces.name(self.title, said("rooms.title"))
        self.who.setText(said("rooms.who"))
        self.few.setText(said("rooms.few"))
        self.make.setText(said("rooms.make"))
        self.cancel.setText(said("rooms.cancel"))

    def offer(self, people: Sequence[Person]) -> None:
        """Who could be in it; the choice of those who are still there stays."""
        chosen = {slug for slug, (switch, _) in self.switches.items() if switch.isChecked()}
        few = not self._touched and len(people) <= ALL_AT_FIRST
        pieces.clear(self.people)
        self.switches = {}
        for one in people:
            switch = Switch()
            switch.setChecked(few or one.slug in chosen)
            switch.clicked.connect(self._choose)
            pieces.name(switch, one.name)
            self.switches[one.slug] = (switch, one)
            line = pieces.row(switch, portrait(one.icon, 28), gap=10)
            line.addWidget(pieces.label(one.name))
            line.addWidget(pieces.label(f"@{one.handle}", "small"), 1)
            self.people.addLayout(line)
        self.few.setVisible(len(people) < 2)
        self._look()

    def _choose(self) -> None:
        self._touched = True
        self._look()

    def _look(self) -> None:
        some = any(switch.isChecked() for switch, _ in self.switches.values())
        self.make.setEnabled(some and bool(self.title.text().strip()))

    @slot()
    async def submit(self) -> None:
        """Make it; what does not hold is said under the fields, and they keep what is in them."""
        title = self.title.text().strip()
        people = [one for switch, one in self.switches.values() if switch.isChecked()]
        if not title or not people or not self.make.isEnabled():
            return
        self.make.setEnabled(False)
        self.wrong.hide()
        try:
            room = await self._create(title, people)
        except ApxError as error:
            self.wrong.setText(str(error))
            self.wrong.show()
        else:
            self.title.clear()
            self._touched = False
            self.made.emit(room.id)
        finally:
            self._look()
