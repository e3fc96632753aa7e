"""The rows of the list of chats: who, when, what, and whether it is unread."""

import re
from dataclasses import dataclass, field

from bridge.screen import Node, Tree
from bridge.whatsapp.profile import Profile
from bridge.wording import digits, one_line

Bounds = tuple[int, int, int, int]
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Row:
    """A chat as the list shows it. `unread` is 0 for none and None when there is a badge without a number."""

    title: str
    stamp: str
    preview: str
    unread: int | None
    kind: str  # person | group | broadcast | community | unknown
    pinned: bool
    muted: bool
    archived: bool
    clipped: bool
    bounds: Bounds
    title_bounds: Bounds
    node: Node | None = field(default=None, repr=False, compare=False)

    @property
    def marked(self) -> bool:
        """Whether there is a badge without a number, as after "mark as unread"."""
        return self.unread is None

    @property
    def is_unread(self) -> bool:
        return self.unread != 0

    @property
    def key(self) -> Key:
        """What tells this row from another with the same title, until something new happens in it."""
        return (self.title, self.stamp, self.preview)


@dataclass(frozen=True, slots=True)
class ArchiveHeader:
    """The row that leads to the archived chats; `unread` counts chats, None when it says nothing."""

    node: Node = field(repr=False)
    unread: int | None


def rows(tree: Tree, profile: Profile, *, archived: bool = False) -> list[Row]:
    """The chats on the screen, from top to bottom in the tree's own order."""
    window = _window(tree, profile)
    found = []
    for node in profile.all(tree, "row"):
        title = profile.find(node, "row_title")
        if title is None or not (title.text or title.desc).strip():
            continue
        found.append(_row(node, title, profile, window, archived))
    return found


def _window(tree: Tree, profile: Profile) -> Bounds:
    listing = profile.find(tree, "list")
    return listing.bounds if listing is not None else (0, 0, *tree.size)


def _row(node: Node, title: Node, profile: Profile, window: Bounds, archived: bool) -> Row:
    stamp = profile.find(node, "row_stamp")
    preview = profile.find(node, "row_preview")
    name = one_line(title.text or title.desc)
    return Row(
        title=name,
        stamp=one_line(stamp.text) if stamp is not None else "",
        preview=one_line(preview.text) if preview is not None else "",
        unread=unread_in(node, profile),
        kind=_kind(node, name, profile),
        pinned=profile.has(node, "row_pin"),
        muted=profile.has(node, "row_mute"),
        archived=archived,
        clipped=node.top <= window[1] or node.bottom >= window[3],
        bounds=node.bounds,
        title_bounds=title.bounds,
        node=node,
    )


def unread_in(row: Node, profile: Profile) -> int | None:
    """The badge's number; None for a badge without one, 0 without a badge.

    Only the badge's id counts, not any other number. A row without one may still say it in its own
    description.
    """
    badge = profile.find(row, "row_badge")
    if badge is not None:
        said = [part for node in badge.descend() for part in (node.text, node.desc)]
        return next((number for text in said if (number := first_number(text)) is not None), None)
    match = profile.mentions("unread", one_line(row.desc)) if row.desc else None
    return (first_number(match[0]) or 0) if match else 0


def first_number(text: str) -> int | None:
    """The first whole number in a text, in whatever digits and with or without separators."""
    match = re.search(r"\d{1,3}(?:[.,\u00a0\u202f ]\d{3})+|\d+", one_line(text))
    if match is None:
        return None
    return int(re.sub(r"\D", "", match[0]))


def _kind(node: Node, title: str, profile: Profile) -> str:
    if any(node.find(id) is not None for id in profile.ids("row_community")):
        return "community"
    return "person" if digits(title) else "unknown"


def archive_header(tree: Tree, profile: Profile) -> ArchiveHeader | None:
    """The way to the archived chats, when it is on the screen."""
    node = profile.find(tree, "archive_header")
    if node is None:
        return None
    counter = profile.find(node, "archive_counter")
    return ArchiveHeader(node, first_number(counter.text or counter.desc) if counter is not None else None)


def join_rows(known: list[Row], page: list[Row]) -> list[Row] | None:
    """The rows read so far with those of the next page below; None when the pages do not overlap.

    The overlap is a run of equal rows, not a set: two chats may show the same name and the same stamp.
    """
    if not known or not page:
        return known + page
    for size in range(min(len(known), len(page)), 0, -1):
        if all(_same_row(a, b) for a, b in zip(known[-size:], page[:size], strict=True)):
            both = zip(known[-size:], page[:size], strict=True)
            return known[:-size] + [b if a.clipped else a for a, b in both] + page[size:]
    return None


def _same_row(one: Row, other: Row) -> bool:
    """Whether two readings are of one row; at the edge of the list the lower line may be missing."""
    if one.key == other.key:
        return True
    cut = (one.clipped and not one.preview) or (other.clipped and not other.preview)
    return cut and one.title == other.title and (one.stamp == other.stamp or not one.stamp or not other.stamp)
