"""Walking the list of chats while it moves: find an unread row, open exactly that one, come back."""

from collections import Counter
from collections.abc import Container
from dataclasses import replace

from bridge.screen import Node, Tree, Unexpected
from bridge.whatsapp.bubbles import UNREAD, bubbles, unread_count
from bridge.whatsapp.rows import Key, Row, archive_header, first_number, join_rows, rows
from bridge.whatsapp.screens import Header, Screen, header
from bridge.whatsapp.surface import Look, Surface
from bridge.whatsapp.values import Chat, RowGone, WrongChat
from bridge.wording import same_title
from core.errors import PhoneUnreachable

PAGES = 60
FAR = 12  # pages after which WhatsApp's own count of unread chats may end a sweep
PINS = 4  # more rows than can be pinned: below so many known ones nothing has moved
TAPS = 3
STRANGE = 2  # things in a list without a single row that are still no proof of a list that is not understood


class Chats:
    """The list. Between two calls it may be reordered, scrolled or left: every call looks first."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self._profile = surface.profile
        self._archived = False  # which of the two lists is being swept
        self._new = True  # the next sweep is the first of a round
        self._clean = False  # nothing was opened since the sweep left the top
        self._visits: Counter[Key] = Counter()
        self._owed: dict[str, int | None] = {}  # chats that were opened, and so marked read, and not read yet
        self._tries: Counter[str] = Counter()
        self._namesakes: set[str] = set()  # titles that two rows had at once
        self._swept: set[Key] = set()  # rows without anything new, as this sweep and the one before saw them
        self._counted = False  # this WhatsApp shows how many chats are unread, below the list
        self.complete = True  # whether the last sweep saw the end of the list
        self.skipped: list[Row] = []  # unread rows that lead to no chat (communities)

    def restart(self) -> None:
        """A new round: nothing of an earlier look at the list counts."""
        self._new, self._clean = True, False
        self._swept.clear()
        self.skipped.clear()

    async def at(self, archived: bool) -> Look:
        """The list that is wanted, opened if it is not on the screen."""
        wanted = Screen.ARCHIVED if archived else Screen.LIST
        look = await self._surface.current()
        if look.screen is wanted and self._archived == archived:
            return look
        if self._archived != archived:
            self.restart()
        self._clean = False
        self._archived = archived
        if archived and look.screen is Screen.ARCHIVED:
            return look
        look = look if look.screen is Screen.LIST else await self._surface.open_list()
        return look if not archived else await self._open_archive(look)

    async def _open_archive(self, look: Look) -> Look:
        look = await self.top(look)
        found = archive_header(look.tree, self._profile)
        if found is None:
            raise RowGone("There are no archived chats on the phone.")
        await self._surface.tap(*found.node.center)
        return await self._surface.until(Screen.ARCHIVED)

    async def has_archive(self) -> bool:
        """Whether the list shows the way to archived chats."""
        look = await self.top(await self.at(False))
        return archive_header(look.tree, self._profile) is not None

    async def top(self, look: Look) -> Look:
        """The beginning of the list."""
        same = 0
        for _ in range(PAGES):
            if self._at_top(look.tree):
                return look
            listing = self._profile.find(look.tree, "list")
            if listing is None:
                return look
            before = _places(look.tree, self)
            await self._surface.fling_up(listing)
            look = await self._surface.look()
            same = same + 1 if _places(look.tree, self) == before else 0
            if same >= 2:
                return look
        return look

    def _at_top(self, tree: Tree) -> bool:
        listing = self._profile.find(tree, "list")
        bar = self._profile.find(tree, "search_bar")
        return listing is not None and bar is not None and bar.inside(listing.full_id)

    def rows(self, tree: Tree) -> list[Row]:
        """The rows on the screen. A list full of what is not known is no empty list."""
        page = rows(tree, self._profile, archived=self._archived)
        listing = self._profile.find(tree, "list")
        strange = (
            [child for child in listing.children if self._has_words(child)] if listing is not None else []
        )
        if not page and len(strange) > STRANGE:
            seen = ", ".join(tree.ids[:12])
            raise PhoneUnreachable(
                "whatsapp_stuck", f"The list of chats of this WhatsApp version is not understood ({seen})."
            )
        names = Counter(row.title for row in page)
        self._namesakes.update(name for name, count in names.items() if count > 1)
        return page

    def _has_words(self, child: Node) -> bool:
        known = ("search_bar", "archive_header")
        inside = any(self._profile.is_a(child, one) or self._profile.has(child, one) for one in known)
        return not inside and any(node.text for node in child.descend())

    def has_namesakes(self, title: str) -> bool:
        """Whether two chats of this name were seen."""
        return any(same_title(title, name) for name in self._namesakes)

    async def next_unread(self, done: Container[Key], *, archived: bool = False) -> Row | None:
        """The next unread chat that is not done; None when a whole sweep from the top found none.

        The list is walked on from where it stands, and then again from its top. What got something new since the
        sweep passed has moved up: the second walk ends where the list is as it was.
        """
        try:
            look = await self.at(archived)
        except RowGone:
            return None
        if self._new:
            look = await self.top(look)
            self._new, self._clean = False, True
        swept: set[Key] = set()
        unread = 0  # rows that are unread and none of our business
        known = 0  # rows in a run that were there before and have nothing new
        for page in range(PAGES):
            shown = self.rows(look.tree)
            found = self._first(shown, done)
            if found is not None:
                self._clean = False
                return found
            unread += sum(row.is_unread and row.key not in swept for row in shown)
            for row in shown:
                known = 0 if row.key not in self._swept else known + (row.key not in swept and not row.pinned)
                swept.add(row.key)
            quiet = self._nothing_counted(look.tree) and page >= FAR
            further = (
                None if quiet or (self._clean and known > PINS and not self._owed) else await self.down(look)
            )
            if further is not None:
                look = further
                continue
            self._swept |= swept
            if self._clean:
                self._owed.clear()
                self._clean = False
                self.complete = self._count_shown(look.tree) <= unread
                return None
            look = await self.top(look)
            self._clean, known = True, 0
            swept = set()
        self.complete = False
        return None

    def _count_shown(self, tree: Tree) -> int:
        """How many unread chats WhatsApp itself counts: more than were found means that badges are not understood."""
        node = None if self._archived else self._profile.find(tree, "nav_count")
        return (first_number(node.text or node.desc) or 0) if node is not None else 0

    def _nothing_counted(self, tree: Tree) -> bool:
        """Whether WhatsApp's own count of unread chats has gone, on a version that shows one."""
        nav = self._profile.find(tree, "bottom_nav")
        if nav is None or self._archived:
            return False
        counted = self._profile.has(nav, "nav_count")
        self._counted = self._counted or counted
        return self._counted and not counted

    def _first(self, page: list[Row], done: Container[Key]) -> Row | None:
        for row in page:
            owed = next((title for title in self._owed if same_title(title, row.title)), None)
            if owed is not None and not row.is_unread and row.key not in done and self._tries[owed] < TAPS:
                self._tries[owed] += 1
                return replace(row, unread=self._owed[owed])
            if not row.is_unread:
                continue
            if row.kind == "community":
                if row.key not in {other.key for other in self.skipped}:
                    self.skipped.append(row)
                continue
            # One that we have opened and that is still unread was its namesake.
            if row.key in done and self._visits[row.key] != 1:
                continue
            return row
        return None

    async def all_unread(self, *, archived: bool = False) -> list[Row]:
        """Every unread row of one sweep, nothing opened."""
        try:
            look = await self.top(await self.at(archived))
        except RowGone:
            return []
        known = self.rows(look.tree)
        for _ in range(PAGES):
            further = await self.down(look)
            if further is None:
                break
            look = further
            page = self.rows(look.tree)
            joined = join_rows(known, page)
            known = joined if joined is not None else known + page
        else:
            self.complete = False
        return [row for row in known if row.is_unread]

    async def down(self, look: Look) -> Look | None:
        """The next part of the list with some rows of this one; None at its end."""
        listing = self._profile.find(look.tree, "list")
        if listing is None:
            return None
        before = _places(look.tree, self)
        seen = self.rows(look.tree)
        for part in (0.6, 0.6, 0.45):
            await self._surface.scroll(listing, down=True, part=part)
            further = await self._surface.look()
            if further.screen is not look.screen:
                raise PhoneUnreachable("whatsapp_stuck", "The list of chats went away while it was read.")
            if _places(further.tree, self) == before:
                continue
            page = self.rows(further.tree)
            if not seen or not page or join_rows(seen, page) is not None or part < 0.6:
                return further
            await self._surface.scroll(listing, down=False, part=0.3)  # it ran too far
        further = await self._surface.look()
        return None if _places(further.tree, self) == before else further

    async def open_row(self, row: Row) -> Chat:
        """Open exactly this chat.

        The list may have moved: the row is looked for again right before the tap.
        """
        where = Screen.ARCHIVED if row.archived else Screen.LIST
        opened: Look | None = None
        for _ in range(TAPS):
            look = await self._surface.look()
            if look.screen is not where:
                raise RowGone(f"The list is not on the screen any more, so {row.title!r} was not opened.")
            now = self._again(row, self.rows(look.tree))
            point = self._point(look.tree, now)
            if point is None:
                listing = self._profile.find(look.tree, "list")
                if listing is None:
                    raise RowGone(f"The row of {row.title!r} cannot be reached.")
                middle = (listing.top + listing.bottom) // 2
                await self._surface.scroll(listing, down=now.bounds[1] > middle, part=0.25)
                continue
            if now.is_unread:
                self._owed[row.title] = now.unread
            await self._surface.tap(*point)
            try:
                opened = await self._surface.until(Screen.CHAT, Screen.CHAT_READ_ONLY, timeout_s=6)
                break
            except Unexpected as error:
                if error.tree is None or self._surface.name(error.tree) is not where:
                    raise
        if opened is None:
            raise PhoneUnreachable("whatsapp_stuck", f"The chat {row.title!r} does not open.")
        title = header(opened.tree, self._profile)
        if title is None or not same_title(title.title, row.title):
            await self._mistaken(opened, title, row)
        self._visits[row.key] += 1
        return Chat(
            title=title.title if title else row.title,
            number=title.number if title else "",
            can_write=opened.screen is Screen.CHAT,
            row=row,
        )

    async def _mistaken(self, opened: Look, title: Header | None, row: Row) -> None:
        """Another chat is open, and so marked as read: it is owed a visit, with the count its divider gives."""
        self.paid(row.title)  # it is as unread as it was
        name = title.title if title is not None else ""
        divider = next((b for b in bubbles(opened.tree, self._profile) if b.kind == UNREAD), None)
        if divider is not None and name:
            self._owed[name] = unread_count(divider)
        await self._surface.back()
        raise WrongChat(row.title, name)

    def paid(self, title: str) -> None:
        """A chat was read: nothing is owed to it any more."""
        self._owed = {name: count for name, count in self._owed.items() if not same_title(name, title)}

    def _again(self, row: Row, page: list[Row]) -> Row:
        """The row as it stands now: the same, or the only unread one of that name."""
        same = [other for other in page if other.key == row.key]
        if same:
            return min(same, key=lambda other: abs(other.bounds[1] - row.bounds[1]))
        named = [other for other in page if same_title(other.title, row.title)]
        unread = [other for other in named if other.is_unread]
        found = unread if unread else named
        if len(found) == 1:
            return found[0]
        raise RowGone(f"The list moved and {row.title!r} is not where it was.")

    def _point(self, tree: Tree, row: Row) -> tuple[int, int] | None:
        """Where to touch the row: on its name's side, never on the photo, a button or what lies over the list."""
        left, top, right, bottom = row.bounds
        over = [
            node
            for element in ("new_chat", "mini_button", "bottom_nav", "toolbar")
            for node in self._profile.all(tree, element)
        ]
        x = min((row.title_bounds[0] + row.title_bounds[2]) // 2, (left + right) // 2)
        for y in ((top + bottom) // 2, top + (bottom - top) // 4, bottom - (bottom - top) // 4):
            if not any(node.contains(x, y) for node in over) and bottom - top > 40:
                return x, y
        return None


def _places(tree: Tree, chats: Chats) -> list[tuple[Key, tuple[int, int, int, int]]]:
    """What decides whether the list has moved."""
    return [(row.key, row.bounds) for row in chats.rows(tree)]
