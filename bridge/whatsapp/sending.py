"""Sending one reply and proving it. What cannot be proven is `unknown`, and nobody repeats that by itself.

Before the touch on send, one and the same reading shows the chat that was decided for, our text and nothing
else in the composer, and the send button itself: with an empty composer its place records a voice note.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote as percent

from bridge.faults import ShellFailed, TimedOut
from bridge.screen import Unexpected, Unreadable
from bridge.whatsapp.bubbles import IN, OUT, Bubble
from bridge.whatsapp.keyboards import KeyboardStuck, borrowed, installed_helper, type_with
from bridge.whatsapp.reading import Reader, after_seen
from bridge.whatsapp.screens import Screen, composer, header
from bridge.whatsapp.stitch import join
from bridge.whatsapp.surface import Look, Surface
from bridge.whatsapp.values import Chat, Message, Sent, WrongChat
from bridge.wording import plain_spaces, same_message, same_title
from core.errors import PhoneUnreachable

PREFILL_S, PROOF_S = 8.0, 30.0
TICK_S = 6.0
ANSWERS_S = 6.0  # within which a button that works has emptied the composer
MAX_CHARS = 4000
MOVE_END, DEL = 123, 67
_MARKS = re.compile(r"(?<!\w)([*_~]|```)(?=\S)(.+?)(?<=\S)\1(?!\w)", re.DOTALL)
_BULLET = re.compile(r"^\s*[-*•]\s+", re.MULTILINE)
_FORBIDDEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f\ud800-\udfff]")


class NotSent(Exception):
    """Nothing was sent, for this reason; caught in `Sender.send` and never leaves this module."""

    def __init__(self, why: str, detail: str = "") -> None:
        super().__init__(why)
        self.result = Sent("not_sent", why, detail)


def same_typed(text: str, shown: str) -> bool:
    """Whether a field holds our text: every line the same, every space counted; only emoji may be misread."""
    if shown == text:
        return True
    return same_message(text, shown) and plain_spaces(text).count(" ") == plain_spaces(shown).count(" ")


def same_sent(text: str, bubble: Bubble) -> bool:
    """Whether a bubble says our text: WhatsApp shows *bold* without its stars and folds what is long."""
    for ours in (text, _bare(text)):
        for shown in (bubble.text, _bare(bubble.text)):
            if same_message(ours, shown) or (bubble.cut and len(shown) > 40 and ours.startswith(shown)):
                return True
    return False


def _bare(text: str) -> str:
    return _BULLET.sub("", _MARKS.sub(r"\2", text))


class Sender:
    """Puts one text into one open chat."""

    def __init__(
        self, surface: Surface, chat: Chat, text: str, seen: Sequence[Message], *, insist: bool = False
    ) -> None:
        self._insist = insist
        self._surface = surface
        self._profile = surface.profile
        self._phone = surface.phone
        self._chat = chat
        self._text = text
        self._reader = Reader(surface, chat)
        self._seen = tuple(m.bubble for m in seen if m.bubble.is_message) or chat.seen
        self._anchor: tuple[Bubble, ...] = ()  # the last messages of the chat before anything was typed
        self._arrived: tuple[Message, ...] = ()

    async def send(self) -> Sent:
        """The chat is open; type, verify, touch send once, and look for the bubble."""
        try:
            before = await self._ready()
            await self._type()
            look = await self._verified()
        except NotSent as no:
            return replace(no.result, arrived=self._arrived)
        return replace(await self._touch(look, before), arrived=self._arrived)

    async def _ready(self) -> list[Bubble]:
        """The chat is the one that was read, nobody has answered in it, and its composer is empty."""
        try:
            look = await self._reader.to_end(await self._reader.current())
        except WrongChat as error:
            raise NotSent("wrong_chat", str(error)) from error
        except Unexpected as error:
            raise NotSent("no_chat", str(error)) from error
        page = self._reader.page(look)
        newer = await self._known_again(page)
        self._arrived = tuple(Message(bubble, True) for bubble in newer if bubble.direction == IN)
        if not self._insist and any(bubble.direction == OUT for bubble in newer):
            raise NotSent("answered", "Somebody has answered in this chat since it was read.")
        if look.screen is not Screen.CHAT:
            raise NotSent("read_only", "Nobody can write in this chat.")
        draft = composer(look.tree, self._profile)
        if draft is None:
            raise NotSent("no_composer", "This chat has no field to write in.")
        if draft:
            raise NotSent("draft", "The owner has left a draft in this chat; it was not touched.")
        self._anchor = tuple(bubble for bubble in page if bubble.is_message)[-3:]
        return page

    async def _known_again(self, page: list[Bubble]) -> list[Bubble]:
        if not self._seen:
            return []
        newer = after_seen(page, self._seen)
        if newer is None and len(page) < 40:
            # A run of new messages may have pushed what was read off the screen.
            look = await self._reader.look()
            listing = self._profile.find(look.tree, "list")
            if listing is not None:
                await self._surface.scroll(listing, down=False, part=0.5)
                above = self._reader.page(await self._reader.look())
                whole = join(above, page)
                await self._reader.to_end(await self._reader.look())
                newer = after_seen(whole, self._seen) if whole is not None else None
        if newer is None:
            raise NotSent("other_chat", "The open chat does not show the messages that were read.")
        return newer

    async def _type(self) -> None:
        """Bring the text into the composer by the one way that carries it whole."""
        if self._chat.number and not self._chat.group:
            await self._prefill()
        elif re.fullmatch(r"[ -~]+", self._text):
            await self._focus()
            self._surface.touched()
            try:
                await self._phone.text(self._text)
            except (TimedOut, ShellFailed) as error:
                await self.take_back()
                raise NotSent("not_typed", str(error)) from error
        else:
            await self._with_helper()

    async def _prefill(self) -> None:
        """A link carries any text in plain ASCII; WhatsApp puts it into the composer and sends nothing."""
        link = f"https://wa.me/{self._chat.number}?text={percent(self._text, safe='')}"
        self._surface.touched()
        try:
            await self._phone.open_url(link)
        except TimedOut:
            pass  # the screen will show whether it opened
        except ShellFailed as error:
            raise NotSent("not_opened", str(error)) from error
        await self._surface.watch(
            lambda look: (
                look.screen is Screen.DIALOG
                or (look.screen.is_chat and bool(composer(look.tree, self._profile)))
            ),
            PREFILL_S,
        )

    async def _focus(self) -> None:
        entry = self._profile.find((await self._reader.look()).tree, "composer")
        if entry is None:
            raise NotSent("no_composer", "This chat has no field to write in.")
        await self._surface.tap(*entry.center)

    async def _with_helper(self) -> None:
        helper = await installed_helper(self._phone)
        if helper is None:
            raise NotSent(
                "needs_keyboard",
                "This chat has no known number, and accents or emoji need a keyboard helper on the phone.",
            )
        try:
            async with borrowed(self._phone, helper):
                for _ in range(2):
                    await self._focus()  # a new keyboard has no connection until the field is touched
                    self._surface.touched()
                    await type_with(self._phone, helper, self._text)
                    if await self._surface.watch(self._typed, 3):
                        break
                    if (composer((await self._reader.look()).tree, self._profile) or "") != "":
                        break
        except (KeyboardStuck, ShellFailed, TimedOut) as error:
            await self.take_back()
            raise NotSent("keyboard", str(error)) from error
        self._surface.touched()

    def _typed(self, look: Look) -> bool:
        return look.screen is Screen.CHAT and bool(composer(look.tree, self._profile))

    async def _verified(self) -> Look:
        """One reading that shows the right chat, exactly our text, and the send button."""
        try:
            look = await self._surface.current()
            if look.screen is Screen.UNKNOWN or (look.screen is Screen.CHAT and not self._is_shown(look)):
                # The keyboard may cover what would tell the chat, and a slow field may not be full yet.
                await self._phone.close_keyboard()
                look = await self._surface.look()
        except Unreadable as error:
            raise NotSent("unreadable", f"{error} The text may still stand in the composer.") from error
        if look.screen is Screen.DIALOG:
            said = " ".join(node.text for node in look.tree.nodes if node.text)
            await self._surface.back()
            if self._profile.mentions("not_on_whatsapp", said):
                raise NotSent("not_on_whatsapp", "This number is not on WhatsApp.")
            raise NotSent("dialog", "WhatsApp asked something instead of opening the chat.")
        if not look.screen.is_chat:
            raise NotSent("no_chat", f"WhatsApp shows {look.screen.value} instead of the chat.")
        shown = header(look.tree, self._profile)
        if shown is None or not same_title(shown.title, self._chat.title):
            await self.take_back()
            raise NotSent("wrong_chat", "The open chat is not the one that the reply was decided for.")
        if after_seen(self._reader.page(look), self._anchor) is None:
            await self.take_back()
            raise NotSent("other_chat", "The open chat does not show the messages that were read.")
        if not same_typed(self._text, composer(look.tree, self._profile) or ""):
            cleared = await self.take_back()
            left = "" if cleared else " Some of it may still stand in the composer."
            raise NotSent("not_typed", f"The composer did not take the text as it is.{left}")
        if self._profile.find(look.tree, "send") is None:
            await self.take_back()
            raise NotSent("no_send", "There is no send button.")
        return look

    def _is_shown(self, look: Look) -> bool:
        typed = same_typed(self._text, composer(look.tree, self._profile) or "")
        return typed and after_seen(self._reader.page(look), self._anchor) is not None

    def _ours(self, look: Look, text: str) -> int:
        """How many characters at the composer's end are ours. In the chat that was read it was empty before."""
        shown = header(look.tree, self._profile)
        here = shown is not None and same_title(shown.title, self._chat.title)
        if text in self._text or same_typed(self._text, text):
            return len(text)
        if text.endswith(self._text):
            return len(self._text)
        return len(text) if here and after_seen(self._reader.page(look), self._anchor) is not None else 0

    async def take_back(self) -> bool:
        """Remove what we typed, and only that. True when the composer is empty again."""
        try:
            look = await self._surface.look()
            entry = self._profile.find(look.tree, "composer")
            text = composer(look.tree, self._profile)
            if entry is None or not text:
                return True
            ours = self._ours(look, text)
            if not ours:
                return False
            await self._surface.tap(*entry.center)
            await self._phone.key(MOVE_END)
            for start in range(0, min(ours, MAX_CHARS), 50):
                count = min(50, ours - start)
                await self._phone.run("input keyevent " + " ".join([str(DEL)] * count))
            return not composer((await self._surface.look()).tree, self._profile)
        except (Unreadable, ShellFailed, TimedOut):
            return False

    async def _touch(self, look: Look, before: list[Bubble]) -> Sent:
        button = self._profile.find(look.tree, "send")
        assert button is not None
        page = self._reader.page(look)
        start = page if any(bubble.is_message for bubble in page) else before
        try:
            await self._surface.tap(*button.center)
        except PhoneUnreachable as error:
            if not (isinstance(error, TimedOut) and error.maybe_done):
                if error.state == "input_forbidden":
                    return Sent("not_sent", "input_forbidden", str(error))
                return Sent("unknown", "lost", str(error))
        try:
            return await self._proof(start, before)
        except PhoneUnreachable as error:
            return Sent("unknown", "lost", str(error))

    async def _proof(self, start: list[Bubble], before: list[Bubble]) -> Sent:
        """Sent is a bubble of ours more than before, with its mark; an empty composer alone proves nothing."""
        await self._phone.close_keyboard()
        found: list[Bubble] = []

        def shown(look: Look) -> bool:
            if not look.screen.is_chat:
                return False
            bubble = self._new_own(self._reader.page(look), start, before)
            if bubble is not None:
                found.append(bubble)
            return bubble is not None and bubble.status != ""

        last: list[Look] = []

        def dead(look: Look) -> bool:
            last.append(look)
            text = composer(look.tree, self._profile) or ""
            return shown(look) or not (look.screen.is_chat and same_typed(self._text, text))

        first = await self._surface.watch(dead, ANSWERS_S)
        if first is None and last and not found:
            cleared = await self.take_back()
            left = "" if cleared else " The text still stands in the composer."
            return Sent("not_sent", "dead_button", f"The send button did nothing.{left}")
        if first is None or not shown(first):
            await self._surface.watch(shown, PROOF_S)
        if not found:
            return Sent("unknown", "no_bubble", "The text left the composer, but its bubble was not seen.")
        if found[-1].status == "pending":
            # The clock usually turns into a tick at once; what it says after that is what the owner is told.
            await self._surface.watch(lambda look: shown(look) and found[-1].status != "pending", TICK_S)
        status = found[-1].status
        if status == "failed":
            return Sent("rejected", "failed", "WhatsApp marks the message as not sent.")
        if status == "":
            return Sent("unknown", "no_mark", "The bubble is there without WhatsApp's mark.")
        return Sent("sent", "pending" if status == "pending" else "")

    def _new_own(self, page: list[Bubble], start: list[Bubble], before: list[Bubble]) -> Bubble | None:
        """The bubble of ours that was not there before."""
        ours = [bubble for bubble in page if bubble.direction == OUT and same_sent(self._text, bubble)]
        if not ours:
            return None
        for known in (start, before):
            whole = join(known, page)
            if whole is not None:
                was = sum(b.direction == OUT and same_sent(self._text, b) for b in known)
                now = sum(b.direction == OUT and same_sent(self._text, b) for b in whole)
                return ours[-1] if now > was else None
        was = sum(b.direction == OUT and same_sent(self._text, b) for b in before)
        return ours[-1] if len(ours) > was else None


def refused(text: str) -> str:
    """Why a text cannot be sent as it is, or nothing."""
    if not text.strip():
        return "There is nothing to send."
    if len(text) > MAX_CHARS:
        return f"The text is longer than {MAX_CHARS} characters."
    if _FORBIDDEN.search(text):
        return "The text holds control characters, which WhatsApp cannot carry."
    return ""


__all__ = ["Sender", "refused", "same_sent", "same_typed"]
