"""Conversations by thread: the latest, those in which something was said, and what was said in one."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import Invalid, NotFound
from core.memory_index import Index, folded, stem, words
from core.neutral import one_line
from core.store import Store

MAX_SHOWN = 16_000
AROUND = 80


@dataclass(frozen=True, slots=True)
class Session:
    """A thread: when it began, its first question, and where it was found in it."""

    thread: str
    channel: str
    began_at: str
    last_at: str
    lines: int
    opening: str
    snippet: str = ""
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a conversation."""

    at: str
    role: str
    author: str
    text: str
    run_id: str | None


async def recent(store: Store, limit: int = 50) -> list[Session]:
    """The conversations, the last one that was spoken in first."""
    rows = await store.all(
        "select thread, max(id) as last from messages where thread != '' and role in ('user', 'assistant')"
        " group by thread order by last desc limit ?",
        limit,
    )
    return await _sessions(store, [(row["thread"], "", None) for row in rows])


async def search(store: Store, index: Index, query: str, limit: int = 15) -> list[Session]:
    """The conversations in which all words were said, else any of them; whatever a query holds, it is words."""
    sought = [stem(one) for one in words(query)][:12]
    if not sought:
        raise Invalid("Give at least one word to look for.", fields=("q",))
    await index.catch_up(store)
    rows: Sequence[sqlite3.Row] = ()
    for every in (True, False):
        hits = await index.search("message", sought, every=every, limit=200)
        if hits is None:
            rows = await _slowly(store, words(query))
        else:
            rows = await _said(store, hits)
        if rows:
            break
    found: dict[str, tuple[str, str | None]] = {}
    for row in rows:
        if row["thread"] and row["thread"] not in found and len(found) < limit:
            found[row["thread"]] = (_around(row["text"], sought), row["run_id"])
    return await _sessions(store, [(thread, *where) for thread, where in found.items()])


async def shown(store: Store, thread: str, *, max_chars: int = MAX_SHOWN) -> list[Line]:
    """The end of a conversation, oldest first, no more than `max_chars` of it."""
    rows = await store.all(
        "select at, role, author, text, run_id from messages where thread = ? order by id desc limit 500",
        thread,
    )
    if not rows:
        raise NotFound(f"There is no conversation {one_line(thread, 80)}. `apx sessions list` shows them.")
    lines: list[Line] = []
    room = max_chars
    for row in rows:
        if lines and room < AROUND:
            break
        text = row["text"] if len(row["text"]) <= room else "…" + row["text"][1 - room :]
        lines.append(Line(row["at"], row["role"], row["author"], text, row["run_id"]))
        room -= len(text)
    return lines[::-1]


async def _said(store: Store, ids: list[int]) -> list[sqlite3.Row]:
    rows = await store.all(
        f"select id, thread, text, run_id from messages where id in ({','.join('?' * len(ids))})", *ids
    )
    order = {id: at for at, id in enumerate(ids)}
    return sorted(rows, key=lambda row: order[row["id"]])


async def _slowly(store: Store, sought: list[str]) -> list[sqlite3.Row]:
    """Without the index: letter by letter, the newest first."""
    where = " and ".join("instr(lower(text), ?) > 0" for _ in sought)
    return await store.all(
        "select id, thread, text, run_id from messages where role in ('user', 'assistant')"
        f" and {where} order by id desc limit 200",
        *sought,
    )


async def _sessions(store: Store, found: Sequence[tuple[str, str, str | None]]) -> list[Session]:
    rows = await store.all(
        "select thread, min(at) as began_at, max(at) as last_at, count(*) as lines, max(channel) as channel,"
        " coalesce((select text from messages f where f.thread = m.thread and f.role = 'user' order by f.id"
        " limit 1), '') as opening from messages m where role in ('user', 'assistant') and thread in"
        " (select value from json_each(?)) group by thread",
        json.dumps([thread for thread, _, _ in found]),
    )
    known = {row["thread"]: dict(row) for row in rows}
    return [
        Session(
            **known[thread] | {"opening": one_line(known[thread]["opening"], 120)},
            snippet=snippet,
            run_id=run_id,
        )
        for thread, snippet, run_id in found
        if thread in known
    ]


def _around(text: str, sought: list[str]) -> str:
    flat = one_line(text, 100_000)
    # Folding may change the length of a text; near is near enough for a glance.
    low = folded(flat)
    at = min((where for one in sought if (where := low.find(one)) >= 0), default=0)
    begin = max(0, at - AROUND)
    return (
        ("…" if begin else "") + flat[begin : at + AROUND * 2] + ("…" if at + AROUND * 2 < len(flat) else "")
    )
