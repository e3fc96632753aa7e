"""What a WhatsApp holds: messages in chats."""

from dataclasses import dataclass, field
from datetime import datetime
from itertools import count

PERSON, GROUP, BROADCAST, COMMUNITY, CHANNEL = "person", "group", "broadcast", "community", "channel"
READ_MORE_AT = 700  # characters shown before "Read more"
_ids = count(1)


@dataclass(slots=True)
class Message:
    """One bubble. `kind` is text, photo, video, voice, document, sticker, gif, poll, location, contact,
    call, system, view_once or unknown; `sender` is given in groups."""

    text: str
    at: datetime
    outgoing: bool = False
    sender: str = ""
    kind: str = "text"
    status: str = "read"
    quoted: tuple[str, str] | None = None
    edited: bool = False
    deleted: bool = False
    length: str = ""
    title: str = ""
    expanded: bool = False
    unsaved_sender: bool = False
    id: int = field(default_factory=lambda: next(_ids))

    @property
    def is_long(self) -> bool:
        return len(self.text) > READ_MORE_AT

    @property
    def shown_text(self) -> str:
        """What the bubble shows before anybody taps "Read more"."""
        return self.text if self.expanded or not self.is_long else self.text[:READ_MORE_AT].rstrip()


@dataclass(slots=True, eq=False)
class Chat:
    """A row of the list and what is behind it."""

    id: str
    title: str
    number: str = ""
    saved: bool = True
    kind: str = PERSON
    messages: list[Message] = field(default_factory=list)
    unread: int = 0
    marked_unread: bool = False
    pinned: bool = False
    muted: bool = False
    archived: bool = False
    read_only: bool = False
    draft: str = ""
    loaded: int | None = None  # how many messages the history has loaded, from the end

    @property
    def last(self) -> Message | None:
        return self.messages[-1] if self.messages else None

    @property
    def is_group(self) -> bool:
        return self.kind in (GROUP, COMMUNITY)


@dataclass(frozen=True, slots=True)
class Sent:
    """What a contact really received."""

    chat_id: str
    title: str
    text: str
    at: datetime


def shown_number(number: str) -> str:
    """An unsaved number the way a title shows it: +34 600 111 222."""
    digits = number.lstrip("+")
    country = 1 if digits[:1] == "1" else 3 if digits[:2] in ("59", "35", "42") else 2
    rest = digits[country:]
    parts = [rest[i : i + 3] for i in range(0, len(rest), 3)]
    if len(parts) > 1 and len(parts[-1]) == 1:
        parts[-2:] = [parts[-2] + parts[-1]]
    return f"+{digits[:country]} {' '.join(parts)}".strip()
