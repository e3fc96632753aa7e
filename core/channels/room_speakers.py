"""How one line of the owner's is answered in a room: who speaks, in which order, and with how many steps."""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from core import agents, projects, rooms
from core.config import Config
from core.events import Bus, SpeakerEnded, SpeakerStarted
from core.identity import IdentityFile
from core.rooms import ASSISTANT, CHANNEL, Member, Room
from core.runs import budget, peers, roomtalk
from core.runs.budget import Budget
from core.runs.mentions import mentioned
from core.runs.peer_turns import ASSISTANT_ONLY
from core.runs.registry import Tools
from core.runs.runner import Runner
from core.runs.turn import Run, Status, Turn
from core.store import Store, new_id
from core.texts import t

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


class Speakers:
    """`await speakers.answer(exchange)`; each reply is a run like any other, and tells of itself as events."""

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

    async def answer(self, talk: Exchange) -> str:
        """Let them speak, one after the other: how it ended."""
        left = budget.steps(CHANNEL, self._config.now.super_agent)
        here = [one for one in talk.room.members if one.here]
        named = mentioned(talk.text, here)
        await self._strangers(talk, here)
        talk.waiting.extend(Asked(one, "owner", talk.text) for one in named or here[:1])
        while talk.waiting and talk.replies < MAX_REPLIES and left > 0 and not talk.halted:
            asked = talk.waiting.popleft()
            room = await rooms.find(self._store, talk.room.id, identity=self._identity)
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
        said = await rooms.lines(self._store, room.id, identity=self._identity)
        previous, cue = roomtalk.told(
            said,
            member,
            room,
            owner=owner,
            asked_by=asked.by,
        )
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

    def note(self, talk: Exchange) -> str:
        """What a person has to know about an exchange that is over."""
        left = ", ".join(dict.fromkeys(asked.member.name for asked in talk.waiting))
        notes = list(talk.notes)
        if talk.state in {"capped", "spent"}:
            notes.append(self._t(f"room.{talk.state}", most=MAX_REPLIES, names=left))
        elif talk.state == "stopped" and left:
            notes.append(self._t("room.stopped", names=left))
        return "\n".join(notes)

    def _t(self, key: str, **values: Any) -> str:
        return t(key, self._identity.language, **values)
