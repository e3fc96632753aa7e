"""Rooms as data: a title, the agents that take part, and all that was said. Who answers, and when, is elsewhere."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core import agents
from core.agents import Agent
from core.errors import Invalid, NotFound, Refused
from core.identity import IdentityFile
from core.store import Store, new_id, now
from core.texts import t

CHANNEL = "group"
ASSISTANT = "super_agent"
HOUSE = "room"  # who writes the notes
MAX_TITLE = 80
MAX_MEMBERS = 30
MAX_TEXT = 200_000


@dataclass(frozen=True, slots=True)
class Member:
    """Who takes part. `here`: whoever it was when it joined is still there to answer."""

    slug: str
    project_id: str
    name: str
    icon: str
    here: bool = True
    agent: Agent | None = None  # none for the assistant

    @property
    def handle(self) -> str:
        """What stands after an @ for it: people never read the assistant's address."""
        return (agents.slug_of(self.name) or "apx") if self.slug == ASSISTANT else self.slug

    def shown(self) -> dict[str, Any]:
        """For surfaces."""
        return {
            "slug": self.slug,
            "handle": self.handle,
            "project_id": self.project_id,
            "name": self.name,
            "icon": self.icon,
            "here": self.here,
        }


@dataclass(frozen=True, slots=True)
class Room:
    """`members` in the order in which they came; the first answers where nobody is named."""

    id: str
    project_id: str
    title: str
    created_at: str
    members: tuple[Member, ...]
    lines: int = 0
    last: str = ""
    last_at: str = ""

    @property
    def thread(self) -> str:
        return thread_of(self.id)

    def shown(self) -> dict[str, Any]:
        """For surfaces."""
        return {
            "id": self.id,
            "project_id": self.project_id,
            "title": self.title,
            "created_at": self.created_at,
            "thread": self.thread,
            "members": [one.shown() for one in self.members],
            "lines": self.lines,
            "last": self.last,
            "last_at": self.last_at,
        }


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a room; `author` is owner, a member's slug, or the room itself for a note."""

    id: int
    at: str
    author: str
    name: str
    icon: str
    role: str
    text: str
    run_id: str
    meta: dict[str, Any]

    def shown(self) -> dict[str, Any]:
        """For surfaces."""
        return {name: getattr(self, name) for name in self.__slots__}


def thread_of(room_id: str) -> str:
    """The thread of a room."""
    return f"{CHANNEL}:{room_id}"


def assistant(identity: IdentityFile, project_id: str) -> Member:
    """The identity's own agent as a member."""
    return Member(ASSISTANT, project_id, identity.now.agent_name, identity.icon)


def of_agent(agent: Agent) -> Member:
    """A project's agent as a member."""
    return Member(agent.slug, agent.project_id, agent.name, agent.icon, agent=agent)


async def create(
    store: Store, project_id: str, title: str, members: Sequence[Member], *, identity: IdentityFile
) -> Room:
    """A new room; `Invalid` says what is missing."""
    title, lang = " ".join(title.split()), identity.language
    if not title:
        raise Invalid(t("room.no_title", lang), fields=("title",))
    if len(title) > MAX_TITLE:
        raise Invalid(t("room.long_title", lang, most=MAX_TITLE), fields=("title",))
    if not members:
        raise Invalid(t("room.no_members", lang), fields=("participants",))
    if len(members) > MAX_MEMBERS:
        raise Invalid(t("room.too_many", lang, most=MAX_MEMBERS), fields=("participants",))
    room_id = new_id("room")
    async with store.transaction() as db:
        await db.execute(
            "insert into rooms (id, project_id, title, created_at) values (?, ?, ?, ?)",
            (room_id, project_id, title, now()),
        )
        for place, one in enumerate({one.slug: one for one in members}.values()):
            await db.execute(_JOIN, (room_id, one.project_id, one.slug, one.name, one.icon, place))
    return await find(store, room_id, identity=identity)


_JOIN = (
    "insert into room_members (room_id, project_id, slug, name, icon, position) values (?, ?, ?, ?, ?, ?)"
    " on conflict (room_id, slug) do update set project_id = excluded.project_id, name = excluded.name,"
    " icon = excluded.icon, position = excluded.position, left_at = null"
)


async def add(store: Store, room: Room, member: Member, lang: str) -> None:
    """Somebody joins, as the last; whoever was in it before may come back."""
    if any(one.slug == member.slug and one.here for one in room.members):
        raise Refused(t("room.in_already", lang, name=member.name))
    if len(room.members) >= MAX_MEMBERS:
        raise Refused(t("room.too_many", lang, most=MAX_MEMBERS))
    row = await store.one("select max(position) as last from room_members where room_id = ?", room.id)
    place = (row["last"] if row and row["last"] is not None else -1) + 1
    await store.run(_JOIN, room.id, member.project_id, member.slug, member.name, member.icon, place)


async def leave(store: Store, room: Room, slug: str, lang: str) -> Member:
    """A member goes; what it said stays."""
    gone = next((one for one in room.members if one.slug == slug), None)
    if gone is None:
        names = ", ".join(one.handle for one in room.members) or "-"
        raise NotFound(t("room.not_here", lang, name=slug[:60], names=names))
    await store.run(
        "update room_members set left_at = ? where room_id = ? and slug = ?", now(), room.id, gone.slug
    )
    return gone


async def remove(store: Store, room: Room) -> None:
    """Close a room for good. What was said in it stays among the conversations."""
    await store.run("delete from rooms where id = ?", room.id)


async def listed(store: Store, project_id: str | None = None, *, identity: IdentityFile) -> list[Room]:
    """The rooms of a project, or all of them; the one that was spoken in last comes first."""
    rows = await store.all(
        "select r.*, (select max(at) from messages m where m.thread = 'group:' || r.id) as newest from rooms r"
        " where ?1 is null or project_id = ?1 order by coalesce(newest, created_at) desc, id desc",
        project_id,
    )
    return [await _room(store, row, identity) for row in rows]


async def find(store: Store, named: str, project_id: str | None = None, *, identity: IdentityFile) -> Room:
    """A room by its id, or by its title where only one has it."""
    rows = await store.all("select * from rooms where ?1 is null or project_id = ?1", project_id)
    plain = " ".join(named.split()).casefold()
    found = [row for row in rows if row["id"] == named] or [
        row for row in rows if row["title"].casefold() == plain
    ]
    if not found:
        raise NotFound(t("room.unknown", identity.language, name=named[:60]))
    if len(found) > 1:
        ids = ", ".join(row["id"] for row in found)
        raise Invalid(t("room.several", identity.language, name=named[:60], ids=ids), fields=("room",))
    return await _room(store, found[0], identity)


async def lines(store: Store, room_id: str, *, identity: IdentityFile) -> list[Line]:
    """All that was said in a room, oldest first."""
    rows = await store.all(
        "select m.*, coalesce(a.name, b.name, '') as name, coalesce(a.icon, b.icon, '') as icon from messages m"
        " left join room_members b on b.room_id = ?1 and b.slug = m.author"
        " left join agents a on a.project_id = b.project_id and a.slug = m.author"
        " where m.thread = ?2 order by m.id",
        *(room_id, thread_of(room_id)),
    )
    return [
        Line(
            row["id"],
            row["at"],
            row["author"],
            identity.now.agent_name if row["author"] == ASSISTANT else row["name"] or row["author"],
            identity.icon if row["author"] == ASSISTANT else row["icon"],
            row["role"],
            row["text"],
            row["run_id"] or "",
            json.loads(row["meta"]),
        )
        for row in rows
    ]


async def say(store: Store, room_id: str, text: str) -> tuple[str, int]:
    """The owner's line and that it waits for answers, committed together: the ids of both."""
    line_id, at = new_id("line"), now()
    async with store.transaction() as db:
        cursor = await db.execute(
            "insert into messages (thread, channel, author, role, text, at) values (?, ?, 'owner', 'user', ?, ?)",
            (thread_of(room_id), CHANNEL, text, at),
        )
        message_id = int(cursor.lastrowid or 0)
        await db.execute(
            "insert into room_lines (id, room_id, message_id, opened_at) values (?, ?, ?, ?)",
            (line_id, room_id, message_id, at),
        )
    return line_id, message_id


async def again(store: Store, room_id: str) -> tuple[str, int, str] | None:
    """Open the owner's last line once more: its ids and its text, if there is one."""
    row = await store.one(
        "select id, text from messages where thread = ? and author = 'owner' and role = 'user'"
        " order by id desc limit 1",
        thread_of(room_id),
    )
    if row is None:
        return None
    line_id = new_id("line")
    await store.run(
        "insert into room_lines (id, room_id, message_id, opened_at) values (?, ?, ?, ?)",
        *(line_id, room_id, row["id"], now()),
    )
    return line_id, int(row["id"]), str(row["text"])


async def settle(store: Store, line_id: str, room_id: str, state: str, replies: int, note: str = "") -> None:
    """How far a line was answered, with the note that says so in the room."""
    async with store.transaction() as db:
        await db.execute(
            "update room_lines set state = ?, replies = ?, closed_at = ? where id = ? and state = 'open'",
            (state, replies, now(), line_id),
        )
        if note:
            await db.execute(
                "insert into messages (thread, channel, author, role, text, at, meta)"
                " values (?, ?, ?, 'note', ?, ?, ?)",
                (thread_of(room_id), CHANNEL, HOUSE, note, now(), json.dumps({"line": state})),
            )


async def unanswered(store: Store) -> list[tuple[str, str, int]]:
    """Lines that a former process left open: line, room, and how many had answered."""
    rows = await store.all(
        "select l.id, l.room_id, (select count(*) from messages m where m.thread = 'group:' || l.room_id"
        " and m.id > l.message_id and m.role = 'assistant') as replies from room_lines l where l.state = 'open'"
    )
    return [(row["id"], row["room_id"], row["replies"]) for row in rows]


async def cut(store: Store, room_id: str, keep: int) -> int:
    """Take all lines but the first `keep` out of a room: how many. They stay, as a conversation of their own."""
    rows = await store.all("select id from messages where thread = ? order by id", thread_of(room_id))
    gone = [int(row["id"]) for row in rows[keep:]]
    if gone:
        await store.run(
            "update messages set thread = ? where thread = ? and id >= ?",
            *(f"{thread_of(room_id)}:cut", thread_of(room_id), gone[0]),
        )
    return len(gone)


async def _room(store: Store, row: sqlite3.Row, identity: IdentityFile) -> Room:
    found = await store.all(
        "select * from room_members where room_id = ? and left_at is null order by position", row["id"]
    )
    everybody = {(one.project_id, one.slug): one for one in await agents.listed(store)} if found else {}
    members = []
    for one in found:
        if one["slug"] == ASSISTANT:
            members.append(assistant(identity, one["project_id"]))
        elif (agent := everybody.get((one["project_id"], one["slug"]))) is not None:
            members.append(of_agent(agent))
        else:
            members.append(Member(one["slug"], one["project_id"], one["name"], one["icon"], here=False))
    said = await store.one(
        "select count(*) as lines, coalesce(max(case when role != 'note' then id end), 0) as last from messages"
        " where thread = ?",
        thread_of(row["id"]),
    )
    last = await store.one("select text, at from messages where id = ?", said["last"] if said else 0)
    return Room(
        row["id"],
        row["project_id"],
        row["title"],
        row["created_at"],
        tuple(members),
        lines=said["lines"] if said else 0,
        last=" ".join(last["text"].split())[:200] if last else "",
        last_at=last["at"] if last else "",
    )
