"""The conversation of one room: the same lines as in the chat, with who says them above."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import Signal

from core.errors import ApxError
from desktop.chat import Chat
from desktop.feed import Feed
from desktop.messages import Entry, File, Kind
from desktop.slots import slot
from desktop.speaker import heading
from desktop.telling import FindFile
from desktop.words import Words

if TYPE_CHECKING:
    from core import events
    from core.runs.pictures import Picture


class Person(Protocol):
    """A member of a room."""

    @property
    def slug(self) -> str: ...
    @property
    def handle(self) -> str: ...
    @property
    def project_id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def icon(self) -> str: ...
    @property
    def here(self) -> bool: ...


class Speaking(Protocol):
    """What is being answered in a room now."""

    @property
    def speaker(self) -> Person | None: ...
    @property
    def run_id(self) -> str: ...


Read = Callable[[str], Awaitable[Sequence[Entry]]]  # of a room
Say = Callable[[str, str, bool], Awaitable[object]]  # room, text, the last line once more


def with_speakers(entries: Sequence[Entry], who: Mapping[str, tuple[str, str]]) -> list[Entry]:
    """The lines with who says them above; `who` knows name and face by run."""
    shown: list[Entry] = []
    speaking = ""
    for entry in entries:
        if entry.kind is Kind.OWNER or entry.run_id not in who:
            speaking = ""
        elif entry.run_id != speaking:
            speaking = entry.run_id
            shown.append(heading(*who[speaking], run_id=speaking))
        shown.append(entry)
    return shown


class RoomChat(Chat):
    """One room at a time is shown; what happens in the others is read when they are opened."""

    refused = Signal(str)  # a line that was not said: it goes back where it was written

    def __init__(self, words: Words, feed: Feed) -> None:
        super().__init__(words, feed)
        self._telling.thread_name = ""  # the speakers are announced
        self.room_id = ""
        self._answering = self._asking = False
        self._reading = self._stale_read = False
        self._heading: Entry | None = None
        feed.happened.connect(self._happened)

    def serve(
        self,
        read: Read,
        say: Say,
        stop: Callable[[str], object],
        talk: Callable[[str], Speaking | None],
        find: FindFile,
    ) -> None:
        """The core is there."""
        self._read, self._say, self._stop, self._talk = read, say, stop, talk
        self._telling.find, self.why = find, ""

    @property
    def working(self) -> bool:
        return self._answering or self._asking

    async def show_room(self, room_id: str) -> None:
        """Show what was said there; what happens while it is read is read once more."""
        self.room_id = room_id
        if self._reading:
            self._stale_read = True
            return
        self._reading = True
        try:
            while True:
                self._stale_read = False
                wanted = self.room_id
                entries = list(await self._read(wanted)) if wanted else []
                if not self._stale_read:
                    break
        finally:
            self._reading = False
        self._telling.forget()
        talk = self._talk(wanted) if wanted else None
        self._answering, self._heading = talk is not None, None
        if talk is not None and talk.speaker is not None:
            self._heading = heading(talk.speaker.name, talk.speaker.icon, run_id=talk.run_id, speaking=True)
            self._telling.follow(talk.run_id)
            entries.append(self._heading)
        self.messages.load(entries)
        self.changed.emit()

    def send(self, text: str, pictures: "Sequence[Picture]" = (), files: Sequence[File] = ()) -> bool:
        """Say a line; whether it was taken. A room is shown no pictures."""
        return self._begin(text.strip(), again=False)

    def again(self, entry: Entry) -> None:
        """Have the last line of the room answered once more."""
        if not self.working:
            self.messages.remove(entry)
            self._begin("", again=True)

    def stop(self) -> None:
        if self.room_id:
            self._stop(self.room_id)

    def _begin(self, text: str, *, again: bool) -> bool:
        if self.working or self.why or not self.room_id or not (text or again):
            return False
        self._asking = True
        self._task = asyncio.ensure_future(self._said_to(self.room_id, text, again=again))
        self.changed.emit()
        return True

    async def _said_to(self, room_id: str, text: str, *, again: bool) -> None:
        try:
            await self._say(room_id, text, again)
        except ApxError as error:
            if room_id == self.room_id:
                self.messages.add(Entry(Kind.ERROR, str(error)))
                self.refused.emit(text)
        finally:
            self._asking = False
            self.changed.emit()

    # what happened

    def _happened(self, event: object) -> None:
        from core import events

        if getattr(event, "room_id", "") != self.room_id or not self.room_id:
            return
        if self._reading:
            self._stale_read = True
            return
        match event:
            case events.RoomAsked():
                self._answering = True
                if not event.again:
                    self.messages.add(Entry(Kind.OWNER, event.text, at=event.at.isoformat()))
            case events.SpeakerStarted():
                self._heading = heading(event.name, event.icon, run_id=event.run_id or "", speaking=True)
                self.messages.add(self._heading)
                self._telling.follow(event.run_id or "")
            case events.SpeakerEnded():
                self._ended(event)
            case events.RoomSettled():
                self._answering = False
                if event.note:
                    self.note(event.note)
            case events.RoomChanged(what="cut"):
                self._shown_again()
            case _:
                return
        self.changed.emit()

    @slot()
    async def _shown_again(self) -> None:
        await self.show_room(self.room_id)

    def _ended(self, event: "events.SpeakerEnded") -> None:
        self._telling.settle()
        if self._heading is not None:
            self._heading.streaming = False
            self.messages.touch(self._heading)
        if event.status in {"completed", "budget_exceeded"}:
            self._telling.finish(event.run_id or "", event.text)
        elif event.status == "cancelled":
            self.note(self._words("chat.stopped"))
        else:
            why = event.text or self._words("chat.failed")
            self.messages.add(Entry(Kind.ERROR, why, run_id=event.run_id or "", action="again"))
        self._telling.leave(event.run_id or "")
