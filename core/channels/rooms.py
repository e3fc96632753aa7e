"""The rooms at work: the owner writes a line, and the members that are named in it answer, one after the other.

A line is committed before anybody answers it. A reply may name further members; ten replies are the most for one
line, and all of them together spend the steps of one turn of the surface. What is stopped or cut off by the end of
the program is said in the room and never begun again by itself.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from core import agents, projects, rooms
from core.config import Config
from core.errors import AlreadyRunning, Invalid, NotFound, Refused
from core.events import Bus, RoomAsked, RoomChanged, RoomSettled, SpeakerEnded, SpeakerStarted
from core.identity import IdentityFile
from core.rooms import ASSISTANT, CHANNEL, Member, Room
from core.runs import budget, peers, roomtalk
from core.runs.budget import Budget
from core.runs.handover import ASSISTANT_ONLY
from core.runs.mentions import mentioned
from core.runs.registry import Tools
from core.runs.runner import Runner
from core.runs.turn import Run, Status, Turn
from core.store import Store, new_id
from core.texts import t

if TYPE_CHECKING:
    from core.app import App

log = logging.getLogger(__name__)

MAX_REPLIES = 10
# A fact is remembered with its source, so a room may do that; the owner is reached elsewhere by the assistant alone.
NOT_HERE = ASSISTANT_ONLY - {"remember"}


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody who is to answer: who named it, and in which words."""

    member: Member
    by: str
    text: str


@dataclass(slots=True)
class Exchange:
    """One line of the owner's and its answers; `ended` is set when all of it is recorded."""

    room: Room
    text: str
    can_ask: bool
    line_id: str = ""
    message_id: int = 0
    waiting: deque[Asked] = field(default_factory=deque)
    notes: list[str] = field(default_factory=list)
    replies: int = 0
    answers: int = 0
    speaker: Member | None = None
    run_id: str = ""
    begun: bool = False
    halted: bool = False
    state: str = "open"
    note: str = ""
    task: "asyncio.Task[None] | None" = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)


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
        self._store, self._bus, self._config = store, bus, config
        self._identity, self._tools, self._runner = identity, tools, runner
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
            talk.state = await self._answer(talk)
            talk.note = self._note(talk)
        except asyncio.CancelledError:
            if self._closing:
                talk.state = "open"  # the next start says so in the room
                raise
            talk.state = "stopped"
            talk.note = self._note(talk)
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

    def _note(self, talk: Exchange) -> str:
        """What a person has to know about an exchange that is over."""
        left = ", ".join(dict.fromkeys(asked.member.name for asked in talk.waiting))
        notes = list(talk.notes)
        if talk.state in {"capped", "spent"}:
            notes.append(self._t(f"room.{talk.state}", most=MAX_REPLIES, names=left))
        elif talk.state == "stopped" and left:
            notes.append(self._t("room.stopped", names=left))
        return "\n".join(notes)

    async def _answer(self, talk: Exchange) -> str:
        """Let them speak, one after the other: how it ended."""
        left = budget.steps(CHANNEL, self._config.now.super_agent)
        here = [one for one in talk.room.members if one.here]
        named = mentioned(talk.text, here)
        await self._strangers(talk, here)
        talk.waiting.extend(Asked(one, "owner", talk.text) for one in named or here[:1])
        while talk.waiting and talk.replies < MAX_REPLIES and left > 0 and not talk.halted:
            asked = talk.waiting.popleft()
            room = await self.find(talk.room.id)
            member = next((one for one in room.members if one.slug == asked.member.slug), None)
            if member is None or not member.here:
                talk.notes.append(self._t("room.gone", name=asked.member.name))
                continue
            waiting = len(talk.waiting) + 1
            further = max(0, MAX_REPLIES - talk.replies - waiting)
            own = Budget(budget.portion(left, waiting, further))
            run = await self._speak(talk, room, member, asked, own)
            left -= own.used
            talk.replies += 1
            if run.status is Status.CANCELLED:
                return "stopped"
            if run.status in (Status.DONE, Status.BUDGET_EXCEEDED):
                talk.answers += 1
                self._draw_in(talk, room, member, run.text)
        if talk.halted:
            return "stopped"
        if talk.waiting:
            return "spent" if talk.replies < MAX_REPLIES else "capped"
        return "answered" if talk.answers else "failed"

    def _draw_in(self, talk: Exchange, room: Room, speaker: Member, text: str) -> None:
        """Who is named in a reply answers later, unless it waits already."""
        queued = {asked.member.slug for asked in talk.waiting}
        for one in mentioned(text, [one for one in room.members if one.here]):
            if one.slug != speaker.slug and one.slug not in queued:
                talk.waiting.append(Asked(one, speaker.slug, text))

    async def _strangers(self, talk: Exchange, here: list[Member]) -> None:
        """Who is named and is no member is told of, and not asked."""
        inside = {one.slug for one in talk.room.members}
        others = [
            rooms.of_agent(one)
            for one in await agents.listed(self._store, talk.room.project_id)
            if one.slug not in inside
        ]
        known = {one.slug for one in here}
        for one in mentioned(talk.text, [*here, *others]):
            if one.slug not in known:
                talk.notes.append(self._t("room.stranger", name=one.name, slug=one.slug))

    async def _speak(self, talk: Exchange, room: Room, member: Member, asked: Asked, own: Budget) -> Run:
        """One member's reply, as a run like any other."""
        turn = await self._turn(talk, room, member, asked, own)
        talk.speaker, talk.run_id = member, turn.run_id
        who: dict[str, Any] = {"room_id": room.id, "slug": member.slug, "name": member.name}
        who |= {"run_id": turn.run_id, "project_id": turn.project_id}
        self._bus.emit(SpeakerStarted(icon=member.icon, asked_by=asked.by, steps=own.steps, **who))
        status, text = str(Status.FAILED), ""
        try:
            run = await self._runner.run(turn)
            status, text = str(run.status), run.text
        except asyncio.CancelledError:
            status = str(Status.CANCELLED)
            raise
        finally:
            talk.speaker, talk.run_id = None, ""
            self._bus.emit(SpeakerEnded(status=status, text=text, **who))
        return run

    async def _turn(self, talk: Exchange, room: Room, member: Member, asked: Asked, own: Budget) -> Turn:
        identity = self._identity.now
        owner = roomtalk.owner_of(identity)
        previous, cue = roomtalk.told(await self.lines(room), member, room, owner=owner, asked_by=asked.by)
        agent = member.agent
        role = ""
        if agent is not None:
            project = await projects.find(self._store, agent.project_id)
            role = peers.role(agent, identity, project=project.name, language=self._identity.language)
        return Turn(
            text=asked.text,
            cue=cue,
            previous=previous,
            channel=CHANNEL,
            thread=room.thread,
            sender=asked.by,
            answerer=member.slug,
            role=role,
            model=(agent.model if agent else "") or None,
            project_id=member.project_id,
            context_note=roomtalk.note(room, member, owner),
            tools=tuple(
                tool
                for tool in self._tools.of(CHANNEL)
                if member.slug == ASSISTANT or tool.name not in NOT_HERE
            ),
            can_ask=talk.can_ask,
            run_id=new_id("run"),
            budget=own,
        )

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
