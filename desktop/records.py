"""What the screens read from the database: plain questions, plain values."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.paths import Home
from desktop.questions import Question

if TYPE_CHECKING:
    from core.store import Store


@dataclass(frozen=True, slots=True)
class Spoken:
    """One message of a chat on the phone; `mine` when the owner (or the agent for them) wrote it."""

    sender: str
    text: str
    kind: str
    fresh: bool
    mine: bool
    seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Talked:
    """A conversation of a round: what was said, decided and done, and how sure that is."""

    id: str
    title: str
    kind: str
    state: str
    unread: int | None
    preview: str
    decision: str
    said: str  # what was answered, asked or forwarded
    reason: str
    decided_by: str
    outcome: str
    outcome_why: str
    complete: bool
    messages: tuple[Spoken, ...]
    question: Question | None
    answered: str = ""  # what the owner decided: a text, or "leave"


@dataclass(frozen=True, slots=True)
class Round:
    """A round with what came of it, in numbers."""

    id: str
    state: str
    phone_state: str
    source: str
    why: str
    started_at: datetime
    closed_at: datetime | None
    in_background: bool | None
    report: str  # the state of its Telegram in the outbox, empty when there is none
    chats: int
    replied: int
    waiting: int
    forwarded: int
    left: int
    unsure: int

    @property
    def seconds(self) -> int | None:
        if self.closed_at is None:
            return None
        return round((self.closed_at - self.started_at).total_seconds())


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a round, for its replay."""

    at: datetime
    name: str
    detail: Mapping[str, Any]
    ms: int


async def media_path(store: "Store", home: Home, media_id: str) -> Path | None:
    """Where the checked copy of a file is."""
    row = await store.one("select path from media where id = ?", media_id)
    return home.root / row["path"] if row else None  # an absolute path stays what it is


async def questions(store: "Store") -> list[Question]:
    """Everything that waits for the owner, oldest first."""
    rows = await store.all(
        "select q.*, c.title from questions q left join conversations c on c.id = q.conversation_id"
        " where q.state = 'open' order by q.asked_at, q.id"
    )
    return [_question(row) for row in rows]


def _question(row: Any) -> Question:
    return Question(
        id=row["id"],
        kind=row["kind"],
        who=row["title"] or "",
        text=row["question"],
        draft=row["draft"],
        conversation_id=row["conversation_id"] or "",
    )


async def rounds(store: "Store", limit: int = 60) -> list[Round]:
    """The latest rounds, newest first."""
    rows = await store.all(
        """
        select r.*, coalesce(o.state, '') as report,
            count(c.id) as chats,
            sum(c.decision = 'reply' and c.outcome = 'sent') as replied,
            sum(c.decision = 'forward') as forwarded,
            sum(c.decision = 'leave' or (c.state = 'done' and c.decision is null)) as left_alone,
            sum(c.outcome = 'unknown' or c.state = 'failed') as unsure,
            (select count(*) from questions q where q.round_id = r.id and q.state = 'open') as waiting
        from rounds r
        left join conversations c on c.round_id = r.id
        left join outbox o on o.id = r.report_id
        group by r.id order by r.started_at desc, r.id desc limit ?
        """,
        limit,
    )
    return [
        Round(
            id=row["id"],
            state=row["state"],
            phone_state=row["phone_state"],
            source=row["source"],
            why=row["why"],
            started_at=datetime.fromisoformat(row["started_at"]),
            closed_at=datetime.fromisoformat(row["closed_at"]) if row["closed_at"] else None,
            in_background=None if row["in_background"] is None else bool(row["in_background"]),
            report=row["report"],
            chats=row["chats"],
            replied=row["replied"] or 0,
            waiting=row["waiting"] or 0,
            forwarded=row["forwarded"] or 0,
            left=row["left_alone"] or 0,
            unsure=row["unsure"] or 0,
        )
        for row in rows
    ]


async def conversations(store: "Store", round_id: str) -> list[Talked]:
    """The conversations of a round, in the order of the walk."""
    spoken: dict[str, list[Spoken]] = {}
    for row in await store.all(
        "select m.* from phone_messages m join conversations c on c.id = m.conversation_id"
        " where c.round_id = ? order by m.conversation_id, m.position",
        round_id,
    ):
        spoken.setdefault(row["conversation_id"], []).append(
            Spoken(
                row["sender"],
                row["text"],
                row["kind"],
                bool(row["fresh"]),
                row["direction"] == "out",
                row["seconds"],
            )
        )
    open_questions = {q.conversation_id: q for q in await questions(store)}
    answered = {
        row["conversation_id"]: row["answer"]
        for row in await store.all(
            "select conversation_id, answer from questions where round_id = ? and state = 'answered'",
            round_id,
        )
    }
    rows = await store.all("select * from conversations where round_id = ? order by position", round_id)
    return [
        Talked(
            id=row["id"],
            title=row["title"],
            kind=row["kind"],
            state=row["state"],
            unread=row["unread"],
            preview=row["preview"],
            decision=row["decision"] or "",
            said=_said(row["decision_args"]),
            reason=row["reason"],
            decided_by=row["decided_by"],
            outcome=row["outcome"] or "",
            outcome_why=row["outcome_why"],
            complete=bool(row["complete"]),
            messages=tuple(spoken.get(row["id"], ())),
            question=open_questions.get(row["id"]),
            answered=answered.get(row["id"], ""),
        )
        for row in rows
    ]


def _said(args: str) -> str:
    told = json.loads(args or "{}")
    return str(told.get("text") or told.get("holding_reply") or told.get("question") or "")


async def steps(store: "Store", round_id: str) -> list[Step]:
    """What a round did, step by step."""
    rows = await store.all("select * from round_steps where round_id = ? order by id", round_id)
    return [
        Step(datetime.fromisoformat(row["at"]), row["name"], json.loads(row["detail"] or "{}"), row["ms"])
        for row in rows
    ]


async def kept(store: "Store", key: str) -> str | None:
    """A small thing the desktop remembers."""
    row = await store.one("select value from settings where key = ?", key)
    return row["value"] if row else None


async def keep(store: "Store", key: str, value: str) -> None:
    """Remember a small thing."""
    await store.run(
        "insert into settings (key, value) values (?, ?) on conflict (key) do update set value = excluded.value",
        key,
        value,
    )
