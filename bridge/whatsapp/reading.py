"""Reading an open chat: from its end up until everything new is there, then down again for what came meanwhile."""

import re

from bridge.whatsapp.bubbles import DAY, IN, OUT, SYSTEM, UNREAD, Bubble, bubbles, carried
from bridge.whatsapp.screens import Screen, header
from bridge.whatsapp.stitch import better, join, overlap, same_bubble
from bridge.whatsapp.surface import Look, Surface
from bridge.whatsapp.values import Chat, Message, Reading, WrongChat
from bridge.wording import same_title

CONTEXT = 10  # read messages that are handed out before the new ones
SURE = 5  # messages more than announced, without a divider, that show there is none
END_TAPS, PAGES, TRIES = 4, 80, 3
PART = 0.5  # of the list, that one step up moves
SPOTS = (0.25, 0.5, 0.75, 0.1)  # where on its last line a long message may unfold
_LINK = re.compile(r"https?://|www\.|\w\.(?:com|net|org|es|ar|br|de|fr|it|io|me)\b", re.IGNORECASE)


class Reader:
    """Reads one open chat and leaves it at its end."""

    def __init__(self, surface: Surface, chat: Chat) -> None:
        self._surface = surface
        self._profile = surface.profile
        self._chat = chat
        self._folded_for_good: list[Bubble] = []
        self._can_write = True

    async def read(self, *, unread: int | None, max_messages: int) -> Reading:
        """Everything new: below the divider, or the last `unread` that came in; None takes the last run."""
        look = await self.to_end(await self.current())
        whole, why = await self._upwards(look, unread, max_messages)
        seen = len(whole)
        for _ in range(TRIES):
            whole = await self._unfold(whole, unread, len(whole) - seen)
            before = len(whole)
            whole, gap = await self._catch_up(whole)
            why = why or gap
            if len(whole) == before and not self._to_unfold(whole, unread, before - seen):
                break
        return self._result(carried(whole), unread, len(whole) - seen, why)

    async def look(self) -> Look:
        """The open chat, which must still be ours."""
        return self._ours(await self._surface.until(Screen.CHAT, Screen.CHAT_READ_ONLY, timeout_s=8))

    async def current(self) -> Look:
        """The same, from the last reading if nothing was touched since."""
        look = await self._surface.current()
        return self._ours(look) if look.screen.is_chat else await self.look()

    def _ours(self, look: Look) -> Look:
        shown = header(look.tree, self._profile)
        if shown is None or not same_title(shown.title, self._chat.title):
            raise WrongChat(self._chat.title, shown.title if shown else "")
        self._can_write = look.screen is Screen.CHAT
        if shown.status and "," in shown.status:
            names = [name.strip() for name in shown.status.split(",")]
            self._chat.group = self._chat.group or any(self._profile.says("you", name) for name in names)
        return look

    def page(self, look: Look) -> list[Bubble]:
        """What the open chat shows."""
        return bubbles(look.tree, self._profile)

    async def to_end(self, look: Look) -> Look:
        """The newest message is on the screen: the button that leads there is gone."""
        for _ in range(END_TAPS):
            button = self._profile.find(look.tree, "scroll_bottom")
            if button is None:
                return look
            await self._surface.tap(*button.center)
            look = await self.look()
        for _ in range(PAGES):
            listing = self._profile.find(look.tree, "list")
            if listing is None or self._profile.find(look.tree, "scroll_bottom") is None:
                break
            await self._surface.scroll(listing, down=True, part=0.6)
            look = await self.look()
        return look

    async def _upwards(self, look: Look, unread: int | None, limit: int) -> tuple[list[Bubble], str]:
        """All that is new and some of what is not; the word says why it is less."""
        whole = last = self.page(look)
        still = 0
        while not enough(whole, unread):
            if sum(bubble.is_message for bubble in whole) >= limit:
                return whole, "limit"
            older, moved = await self._older(_step(last))
            if _same_page(older, last):
                still += 1
                if still >= TRIES:  # the very beginning: older messages would have come by now
                    return whole, "" if unread is None else "beginning"
                continue
            still = 0
            joined = _joined_above(older, whole, last, moved)
            if joined is None:
                older, _ = await self._older(-PART / 2)  # it ran too far
                joined = _joined_above(older, whole, last, None)
                if joined is None:
                    return whole, "gap"
            whole, last = joined, older
        return whole, ""

    async def _older(self, part: float) -> tuple[list[Bubble], int]:
        look = await self.look()
        listing = self._profile.find(look.tree, "list")
        if listing is None:
            return self.page(look), 0
        moved = await self._surface.scroll(listing, down=part < 0, part=abs(part))
        return self.page(await self.look()), moved

    async def _catch_up(self, whole: list[Bubble]) -> tuple[list[Bubble], str]:
        """What came in below while the rest was read."""
        tail = last = self.page(await self.to_end(await self.look()))
        for _ in range(PAGES):
            joined = _joined_below(whole, tail)
            if joined is not None:
                return joined, ""
            older, moved = await self._older(_step(last))
            higher = _joined_above(older, tail, last, moved)
            if higher is None or _same_page(older, last):
                break
            tail, last = higher, older
        return whole + tail, "gap"

    def _to_unfold(self, whole: list[Bubble], unread: int | None, more: int) -> list[Bubble]:
        return [
            bubble
            for bubble in fresh_ones(whole, unread, more)
            if bubble.cut and not any(same_bubble(bubble, other) for other in self._folded_for_good)
        ]

    async def _unfold(self, whole: list[Bubble], unread: int | None, more: int) -> list[Bubble]:
        """Unfold the new messages that show only their beginning; those that will not are left and said."""
        down, ends = True, 0
        for _ in range(PAGES):
            wanted = self._to_unfold(whole, unread, more)
            if not wanted:
                return whole
            look = await self.look()
            page = self.page(look)
            shown = next((b for b in page if b.cut and any(same_bubble(b, other) for other in wanted)), None)
            if shown is not None:
                full = await self._unfold_one(shown, look)
                if full is None:
                    self._folded_for_good.append(shown)
                else:
                    at = next(i for i, b in enumerate(whole) if b.cut and same_bubble(b, shown))
                    whole = [*whole[:at], better(full, whole[at]), *whole[at + 1 :]]
                continue
            listing = self._profile.find(look.tree, "list")
            if listing is None or ends > 1:
                break
            await self._surface.scroll(listing, down=down, part=0.5)
            if _same_page(self.page(await self.look()), page):
                down, ends = not down, ends + 1
        self._folded_for_good += self._to_unfold(whole, unread, more)
        return whole

    async def _unfold_one(self, folded: Bubble, look: Look) -> Bubble | None:
        """Touch the words that unfold a message. Beside a link nothing is touched: it would open."""
        node = folded.read_more
        listing = self._profile.find(look.tree, "list")
        if node is None or listing is None or _LINK.search(folded.text[-120:]):
            return None
        if node.bottom >= listing.bottom - 8:
            await self._surface.scroll(listing, down=True, part=0.3)
            again = next((b for b in self.page(await self.look()) if b.cut and same_bubble(b, folded)), None)
            if again is None or again.read_more is None:
                return None
            node = again.read_more
        own = self._profile.is_a(node, "text")
        line = max(12, look.tree.size[0] // 38)
        for spot in SPOTS if own else (0.5,):
            x = node.left + int((node.right - node.left) * spot)
            await self._surface.tap(x, node.bottom - line if own else node.center[1])
            after = await self._surface.look()
            if not after.screen.is_chat:
                await self._surface.back()
                return None
            for bubble in self.page(after):
                longer = len(bubble.text) > len(folded.text) and bubble.text.startswith(folded.text)
                if longer and bubble.direction == folded.direction:
                    return bubble
        return None

    def _result(self, whole: list[Bubble], unread: int | None, more: int, why: str) -> Reading:
        fresh = {id(bubble) for bubble in fresh_ones(whole, unread, more)}
        first = next((at for at, bubble in enumerate(whole) if id(bubble) in fresh), len(whole))
        kept = [b for b in whole[max(0, first - CONTEXT) :] if b.is_message or b.kind == SYSTEM]
        self._chat.group = self._chat.group or any(bubble.sender for bubble in whole)
        self._chat.can_write = self._can_write
        self._chat.seen = tuple(bubble for bubble in whole if bubble.is_message)[-CONTEXT:]
        if any(bubble.cut for bubble in whole if id(bubble) in fresh):
            why = why or "folded"
        return Reading(
            title=self._chat.title,
            number=self._chat.number,
            group=self._chat.group,
            can_write=self._can_write,
            messages=tuple(Message(bubble, id(bubble) in fresh) for bubble in kept),
            complete=not why or (why == "beginning" and len(fresh) >= (unread or 0)),
            why=why,
        )


def enough(whole: list[Bubble], unread: int | None) -> bool:
    """Whether everything new is certainly in these: the divider is there, or what stands before it."""
    if unread == 0 or any(bubble.kind == UNREAD for bubble in whole):
        return True
    mine = any(bubble.direction == OUT for bubble in whole)
    if unread is None:
        return mine
    came = sum(bubble.direction == IN for bubble in whole)
    return came >= unread and (mine or came >= unread + SURE)


def fresh_ones(whole: list[Bubble], unread: int | None, more: int = 0) -> list[Bubble]:
    """What is new: all below the divider; else as many as the badge said, and the `more` that came since.

    A badge without a number means the run of messages since the owner last wrote.
    """
    dividers = [at for at, bubble in enumerate(whole) if bubble.kind == UNREAD]
    if dividers:
        return [b for b in whole[dividers[-1] + 1 :] if b.direction == IN or b.kind == SYSTEM]
    arrived = [bubble for bubble in whole if bubble.direction == IN]
    if unread is None:
        last_own = max((at for at, bubble in enumerate(whole) if bubble.direction == OUT), default=-1)
        return [bubble for bubble in whole[last_own + 1 :] if bubble.direction == IN]
    came_since = [bubble for bubble in whole[len(whole) - more :] if bubble.direction == IN] if more else []
    count = unread + len(came_since)
    return arrived[-count:] if count else []


def after_seen(page: list[Bubble], seen: tuple[Bubble, ...]) -> list[Bubble] | None:
    """What stands on the screen below the messages that were read; None when they are not there.

    The last three of them must stand together: a chat is known by what was said in it, not by its name.
    """
    said = [bubble for bubble in page if bubble.is_message]
    for size in range(min(3, len(seen), len(said)), 0, -1):
        tail = seen[-size:]
        for at in range(len(said) - size, -1, -1):
            if all(same_bubble(a, b) for a, b in zip(said[at : at + size], tail, strict=True)):
                return said[at + size :]
        if size < min(3, len(seen)) and any(not b.clipped for b in said[: 3 - size]):
            return None  # there was room for more of them, and something else stands there
    return [] if not seen else None


def _joined_above(
    older: list[Bubble], whole: list[Bubble], last: list[Bubble], moved: int | None
) -> list[Bubble] | None:
    """A page with what was read below it; `last` is the page at the top of that. None when they do not meet.

    Where older messages of its day were loaded, the day's name is not above the first of `last` any more.
    """
    for first in (0, 1) if last and last[0].kind == DAY else (0,):
        size = overlap(older, last[first:], moved=moved)
        if size is not None:
            return _put_above(older, whole[first:], size)
    return None


def _joined_below(whole: list[Bubble], tail: list[Bubble]) -> list[Bubble] | None:
    """What was read with what stands below it; None when they do not meet.

    Older messages may have been loaded meanwhile: then the screen begins above what was read, and the day's name has
    moved up to the first message of that day.
    """
    joined = join(whole, tail)
    if joined is not None:
        return joined
    first = 1 if whole and whole[0].kind == DAY else 0
    for above in range(len(tail) - 1, 0, -1):
        if all(same_bubble(a, b) for a, b in zip(whole[first:], tail[above:], strict=False)):
            below = join(whole[first:], tail[above:])
            return None if below is None else whole[:first] + below
    return None


def _step(page: list[Bubble]) -> float:
    """How far to scroll up, as a part of the list.

    Where the rows that stay on the screen repeat themselves ("OK", "OK", "OK"), several ways of joining the pages look
    right. Then it is less than one row, so that only one of them can be.
    """
    if not page:
        return PART
    top, bottom = min(b.row[1] for b in page), max(b.row[3] for b in page)
    height = max(1, bottom - top)
    stay = [bubble for bubble in page if bubble.row[3] + height * PART <= bottom] or page[:1]
    repeats = any(
        all(same_bubble(a, b) for a, b in zip(stay[shift:], stay[:-shift], strict=True))
        for shift in range(1, len(stay) // 2 + 1)
    )
    if not repeats:
        return PART
    rows = [bubble.row[3] - bubble.row[1] for bubble in page if not bubble.clipped]
    return min(PART, 0.8 * min(rows) / height) if rows else PART


def _put_above(older: list[Bubble], whole: list[Bubble], size: int) -> list[Bubble]:
    both = zip(older[-size:], whole[:size], strict=True)
    return [*older[:-size], *(better(a, b) for a, b in both), *whole[size:]]


def _same_page(one: list[Bubble], other: list[Bubble]) -> bool:
    return [(b.kind, b.text, b.time, b.row) for b in one] == [(b.kind, b.text, b.time, b.row) for b in other]
