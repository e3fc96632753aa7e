"""Rooms: the list at the left, one of them at the right, with everybody who speaks in it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QMessageBox, QStackedWidget, QVBoxLayout, QWidget

from core.errors import ApxError
from desktop import pieces
from desktop.feed import Feed
from desktop.files import Save
from desktop.following import WIDE, Following
from desktop.mentions import Mentions
from desktop.pieces import Notice, scrolled
from desktop.questions import Questions
from desktop.room import Person, Read, RoomChat, Say, Speaking
from desktop.room_parts import Members, NewRoom, Room, RoomCard
from desktop.slots import slot
from desktop.talk import Talk
from desktop.telling import FindFile
from desktop.words import Words


@dataclass(frozen=True, slots=True)
class Desk:
    """What the screen asks of the core."""

    listed: Callable[[], Awaitable[Sequence[Room]]]
    people: Callable[[], Awaitable[Sequence[Person]]]
    create: Callable[[str, Sequence[Person]], Awaitable[Room]]
    add: Callable[[str, Person], Awaitable[object]]
    leave: Callable[[str, str], Awaitable[object]]
    remove: Callable[[str], Awaitable[object]]
    read: Read
    say: Say
    stop: Callable[[str], object]
    talk: Callable[[str], Speaking | None]
    find: FindFile


class RoomTalk(Talk):
    """A room's conversation: the chat's, with its own words for an empty one."""

    def retitle(self) -> None:
        super().retitle()
        self.empty.say(self._words("rooms.empty.title"), self._words("rooms.empty.why"), icon="rooms")


class RoomsScreen(Following):
    """Reads through callables, again whenever something happens to a room."""

    def __init__(self, words: Words, feed: Feed, questions: Questions, desk: Desk, save: Save) -> None:
        super().__init__(words, "rooms")
        self._desk = desk
        self._rooms: tuple[Room, ...] | None = None
        self._shown: object = None
        self._chosen, self._failure = "", ""
        self.cards: dict[str, RoomCard] = {}
        self.chat = RoomChat(words, feed)
        self.chat.serve(desk.read, desk.say, desk.stop, desk.talk, desk.find)
        self.chat.setParent(self)
        self.new = pieces.button("", "plus", self.begin)
        self.close_it = pieces.button("quiet", "trash", self._ask_to_close)
        self.bar.addWidget(self.close_it)
        self.bar.addWidget(self.new)
        self.members = Members(words)
        self.members.left.connect(self._leave)
        self.members.joined.connect(self._join)
        self.wrong = pieces.label(role="error", wrap=True)
        self.wrong.setContentsMargins(24, 0, 24, 0)
        self.wrong.hide()
        self.talk = RoomTalk(self.chat, questions, words, save, pictures=False, rounds=False)
        self.mentions = Mentions(self.talk.composer.lines, self.talk)
        self.members.mentioned.connect(self.mentions.mention)
        self.chat.refused.connect(self._give_back)
        self.chat.changed.connect(self.follow)
        self.form = NewRoom(words, desk.create)
        self.form.made.connect(self.choose)
        self.form.closed.connect(lambda: self._form(False))
        self.notice = Notice("rooms")
        self.notice.pressed.connect(self.begin)
        self.list = QVBoxLayout()
        self.list.setSpacing(8)
        self.list.addStretch()
        self.left = scrolled(self.list, (24, 16, 10, 20))
        self.stack = QStackedWidget()
        self.stack.addWidget(self._pane())
        self.stack.addWidget(self._form_page())
        body = QWidget()
        line = QHBoxLayout(body)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(0)
        line.addWidget(self.left)
        line.addWidget(self.stack, 1)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.notice)
        self.pages.addWidget(body)
        self.column.addWidget(self.pages, 1)
        self.setFocusProxy(self.talk)
        self.retitle()
        self.follow()

    def _pane(self) -> QWidget:
        pane = QWidget()
        column = QVBoxLayout(pane)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.members)
        column.addWidget(self.wrong)
        column.addWidget(self.talk, 1)
        return pane

    def _form_page(self) -> QWidget:
        column = QVBoxLayout()
        column.addWidget(pieces.at_most(self.form, 560))
        column.addStretch()
        return scrolled(column, (24, 16, 24, 20))

    def retitle(self) -> None:
        super().retitle()
        said = self.words
        self.new.setText(said("rooms.new"))
        pieces.name(self.close_it, said("rooms.close"), tip=True)
        self.mentions.name_it(said("rooms.mention"))
        self._shown = None
        self._say()
        self.follow()

    def _say(self) -> None:
        said = self.words
        if self._failure:
            self.notice.say(said("rooms.failed"), self._failure, icon="warning")
        elif self._rooms is None:
            self.notice.say(said("rooms.loading"), "")
        else:
            self.notice.say(said("rooms.none"), said("rooms.none.why"), said("rooms.new"), icon="rooms")

    # what is shown

    async def read(self) -> None:
        rooms = tuple(await self._desk.listed())
        people = tuple(await self._desk.people())
        self._failure, self._rooms = "", rooms
        if self._chosen not in {one.id for one in rooms}:
            self._chosen = rooms[0].id if rooms else ""
        answering = {one.id for one in rooms if self._desk.talk(one.id) is not None}
        if (now := (rooms, people, self._chosen, answering)) != self._shown:
            self._shown = now
            self._draw(rooms, people, answering)
        if self._chosen != self.chat.room_id:
            await self.chat.show_room(self._chosen)
        self._say()
        self._turn_page()

    def failed(self, why: str) -> None:
        self._failure = why
        self._say()
        self.pages.setCurrentIndex(0)

    def _turn_page(self) -> None:
        form = self.stack.currentIndex() == 1
        self.pages.setCurrentIndex(1 if (self._rooms or form) and not self._failure else 0)
        self.left.setVisible(bool(self._rooms))
        self.close_it.setVisible(bool(self._rooms) and not form)
        self.new.setVisible(bool(self._rooms) and not form)

    def _draw(self, rooms: Sequence[Room], people: Sequence[Person], answering: set[str]) -> None:
        for card in self.cards.values():
            self.list.removeWidget(card)
            card.hide()
            card.deleteLater()
        self.cards = {}
        for place, room in enumerate(rooms):
            card = RoomCard(room, self.words, answering=room.id in answering)
            card.clicked.connect(lambda key=room.id: self.choose(key))
            card.choose(room.id == self._chosen)
            self.cards[room.id] = card
            self.list.insertWidget(place, card)
        self.form.offer(people)
        chosen = next((one for one in rooms if one.id == self._chosen), None)
        if chosen is not None:
            inside = {one.slug for one in chosen.members if one.here}
            self.members.show_people(chosen.members, [one for one in people if one.slug not in inside])
            self.mentions.members = chosen.members
            self.talk.call_it(chosen.title)

    def choose(self, room_id: str) -> None:
        """Show that room at the right."""
        self._chosen = room_id
        self.wrong.hide()
        self._form(False)
        self.refresh()
        self.talk.composer.setFocus(Qt.FocusReason.OtherFocusReason)

    def begin(self) -> None:
        """The form of a new room."""
        self._form(True)
        self.follow()  # an agent that was added meanwhile is told of by nobody
        self.form.title.setFocus(Qt.FocusReason.OtherFocusReason)

    def _form(self, shown: bool) -> None:
        self.stack.setCurrentIndex(1 if shown else 0)
        self._turn_page()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.follow()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.left.setFixedWidth(300 if self.width() >= WIDE else 220)

    # what is done

    def _give_back(self, text: str) -> None:
        """A line that was not said stands in its field again, unless another one is there by now."""
        lines = self.talk.composer.lines
        if text and not lines.toPlainText():
            lines.setPlainText(text)

    @slot(str)
    async def _leave(self, slug: str) -> None:
        await self._try(self._desk.leave(self._chosen, slug))

    @slot(object)
    async def _join(self, person: Person) -> None:
        await self._try(self._desk.add(self._chosen, person))

    def _ask_to_close(self) -> None:
        room = next((one for one in self._rooms or () if one.id == self._chosen), None)
        if room is None:
            return
        said = self.words
        box = QMessageBox(self)
        box.setText(said("rooms.close.sure", title=room.title))
        box.setInformativeText(said("rooms.close.why"))
        yes = box.addButton(said("rooms.close"), QMessageBox.ButtonRole.DestructiveRole)
        pieces.put(yes, "danger", True)
        no = box.addButton(said("rooms.cancel"), QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(no)
        box.setWindowTitle(room.title)
        box.finished.connect(lambda _: self._close(room.id) if box.clickedButton() is yes else None)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()

    @slot(str)
    async def _close(self, room_id: str) -> None:
        await self._try(self._desk.remove(room_id))

    async def _try(self, change: Awaitable[object]) -> None:
        self.wrong.hide()
        try:
            await change
        except ApxError as error:
            self.wrong.setText(str(error))
            self.wrong.show()
        self.follow()
