"""Rooms over one open app, as the callables of their screen."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core import agents, rooms
from core.channels.room_speakers import Exchange
from core.channels.rooms import Rooms
from core.errors import Unavailable
from core.projects import DEFAULT
from core.rooms import Member, Room
from desktop import past, records
from desktop.feed import Feed
from desktop.files import Save
from desktop.messages import Entry
from desktop.questions import Questions
from desktop.room import Person, with_speakers
from desktop.rooms import Desk, RoomsScreen
from desktop.words import Words

if TYPE_CHECKING:
    from core.app import App


def rooms_screen(app: "App", words: Words, feed: Feed, questions: Questions, save: Save) -> RoomsScreen:
    """The screen of rooms."""

    def service() -> Rooms:
        found = app.services.get(Rooms)
        if not isinstance(found, Rooms):
            raise Unavailable(words("rooms.none_here"))
        return found

    async def listed() -> Sequence[Room]:
        return await service().listed()

    async def people() -> Sequence[Member]:
        """Everybody who could be in a room; where two share a short name, the default project's comes first."""
        everybody = sorted(await agents.listed(app.store), key=lambda one: one.project_id != DEFAULT)
        found = {one.slug: rooms.of_agent(one) for one in reversed(everybody)}
        return [rooms.assistant(app.identity, DEFAULT), *sorted(found.values(), key=lambda one: one.name)]

    async def create(title: str, who: Sequence[Person]) -> Room:
        return await service().create(DEFAULT, title, [await member(one) for one in who])

    async def member(person: Person) -> Member:
        if person.slug == rooms.ASSISTANT:
            return rooms.assistant(app.identity, person.project_id)
        return rooms.of_agent(await agents.find(app.store, person.project_id, person.slug))

    async def add(room_id: str, person: Person) -> Room:
        return await service().add(await service().find(room_id), await member(person))

    async def leave(room_id: str, slug: str) -> Room:
        return await service().leave(await service().find(room_id), slug)

    async def remove(room_id: str) -> None:
        await service().remove(await service().find(room_id))

    async def read(room_id: str) -> Sequence[Entry]:
        room = await service().find(room_id)
        who = {line.run_id: (line.name, line.icon) for line in await service().lines(room) if line.run_id}
        return with_speakers(await past.history(app.store, app.home, room.thread), who)

    async def say(room_id: str, text: str, again: bool) -> Exchange:
        return await service().say(await service().find(room_id), text, can_ask=True, again=again)

    def talk(room_id: str) -> Exchange | None:
        return service().talk(room_id)

    return RoomsScreen(
        words,
        feed,
        questions,
        Desk(
            listed=listed,
            people=people,
            create=create,
            add=add,
            leave=leave,
            remove=remove,
            read=read,
            say=say,
            stop=lambda room_id: service().stop(room_id),
            talk=talk,
            find=lambda media_id: records.media_path(app.store, app.home, media_id),
        ),
        save,
    )
