"""Walking the list of chats while it moves: find an unread row, open exactly that one, come back."""

from collections import Counter
from collections.abc import Container
from dataclasses import replace

from bridge.screen import Tree, Unexpected
from bridge.whatsapp.bubbles import UNREAD, bubbles, unread_count
from bridge.whatsapp.rows import Key, Row, archive_header, join_rows, rows
from bridge.whatsapp.screens import Header, Screen, header
from bridge.whatsapp.surface import Look, Surface
from bridge.whatsapp.values import Chat, RowGone, WrongChat
from bridge.wording import same_title
from core.errors import PhoneUnreachable

PAGES = 60
TAPS = 3


class Chats:
    """The list. Between two calls it may be reordered, scrolled or left: every call looks first."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self._profile = surface.profile
        self._archived = False  # which of the two lists is being swept
        self._clean = False  # nothing was opened since the sweep left the top
        self._visits: Counter[Key] = Counter()
        self._owed: dict[str, int | None] = {}  # chats that opened by mistake, with what they had unread
        self.complete = True  # whether the last sweep saw the end of the list
        self.skipped: list[Row] = []  # unread rows that lead to no chat (communities)

    async def at(self, archived: bool) -> Look:
        """The list that is wanted, opened if it is not on the screen."""
        wanted = Screen.ARCHIVED if archived else Screen.LIST
        look = await self._surface.look()
        if look.screen is wanted and self._archived == archived:
            return look
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
        await self._surface.phone.tap(*found.node.center)
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
        """The rows on the screen."""
        return rows(tree, self._profile, archived=self._archived)

    async def next_unread(self, done: Container[Key], *, archived: bool = False) -> Row | None:
        """The next unread chat that is not done; None when a whole sweep from the top found none.

        The list is walked on from where it stands, and once more from its top when something was opened,
        because what was read meanwhile may have moved what was not.
        """
        try:
            look = await self.at(archived)
        except RowGone:
            return None
        if not self._clean and not self._visits and not self._owed:
            look = await self.top(look)  # the first sweep
            self._clean = True
        repeated = 0
        for _ in range(PAGES * 2):
            found = self._first(self.rows(look.tree), done)
            if found is not None:
                self._clean = False
                return found
            further = await self.down(look)
            if further is not None:
                look = further
                continue
            if self._clean or repeated > 1:
                self._forget_owed()
                self.complete = True
                self._clean = False
                return None
            repeated += 1
            look = await self.top(look)
            self._clean = True
        self.complete = False
        return None

    def _forget_owed(self) -> None:
        self._owed.clear()

    def _first(self, page: list[Row], done: Container[Key]) -> Row | None:
        for row in page:
            owed = next((title for title in self._owed if same_title(title, row.title)), None)
            if owed is not None and not row.is_unread:
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
            await self._surface.phone.tap(*point)
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
        self._owed = {name: count for name, count in self._owed.items() if not same_title(name, row.title)}
        self._visits[row.key] += 1
        return Chat(
            title=title.title if title else row.title,
            number=title.number if title else "",
            can_write=opened.screen is Screen.CHAT,
            row=row,
        )

    async def _mistaken(self, opened: Look, title: Header | None, row: Row) -> None:
        """Another chat is open, and so marked as read: it is owed a visit, with the count its divider gives."""
        name = title.title if title is not None else ""
        divider = next((b for b in bubbles(opened.tree, self._profile) if b.kind == UNREAD), None)
        if divider is not None and name:
            self._owed[name] = unread_count(divider)
        await self._surface.back()
        raise WrongChat(row.title, name)

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
