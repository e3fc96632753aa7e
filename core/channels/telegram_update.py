"""An update as Telegram sent it, read into what matters. Pure, and never surprised by a missing field."""

import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

KINDS = {
    "message": "message",
    "edited_message": "edit",
    "callback_query": "press",
    "channel_post": "post",
    "edited_channel_post": "post",
    "message_reaction": "reaction",
    "my_chat_member": "member",
}
ALLOWED = tuple(KINDS)
FILES = ("document", "audio", "voice", "video", "video_note", "animation", "sticker")
GENERAL = 1
COMMANDS = frozenset({"stop", "reset", "new", "start", "help"})


@dataclass(frozen=True, slots=True)
class InboundFile:
    """A file that came with a message; `name` is only what the sender calls it."""

    id: str
    kind: str
    name: str
    size: int | None
    mime: str


@dataclass(frozen=True, slots=True)
class Inbound:
    """One update. `text` is a text or a caption, or the emoji of a reaction; `data` the key of a pressed button.

    `group` is what the files of one album share; `topic` is 0 outside of forums. Who is only quoted or passed on is
    named beside whose words they are.
    """

    kind: str
    update_id: int
    user_id: int | None = None
    name: str = ""
    is_bot: bool = False
    chat_id: str = ""
    private: bool = False
    addressed: bool = False
    message_id: int = 0
    edit_date: int = 0
    sent_at: datetime | None = None
    text: str = ""
    quoted: str = ""
    forwarded: bool = False
    command: str = ""
    other_bot: bool = False
    file: InboundFile | None = None
    group: str = ""
    topic: int = 0
    press_id: str = ""
    data: str = ""
    label: str = ""
    forwarded_by: str = ""
    quoted_by: str = ""

    @property
    def address(self) -> str:
        """Where an answer goes. The first topic of a forum is the chat itself, and is written to without its number."""
        return f"{self.chat_id}/{self.topic}" if self.topic > GENERAL else self.chat_id


def one_line(text: object, limit: int = 60) -> str:
    """Somebody else's words for a sentence of ours: one line, nothing invisible, not long."""
    kept = "".join(
        " " if letter in "\n\t" else letter
        for letter in str(text)
        if letter in "\n\t" or unicodedata.category(letter) not in {"Cc", "Cf", "Cs", "Co"}
    )
    kept = " ".join(kept.split())
    return kept if len(kept) <= limit else f"{kept[: limit - 1]}…"


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _file(message: dict[str, Any]) -> InboundFile | None:
    sizes = [_dict(one) for one in message.get("photo") or [] if _dict(one).get("file_id")]
    if sizes:
        largest = max(sizes, key=lambda one: (_int(one.get("file_size")) or 0, _int(one.get("width")) or 0))
        return InboundFile(
            str(largest["file_id"]), "photo", "photo.jpg", _int(largest.get("file_size")), "image/jpeg"
        )
    for kind in FILES:
        file = _dict(message.get(kind))
        if file.get("file_id"):
            name, mime = one_line(file.get("file_name") or kind, 400), str(file.get("mime_type") or "")
            return InboundFile(str(file["file_id"]), kind, name, _int(file.get("file_size")), mime)
    return None


def _command(message: dict[str, Any], text: str, username: str) -> tuple[str, bool]:
    """The command a message starts with, and whether it is meant for another bot."""
    if not text.startswith("/"):
        return "", False
    word, _, bot = text.split(maxsplit=1)[0][1:].partition("@")
    if bot and bot.lower() != username.lower():
        return "", True
    return (word.lower(), False) if word.lower() in COMMANDS else ("", False)


def _addressed(message: dict[str, Any], text: str, bot_id: int, username: str) -> bool:
    """A message of a group that speaks to the bot: a mention that is one, or an answer to it."""
    answered = _dict(_dict(message.get("reply_to_message")).get("from"))
    if answered.get("id") == bot_id:
        return True
    units = text.encode("utf-16-le", "surrogatepass")
    for entity in message.get("entities") or message.get("caption_entities") or []:
        entity = _dict(entity)
        start, length = _int(entity.get("offset")) or 0, _int(entity.get("length")) or 0
        word = units[2 * start : 2 * (start + length)].decode("utf-16-le", "replace").lower()
        if entity.get("type") == "mention" and word == f"@{username.lower()}":
            return True
        if entity.get("type") == "bot_command" and word.endswith(f"@{username.lower()}"):
            return True
        if entity.get("type") == "text_mention" and _dict(entity.get("user")).get("id") == bot_id:
            return True
    return False


def _topic(message: dict[str, Any], chat: dict[str, Any]) -> int:
    """The topic of a message; the anchor of a plain reply has the same field and is none."""
    if message.get("is_topic_message") and (thread := _int(message.get("message_thread_id"))):
        return thread
    return GENERAL if chat.get("is_forum") else 0


def _emoji(body: dict[str, Any]) -> str:
    """What a reaction added; nothing when it only took something back."""
    before, after = (
        [str(_dict(one).get("emoji") or _dict(one).get("type") or "") for one in body.get(name) or []]
        for name in ("old_reaction", "new_reaction")
    )
    return " ".join(one_line(one, 20) for one in after if one and one not in before)


def _named(user: dict[str, Any]) -> str:
    whole = " ".join(str(part) for part in (user.get("first_name"), user.get("last_name")) if part)
    return one_line(whole or user.get("title") or user.get("username") or user.get("id") or "")


def _forwarded_by(message: dict[str, Any]) -> str:
    origin = _dict(message.get("forward_origin"))
    for name in ("sender_user", "sender_chat", "chat"):
        if known := _named(_dict(origin.get(name))):
            return known
    old = _dict(message.get("forward_from")) or _dict(message.get("forward_from_chat"))
    return one_line(origin.get("sender_user_name") or _named(old))


def _label(message: dict[str, Any], data: str) -> str:
    """What the pressed button says."""
    for row in _dict(message.get("reply_markup")).get("inline_keyboard") or []:
        for button in row if isinstance(row, list) else []:
            if _dict(button).get("callback_data") == data:
                return one_line(_dict(button).get("text") or "", 200)
    return ""


def read(update: dict[str, Any], *, bot_id: int, username: str) -> Inbound:
    """What an update says; kind "other" for whatever this program does not know."""
    update_id = _int(update.get("update_id")) or 0
    name = next((key for key in KINDS if isinstance(update.get(key), dict)), "")
    if not name:
        return Inbound("other", update_id)
    kind, body = KINDS[name], update[name]
    user = _dict(body.get("from") or body.get("user"))
    message = _dict(body.get("message")) if kind == "press" else body
    chat = _dict(message.get("chat"))
    text = str(message.get("text") or message.get("caption") or "") if kind != "press" else ""
    if kind == "reaction":
        text = _emoji(body)
    forwarded = any(
        key in message for key in ("forward_origin", "forward_date", "forward_from", "forward_from_chat")
    )
    command, other_bot = _command(message, text, username)
    answered = _dict(message.get("reply_to_message"))
    quoted = _dict(message.get("quote")).get("text") or answered.get("text") or answered.get("caption") or ""
    date = _int(message.get("date"))
    return Inbound(
        kind=kind,
        update_id=update_id,
        user_id=_int(user.get("id")),
        name=_named(user),
        is_bot=bool(user.get("is_bot")),
        chat_id=str(chat.get("id", "")),
        private=chat.get("type") == "private" or (not chat.get("type") and chat.get("id") == user.get("id")),
        addressed=_addressed(message, text, bot_id, username),
        message_id=_int(message.get("message_id")) or 0,
        edit_date=_int(message.get("edit_date")) or 0,
        sent_at=datetime.fromtimestamp(date, UTC) if date else None,
        text=text,
        quoted=str(quoted),
        forwarded=forwarded,
        command="" if forwarded or kind == "edit" else command,
        other_bot=other_bot,
        file=_file(message) if kind in {"message", "edit"} else None,
        press_id=str(body.get("id", "")) if kind == "press" else "",
        data=str(body.get("data", "")) if kind == "press" else "",
        label=_label(message, str(body.get("data", ""))) if kind == "press" else "",
        group=str(message.get("media_group_id") or "") if kind in {"message", "edit"} else "",
        topic=_topic(message, chat),
        forwarded_by=_forwarded_by(message) if forwarded else "",
        quoted_by=_named(_dict(answered.get("from"))),
    )
