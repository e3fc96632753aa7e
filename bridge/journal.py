"""The book of rounds: what was found, read, decided and done, written before the next step is taken.

A chat that was opened is no longer unread on the phone, so what a round knows must be on disk before it moves
on: a conversation's row before the tap, its messages before BACK, the decision before it is carried out.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from core.store import Store, new_id, now

CONTEXT_DAYS = 3


@dataclass(slots=True)
class Line:
    """One message as it was read; `fresh` is what the round found unread, the rest is context."""

    direction: str
    kind: str
    text: str = ""
    detail: str = ""
    sender: str = ""
    quoted: str = ""
    edited: bool = False
    at_text: str = ""
    day: str = ""
    seconds: int | None = None
    fresh: bool = True


@dataclass(slots=True)
class Conversation:
    """A chat in a round, with what became of it."""

    id: str
    round_id: str
    position: int
    title: str
    kind: str = "person"
    number: str = ""
    archived: bool = False
    unread: int | None = None
    preview: str = ""
    posture: str = ""
    state: str = "found"
    decision: str | None = None
    args: dict[str, Any] = field(default_factory=dict)
    decided_by: str = ""
    reason: str = ""
    outcome: str | None = None
    outcome_why: str = ""
    run_id: str | None = None
    complete: bool = True
    lines: list[Line] = field(default_factory=list)

    @property
    def fresh(self) -> list[Line]:
        return [line for line in self.lines if line.fresh and line.direction != "out"]


@dataclass(slots=True)
class Round:
    """One walk over the phone."""

    id: str
    project_id: str
    state: str
    phone_state: str = ""
    source: str = "screen"
    why: str = ""
    in_background: bool | None = None
    started_at: str = ""
    closed_at: str | None = None
    report_id: str | None = None
    resumed: int = 0
    replay_ended_at: str | None = None


async def waiting(store: Store) -> list[Any]:
    """The alerts that no round has taken yet, oldest first."""
    return await store.all("select * from alerts where state = 'waiting' order by received_at, id")


async def begin(store: Store, project_id: str) -> Round:
    """A new round that takes every waiting alert, in one transaction."""
    round = Round(new_id("rnd"), project_id, "running", started_at=now())
    async with store.transaction() as db:
        await db.execute(
            "insert into rounds (id, project_id, state, started_at) values (?, ?, 'running', ?)",
            (round.id, project_id, round.started_at),
        )
        await db.execute(
            "update alerts set state = 'taken', round_id = ? where state = 'waiting'", (round.id,)
        )
    return round


async def unfinished(store: Store) -> list[Round]:
    """Rounds that a stopped process left running, oldest first; each is counted as resumed once more."""
    await store.run("update rounds set resumed = resumed + 1 where state = 'running'")
    rows = await store.all("select * from rounds where state = 'running' order by started_at")
    return [_round(row) for row in rows]


async def close(store: Store, round: Round, *, alerts: str) -> None:
    """The end of a round and of the alerts it took (`worked` or `relayed`), in one transaction."""
    round.closed_at = now()
    async with store.transaction() as db:
        await db.execute(
            "update rounds set state = ?, phone_state = ?, source = ?, why = ?, in_background = ?, closed_at = ?,"
            " report_id = ? where id = ?",
            (
                round.state,
                round.phone_state,
                round.source,
                round.why,
                None if round.in_background is None else int(round.in_background),
                round.closed_at,
                round.report_id,
                round.id,
            ),
        )
        await db.execute(
            "update alerts set state = ? where round_id = ? and state = 'taken'", (alerts, round.id)
        )


async def step(store: Store, round_id: str, name: str, ms: int = 0, **detail: Any) -> None:
    """One step of the replay."""
    await store.run(
        "insert into round_steps (round_id, at, name, detail, ms) values (?, ?, ?, ?, ?)",
        *(round_id, now(), name, json.dumps(detail, ensure_ascii=False), ms),
    )


async def found(store: Store, conversation: Conversation) -> Conversation:
    """Write down a chat before it is tapped."""
    await store.run(
        "insert into conversations (id, round_id, position, title, number, kind, archived, unread, preview, posture,"
        " state, found_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'found', ?)",
        *(
            conversation.id,
            conversation.round_id,
            conversation.position,
            conversation.title,
            conversation.number,
        ),
        *(conversation.kind, int(conversation.archived), conversation.unread, conversation.preview),
        *(conversation.posture, now()),
    )
    return conversation


async def read(store: Store, conversation: Conversation, lines: Sequence[Line]) -> None:
    """Keep what was read, before the chat is left. Reading again replaces what an interrupted read kept."""
    conversation.lines = list(lines)
    conversation.state = "read"
    async with store.transaction() as db:
        await db.execute("delete from phone_messages where conversation_id = ?", (conversation.id,))
        await db.executemany(
            "insert into phone_messages (conversation_id, position, direction, fresh, sender, kind, text, detail,"
            " quoted, edited, at_text, day, seconds) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    *(
                        conversation.id,
                        n,
                        line.direction,
                        int(line.fresh),
                        line.sender,
                        line.kind,
                        line.text,
                        line.detail,
                    ),
                    *(line.quoted, int(line.edited), line.at_text, line.day, line.seconds),
                )
                for n, line in enumerate(lines)
            ],
        )
        await db.execute(
            "update conversations set state = 'read', read_at = ?, number = ?, kind = ?, complete = ? where id = ?",
            (now(), conversation.number, conversation.kind, int(conversation.complete), conversation.id),
        )


async def forget(store: Store, conversation: Conversation) -> None:
    """A chat that was not opened after all: the list had moved, and it is found again in its turn."""
    await store.run("delete from conversations where id = ? and state = 'found'", conversation.id)


async def failed(store: Store, conversation: Conversation, why: str) -> None:
    """A chat that could not be read; the round goes on and the report says so."""
    conversation.state, conversation.outcome_why = "failed", why
    await store.run(
        "update conversations set state = 'failed', outcome_why = ?, closed_at = ? where id = ?",
        *(why, now(), conversation.id),
    )


async def decided(store: Store, conversation: Conversation) -> None:
    """Keep the decision before it is carried out."""
    conversation.state = "decided"
    await store.run(
        "update conversations set state = 'decided', decision = ?, decision_args = ?, decided_by = ?, reason = ?,"
        " run_id = ?, decided_at = ? where id = ?",
        *(conversation.decision, json.dumps(conversation.args, ensure_ascii=False), conversation.decided_by),
        *(conversation.reason, conversation.run_id, now(), conversation.id),
    )


async def done(store: Store, conversation: Conversation) -> None:
    """The outcome of a decision."""
    conversation.state = "done"
    await store.run(
        "update conversations set state = 'done', outcome = ?, outcome_why = ?, closed_at = ? where id = ?",
        *(conversation.outcome, conversation.outcome_why, now(), conversation.id),
    )


async def conversations(store: Store, round_id: str) -> list[Conversation]:
    """The chats of a round in the order they were found, with their messages."""
    rows = await store.all("select * from conversations where round_id = ? order by position", round_id)
    found = [_conversation(row) for row in rows]
    for one in found:
        one.lines = await lines_of(store, one.id)
    return found


async def conversation(store: Store, id: str) -> Conversation | None:
    """One chat of a round, with its messages."""
    row = await store.one("select * from conversations where id = ?", id)
    if row is None:
        return None
    one = _conversation(row)
    one.lines = await lines_of(store, id)
    return one


async def lines_of(store: Store, conversation_id: str) -> list[Line]:
    rows = await store.all(
        "select * from phone_messages where conversation_id = ? order by position", conversation_id
    )
    return [
        Line(
            direction=row["direction"],
            kind=row["kind"],
            text=row["text"],
            detail=row["detail"],
            sender=row["sender"],
            quoted=row["quoted"],
            edited=bool(row["edited"]),
            at_text=row["at_text"],
            day=row["day"],
            seconds=row["seconds"],
            fresh=bool(row["fresh"]),
        )
        for row in rows
    ]


async def texts_of_others(store: Store, conversation: Conversation) -> list[str]:
    """What other chats said lately: no reply may repeat it. A namesake in the same round is another chat."""
    rows = await store.all(
        "select distinct m.text from phone_messages m join conversations c on c.id = m.conversation_id"
        " where c.id != ? and not (c.title = ? and c.number = ? and c.round_id != ?) and m.text != ''"
        " and c.found_at > datetime('now', ?)",
        *(conversation.id, conversation.title, conversation.number, conversation.round_id),
        f"-{CONTEXT_DAYS} days",
    )
    return [row["text"] for row in rows]


async def recent(store: Store, limit: int = 50) -> list[Round]:
    """The latest rounds, newest first."""
    return [
        _round(row) for row in await store.all("select * from rounds order by started_at desc limit ?", limit)
    ]


async def find(store: Store, id: str) -> Round | None:
    row = await store.one("select * from rounds where id = ?", id)
    return _round(row) if row else None


async def steps(store: Store, round_id: str) -> list[dict[str, Any]]:
    rows = await store.all(
        "select at, name, detail, ms from round_steps where round_id = ? order by id", round_id
    )
    return [
        {"at": row["at"], "name": row["name"], "ms": row["ms"], **json.loads(row["detail"])} for row in rows
    ]


async def alerts_of(store: Store, round_id: str) -> list[str]:
    """The bodies of the alerts that a round took, oldest first."""
    rows = await store.all("select body from alerts where round_id = ? order by received_at, id", round_id)
    return [row["body"] for row in rows]


def _round(row: Any) -> Round:
    background = row["in_background"]
    return Round(
        id=row["id"],
        project_id=row["project_id"],
        state=row["state"],
        phone_state=row["phone_state"],
        source=row["source"],
        why=row["why"],
        in_background=None if background is None else bool(background),
        started_at=row["started_at"],
        closed_at=row["closed_at"],
        report_id=row["report_id"],
        resumed=row["resumed"],
        replay_ended_at=row["replay_ended_at"],
    )


def _conversation(row: Any) -> Conversation:
    return Conversation(
        id=row["id"],
        round_id=row["round_id"],
        position=row["position"],
        title=row["title"],
        kind=row["kind"],
        number=row["number"],
        archived=bool(row["archived"]),
        unread=row["unread"],
        preview=row["preview"],
        posture=row["posture"],
        state=row["state"],
        decision=row["decision"],
        args=json.loads(row["decision_args"]),
        decided_by=row["decided_by"],
        reason=row["reason"],
        outcome=row["outcome"],
        outcome_why=row["outcome_why"],
        run_id=row["run_id"],
        complete=bool(row["complete"]),
    )
