"""How long the replay of a round is kept: after the owner's days its steps and messages go, and a line stays.

What stays longer, the report among it, is kept with its codes covered.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from bridge import guard
from bridge.view import known_codes
from core.store import Store, now

_DAY = timedelta(days=1)


def due(rounds: Iterable[tuple[str, str | None]], moment: datetime, days: int) -> list[str]:
    """The ids of the rounds whose replay has had its days: (id, when it closed), an open one never."""
    before = moment - days * _DAY
    return [id for id, closed_at in rounds if closed_at and datetime.fromisoformat(closed_at) < before]


async def purge(store: Store, moment: datetime, days: int) -> int:
    """End the replays that are due, each in a transaction of its own; how many there were."""
    rows = await store.all(
        "select id, closed_at from rounds where replay_ended_at is null and state != 'running'"
        " order by closed_at"
    )
    ended = due([(row["id"], row["closed_at"]) for row in rows], moment, days)
    for round_id in ended:
        await _end(store, round_id)
    return len(ended)


async def _end(store: Store, round_id: str) -> None:
    texts = await store.all(
        "select m.text from phone_messages m join conversations c on c.id = m.conversation_id where c.round_id = ?",
        round_id,
    )
    known = known_codes(row["text"] for row in texts)
    kept = [
        ("alerts", "id", ("body",), "round_id = ?"),
        ("conversations", "id", ("preview", "decision_args", "reason"), "round_id = ?"),
        ("questions", "id", ("question", "draft", "answer"), "round_id = ?"),
        ("runs", "id", ("text",), "id in (select run_id from conversations where round_id = ?)"),
        ("outbox", "id", ("payload",), _SAID),
        ("outbox_parts", "rowid", ("payload",), f"message_id in (select id from outbox where {_SAID})"),
    ]
    changes = [change for one in kept for change in await _covered(store, *one, round_id, known)]
    async with store.transaction() as db:
        for sql, values in changes:
            await db.execute(sql, values)
        await db.execute(
            "delete from phone_messages where conversation_id in (select id from conversations where round_id = ?)",
            (round_id,),
        )
        await db.execute(
            "delete from run_steps where run_id in (select r.id from runs r join conversations c on c.run_id = r.id"
            " where c.round_id = ? and r.channel = 'whatsapp' and r.sender = 'third_party')",
            (round_id,),
        )
        await db.execute("delete from round_steps where round_id = ?", (round_id,))
        await db.execute("update rounds set replay_ended_at = ? where id = ?", (now(), round_id))


# Only what has left: a message that still waits goes out as it was written.
_SAID = (
    "state not in ('queued', 'attempted') and (json_extract(origin, '$.round_id') = ?1 or json_extract(origin,"
    " '$.question_id') in (select id from questions where round_id = ?1))"
)


async def _covered(
    store: Store,
    table: str,
    key: str,
    fields: Sequence[str],
    where: str,
    round_id: str,
    known: frozenset[str],
) -> list[tuple[str, tuple[Any, ...]]]:
    """The statements that cover the codes in what stays of a table."""
    rows = await store.all(f"select {key} as key, {', '.join(fields)} from {table} where {where}", round_id)
    changes = []
    for row in rows:
        for field in fields:
            before = row[field] or ""
            after = covered(before, known)
            if after != before:
                changes.append((f"update {table} set {field} = ? where {key} = ?", (after, row["key"])))
    return changes


def covered(text: str, known: frozenset[str]) -> str:
    """A kept text without codes; inside JSON only its words are looked at, so that it stays JSON."""
    try:
        value = json.loads(text)
    except ValueError:
        return guard.masked(text, known)
    if not isinstance(value, dict | list):
        return guard.masked(text, known)
    after = _words(value, known)
    return text if after == value else json.dumps(after, ensure_ascii=False)


def _words(value: Any, known: frozenset[str], name: str = "") -> Any:
    if isinstance(value, dict):
        return {inner_name: _words(inner, known, inner_name) for inner_name, inner in value.items()}
    if isinstance(value, list):
        return [_words(inner, known, name) for inner in value]
    # Ids and addresses hold numbers that are no codes.
    return guard.masked(value, known) if isinstance(value, str) and name not in _PLAIN else value


_PLAIN = frozenset(
    {"id", "question_id", "conversation_id", "round_id", "to", "chat_id", "number", "kind", "key"}
)
