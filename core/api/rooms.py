"""Rooms over HTTP: make one, who is in it, what was said, and a line that its members answer in frames."""

from typing import cast

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response, StreamingResponse

from core.api.access import Caller
from core.api.frames import streamed
from core.api.request import Apx, Owner, Who, project, reply
from core.api.room_frames import KEEPALIVE_S, RoomFrames
from core.app import App
from core.channels.rooms import Rooms
from core.errors import Unavailable
from core.rooms import CHANNEL, Room

router = APIRouter(prefix="/api", tags=["rooms"])


class Person(BaseModel):
    """An agent by its slug or name; without a project it is looked for from the room's."""

    model_config = ConfigDict(extra="forbid")
    slug: str = Field(min_length=1, max_length=100)
    project_id: str = Field("", max_length=100)


class NewRoom(BaseModel):
    """`members` is another word for `participants`."""

    model_config = ConfigDict(extra="forbid")
    title: str = Field("", max_length=1000)
    participants: list[Person | str] = Field(default_factory=list, max_length=100)
    members: list[Person | str] = Field(default_factory=list, max_length=100)


class Cut(BaseModel):
    model_config = ConfigDict(extra="forbid")
    keep_visible: int = Field(ge=0)


class Line(BaseModel):
    """The owner's line, or with `rerun` the last one once more. Keys that are not here are ignored."""

    model_config = ConfigDict(extra="ignore")
    prompt: str = Field("", max_length=500_000)
    rerun: bool = False
    canAsk: bool = False


class Abort(BaseModel):
    model_config = ConfigDict(extra="ignore")
    channel: str = Field(min_length=1, max_length=40)
    thread_id: str = Field(min_length=1, max_length=300)


def _rooms(app: App) -> Rooms:
    if Rooms not in app.services:
        raise Unavailable("No rooms can be reached from this program.")
    return cast(Rooms, app.services[Rooms])


async def _room(app: App, pid: str, gid: str, who: Caller) -> Room:
    return await _rooms(app).find(gid, await project(app, pid, who))


@router.get("/groups")
async def everywhere(app: Apx, _: Owner) -> Response:
    """The rooms of all projects, the one that was spoken in last first."""
    return reply({"data": [one.shown() for one in await _rooms(app).listed()]})


@router.get("/projects/{pid}/groups")
async def listed(pid: str, app: Apx, who: Who) -> Response:
    """The rooms of a project."""
    return reply({"data": [one.shown() for one in await _rooms(app).listed(await project(app, pid, who))]})


@router.post("/projects/{pid}/groups")
async def create(pid: str, new: NewRoom, app: Apx, _: Owner) -> Response:
    """A new room with its members, in their order: the first answers where nobody is named."""
    project_id, service = await project(app, pid), _rooms(app)
    members = []
    for one in new.participants or new.members:
        person = one if isinstance(one, Person) else Person(slug=one or " ")
        where = await project(app, person.project_id) if person.project_id else project_id
        members.append(await service.member(person.slug, where))
    return reply((await service.create(project_id, new.title, members)).shown(), 201)


@router.get("/projects/{pid}/groups/{gid}")
async def one(pid: str, gid: str, app: Apx, who: Who) -> Response:
    """A room with all that was said in it, and who speaks now."""
    room = await _room(app, pid, gid, who)
    service = _rooms(app)
    talk = service.talk(room.id)
    said = [line.shown() for line in await service.lines(room)]
    speaker = talk.speaker.slug if talk and talk.speaker else ""
    return reply(room.shown() | {"said": said, "answering": talk is not None, "speaker": speaker})


@router.delete("/projects/{pid}/groups/{gid}")
async def remove(pid: str, gid: str, app: Apx, who: Owner) -> Response:
    """Close a room for good; what was said stays among the conversations."""
    room = await _room(app, pid, gid, who)
    await _rooms(app).remove(room)
    return reply(room.shown())


@router.post("/projects/{pid}/groups/{gid}/participants")
async def add(pid: str, gid: str, person: Person, app: Apx, who: Owner) -> Response:
    """Somebody joins a room."""
    room, service = await _room(app, pid, gid, who), _rooms(app)
    where = await project(app, person.project_id) if person.project_id else room.project_id
    return reply((await service.add(room, await service.member(person.slug, where))).shown(), 201)


@router.delete("/projects/{pid}/groups/{gid}/participants/{slug}")
async def leave(pid: str, gid: str, slug: str, app: Apx, who: Owner) -> Response:
    """A member goes; what it said stays."""
    return reply((await _rooms(app).leave(await _room(app, pid, gid, who), slug)).shown())


@router.post("/projects/{pid}/groups/{gid}/truncate")
async def truncate(pid: str, gid: str, asked: Cut, app: Apx, who: Owner) -> Response:
    """Keep only the first lines of a room; the others stay as a conversation of their own."""
    room = await _room(app, pid, gid, who)
    return reply({"room_id": room.id, "removed": await _rooms(app).cut(room, asked.keep_visible)})


@router.post("/projects/{pid}/groups/{gid}/message/stream")
async def message(pid: str, gid: str, line: Line, request: Request, app: Apx, who: Who) -> Response:
    """Say a line and get the answers of the members as they are made: one JSON frame a line."""
    room, service = await _room(app, pid, gid, who), _rooms(app)
    service.ready(room, line.prompt, again=line.rerun)
    frames = RoomFrames(service, app.bus, room, line.prompt, again=line.rerun, can_ask=line.canAsk)
    lines = streamed(request.app.state.access, who, frames, keepalive_s=KEEPALIVE_S)
    return StreamingResponse(lines, media_type="application/x-ndjson")


@router.post("/projects/{pid}/turns/abort")
async def abort(pid: str, asked: Abort, app: Apx, who: Who) -> Response:
    """Stop what is being answered in a thread; in a room (channel group) the speaker and all who wait."""
    project_id = await project(app, pid, who)
    if asked.channel == CHANNEL:
        service = _rooms(app)
        room = await service.find(asked.thread_id.removeprefix(f"{CHANNEL}:"), project_id)
        return reply({"aborted": int(service.stop(room.id))})
    threads = {asked.thread_id, f"{asked.channel}:{asked.thread_id}"}
    runs = [
        run.id
        for run in app.runner.active()
        if run.turn.channel == asked.channel
        and run.turn.thread in threads
        and run.turn.project_id == project_id
    ]
    for run_id in runs:
        app.runner.cancel(run_id)
    return reply({"aborted": len(runs)})
