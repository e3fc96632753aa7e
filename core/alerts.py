"""Alerts as they arrive: kept before they are answered, never read as a message.

A phone says that something happened in WhatsApp. What it says is not trusted to be the message, nor JSON,
nor text: any body is one thing, a wake-up. The round that follows reads the phone itself.
"""

import hashlib
import re
import sqlite3
from dataclasses import dataclass

from core.errors import Invalid, NotFound
from core.events import AlertReceived, Bus
from core.store import Store, new_id, now

KEPT_BYTES = 64 * 1024
KEY_CHARS = 200
STATES = ("waiting", "taken", "worked", "relayed")

_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w-]+)""", re.IGNORECASE)
# Python knows codecs that are not charsets, some of them slow; these are what phones send.
_CHARSETS = {
    "utf-8",
    "utf8",
    "us-ascii",
    "iso-8859-1",
    "latin-1",
    "windows-1252",
    "utf-16",
    "utf-16le",
    "utf-16be",
}


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the sender is told. `replayed` says that this key had been accepted before."""

    alert_id: str
    status: str
    round_id: str | None
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Alert:
    """One row of the intake."""

    id: str
    project_id: str
    source: str
    content_type: str
    body: str
    truncated: bool
    received_at: str
    state: str
    round_id: str | None


def text_of(body: bytes, content_type: str) -> tuple[str, bool]:
    """At most 64 KB of a body as text that every layer can carry, and whether something was cut off.

    Bytes that are no text become U+FFFD, and so does NUL, which SQLite's tools take for an end.
    """
    kept = body[:KEPT_BYTES]
    cut = len(kept) < len(body)
    text = kept.decode(_charset(content_type), "replace")
    if cut:
        text = text.rstrip("\ufffd")  # half a character at the cut
    return text.replace("\0", "\ufffd"), cut


def _charset(content_type: str) -> str:
    found = _CHARSET.search(content_type)
    named = found.group(1).lower() if found else "utf-8"
    return named if named in _CHARSETS else "utf-8"


def _key(given: str | None) -> str | None:
    key = (given or "").strip().replace("\0", "\ufffd")
    if len(key) > KEY_CHARS:
        return "sha256:" + hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
    return key or None


async def accept(
    store: Store,
    bus: Bus,
    *,
    project_id: str,
    body: bytes,
    content_type: str = "",
    idempotency_key: str | None = None,
    source: str = "http",
    client_id: str | None = None,
) -> Accepted:
    """Keep an alert, then tell of it; the row is on disk before anybody hears of it.

    The same key in the same project is the same alert: nothing is written and nothing is told again.
    """
    text, truncated = text_of(body, content_type)
    key = _key(idempotency_key)
    async with store.transaction() as db:
        if key is not None:
            found = await db.execute_fetchall(
                "select id, answered, round_id from alerts where project_id = ? and idempotency_key = ?",
                (project_id, key),
            )
            for row in found:
                return Accepted(row["id"], row["answered"], row["round_id"], replayed=True)
        running = await db.execute_fetchall(
            "select id from rounds where project_id = ? and state = 'running' order by started_at limit 1",
            (project_id,),
        )
        round_id: str | None = next((row["id"] for row in running), None)
        waiting = await db.execute_fetchall(
            "select 1 from alerts where project_id = ? and state = 'waiting' limit 1", (project_id,)
        )
        status = "merged" if round_id or any(True for _ in waiting) else "accepted"
        alert_id = new_id("alr")
        try:
            await db.execute(
                "insert into alerts (id, project_id, source, idempotency_key, content_type, body, truncated,"
                " received_at, answered, client_id) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    alert_id,
                    project_id,
                    source,
                    key,
                    content_type[:200],
                    text,
                    truncated,
                    now(),
                    status,
                    client_id,
                ),
            )
        except sqlite3.IntegrityError as error:
            raise NotFound(f"There is no project {project_id!r}.") from error
    bus.emit(AlertReceived(project_id=project_id, alert_id=alert_id))
    return Accepted(alert_id, status, round_id)


def _alert(row: sqlite3.Row) -> Alert:
    return Alert(
        id=row["id"],
        project_id=row["project_id"],
        source=row["source"],
        content_type=row["content_type"],
        body=row["body"],
        truncated=bool(row["truncated"]),
        received_at=row["received_at"],
        state=row["state"],
        round_id=row["round_id"],
    )


async def recent(
    store: Store,
    *,
    project_id: str | None = None,
    client_id: str | None = None,
    state: str | None = None,
    limit: int = 50,
) -> list[Alert]:
    """The latest alerts, newest first.

    An unknown state is an error: an empty page has to mean "no such alerts".
    """
    if state is not None and state not in STATES:
        raise Invalid(f"There is no alert state {state!r}; there are {', '.join(STATES)}.", fields=("state",))
    rows = await store.all(
        "select * from alerts where (?1 is null or project_id = ?1) and (?2 is null or client_id = ?2)"
        " and (?3 is null or state = ?3) order by received_at desc, id desc limit ?4",
        project_id,
        client_id,
        state,
        limit,
    )
    return [_alert(row) for row in rows]


async def find(store: Store, alert_id: str, *, client_id: str | None = None) -> Alert:
    """One alert. Somebody else's and nobody's are the same answer."""
    row = await store.one(
        "select * from alerts where id = ?1 and (?2 is null or client_id = ?2)", alert_id, client_id
    )
    if row is None:
        raise NotFound("There is no such alert.")
    return _alert(row)
