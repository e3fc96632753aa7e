"""The frames of a line that a room answers: what the bus tells of the room and of its speakers' runs."""

import asyncio
import logging
from types import TracebackType
from typing import Any

from core.api.frames import BROKEN, Wire
from core.channels.room_speakers import Exchange
from core.channels.rooms import Rooms
from core.errors import ApxError
from core.events import Bus, Event, RoomAsked, RoomSettled, Said, SpeakerEnded, SpeakerStarted
from core.rooms import Room

log = logging.getLogger(__name__)

KEEPALIVE_S = 15.0
STOPPED = "The room was stopped."


class RoomFrames:
    """Has a line answered and turns what is told of it into frames, ending with None."""

    def __init__(self, rooms: Rooms, bus: Bus, room: Room, text: str, *, again: bool, can_ask: bool) -> None:
        self._rooms, self._bus, self._room = rooms, bus, room
        self._text, self._again, self._can_ask = text, again, can_ask
        self._queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._speakers: dict[str, str] = {}  # run id → slug
        self._wire = Wire()
        self._why = ""
        self._begun = self._gone = False
        self._talk: Exchange | None = None

    def __enter__(self) -> "RoomFrames":
        self._leave = self._bus.subscribe(Event, self._take)
        self._task = asyncio.create_task(self._work())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    async def next(self) -> dict[str, Any] | None:
        """The next frame, or None when there are no more."""
        return await self._queue.get()

    def stop(self) -> None:
        """Stop who speaks; the stream ends when that has been recorded."""
        self._gone = True
        # By now the room may be answering somebody else's line.
        if self._talk is not None and self._rooms.talk(self._room.id) is self._talk:
            self._rooms.stop(self._room.id)

    async def aclose(self) -> None:
        """Stop it if it still goes on, and wait until it has been recorded."""
        self.stop()
        # A reader who is gone cancels whoever waits here; the line itself is stopped, never torn in the middle.
        (ended,) = await asyncio.shield(asyncio.gather(self._task, return_exceptions=True))
        if isinstance(ended, Exception):
            log.error("The room %s broke", self._room.id, exc_info=ended)

    async def _work(self) -> None:
        broken: dict[str, Any] | None = {"type": "error", "error": BROKEN, "code": "failed"}
        try:
            self._talk = await self._rooms.say(
                self._room, self._text, can_ask=self._can_ask, again=self._again
            )
            if self._gone:
                self.stop()
            await self._talk.ended.wait()
            broken = None  # the last frame came with the room's own ending
        except ApxError as error:
            broken = {"type": "error", "error": str(error), "code": error.code}
        finally:
            if broken is not None:
                self._queue.put_nowait(broken)
            self._queue.put_nowait(None)

    def _take(self, event: Event) -> None:
        # Only one line of a room is answered at a time, so what is told of the room is told of ours.
        if getattr(event, "room_id", "") == self._room.id:
            self._told(event)
        elif event.run_id in self._speakers:
            who = {"slug": self._speakers[event.run_id], "run_id": event.run_id}
            if isinstance(event, Said):
                self._put("speaker_delta", who | {"delta": event.text})
            elif (frame := self._wire(event)) is not None:
                self._queue.put_nowait(frame | who)

    def _told(self, event: Event) -> None:
        match event:
            case RoomAsked() if asyncio.current_task() is self._task:
                self._begun = True
                self._put("start", {"room_id": event.room_id, "line_id": event.line_id})
                self._put(
                    "owner_message",
                    {"message_id": event.message_id, "text": event.text, "again": event.again},
                )
            case SpeakerStarted() if self._begun:
                self._speakers[event.run_id or ""] = event.slug
                who = {"slug": event.slug, "name": event.name, "icon": event.icon, "run_id": event.run_id}
                self._put("speaker_start", who | {"asked_by": event.asked_by, "steps": event.steps})
            case SpeakerEnded() if self._begun:
                who = {"slug": event.slug, "name": event.name, "run_id": event.run_id}
                if event.status == "cancelled":
                    self._put("speaker_aborted", who)
                else:
                    self._why = event.text if event.status == "failed" else self._why
                    self._put("speaker_final", who | {"text": event.text, "status": event.status})
            case RoomSettled() if self._begun:
                self._settled(event)

    def _settled(self, event: RoomSettled) -> None:
        how = {"room_id": event.room_id, "line_id": event.line_id, "state": event.state}
        how |= {"note": event.note}
        self._put("done", how | {"replies": event.replies})
        if event.state in {"stopped", "open"}:
            self._put("aborted", {"note": event.note or STOPPED})
        elif event.state == "failed":
            self._put("error", {"error": self._why or event.note or BROKEN, "code": "failed"})
        else:
            self._put("final", {"result": how | {"replies": event.replies}})

    def _put(self, kind: str, values: dict[str, Any]) -> None:
        self._queue.put_nowait({"type": kind} | values)
