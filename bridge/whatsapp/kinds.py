"""What is inside one bubble: its kind, its words, and what stands for what cannot be read as words."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bridge.screen import Node
from bridge.whatsapp.profile import Profile
from bridge.wording import one_line, plain_spaces, seconds

# Ids decide in this order: a video has a picture too, a document may have a preview.
_BY_PART = ("voice", "document", "poll", "contact", "call", "sticker", "location", "video", "photo")
_BY_WORD = (
    "view_once",
    "voice",
    "video",
    "gif",
    "sticker",
    "photo",
    "document",
    "poll",
    "location",
    "contact",
    "call",
)
_BESIDE = ("time", "status", "edited", "sender_group", "sender", "quoted", "read_more")
_CUT = re.compile(r"(?:…|\.\.\.)\s*$")
_DURATION = re.compile(r"(\d+)\s*(?:s\b|sec|seg|sek)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Content:
    """What a bubble says; `detail` is a file's name, a poll's options, a place, or all an unknown one has."""

    kind: str
    text: str = ""
    detail: str = ""
    seconds: int | None = None
    cut: bool = False
    read_more: Node | None = None


def content_of(row: Node, main: Node | None, profile: Profile) -> Content:
    """The content of a row that is a message."""
    parts = list(_own_parts(row, profile))
    body = next((node for node in parts if profile.is_a(node, "text") and node.text), None)
    kind = _kind(row, main, parts, body, profile)
    text, cut, more = ("", False, None) if body is None else _body(row, body, profile)
    if kind == "text":
        return Content("text", text, cut=cut, read_more=more)
    if kind == "deleted":
        return Content("deleted", detail=text)
    if kind == "voice":
        return Content("voice", text, seconds=_voice_length(row, parts, profile))
    if kind == "video":
        return Content("video", text, seconds=_video_length(parts, profile), cut=cut, read_more=more)
    return Content(kind, text, _detail(kind, row, parts, profile), cut=cut, read_more=more)


def _own_parts(row: Node, profile: Profile) -> Iterator[Node]:
    """The nodes of the row without the quoted message and without time, ticks and names."""
    waiting = list(reversed(row.children))
    while waiting:
        node = waiting.pop()
        if any(profile.is_a(node, element) for element in _BESIDE):
            continue
        yield node
        waiting.extend(reversed(node.children))


def _kind(row: Node, main: Node | None, parts: list[Node], body: Node | None, profile: Profile) -> str:
    by_row = profile.row_kinds.get(row.id) or next(
        (kind for node in parts if (kind := profile.row_kinds.get(node.id))), ""
    )
    if body is not None and by_row in ("", "text") and _is_deleted(row, parts, body, profile):
        return "deleted"
    if by_row and by_row != "text":
        return by_row if by_row != "system" else "unknown"
    for kind in _BY_PART:
        if kind == "photo" and not any(profile.is_a(node, "media") or node.clickable for node in parts):
            continue
        if any(profile.is_a(node, kind) for node in parts):
            return _refined(kind, parts, profile)
    if by_row == "text" or body is not None:
        return "text"
    return _by_word(row, parts, profile) or "unknown"


def _is_deleted(row: Node, parts: list[Node], body: Node, profile: Profile) -> bool:
    """A deleted message is a small icon and a sentence; both its row's missing id and its words say so."""
    icon = any(profile.is_a(node, "deleted_icon") for node in parts)
    return icon and (not row.full_id or profile.says("deleted", one_line(body.text)))


def _refined(kind: str, parts: list[Node], profile: Profile) -> str:
    """A picture's description tells a GIF and a picture to be seen once from others."""
    if kind not in ("photo", "video", "location"):
        return kind
    said = [one_line(node.desc) for node in parts if node.desc]
    for other in ("view_once", "gif", "location"):
        if any(profile.says(f"kind_{other}", text.split(",")[0].split(":")[0]) for text in said):
            return other
    return kind


def _by_word(row: Node, parts: list[Node], profile: Profile) -> str:
    said = [one_line(text) for node in [row, *parts] for text in (node.desc, node.text) if text]
    pieces = [piece.strip() for text in said for piece in re.split(r"[,:·]", text)]
    return next(
        (kind for kind in _BY_WORD if any(profile.says(f"kind_{kind}", piece) for piece in pieces)), ""
    )


def _body(row: Node, body: Node, profile: Profile) -> tuple[str, bool, Node | None]:
    """The text without the words that unfold it, whether it is cut, and what to tap for the rest."""
    text = plain_spaces(body.text).strip("\n")
    own = profile.find(row, "read_more")
    if own is None:
        own = next(
            (
                node
                for node in row.descend()
                if node is not body and profile.says("read_more", node.text or node.desc)
            ),
            None,
        )
    if own is not None:
        return _CUT.sub("", text).rstrip(), True, own
    match = None
    for pattern in profile.words.get("read_more", {}).values():
        match = match or re.search(rf"\s*(?:…|\.\.\.)\s*(?:{pattern})\s*$", text, re.IGNORECASE)
    if match is None:
        return text, False, None
    return text[: match.start()].rstrip(), True, body


def _voice_length(row: Node, parts: list[Node], profile: Profile) -> int | None:
    for node in parts:
        if profile.is_a(node, "voice_length") and (length := seconds(node.text)) is not None:
            return length
    return _spoken_length(row.desc) or next((n for node in parts if (n := _spoken_length(node.desc))), None)


def _video_length(parts: list[Node], profile: Profile) -> int | None:
    for node in parts:
        for text in (node.text, node.desc):
            if (length := seconds(text)) is not None:
                return length
            if profile.is_a(node, "video") and (length := _spoken_length(text)) is not None:
                return length
    return None


def _spoken_length(text: str) -> int | None:
    for piece in re.split(r",", text):
        if match := _DURATION.search(piece):
            return int(match[1])
    return next(
        (n for piece in re.split(r",\s*", text) if (n := seconds(piece)) is not None and ":" in piece), None
    )


def _detail(kind: str, row: Node, parts: list[Node], profile: Profile) -> str:
    said = [one_line(node.text) for node in parts if node.text and not profile.is_a(node, "text")]
    if kind == "document":
        title = next((node.text for node in parts if profile.is_a(node, "document_title") and node.text), "")
        return one_line(title) or ", ".join(said)
    if kind in ("photo", "sticker", "gif", "view_once"):
        return ", ".join(said)
    if kind == "location":
        place = next((node.desc for node in parts if profile.is_a(node, "video") and ":" in node.desc), "")
        return ", ".join(said) or one_line(place.partition(":")[2])
    if not said:
        said = [one_line(node.desc) for node in [row, *parts] if node.desc]
    return "\n".join(said) if kind == "poll" else ", ".join(dict.fromkeys(said))


def joined_text(row: Node, profile: Profile) -> str:
    """All the words of a row, those of its time left out."""
    said = [one_line(node.text) for node in row.descend() if node.text and not profile.is_a(node, "status")]
    return " ".join(said) or one_line(row.desc)


def status_of(node: Node | None, profile: Profile) -> str:
    """pending, sent, delivered, read or failed; `shown` when there are ticks in words we do not know."""
    if node is None:
        return ""
    said = one_line(node.desc or node.text)
    for state in ("pending", "failed", "sent", "delivered", "read"):
        if profile.says(state, said):
            return state
    return "shown"


def unread_words(text: str, profile: Profile) -> bool:
    """Whether a line between messages is the one that says how many are new."""
    return profile.says("unread", one_line(text))
