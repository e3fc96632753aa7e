"""Messages of the outbox as requests to Telegram, and Telegram's answers as what they mean for a message."""

import asyncio
import json
import logging
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core import filetypes
from core.channels import telegram_buttons, telegram_format
from core.channels.telegram_wire import BotError, Line, upload
from core.errors import NotConfigured, Refused
from core.message import Later, Message, OutcomeUnknown, Part
from core.store import Store
from core.texts import t

log = logging.getLogger(__name__)

MB = 1024 * 1024
PHOTO_BYTES, FILE_BYTES = 10 * MB, 50 * MB
SIDES, RATIO = 10_000, 20
NO_PREVIEW = {"is_disabled": True}  # a link in a message is not visited because it was mentioned


def dimensions(data: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG, GIF or JPEG; None where they cannot be told."""
    if data.startswith(b"\x89PNG") and len(data) >= 24:
        return struct.unpack_from(">II", data, 16)
    if data.startswith(b"GIF8") and len(data) >= 10:
        return struct.unpack_from("<HH", data, 6)
    at = 2
    while data.startswith(b"\xff\xd8") and at + 9 < len(data) and data[at] == 0xFF:
        if 0xC0 <= data[at + 1] <= 0xCF and data[at + 1] not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        at += 2 + int(struct.unpack_from(">H", data, at + 2)[0])
    return None


def is_photo(data: bytes) -> bool:
    """Telegram would take these bytes as a photo; everything else goes as a document, unchanged."""
    size = dimensions(data)
    if len(data) > PHOTO_BYTES or data.startswith(b"GIF8"):
        return False
    if size is None:
        return data[8:12] == b"WEBP"
    width, height = size
    return (
        min(width, height) > 0
        and width + height <= SIDES
        and max(width, height) <= RATIO * min(width, height)
    )


def split(message: Message, lang: str) -> list[Part]:
    """The parts of a message: a file first with what fits under it, then the rest of the words."""
    file = message.kind in {"photo", "document"}
    first = telegram_format.CAPTION_LIMIT if file else telegram_format.TEXT_LIMIT
    pieces = telegram_format.pieces(message.text, markup=message.markup, first=first)
    parts = []
    if file:
        size = Path(message.path).stat().st_size if Path(message.path).is_file() else 0
        if size > FILE_BYTES:
            raise Refused(t("telegram.file_too_big", lang, name=message.name, size=f"{size / MB:.1f}"))
        caption = pieces.pop(0) if pieces else telegram_format.Piece("", "")
        name = message.name or Path(message.path).name
        parts = [
            Part(kind=message.kind, text=caption.html, plain=caption.plain, path=message.path, name=name)
        ]
    texts = [*parts, *(Part(text=piece.html, plain=piece.plain) for piece in pieces)]
    if texts and message.buttons:
        last = texts[-1]
        texts[-1] = Part(**last.payload() | {"buttons": message.buttons})
    return texts


def _read(part: Part, lang: str) -> bytes:
    """The bytes that were checked: a file of ours is called by its hash."""
    path = Path(part.path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Refused(t("telegram.file_gone", lang, name=part.name)) from error
    ours = path.parent.parts[-2:] == ("media", "out")
    if ours and filetypes.digest(data)[:16] != path.stem:
        raise Refused(t("telegram.file_changed", lang, name=part.name))
    if len(data) > FILE_BYTES:
        raise Refused(t("telegram.file_too_big", lang, name=part.name, size=f"{len(data) / MB:.1f}"))
    return data


class Sender:
    """Sends parts through one bot. `to_chat` turns "owner" into a chat; "" means that there is none yet."""

    def __init__(
        self, store: Store, name: str, line: Line, to_chat: Callable[[str], str], lang: Callable[[], str]
    ) -> None:
        self._store, self._name, self._line, self._to_chat, self._lang = store, name, line, to_chat, lang

    def split(self, message: Message) -> list[Part]:
        """The parts of a message."""
        return split(message, self._lang())

    async def send(self, part: Part) -> str:
        """Telegram's id of the message that this part became."""
        chat = self._to_chat(part.to)
        if not chat:
            raise NotConfigured(t("telegram.no_owner", self._lang()))
        try:
            return await self._send(part, chat)
        except BotError as error:
            if error.moved_to:
                return await self._moved(part, str(error.moved_to))
            raise self._meaning(error) from None

    async def _moved(self, part: Part, chat: str) -> str:
        try:
            return await self._send(part, chat)
        except BotError as error:
            raise self._meaning(error) from None

    def _meaning(self, error: BotError) -> Exception:
        lang, why = self._lang(), error.description
        if error.effect:
            return OutcomeUnknown(t("telegram.no_answer", lang, why=why))
        if error.status == 429:
            return Later(t("telegram.limited", lang), after_s=error.retry_after_s)
        if error.status == 0 or error.status >= 500:
            return Later(t("telegram.unreachable", lang, why=why))
        if error.status == 401:
            return Later(t("telegram.unauthorized", lang))
        if error.status == 403:
            return Refused(t("telegram.blocked", lang, why=why))
        return Refused(t("telegram.refused", lang, why=why))

    async def _send(self, part: Part, chat: str) -> str:
        values: dict[str, Any] = {"chat_id": chat}
        if part.buttons:
            values["reply_markup"] = await telegram_buttons.keyboard(self._store, self._name, chat, part)
        if part.kind == "text":
            values |= {"link_preview_options": NO_PREVIEW}
            return await self._formatted("sendMessage", "text", part, values)
        data = await asyncio.to_thread(_read, part, self._lang())
        file = upload(data, part.name)
        if part.kind == "photo" and is_photo(data):
            try:
                return await self._formatted("sendPhoto", "caption", part, values | {"photo": file})
            except BotError as error:
                if error.status != 400 or not any(
                    word in error.description for word in ("PHOTO", "IMAGE", "photo")
                ):
                    raise
                log.info("Telegram does not take %s as a photo (%s); it goes as a document", part.name, error)
        return await self._formatted("sendDocument", "caption", part, values | {"document": file})

    async def _formatted(self, method: str, name: str, part: Part, values: dict[str, Any]) -> str:
        formatted = values | ({name: part.text, "parse_mode": "HTML"} if part.text else {})
        try:
            result = await self._line.call(method, **formatted)
        except BotError as error:
            if "message is not modified" in error.description:
                return ""
            if error.status != 400 or "parse entities" not in error.description or not part.plain.strip():
                raise
            # Nothing was sent; the same words without the formatting.
            result = await self._line.call(method, **values, **{name: part.plain})
        return str(result.get("message_id", "")) if isinstance(result, dict) else json.dumps(result)
