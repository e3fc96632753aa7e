"""Carrying out a decision in WhatsApp: checked by code, written down before it is typed, proven after.

A send has one row in the outbox whose key is the conversation and the messages that it answers. The same
messages are never answered twice, not by a second alert, not after a restart.
"""

import asyncio
import hashlib
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from bridge import guard, journal
from bridge.journal import Conversation
from bridge.walk import Opened, line_of
from bridge.whatsapp.app import WhatsApp
from bridge.whatsapp.reading import after_seen
from bridge.whatsapp.values import Message as Read
from core.errors import ApxError, PhoneUnreachable, Refused
from core.message import Message
from core.outbox import Outbox, Receipt
from core.store import Store

CHANGED = "send.changed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`state` is sent, unknown or not_sent; `why` a catalogue key, `pending`, or a sentence."""

    state: str
    why: str = ""


@dataclass(slots=True)
class Carrier:
    """Sends into chats while the phone is held."""

    whatsapp: WhatsApp
    store: Store
    outbox: Outbox

    async def send(
        self, conversation: Conversation, opened: Opened, text: str, *, key: str, anew: bool = True
    ) -> Outcome:
        """Type `text` into the conversation it was decided for, and prove it.

        With `anew`, messages that arrived since the decision stop it (`send.changed`): they are kept, and the
        answer would be to something else.
        """
        if (known := await self.outbox.find(key)) is not None:
            return await self._known(opened, text, known)
        try:
            if anew and await self._has_news(conversation, opened):
                return Outcome("not_sent", CHANGED)
        except PhoneUnreachable as error:
            return Outcome("not_sent", f"phone.{error.state}")
        except ApxError as error:
            return Outcome("not_sent", f"send.{error.code}")
        message = Message(
            channel="whatsapp",
            to=conversation.number or conversation.title,
            text=text,
            key=key,
            origin={"round_id": conversation.round_id, "conversation_id": conversation.id},
        )
        return await self.say(message, opened, insist=not anew)

    async def say(self, message: Message, opened: Opened, *, insist: bool = False) -> Outcome:
        """One message: on record before it is typed, and never typed twice under one key."""
        try:
            id = await self.outbox.record(message, state="attempted")
        except Refused:
            return Outcome("not_sent", "send.repeated")
        return await self._type(id, opened, message.text, insist=insist)

    async def _type(self, id: str, opened: Opened, text: str, *, insist: bool) -> Outcome:
        try:
            sent = await self.whatsapp.reply(opened.chat, text, seen_before=opened.messages, insist=insist)
        except ApxError as error:
            # Typing or the tap may have happened: only the screen could say, and it did not.
            await self.outbox.close(id, "unknown", str(error))
            return Outcome("unknown", "send.lost_phone")
        except asyncio.CancelledError:
            await asyncio.shield(self.outbox.close(id, "unknown", "It was stopped in the middle."))
            raise
        state = {"sent": "delivered", "unknown": "unknown", "rejected": "rejected"}.get(
            sent.state, "not_attempted"
        )
        await self.outbox.close(id, state, f"{sent.why} {sent.detail}".strip(), sent.state)
        if sent.state == "sent":
            return Outcome("sent", sent.why)
        return Outcome("unknown" if sent.state == "unknown" else "not_sent", f"send.{sent.why}")

    async def _known(self, opened: Opened, text: str, receipt: Receipt) -> Outcome:
        """This answer is on record. It is never sent again; the screen may still say what became of it."""
        if receipt.state == "delivered":
            return Outcome("sent")
        if receipt.state not in ("attempted", "unknown"):
            return Outcome("not_sent", receipt.reason or "send.repeated")
        with suppress(ApxError):
            await self.whatsapp.open_list()
            if await self.whatsapp.verify_sent(opened.chat, text):
                await self.outbox.learn(receipt.id, "delivered", "It stands in the chat.")
                return Outcome("sent")
            if await self.whatsapp.take_back(opened.chat, text):
                await self.outbox.learn(receipt.id, "not_attempted", "It stood unsent in the composer.")
                return Outcome("not_sent", "send.stopped")
        return Outcome("unknown", "send.lost")

    async def _has_news(self, conversation: Conversation, opened: Opened) -> bool:
        """Whether the chat has messages below those that were decided on; they are kept as new ones."""
        await self.whatsapp.open_chat(opened.chat, seen=opened.messages)
        reading = await self.whatsapp.read(opened.chat, unread=0, max_messages=len(opened.messages) + 20)
        seen = tuple(message.bubble for message in opened.messages if message.bubble.is_message)
        newer = after_seen([message.bubble for message in reading.messages], seen) if seen else []
        arrived = [Read(bubble, True) for bubble in newer or [] if bubble.direction == "in"]
        if not arrived:
            return False
        opened.messages = (*opened.messages, *arrived)
        await journal.read(self.store, conversation, [*conversation.lines, *map(line_of, arrived)])
        return True


async def guarded(store: Store, conversation: Conversation, text: str) -> guard.Verdict:
    """Whether this text may go into this conversation."""
    own = [line.text for line in conversation.lines if line.text]
    others = await journal.texts_of_others(store, conversation)
    return guard.check(text, own=own, others=others, seen=own)


def key_of(conversation: Conversation, purpose: str) -> str:
    """What makes two answers the same answer: this chat, these messages, this day."""
    newest = [
        f"{line.sender}\x1f{line.text}\x1f{line.kind}\x1f{line.at_text}" for line in conversation.fresh[-5:]
    ]
    parts = [conversation.title, conversation.number, f"{datetime.now(UTC):%Y-%m-%d}", *newest]
    digest = hashlib.sha256("\x1e".join(parts).encode()).hexdigest()[:32]
    return f"whatsapp:{purpose}:{digest}"
