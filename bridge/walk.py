"""The part of a round that walks over the phone: find every unread chat, read it, keep it.

Every failure inside one chat costs that chat only; a phone that goes away ends the walk with what was read.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bridge import journal
from bridge.handset import Hold
from bridge.journal import Conversation, Line, Round
from bridge.screen import same_text
from bridge.whatsapp.app import Reading, Row, WhatsApp
from core.errors import ApxError, PhoneUnreachable
from core.events import Bus, ConversationRead
from core.settings import WhatsApp as Settings
from core.store import Store, new_id

FAILURES_IN_A_ROW = 3


@dataclass(slots=True)
class Walk:
    """One walk; `limited` says that chats were left because of the limit."""

    store: Store
    bus: Bus
    round: Round
    settings: Settings
    chats: list[Conversation] = field(default_factory=list)
    limited: bool = False

    async def go(self, hold: Hold) -> None:
        """Read every unread chat. What an interrupted walk had opened is read first, by its title."""
        whatsapp = hold.whatsapp
        started = time.monotonic()
        await whatsapp.open_list()
        await self._step("list_opened", started)
        for chat in self.chats:
            if chat.state == "found":
                await self._one(chat, lambda chat=chat: whatsapp.reopen(chat.title, chat.number), whatsapp)
        archived = [False, True] if self.settings.archived else [False]
        for where in archived:
            await self._folder(whatsapp, where)

    async def _folder(self, whatsapp: WhatsApp, archived: bool) -> None:
        done: set[str] = set()
        failures = 0
        while (row := await whatsapp.next_unread(done, archived=archived)) is not None:
            if len(self.chats) >= self.settings.max_chats:
                self.limited = True
                return
            done.add(row.key)
            chat = await self._found(row)
            if chat.posture == "never":
                chat.decision, chat.reason = "leave", "never"
                await journal.decided(self.store, chat)
                continue
            ok = await self._one(chat, lambda row=row: whatsapp.open_row(row), whatsapp)
            failures = 0 if ok else failures + 1
            if failures >= FAILURES_IN_A_ROW:
                raise PhoneUnreachable("whatsapp_stuck", "Several chats in a row could not be read.")

    async def _found(self, row: Row) -> Conversation:
        posture, _ = posture_of(self.settings, row.title, "")
        chat = Conversation(
            new_id("cnv"),
            self.round.id,
            len(self.chats),
            row.title,
            kind=row.kind,
            archived=row.archived,
            unread=row.unread,
            preview=row.preview,
            posture=posture,
        )
        self.chats.append(chat)
        return await journal.found(self.store, chat)

    async def _one(
        self, chat: Conversation, enter: Callable[[], Awaitable[object]], whatsapp: WhatsApp
    ) -> bool:
        started = time.monotonic()
        try:
            opened = await enter()
            reading = await whatsapp.read(opened, unread=chat.unread, max_messages=self.settings.max_messages)
            await self._keep(chat, reading)
        except PhoneUnreachable as error:
            if error.state not in ("whatsapp_stuck", "timeout"):
                raise
            await journal.failed(self.store, chat, f"phone.{error.state}")
        except ApxError as error:
            await journal.failed(self.store, chat, str(error))
        await self._step("chat_read", started, title=chat.title, state=chat.state, messages=len(chat.fresh))
        await whatsapp.open_list()
        return chat.state == "read"

    async def _keep(self, chat: Conversation, reading: Reading) -> None:
        chat.number = reading.number
        chat.complete = reading.complete
        if reading.group:
            chat.kind = "group"
        elif not reading.can_write and chat.kind == "person":
            chat.kind = "broadcast"
        chat.posture, _ = posture_of(self.settings, chat.title, chat.number)
        lines = lines_of(reading)
        if chat.unread is None:
            await self._forget_known(chat, lines)
        await journal.read(self.store, chat, lines)
        self.bus.emit(
            ConversationRead(
                round_id=self.round.id, conversation_id=chat.id, title=chat.title, messages=len(chat.fresh)
            )
        )

    async def _forget_known(self, chat: Conversation, lines: list[Line]) -> None:
        """A chat marked as unread by hand shows no number: what an earlier round read is not new."""
        rows = await self.store.all(
            "select m.text, m.at_text from phone_messages m join conversations c on c.id = m.conversation_id"
            " where c.title = ? and m.direction = 'in'",
            chat.title,
        )
        known = {(row["text"], row["at_text"]) for row in rows}
        for line in lines:
            if (line.text, line.at_text) in known:
                line.fresh = False

    async def _step(self, name: str, started: float, **detail: object) -> None:
        await journal.step(
            self.store, self.round.id, name, int((time.monotonic() - started) * 1000), **detail
        )


def lines_of(reading: Reading) -> list[Line]:
    """The messages of a reading as the journal keeps them; the last `fresh_count` incoming ones are new."""
    fresh = set(reading.fresh)
    return [
        Line(
            direction=message.direction,
            kind=message.kind,
            text=message.text,
            sender=message.sender,
            quoted=message.quoted,
            edited=message.edited,
            at_text=message.time,
            day=message.day,
            seconds=message.seconds,
            fresh=n in fresh,
        )
        for n, message in enumerate(reading.messages)
    ]


def posture_of(settings: Settings, title: str, number: str) -> tuple[str, str]:
    """The posture of a contact and the owner's note: by number where it is known, else by name."""
    digits = "".join(char for char in number if char.isdigit())
    for contact in settings.contacts:
        known = "".join(char for char in contact.number if char.isdigit())
        if known and digits and known == digits:
            return contact.posture, contact.note
        if contact.name and not (known and digits) and same_text(contact.name, title):
            return contact.posture, contact.note
    return settings.posture, ""
