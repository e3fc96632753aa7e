"""Messages of the outbox as requests to Telegram, and Telegram's answers as what they mean for a message."""

import asyncio
import json
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from core.channels import telegram_buttons, telegram_files, telegram_format
from core.channels.telegram_wire import BotError, Line, album, place, upload
from core.errors import NotConfigured, Refused
from core.message import File, Later, Message, OutcomeUnknown, Part
from core.store import Store, now
from core.texts import t

log = logging.getLogger(__name__)

NO_PREVIEW = {"is_disabled": True}  # a link in a message is not visited because it was mentioned
TOPIC_GONE = ("message thread not found", "topic_deleted", "topic_closed", "topic_id_invalid")
SINGLE = {"photo": "sendPhoto", "document": "sendDocument"}


def split(message: Message, lang: str) -> list[Part]:
    """The parts of a message: files first with what fits under them, then the rest of the words."""
    file = message.kind in {"photo", "document", "album"}
    first = telegram_format.CAPTION_LIMIT if file else telegram_format.TEXT_LIMIT
    pieces = telegram_format.pieces(message.text, markup=message.markup, first=first)
    parts = []
    if file:
        files = message.files or (File(message.path, message.name),)
        named = tuple(File(one.path, one.name or one.path.rpartition("/")[2]) for one in files)
        parts = _with_files(message, named, lang)
        caption = pieces.pop(0) if pieces else telegram_format.Piece("", "")
        parts[0] = replace(parts[0], text=caption.html, plain=caption.plain)
    texts = [*parts, *(Part(text=piece.html, plain=piece.plain) for piece in pieces)]
    if texts and message.buttons:
        if texts[-1].files:
            raise Refused(t("telegram.album_buttons", lang))
        texts[-1] = replace(texts[-1], buttons=message.buttons)
    return texts


def _with_files(message: Message, files: tuple[File, ...], lang: str) -> list[Part]:
    if message.kind != "album":
        telegram_files.checked_size(files[0], lang)
        return [Part(kind=message.kind, path=files[0].path, name=files[0].name)]
    return [
        Part(kind=kind, files=some)
        if len(some) > 1
        else Part(kind=kind, path=some[0].path, name=some[0].name)
        for kind, some in telegram_files.albums(files, lang)
    ]


class Sender:
    """Sends parts through one bot. `to_chat` turns "owner" into an address; "" means that there is none yet."""

    def __init__(
        self, store: Store, name: str, line: Line, to_chat: Callable[[str], str], lang: Callable[[], str]
    ) -> None:
        self._store, self._name, self._line, self._to_chat, self._lang = store, name, line, to_chat, lang
        self._quiet_until: dict[str, float] = {}  # chat → when the server wants to hear from us again

    def split(self, message: Message) -> list[Part]:
        """The parts of a message."""
        return split(message, self._lang())

    def quiet(self, address: str) -> bool:
        """The server asked to leave this chat alone for a while: nothing goes that can be done without."""
        return self._wait_s(address) > 0

    def _wait_s(self, address: str) -> float:
        return self._quiet_until.get(address.partition("/")[0], 0.0) - time.monotonic()

    async def send(self, part: Part) -> str:
        """Telegram's id of the message that this part became."""
        address = self._to_chat(part.to)
        if not address:
            raise NotConfigured(t("telegram.no_owner", self._lang()))
        if (wait_s := self._wait_s(address)) > 0:
            raise Later(t("telegram.limited", self._lang()), after_s=wait_s)
        try:
            return await self._there(part, await self._living(address))
        except BotError as error:
            if error.moved_to:
                return await self._moved(part, str(error.moved_to))
            if error.status == 429 and error.retry_after_s:
                # Whatever else is for this chat, from whichever queue, waits as well.
                self._quiet_until[address.partition("/")[0]] = time.monotonic() + error.retry_after_s
            raise self._meaning(error) from None

    async def _living(self, address: str) -> str:
        """An address without a topic that is known to be gone."""
        chat, _, topic = address.partition("/")
        if topic == "1":
            return chat  # the first topic is the chat itself
        gone = "select 1 from telegram_topics_gone where channel = ? and address = ?"
        if topic and await self._store.one(gone, self._name, address):
            return chat
        return address

    async def _there(self, part: Part, address: str) -> str:
        try:
            return await self._send(part, address)
        except BotError as error:
            chat, _, topic = address.partition("/")
            if (
                not topic
                or error.status != 400
                or not any(x in error.description.lower() for x in TOPIC_GONE)
            ):
                raise
            log.info("The topic %s is gone; the message goes to the chat itself", address)
            await self._store.run(
                "insert or ignore into telegram_topics_gone (channel, address, at) values (?, ?, ?)",
                *(self._name, address, now()),
            )
            return await self._send(part, chat)

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

    async def _send(self, part: Part, address: str) -> str:
        values = place(address)
        if part.buttons:
            chat = str(values["chat_id"])
            values["reply_markup"] = await telegram_buttons.keyboard(self._store, self._name, chat, part)
        if part.kind == "text":
            values |= {"link_preview_options": NO_PREVIEW, **await self._under_its_file(part)}
            return await self._formatted("sendMessage", "text", part, values)
        if part.files:
            return await self._album(part, values)
        return await self._file(part, File(part.path, part.name), values)

    async def _under_its_file(self, part: Part) -> dict[str, Any]:
        """The words that did not fit under a file answer it."""
        if part.position == 0:
            return {}
        row = await self._store.one(
            "select receipt from outbox_parts where message_id = ? and position = 0"
            " and json_extract(payload, '$.kind') != 'text' and receipt != ''",
            part.message_id,
        )
        known = {"message_id": int(row["receipt"]), "allow_sending_without_reply": True} if row else None
        return {"reply_parameters": known} if known else {}

    async def _file(self, part: Part, file: File, values: dict[str, Any]) -> str:
        data = await asyncio.to_thread(telegram_files.read, file, self._lang())
        sent = upload(data, file.name)
        if part.kind == "photo" and telegram_files.is_photo(data):
            try:
                return await self._formatted("sendPhoto", "caption", part, values | {"photo": sent})
            except BotError as error:
                if not _no_photo(error):
                    raise
                log.info("Telegram does not take %s as a photo (%s); it goes as a document", file.name, error)
        return await self._formatted("sendDocument", "caption", part, values | {"document": sent})

    async def _album(self, part: Part, values: dict[str, Any]) -> str:
        files = [
            (await asyncio.to_thread(telegram_files.read, file, self._lang()), file.name)
            for file in part.files
        ]

        async def send(kind: str, **first: str) -> Any:
            return await self._line.call("sendMediaGroup", **values, media=album(kind, files, **first))

        formatted = {"caption": part.text, "parse_mode": "HTML"} if part.text else {}
        try:
            result = await send(part.kind, **formatted)
        except BotError as error:
            if error.status == 404:
                return await self._one_by_one(part, values)
            if _cannot_parse(error) and part.plain.strip():
                result = await send(part.kind, caption=part.plain)
            elif part.kind == "photo" and _no_photo(error):
                result = await send("document", **formatted)
            else:
                raise
        first = result[0] if isinstance(result, list) and result else {}
        return str(first.get("message_id", "")) if isinstance(first, dict) else ""

    async def _one_by_one(self, part: Part, values: dict[str, Any]) -> str:
        """For a server that knows no albums. What is not whole in the end says how far it came."""
        receipts: list[str] = []
        for file in part.files:
            bare = part if not receipts else replace(part, text="", plain="")
            try:
                receipts.append(await self._file(bare, file, values))
            except BotError as error:
                if not receipts:
                    raise
                count = {"sent": len(receipts), "n": len(part.files), "why": error.description}
                said = t("telegram.album_in_part", self._lang(), **count)
                raise (OutcomeUnknown if error.effect else Refused)(said) from None
        return receipts[0]

    async def _formatted(self, method: str, name: str, part: Part, values: dict[str, Any]) -> str:
        formatted = values | ({name: part.text, "parse_mode": "HTML"} if part.text else {})
        try:
            result = await self._line.call(method, **formatted)
        except BotError as error:
            if "message is not modified" in error.description:
                return ""
            if not _cannot_parse(error) or not part.plain.strip():
                raise
            # Nothing was sent; the same words without the formatting.
            result = await self._line.call(method, **values, **{name: part.plain})
        return str(result.get("message_id", "")) if isinstance(result, dict) else json.dumps(result)


def _cannot_parse(error: BotError) -> bool:
    return error.status == 400 and "parse entities" in error.description


def _no_photo(error: BotError) -> bool:
    return error.status == 400 and any(word in error.description for word in ("PHOTO", "IMAGE", "photo"))
