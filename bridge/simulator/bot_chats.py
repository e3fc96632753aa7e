"""The messages of the stand-in Bot API: what arrived, as its reader sees it, under the limits of the real one."""

import itertools
import json
import struct
import time
from dataclasses import dataclass, field
from typing import Any

from bridge.simulator.bot_faults import Rejected
from bridge.simulator.bot_text import CannotParse, parse_html, units
from bridge.simulator.bot_wire import Request

MB = 1024 * 1024
REACTIONS = frozenset("👍👎❤🔥🥰👏😁🤔🤯😱🎉🤩🙏👌👀")


@dataclass(frozen=True, slots=True)
class Press:
    """A button that can be pressed."""

    label: str
    data: str
    chat_id: int
    message_id: int


@dataclass(slots=True)
class Sent:
    """A message that arrived, as its reader sees it."""

    method: str
    chat_id: int
    message_id: int
    text: str
    source: str
    parse_mode: str
    entities: list[dict[str, object]]
    file: bytes = b""
    file_name: str = ""
    reply_markup: dict[str, Any] = field(default_factory=dict)
    reply_to: int | None = None
    topic: int | None = None
    group: int | None = None

    @property
    def buttons(self) -> list[Press]:
        """The buttons under it, row by row."""
        rows = self.reply_markup.get("inline_keyboard", [])
        return [
            Press(one["text"], one.get("callback_data", ""), self.chat_id, self.message_id)
            for row in rows
            for one in row
        ]


class Chats:
    """Every chat of one bot: `sent` is what arrived, in order."""

    def __init__(self, bot_id: int) -> None:
        self.bot_id = bot_id
        self.sent: list[Sent] = []
        self.blocked: set[int] = set()  # chats that do not want the bot
        self.topics: set[int] = set()  # those that can be written to
        self.reactions: dict[tuple[int, int], list[str]] = {}  # (chat, message) → what the bot put there
        self._ids = itertools.count(1)
        self._groups = itertools.count(1)

    async def _sendMessage(self, request: Request) -> Any:
        return self._accept("sendMessage", request, "text", 4096)

    async def _sendPhoto(self, request: Request) -> Any:
        self._check_photo((request.files.get("photo") or ("", b""))[1])
        return self._accept("sendPhoto", request, "caption", 1024, "photo")

    def _check_photo(self, data: bytes) -> None:
        if len(data) > 10 * MB:
            raise Rejected(400, "Bad Request: file is too big")
        if data.startswith(b"\x89PNG"):
            width, height = struct.unpack_from(">II", data, 16)
            if width + height > 10_000 or max(width, height) > 20 * min(width, height):
                raise Rejected(400, "Bad Request: PHOTO_INVALID_DIMENSIONS")

    async def _sendDocument(self, request: Request) -> Any:
        _, data = request.files.get("document") or ("", b"")
        if len(data) > 50 * MB:
            raise Rejected(413, "Request Entity Too Large")
        return self._accept("sendDocument", request, "caption", 1024, "document")

    async def _sendMediaGroup(self, request: Request) -> Any:
        media = json.loads(request.params["media"])
        if not 2 <= len(media) <= 10:
            raise Rejected(400, "Bad Request: there must be 2 to 10 items in an album")
        if len({one["type"] for one in media} & {"photo", "document"}) > 1:
            raise Rejected(400, "Bad Request: document can't be mixed with other media types")
        group, made = next(self._groups), []
        for one in media:
            kind, field_name = one["type"], one["media"].removeprefix("attach://")
            if field_name not in request.files:
                raise Rejected(400, f"Bad Request: wrong file identifier {one['media']}")
            if kind == "photo":
                self._check_photo(request.files[field_name][1])
            shared = {name: request.params[name] for name in SHARED if name in request.params}
            part = Request(request.path, {**shared, **_texts(one)}, {kind: request.files[field_name]})
            made.append(self._made("sendMediaGroup", part, "caption", 1024, kind, group=group))
        self.sent.extend(made)
        return [self._wire(one) for one in made]

    async def _setMessageReaction(self, request: Request) -> Any:
        emoji = [one.get("emoji", "") for one in json.loads(request.params.get("reaction", "[]"))]
        if not set(emoji) <= REACTIONS:
            raise Rejected(400, "Bad Request: REACTION_INVALID")
        self.reactions[int(request.params["chat_id"]), int(request.params["message_id"])] = emoji
        return True

    async def _editMessageReplyMarkup(self, request: Request) -> Any:
        return self._edited(request, None)

    async def _editMessageText(self, request: Request) -> Any:
        return self._edited(request, self._read(request, "text", 4096))

    def _read(self, request: Request, name: str, limit: int) -> tuple[str, list[dict[str, object]]]:
        source, entities = request.params.get(name, ""), json.loads(request.params.get("entities", "[]"))
        text = source
        if request.params.get("parse_mode", "").upper() == "HTML":
            try:
                text, found = parse_html(source)
            except CannotParse as error:
                raise Rejected(400, f"Bad Request: {error}") from error
            entities = [one.wire() for one in found]
        if name == "text" and not text.strip():
            raise Rejected(400, "Bad Request: message text is empty")
        if units(text) > limit:
            what = "message is too long" if name == "text" else "message caption is too long"
            raise Rejected(400, f"Bad Request: {what}")
        return text, entities

    def _markup(self, request: Request) -> dict[str, Any]:
        markup: dict[str, Any] = json.loads(request.params.get("reply_markup", "{}"))
        for row in markup.get("inline_keyboard", []):
            for button in row:
                if not 1 <= len(button.get("callback_data", "-").encode()) <= 64:
                    raise Rejected(400, "Bad Request: BUTTON_DATA_INVALID")
        return markup

    def _accept(self, method: str, request: Request, name: str, limit: int, file: str = "") -> dict[str, Any]:
        sent = self._made(method, request, name, limit, file)
        self.sent.append(sent)
        return self._wire(sent)

    def _made(
        self, method: str, request: Request, name: str, limit: int, file: str = "", group: int | None = None
    ) -> Sent:
        chat_id = int(request.params["chat_id"])
        if chat_id in self.blocked:
            raise Rejected(403, "Forbidden: bot was blocked by the user")
        topic = int(request.params["message_thread_id"]) if "message_thread_id" in request.params else None
        if topic is not None and topic not in self.topics:
            raise Rejected(400, "Bad Request: message thread not found")
        text, entities = self._read(request, name, limit)
        if file and file not in request.files:
            raise Rejected(400, f"Bad Request: there is no {file} in the request")
        file_name, data = request.files.get(file, ("", b""))
        return Sent(
            method=method,
            chat_id=chat_id,
            message_id=next(self._ids),
            text=text,
            source=request.params.get(name, ""),
            parse_mode=request.params.get("parse_mode", ""),
            entities=entities,
            file=data,
            file_name=file_name,
            reply_markup=self._markup(request),
            reply_to=json.loads(request.params.get("reply_parameters", "{}")).get("message_id"),
            topic=topic,
            group=group,
        )

    def _edited(self, request: Request, text: tuple[str, list[dict[str, object]]] | None) -> dict[str, Any]:
        wanted = (int(request.params["chat_id"]), int(request.params["message_id"]))
        sent = next((one for one in self.sent if (one.chat_id, one.message_id) == wanted), None)
        if sent is None:
            raise Rejected(400, "Bad Request: message to edit not found")
        fresh = (*(text or (sent.text, sent.entities)), self._markup(request))
        if fresh == (sent.text, sent.entities, sent.reply_markup):
            raise Rejected(400, "Bad Request: message is not modified")
        sent.text, sent.entities, sent.reply_markup = fresh
        return self._wire(sent)

    def _wire(self, sent: Sent) -> dict[str, Any]:
        return {
            "message_id": sent.message_id,
            "date": int(time.time()),
            "chat": {
                "id": sent.chat_id,
                "type": "private" if sent.chat_id > 0 else "group",
                "first_name": "Ana",
            },
            "from": {"id": self.bot_id, "is_bot": True, "first_name": "APX"},
            "text": sent.text,
        }


SHARED = ("chat_id", "message_thread_id", "reply_parameters")


def _texts(item: dict[str, Any]) -> dict[str, str]:
    return {name: str(item[name]) for name in ("caption", "parse_mode") if name in item}
