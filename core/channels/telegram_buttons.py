"""What a button means. Telegram gets a random key; kind and payload stay in a table, so a press can be judged.

A key is good in its own chat, for one press of its message, also after a restart.
"""

import json
import secrets
from dataclasses import dataclass
from typing import Any

from core.message import Part
from core.store import Store, now

LABEL_UNITS = 60


@dataclass(frozen=True, slots=True)
class Pressed:
    """A press that counts: what was under the finger."""

    message_id: str
    kind: str
    payload: dict[str, str]


async def keyboard(store: Store, channel: str, chat: str, part: Part) -> dict[str, Any]:
    """The buttons of a part as Telegram takes them; sending a part again keeps its keys."""
    known = await store.all(
        "select key from telegram_buttons where message_id = ? order by position", part.message_id
    )
    flat = [button for row in part.buttons for button in row]
    keys = [row["key"] for row in known]
    if len(keys) != len(flat):
        keys = [secrets.token_urlsafe(8) for _ in flat]
        async with store.transaction() as db:
            await db.execute("delete from telegram_buttons where message_id = ?", (part.message_id,))
            await db.executemany(
                "insert into telegram_buttons (key, channel, chat, message_id, position, kind, payload, made_at)"
                " values (?, ?, ?, ?, ?, ?, ?, ?)",
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
                    )
                    for place, (key, one) in enumerate(zip(keys, flat, strict=True))
                ],
            )
    left = iter(keys)
    rows = [[{"text": _label(one.label), "callback_data": next(left)} for one in row] for row in part.buttons]
    return {"inline_keyboard": rows}


def _label(text: str) -> str:
    text = " ".join(text.split()) or "…"
    return text if len(text) <= LABEL_UNITS else f"{text[: LABEL_UNITS - 1]}…"


async def press(store: Store, key: str, *, channel: str, chat: str, user_id: int) -> Pressed | None:
    """Take the press, once for all buttons of the message; None when the key means nothing here or any more."""
    row = await store.one(
        "select * from telegram_buttons where key = ? and channel = ? and chat = ?", key, channel, chat
    )
    if row is None:
        return None
    taken = await store.run(
        "update telegram_buttons set pressed_at = ?, pressed_by = ? where message_id = ? and not exists"
        " (select 1 from telegram_buttons where message_id = ? and pressed_at is not null)",
        *(now(), user_id, row["message_id"], row["message_id"]),
    )
    return Pressed(row["message_id"], row["kind"], json.loads(row["payload"])) if taken else None


async def release(store: Store, message_id: str) -> None:
    """The press came to nothing: it may be pressed again."""
    await store.run(
        "update telegram_buttons set pressed_at = null, pressed_by = null where message_id = ?", message_id
    )
