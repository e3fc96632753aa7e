"""Rounds, questions and the phone as JSON-ready values: what the API answers and what commands print.

Codes that were read on the phone are covered wherever they stand, unless their owner asks to see them.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from bridge import guard, journal
from bridge.handset import Handset
from bridge.journal import Conversation
from bridge.report import why_not
from bridge.watcher import Watcher
from core.errors import PhoneUnreachable
from core.store import Store

_COUNTS = (
    "select r.id, count(c.id) as conversations, coalesce(sum(c.outcome = 'sent'), 0) as sent,"
    " coalesce(sum(c.outcome = 'unknown' or c.state = 'failed'), 0) as unsure,"
    " (select count(*) from questions q where q.round_id = r.id and q.state = 'open') as waiting,"
    " coalesce(o.state, '') as report"
    " from (select * from rounds order by started_at desc, id desc limit ?) r"
    " left join conversations c on c.round_id = r.id left join outbox o on o.id = r.report_id group by r.id"
)


async def rounds(store: Store, limit: int) -> list[dict[str, Any]]:
    """The latest rounds, newest first. `report` is how its Telegram stands, empty when there is none."""
    counts = {row["id"]: row for row in await store.all(_COUNTS, limit)}
    found = []
    for round in await journal.recent(store, limit):
        numbers = counts.get(round.id)
        values = asdict(round)
        if numbers is not None:
            values |= {name: numbers[name] for name in numbers.keys() if name != "id"}  # noqa: SIM118
        found.append(values)
    return found


async def whole(store: Store, round_id: str, *, reveal: bool = False) -> dict[str, Any] | None:
    """One round with everything that is kept of it; None when there is no such round."""
    round = await journal.find(store, round_id)
    if round is None:
        return None
    chats = await journal.conversations(store, round_id)
    alerts = await store.all(
        "select id, source, received_at, state from alerts where round_id = ? order by received_at, id",
        round_id,
    )
    questions = await store.all(
        "select q.*, c.title from questions q left join conversations c on c.id = q.conversation_id"
        " where q.round_id = ? order by q.asked_at",
        round_id,
    )
    runs = {
        row["id"]: {
            name: row[name] for name in ("target", "tokens_in", "tokens_out", "started_at", "closed_at")
        }
        for row in await store.all(
            "select r.* from runs r join conversations c on c.run_id = r.id where c.round_id = ?", round_id
        )
    }
    values = asdict(round) | {
        "alerts": [dict(row) for row in alerts],
        "conversations": [_chat(chat, runs) for chat in chats],
        "questions": [question(row, reveal=True) for row in questions],
        "steps": await journal.steps(store, round_id),
        "report": await _report(store, round.report_id),
    }
    if not reveal:
        values = _covered(values, known_codes(line.text for chat in chats for line in chat.lines))
    return values


def known_codes(texts: Iterable[str]) -> frozenset[str]:
    """The codes that these texts bring."""
    return frozenset(code for text in texts for code in guard.codes(text))


def _covered(value: Any, known: frozenset[str]) -> Any:
    """The same with codes covered in the words of people; ids and states stay."""
    if isinstance(value, dict):
        return {
            name: inner if name in _PLAIN and isinstance(inner, str | None) else _covered(inner, known)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_covered(one, known) for one in value]
    return guard.masked(value, known) if isinstance(value, str) else value


_PLAIN = frozenset(
    {"id", "round_id", "run_id", "conversation_id", "report_id", "project_id", "number", "at", "at_text"}
    | {
        "day",
        "state",
        "started_at",
        "closed_at",
        "received_at",
        "asked_at",
        "answered_at",
        "decided_by",
        "replay_ended_at",
    }
)


def _chat(chat: Conversation, runs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A chat with its messages and, where a model decided, what that took."""
    values = asdict(chat)
    values["messages"] = values.pop("lines")
    return values | {"run": runs.get(chat.run_id or "")}


async def _report(store: Store, report_id: str | None) -> dict[str, Any] | None:
    row = await store.one(
        "select id, state, reason, payload, created_at, closed_at from outbox where id = ?", report_id or ""
    )
    if row is None:
        return None
    values = dict(row)
    return values | {"text": json.loads(values.pop("payload")).get("text", "")}


def question(row: Any, *, reveal: bool = False) -> dict[str, Any]:
    """One decision that waits, or waited, for the owner."""
    names = ("id", "kind", "conversation_id", "round_id", "state", "question", "draft", "answer", "asked_at")
    values = {name: row[name] for name in names} | {"chat": row["title"] or ""}
    return values if reveal else _covered(values, known_codes((row["question"], row["draft"])))


async def phone(handset: Handset, watcher: Watcher | None, lang: str) -> dict[str, Any]:
    """How the pinned phone is, in a word, in a sentence and in detail, and what else is attached."""
    state, condition, detail = await handset.look()
    target = handset.target
    try:
        devices = [asdict(device) for device in await handset.devices()]
    except PhoneUnreachable:
        devices = []
    return {
        "state": state,
        "says": why_not(state, lang),
        "detail": detail,
        "serial": target.serial,
        "package": target.package,
        "user": target.user,
        "condition": asdict(condition) if condition is not None else None,
        "devices": devices,
        "watch": {"state": watcher.state, "why": watcher.why} if watcher else {"state": "off", "why": ""},
    }
