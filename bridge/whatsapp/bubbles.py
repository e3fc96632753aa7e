"""The messages on an open chat's screen. Every child of the list comes out as something: none vanishes.

A text belongs to the row it hangs under. Where rows and their texts are drawn is not asked, because one
reading may mix two moments of a moving list; only left and right are taken from places, to tell whose a
message is.
"""

from collections import Counter
from dataclasses import dataclass, field, replace

from bridge.screen import Node, Tree
from bridge.whatsapp.kinds import Content, content_of, joined_text, status_of, unread_words
from bridge.whatsapp.profile import Profile
from bridge.whatsapp.screens import right_to_left
from bridge.wording import clean_name, clock, is_time, one_line

IN, OUT, NONE = "in", "out", ""
DAY, UNREAD, SYSTEM = "day", "unread_divider", "system"
EDGE = 4  # pixels within which a row touches the edge of the list


@dataclass(frozen=True, slots=True)
class Quote:
    """The message that a message answers, as far as its bubble shows it."""

    sender: str
    text: str


@dataclass(frozen=True, slots=True)
class Bubble:
    """One child of the list: a message, or what stands between messages.

    `kind` is text, deleted, photo, video, gif, view_once, voice, document, sticker, poll, location, contact,
    call, unknown; or system, day, unread_divider, which have no direction.
    """

    kind: str
    direction: str = NONE
    text: str = ""
    detail: str = ""
    sender: str = ""
    time: str = ""
    status: str = ""
    quoted: Quote | None = None
    edited: bool = False
    seconds: int | None = None
    clipped: bool = False
    cut: bool = False
    day: str = ""
    row: tuple[int, int, int, int] = (0, 0, 0, 0)
    read_more: Node | None = field(default=None, repr=False, compare=False)

    @property
    def is_message(self) -> bool:
        return self.kind not in (DAY, UNREAD, SYSTEM)

    @property
    def deleted(self) -> bool:
        return self.kind == "deleted"


def bubbles(tree: Tree, profile: Profile) -> list[Bubble]:
    """Everything in the list, from top to bottom, senders and days carried down."""
    listing = profile.find(tree, "list")
    if listing is None:
        return []
    mirrored = right_to_left(tree, profile)
    children = [child for child in listing.children if _says_something(child)]
    votes = Counter(side for child in children if (side := _sure_side(child, profile, listing)))
    own_right = not mirrored if votes["left"] == votes["right"] else votes["right"] > votes["left"]
    return carried([_bubble(child, profile, listing, own_right) for child in children])


def _says_something(child: Node) -> bool:
    """Empty spacers are no messages; anything with a word, a picture or a message's frame is."""
    return any(node.text or node.desc or node.full_id for node in child.descend())


def _bubble(row: Node, profile: Profile, listing: Node, own_right: bool) -> Bubble:
    clipped = row.top <= listing.top + EDGE or row.bottom >= listing.bottom - EDGE
    main = profile.find(row, "main")
    time = _time(row, profile)
    between = _between(row, main, time, profile)
    if between:
        said = joined_text(row, profile)
        return Bubble(
            between, text=said, time=clock(time) if between == SYSTEM else "", clipped=clipped, row=row.bounds
        )
    content: Content = content_of(row, main, profile)
    status = profile.find(row, "status")
    return Bubble(
        kind=content.kind,
        direction=_direction(row, main, profile, listing, own_right),
        text=content.text,
        detail=content.detail,
        sender=_sender(row, profile),
        time=clock(time),
        status=status_of(status, profile),
        quoted=_quote(row, profile),
        edited=profile.find(row, "edited") is not None,
        seconds=content.seconds,
        clipped=clipped or not time,
        cut=content.cut,
        row=row.bounds,
        read_more=content.read_more,
    )


def _time(row: Node, profile: Profile) -> str:
    """What the bubble's time says.

    A quoted message has none, but a text may stand under an id of that name.
    """
    for id in profile.ids("time"):
        for node in row.all(id):
            if node.text and is_time(node.text):
                return node.text
    return ""


def _between(row: Node, main: Node | None, time: str, profile: Profile) -> str:
    """Whether this is a divider or a notice of the system, and which."""
    if any(row.find(id) is not None for id in profile.ids("unread_divider")):
        return UNREAD
    if any(row.find(id) is not None for id in profile.ids("day")):
        return DAY
    if main is not None or time:
        return ""
    said = joined_text(row, profile)
    if not said:
        return ""
    if unread_words(said, profile):
        return UNREAD
    dates = [node for id in profile.ids("time") for node in row.all(id)]
    if dates and not any(is_time(node.text) for node in dates):
        return DAY
    if profile.row_kinds.get(row.id, SYSTEM) == SYSTEM and not profile.has(row, "status"):
        return SYSTEM
    return ""


def _sides(row: Node, main: Node | None, listing: Node) -> tuple[int, int]:
    """How far the bubble is from the left and from the right edge."""
    if main is not None:
        return main.left - listing.left, listing.right - main.right
    inner = [
        node for node in row.descend() if node is not row and (node.text or node.desc or not node.children)
    ]
    if not inner:
        return 0, 0
    return min(node.left for node in inner) - listing.left, listing.right - max(node.right for node in inner)


def _sure_side(row: Node, profile: Profile, listing: Node) -> str:
    """Where a bubble stands that has ticks, and so is the owner's."""
    if not profile.has(row, "status"):
        return ""
    left, right = _sides(row, profile.find(row, "main"), listing)
    return "" if left == right else "left" if left < right else "right"


def _direction(row: Node, main: Node | None, profile: Profile, listing: Node, own_right: bool) -> str:
    left, right = _sides(row, main, listing)
    if abs(left - right) > listing.right * 0.01:
        return OUT if (right < left) == own_right else IN
    if profile.has(row, "status"):
        return OUT
    return IN


def _sender(row: Node, profile: Profile) -> str:
    for id in profile.ids("sender"):
        node = row.find(id)
        if node is not None and (name := clean_name(node.text or joined_text(node, profile))):
            return name
    return ""


def _quote(row: Node, profile: Profile) -> Quote | None:
    holder = profile.find(row, "quoted")
    if holder is None:
        return None
    title = profile.find(holder, "quoted_title")
    text = profile.find(holder, "quoted_text")
    return Quote(
        clean_name(title.text) if title is not None else "", text.text.strip() if text is not None else ""
    )


def carried(found: list[Bubble]) -> list[Bubble]:
    """Senders go down a run of one side to the next name or divider; days go down to the next day."""
    result: list[Bubble] = []
    sender, day = "", ""
    for bubble in found:
        if bubble.kind == DAY:
            sender, day = "", bubble.text
        elif not bubble.is_message or bubble.direction == OUT:
            sender = ""
        elif bubble.sender:
            sender = bubble.sender
        if bubble.direction == IN and sender and not bubble.sender:
            bubble = replace(bubble, sender=sender)
        if day and bubble.kind != DAY and not bubble.day:
            bubble = replace(bubble, day=day)
        result.append(bubble)
    return result


def unread_count(divider: Bubble) -> int | None:
    """How many messages the unread divider announces."""
    digits = "".join(char for char in one_line(divider.text) if char.isdigit())
    return int(digits) if digits else None
