"""The part of a round that walks over the phone: find every unread chat, read it, keep it.

A failure inside one chat costs that chat only; a phone that goes away ends the walk with what was read.
"""

import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from bridge import journal
from bridge.journal import Conversation, Line, Round
from bridge.notifications import Notice
from bridge.screen import same_text
from bridge.whatsapp.app import WhatsApp
from bridge.whatsapp.bubbles import Bubble, Quote
from bridge.whatsapp.rows import Key, Row
from bridge.whatsapp.values import Chat, Message, Reading, RowGone, WrongChat
from core.errors import ApxError, PhoneUnreachable
from core.events import Bus, ConversationRead
from core.settings import WhatsApp as Settings
from core.store import Store, new_id

FAILURES_IN_A_ROW = 3
TRIES = 3  # for a row that moves away before it can be touched


@dataclass(slots=True)
class Opened:
    """A chat as the driver knows it, with what was read in it: by this it is found again."""

    chat: Chat
    messages: tuple[Message, ...] = ()


@dataclass(slots=True)
class Walk:
    """One walk. `limited` says that chats were left because of a limit, `opened` what the driver knows of each."""

    store: Store
    bus: Bus
    round: Round
    settings: Settings
    chats: list[Conversation] = field(default_factory=list)
    opened: dict[str, Opened] = field(default_factory=dict)
    limited: bool = False

    async def go(self, whatsapp: WhatsApp, notices: list[Notice]) -> None:
        """Read every unread chat. What an interrupted walk had found is read first, by its title."""
        whatsapp.know(notices)
        started = time.monotonic()
        await self._arrive(whatsapp, notices)
        await whatsapp.open_list()
        await self._step("list_opened", started)
        for chat in self.chats:
            if chat.state == "found" and chat.posture != "never":
                again = Chat(chat.title, chat.number)
                await self._read(chat, whatsapp, partial(whatsapp.open_chat, again), by_title=True)
                await whatsapp.open_list()
        for archived in [False, True] if self.settings.archived else [False]:
            await self._folder(whatsapp, archived)

    async def _arrive(self, whatsapp: WhatsApp, notices: list[Notice]) -> None:
        """Where WhatsApp opens in a chat, that chat is read first: the launch itself has marked it as read."""
        arrived = await whatsapp.arrive()
        if arrived is None:
            return
        opened, unread = arrived
        if unread == 0:
            unread = sum(len(one.messages) for one in notices if same_text(one.chat, opened.title))
        known = [chat for chat in self.chats if same_text(chat.title, opened.title)]
        if unread == 0 or known:
            return  # nothing new in it, or an interrupted walk has it already
        posture, _ = posture_of(self.settings, opened.title, opened.number)
        chat = await self._begin(
            Conversation(
                new_id("cnv"), self.round.id, self._next(), opened.title, unread=unread, posture=posture
            )
        )

        async def here() -> Chat:
            return opened

        await self._read(chat, whatsapp, here, by_title=True)

    def _next(self) -> int:
        return 1 + max((chat.position for chat in self.chats), default=-1)

    async def _folder(self, whatsapp: WhatsApp, archived: bool) -> None:
        done: set[Key] = set()
        moved: Counter[Key] = Counter()
        failures = 0
        while (row := await whatsapp.next_unread(done, archived=archived)) is not None:
            if len(self.chats) >= self.settings.max_chats:
                self.limited = True
                return
            chat = await self._found(row)
            if chat.posture == "never":
                done.add(row.key)
                chat.decision, chat.reason = "leave", "never"
                await journal.decided(self.store, chat)
                continue
            try:
                read = await self._read(chat, whatsapp, partial(whatsapp.open_row, row))
            except (RowGone, WrongChat) as error:
                await self._not_there(chat, error)
                moved[row.key] += 1
                if moved[row.key] >= TRIES:
                    done.add(row.key)
                continue
            done.add(row.key)
            failures = 0 if read else failures + 1
            if failures >= FAILURES_IN_A_ROW:
                raise PhoneUnreachable("whatsapp_stuck", "Several chats in a row could not be read.")
            await whatsapp.back_to_list(archived=archived)
        self.limited = self.limited or not whatsapp.complete

    async def _found(self, row: Row) -> Conversation:
        """The row's conversation, on disk before the tap; one that was opened by mistake is already there."""
        for chat in self.chats:
            if chat.state == "found" and same_text(chat.title, row.title):
                chat.unread, chat.preview = row.unread, row.preview
                return chat
        posture, _ = posture_of(self.settings, row.title, "")
        return await self._begin(
            Conversation(
                new_id("cnv"),
                self.round.id,
                self._next(),
                row.title,
                kind=row.kind,
                archived=row.archived,
                unread=row.unread,
                preview=row.preview,
                posture=posture,
            )
        )

    async def _begin(self, chat: Conversation) -> Conversation:
        self.chats.append(chat)
        return await journal.found(self.store, chat)

    async def _not_there(self, chat: Conversation, error: RowGone | WrongChat) -> None:
        """The row had moved away. If another chat opened in its place, that one is written down in its stead."""
        self.chats.remove(chat)
        await journal.forget(self.store, chat)
        title = error.title if isinstance(error, WrongChat) else ""
        if title and not any(same_text(one.title, title) for one in self.chats):
            posture, _ = posture_of(self.settings, title, "")
            wrong = Conversation(chat.id, self.round.id, chat.position, title, posture=posture)
            await self._begin(wrong)

    async def _read(
        self,
        chat: Conversation,
        whatsapp: WhatsApp,
        enter: Callable[[], Awaitable[Chat]],
        *,
        by_title: bool = False,
    ) -> bool:
        started = time.monotonic()
        try:
            opened = await enter()
            reading = await whatsapp.read(opened, unread=chat.unread, max_messages=self.settings.max_messages)
            opened.number = await whatsapp.number_of(opened)
            self.opened[chat.id] = Opened(opened, reading.messages)
            await self._keep(chat, opened, reading)
        except (RowGone, WrongChat) as error:
            if by_title:
                await journal.failed(self.store, chat, str(error))
            else:
                raise
        except PhoneUnreachable as error:
            if error.state not in ("whatsapp_stuck", "timeout"):
                raise
            await journal.failed(self.store, chat, f"phone.{error.state}")
        except ApxError as error:
            await journal.failed(self.store, chat, str(error))
        await self._step("chat_read", started, title=chat.title, state=chat.state, messages=len(chat.fresh))
        return chat.state == "read"

    async def _keep(self, chat: Conversation, opened: Chat, reading: Reading) -> None:
        chat.number = opened.number
        chat.complete = reading.complete or reading.why == "folded"  # such a line says itself that it goes on
        if reading.group or opened.group:
            chat.kind = "group"
        elif not reading.can_write and chat.kind == "person":
            chat.kind = "broadcast"
        chat.posture, _ = posture_of(self.settings, chat.title, chat.number)
        lines = [line_of(message) for message in reading.messages]
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
            " where c.title = ? and c.id != ? and m.direction = 'in'",
            *(chat.title, chat.id),
        )
        known = {(row["text"], row["at_text"]) for row in rows}
        for line in lines:
            if (line.text, line.at_text) in known:
                line.fresh = False

    async def _step(self, name: str, started: float, **detail: object) -> None:
        await journal.step(
            self.store, self.round.id, name, int((time.monotonic() - started) * 1000), **detail
        )


def line_of(message: Message) -> Line:
    """A message as the journal keeps it."""
    bubble = message.bubble
    return Line(
        direction=bubble.direction or "none",
        kind=bubble.kind,
        text=bubble.text + (" […]" if bubble.cut else ""),
        detail=bubble.detail,
        sender=bubble.sender,
        quoted=bubble.quoted.text if bubble.quoted else "",
        edited=bubble.edited,
        at_text=bubble.time,
        day=bubble.day,
        seconds=bubble.seconds,
        fresh=message.fresh,
    )


def message_of(line: Line) -> Message:
    """A kept message as the driver compares it with the screen, after a restart."""
    return Message(
        Bubble(
            kind=line.kind,
            direction="" if line.direction == "none" else line.direction,
            text=line.text.removesuffix(" […]"),
            detail=line.detail,
            sender=line.sender,
            time=line.at_text,
            quoted=Quote("", line.quoted) if line.quoted else None,
            edited=line.edited,
            seconds=line.seconds,
            cut=line.text.endswith(" […]"),
            day=line.day,
        ),
        line.fresh,
    )


def known_as(chat: Conversation) -> Opened:
    """What the driver needs to find a conversation of the journal again."""
    opened = Chat(chat.title, chat.number, group=chat.kind == "group")
    return Opened(opened, tuple(message_of(line) for line in chat.lines))


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
