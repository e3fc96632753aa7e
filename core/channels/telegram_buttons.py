"""What a button means. Telegram gets a random key; kind and payload stay in a table, so a press can be judged.

A key is good in its own chat, also after a restart. A line of buttons is one choice: it takes one press, and the
other lines of its message stay.
"""

import json
import secrets
from dataclasses import dataclass
from typing import Any

from core.errors import ApxError
from core.message import Part
from core.store import Store, now

LABEL_UNITS = 60
_OURS = "apx."


class Unsettled(ApxError):
    """The press was heard and decides nothing yet: its buttons stay."""

    code = "unsettled"


@dataclass(frozen=True, slots=True)
class Pressed:
    """A press that counts: what was under the finger."""

    message_id: str
    line: int
    kind: str
    payload: dict[str, str]


@dataclass(frozen=True, slots=True)
class Shown:
    """A message under which buttons were taken away: where it is, and what stays there."""

    channel: str
    chat: str
    receipt: str
    keyboard: dict[str, Any]


async def keyboard(store: Store, channel: str, chat: str, part: Part) -> dict[str, Any]:
    """The buttons of a part as Telegram takes them; sending a part again keeps its keys."""
    known = await store.all(
        "select key from telegram_buttons where message_id = ? order by position", part.message_id
    )
    flat = [(line, button) for line, row in enumerate(part.buttons) for button in row]
    keys = [row["key"] for row in known]
    if len(keys) != len(flat):
        keys = [f"{_OURS}{secrets.token_urlsafe(8)}" for _ in flat]
        async with store.transaction() as db:
            await db.execute("delete from telegram_buttons where message_id = ?", (part.message_id,))
            await db.executemany(
                "insert into telegram_buttons (key, channel, chat, message_id, position, kind, payload, made_at,"
                " line, label) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        key,
                        channel,
                        chat,
                        part.message_id,
                        place,
                        one.kind,
                        json.dumps(dict(one.payload)),
                        now(),
                        line,
                        _label(one.label),
                    )
                    for place, (key, (line, one)) in enumerate(zip(keys, flat, strict=True))
                ],
            )
    left = iter(keys)
    rows = [[{"text": _label(one.label), "callback_data": next(left)} for one in row] for row in part.buttons]
    return {"inline_keyboard": rows}


def _label(text: str) -> str:
    text = " ".join(text.split()) or "…"
    return text if len(text) <= LABEL_UNITS else f"{text[: LABEL_UNITS - 1]}…"


async def press(store: Store, key: str, *, channel: str, chat: str, user_id: int) -> Pressed | None:
    """Take the press, once for all buttons of its line; None when the key means nothing here or any more."""
    row = await store.one(
        "select * from telegram_buttons where key = ? and channel = ? and chat = ?", key, channel, chat
    )
    if row is None:
        return None
    taken = await store.run(
        "update telegram_buttons set pressed_at = ?, pressed_by = ? where message_id = ? and line = ? and not exists"
        " (select 1 from telegram_buttons where message_id = ? and line = ? and pressed_at is not null)",
        *(now(), user_id, row["message_id"], row["line"], row["message_id"], row["line"]),
    )
    if not taken:
        return None
    return Pressed(row["message_id"], row["line"], row["kind"], json.loads(row["payload"]))


def ours(key: str) -> bool:
    """Whether a key is one of those that this program gives out, known or not."""
    return key.startswith(_OURS)


async def message_of(store: Store, key: str, *, channel: str, chat: str) -> str:
    """The message that a button was put under; empty when nobody knows."""
    row = await store.one(
        "select message_id from telegram_buttons where key = ? and channel = ? and chat = ?",
        key,
        channel,
        chat,
    )
    return str(row["message_id"]) if row else ""


async def release(store: Store, pressed: Pressed) -> None:
    """The press came to nothing: it may be pressed again."""
    await store.run(
        "update telegram_buttons set pressed_at = null, pressed_by = null where message_id = ? and line = ?",
        *(pressed.message_id, pressed.line),
    )


async def left(store: Store, message_id: str) -> dict[str, Any]:
    """The keyboard of a message without the lines that were decided."""
    lines: dict[int, list[dict[str, str]]] = {}
    for row in await store.all(
        "select * from telegram_buttons where message_id = ? and pressed_at is null order by position",
        message_id,
    ):
        lines.setdefault(row["line"], []).append({"text": row["label"], "callback_data": row["key"]})
    return {"inline_keyboard": list(lines.values())}


async def withdraw(store: Store, kind: str, name: str, value: str) -> list[Shown]:
    """Close every line of this kind whose payload says so: it was decided elsewhere."""
    where = "kind = ? and json_extract(payload, '$.' || ?) = ?"
    rows = await store.all(
        f"select distinct message_id, channel, chat from telegram_buttons where {where} and pressed_at is null",
        *(kind, name, value),
    )
    await store.run(
        f"update telegram_buttons set pressed_at = ? where {where} and pressed_at is null",
        *(now(), kind, name, value),
    )
    shown = []
    for row in rows:
        # Buttons hang under the last part of a message.
        part = await store.one(
            "select receipt from outbox_parts where message_id = ? order by position desc limit 1",
            row["message_id"],
        )
        keyboard = await left(store, row["message_id"])
        shown.append(Shown(row["channel"], row["chat"], part["receipt"] if part else "", keyboard))
    return shown
