"""The rooms at work: the owner writes a line, and the members that are named in it answer, one after the other.

A line is committed before anybody answers it. A reply may name further members; ten replies are the most for one
line, and all of them together spend the steps of one turn of the surface. What is stopped or cut off by the end of
the program is said in the room and never begun again by itself.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from core import rooms
from core.channels.room_speakers import Exchange, Speakers
from core.config import Config
from core.errors import AlreadyRunning, Invalid, NotFound, Refused
from core.events import Bus, RoomAsked, RoomChanged, RoomSettled
from core.identity import IdentityFile
from core.rooms import Member, Room
from core.runs import peers
from core.runs.mentions import mentioned
from core.runs.registry import Tools
from core.runs.runner import Runner
from core.store import Store
from core.texts import t

if TYPE_CHECKING:
    from core.app import App

log = logging.getLogger(__name__)


class Rooms:
    """`await rooms.say(room, text)` begins an exchange and returns it; everything else is told as events."""

    def __init__(
        self,
        *,
        store: Store,
        bus: Bus,
        config: Config,
        identity: IdentityFile,
        tools: Tools,
        runner: Runner,
    ) -> None:
        self._store, self._bus, self._identity = store, bus, identity
        self._speakers = Speakers(
            store=store, bus=bus, config=config, identity=identity, tools=tools, runner=runner
        )
        self._talks: dict[str, Exchange] = {}
        self._closing = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Rooms"]:
        """What a former process left unanswered is said in its room, and stays unanswered."""
        for line_id, room_id, replies in await rooms.unanswered(self._store):
            await rooms.settle(self._store, line_id, room_id, "lost", replies, self._t("room.lost"))
        try:
            yield self
        finally:
            self._closing = True
            tasks = [talk.task for talk in self._talks.values() if talk.task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # the rooms

    async def listed(self, project_id: str | None = None) -> list[Room]:
        return await rooms.listed(self._store, project_id, identity=self._identity)

    async def find(self, named: str, project_id: str | None = None) -> Room:
        return await rooms.find(self._store, named, project_id, identity=self._identity)

    async def lines(self, room: Room) -> list[rooms.Line]:
        return await rooms.lines(self._store, room.id, identity=self._identity)

    def talk(self, room_id: str) -> Exchange | None:
        """What is being answered in a room now."""
        return self._talks.get(room_id)

    async def member(self, named: str, project_id: str) -> Member:
        """Whoever is called that, seen from a project: its agents, the assistant, then agents of other projects."""
        if not named.strip():
            raise Invalid(self._t("room.nobody_named"), fields=("slug",))
        peer = await peers.resolve(self._store, self._identity.now, named, project_id)
        if peer.agent is None:
            return rooms.assistant(self._identity, project_id)
        return rooms.of_agent(peer.agent)

    async def create(self, project_id: str, title: str, members: list[Member]) -> Room:
        room = await rooms.create(self._store, project_id, title, members, identity=self._identity)
        self._changed(room, "created")
        return room

    async def add(self, room: Room, member: Member) -> Room:
        await rooms.add(self._store, room, member, self._identity.language)
        self._changed(room, "joined")
        return await self.find(room.id)

    async def leave(self, room: Room, named: str) -> Room:
        slug = next((one.slug for one in mentioned(f"@{named.strip()}", room.members)), named)
        await rooms.leave(self._store, room, slug, self._identity.language)
        self._changed(room, "left")
        return await self.find(room.id)

    async def remove(self, room: Room) -> None:
        self._idle(room)
        await rooms.remove(self._store, room)
        self._changed(room, "removed")

    async def cut(self, room: Room, keep: int) -> int:
        """Keep only the first lines of a room; the others stay as a conversation of their own."""
        self._idle(room)
        gone = await rooms.cut(self._store, room.id, keep)
        self._changed(room, "cut")
        return gone

    # a line and its answers

    def ready(self, room: Room, text: str, *, again: bool = False) -> str:
        """Whether a line could be answered now: the line without the space around it, or why not."""
        self._idle(room)
        text = text.strip()
        if not again and not text:
            raise Invalid(self._t("room.no_text"), fields=("prompt",))
        if len(text) > rooms.MAX_TEXT:
            raise Invalid(self._t("room.long_text", most=rooms.MAX_TEXT), fields=("prompt",))
        if not room.members:
            raise Refused(self._t("room.empty", title=room.title))
        if not any(one.here for one in room.members):
            names = ", ".join(one.name for one in room.members)
            raise Refused(self._t("room.all_gone", title=room.title, names=names))
        return text

    async def say(self, room: Room, text: str, *, can_ask: bool = False, again: bool = False) -> Exchange:
        """Commit the owner's line and begin to have it answered; with `again` it is the last one that stands there."""
        talk = Exchange(room, self.ready(room, text, again=again), can_ask)
        self._talks[room.id] = talk
        try:
            if again:
                found = await rooms.again(self._store, room.id)
                if found is None:
                    raise NotFound(self._t("room.nothing_said", title=room.title))
                talk.line_id, talk.message_id, talk.text = found
            else:
                talk.line_id, talk.message_id = await rooms.say(self._store, room.id, talk.text)
        except BaseException:
            del self._talks[room.id]
            raise
        where = self._where(talk)
        asked = RoomAsked(message_id=talk.message_id, text=talk.text, again=again, **where)
        talk.task = asyncio.create_task(self._work(talk), name=f"room {room.id}")
        talk.task.add_done_callback(self._broke)
        self._bus.emit(asked)
        return talk

    def stop(self, room_id: str) -> bool:
        """Stop who speaks and let nobody else begin; whether there was anybody."""
        talk = self._talks.get(room_id)
        if talk is None or talk.task is None:
            return False
        talk.halted = True
        if talk.begun:  # a task that is cancelled before it begins would record nothing
            talk.task.cancel()
        return True

    async def _work(self, talk: Exchange) -> None:
        talk.begun = True
        talk.state, talk.note = "failed", self._t("room.broke")
        try:
            talk.state = await self._speakers.answer(talk)
            talk.note = self._speakers.note(talk)
        except asyncio.CancelledError:
            if self._closing:
                talk.state = "open"  # the next start says so in the room
                raise
            talk.state = "stopped"
            talk.note = self._speakers.note(talk)
        finally:
            await asyncio.shield(self._settle(talk))

    async def _settle(self, talk: Exchange) -> None:
        room = talk.room
        try:
            if talk.state != "open":
                await rooms.settle(self._store, talk.line_id, room.id, talk.state, talk.replies, talk.note)
        finally:
            del self._talks[room.id]
            talk.ended.set()
        where = self._where(talk)
        self._bus.emit(RoomSettled(state=talk.state, replies=talk.replies, note=talk.note, **where))

    # small things

    def _idle(self, room: Room) -> None:
        if room.id in self._talks:
            raise AlreadyRunning(self._t("room.busy", title=room.title))

    def _broke(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (bug := task.exception()):
            log.error("A room broke off", exc_info=bug)

    def _where(self, talk: Exchange) -> dict[str, Any]:
        return {"room_id": talk.room.id, "line_id": talk.line_id, "project_id": talk.room.project_id}

    def _changed(self, room: Room, what: str) -> None:
        self._bus.emit(RoomChanged(room_id=room.id, what=what, project_id=room.project_id))

    def _t(self, key: str, **values: Any) -> str:
        return t(key, self._identity.language, **values)


@asynccontextmanager
async def speaking(app: "App") -> AsyncIterator[None]:
    """The part of a program in which rooms can be used."""
    service = Rooms(
        store=app.store,
        bus=app.bus,
        config=app.config,
        identity=app.identity,
        tools=app.tools,
        runner=app.runner,
    )
    app.services[Rooms] = service
    try:
        async with service.open():
            yield
    finally:
        app.services.pop(Rooms)
