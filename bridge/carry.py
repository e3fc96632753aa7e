"""Carrying out a decision in WhatsApp: checked by code, written down before it is typed, proven after.

A send has one row in the outbox whose key is the conversation and the messages that it answers. The same
messages are never answered twice, not by a second alert, not after a restart.
"""

import asyncio
import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime

from bridge import guard, journal
from bridge.handset import Hold
from bridge.journal import Conversation
from bridge.whatsapp.values import Chat
from core.errors import ApxError, PhoneUnreachable, Refused
from core.message import Message
from core.outbox import Outbox
from core.store import Store


@dataclass(frozen=True, slots=True)
class Outcome:
    """`state` is sent, unknown or not_sent; `why` a catalogue key or a sentence."""

    state: str
    why: str = ""


async def guarded(store: Store, conversation: Conversation, text: str) -> guard.Verdict:
    """Whether this text may go into this conversation."""
    own = [line.text for line in conversation.lines if line.text]
    others = await journal.texts_of_others(store, conversation)
    return guard.check(text, own=own, others=others, seen=own)


def key_of(conversation: Conversation, purpose: str = "reply") -> str:
    """What makes two answers the same answer: this chat, these messages, this day."""
    newest = [
        f"{line.sender}\x1f{line.text}\x1f{line.kind}\x1f{line.at_text}" for line in conversation.fresh[-5:]
    ]
    parts = [conversation.title, conversation.number, f"{datetime.now(UTC):%Y-%m-%d}", *newest]
    digest = hashlib.sha256("\x1e".join(parts).encode()).hexdigest()[:32]
    return f"whatsapp:{purpose}:{digest}"


async def send(
    hold: Hold,
    store: Store,
    outbox: Outbox,
    conversation: Conversation,
    text: str,
    *,
    key: str,
    anew: bool = True,
) -> Outcome:
    """Type `text` into the conversation it was decided for, and prove it.

    With `anew`, messages that arrived since the decision stop it: the answer would be to something else.
    """
    message = Message(
        channel="whatsapp",
        to=conversation.number or conversation.title,
        text=text,
        key=key,
        origin={"round_id": conversation.round_id, "conversation_id": conversation.id},
    )
    if (known := await outbox.find(key)) is not None:
        return await _known(hold, outbox, conversation, text, known.id, known.state, known.reason)
    whatsapp = hold.whatsapp
    try:
        await whatsapp.open_list()
        chat = await whatsapp.reopen(conversation.title, conversation.number)
        if anew and await _has_news(hold, conversation, chat):
            return Outcome("not_sent", "send.changed")
    except PhoneUnreachable as error:
        return Outcome("not_sent", f"phone.{error.state}")
    except ApxError as error:
        return Outcome("not_sent", str(error))
    return await prove(hold, outbox, message, chat)


async def prove(hold: Hold, outbox: Outbox, message: Message, chat: Chat) -> Outcome:
    """Write a message into the open chat: on record before it is typed, and never twice under one key."""
    try:
        id = await outbox.record(message, state="attempted")
    except Refused as error:
        return Outcome("not_sent", str(error))
    try:
        sent = await hold.whatsapp.reply(chat, message.text)
    except ApxError as error:
        # Typing or the tap may have happened: only the screen could say, and it did not.
        await outbox.close(id, "unknown", str(error))
        return Outcome("unknown", str(error))
    except asyncio.CancelledError:
        await asyncio.shield(outbox.close(id, "unknown", "It was stopped in the middle."))
        raise
    state = {"sent": "delivered", "unknown": "unknown", "rejected": "rejected"}.get(
        sent.state, "not_attempted"
    )
    await outbox.close(id, state, sent.why, sent.state)
    if sent.state == "sent":
        return Outcome("sent", "pending" if sent.pending else "")
    return Outcome("unknown" if sent.state == "unknown" else "not_sent", sent.why)


async def _known(
    hold: Hold, outbox: Outbox, conversation: Conversation, text: str, id: str, state: str, reason: str
) -> Outcome:
    """This answer is on record. It is never sent again; the screen may still say whether it arrived."""
    if state == "delivered":
        return Outcome("sent")
    if state in ("attempted", "unknown"):
        try:
            await hold.whatsapp.open_list()
            chat = await hold.whatsapp.reopen(conversation.title, conversation.number)
            if await hold.whatsapp.verify_sent(chat, text):
                return Outcome("sent")
        except ApxError:
            pass
        return Outcome("unknown", "send.lost")
    return Outcome("not_sent", reason or "send.repeated")


async def _has_news(hold: Hold, conversation: Conversation, chat: object) -> bool:
    """Whether the chat now ends with other messages than those that were decided on. What is new is kept."""
    reading = await hold.whatsapp.read(chat, unread=0, max_messages=max(len(conversation.lines), 10))
    decided = [_shape(line.text, line.kind) for line in conversation.lines if line.direction != "out"]
    now = [_shape(message.text, message.kind) for message in reading.messages if message.direction == "in"]
    return bool(now) and bool(decided) and now[-1:] != decided[-1:]


def _shape(text: str, kind: str) -> tuple[str, str]:
    return re.sub(r"\s+", " ", text).strip(), kind
