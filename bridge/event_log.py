"""What the event log says about notifications: which chat of which app, and never a word of the text."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bridge.notifications import FOREGROUND, ONGOING, SUMMARY, header_fields, parse_flags, talks

_LINES = 6  # as many as one event may take


@dataclass(frozen=True, slots=True)
class Enqueued:
    """A notification was posted or updated: no text, but which chat of which app."""

    package: str
    user: int
    tag: str
    channel: str
    jid: str
    category: str
    group_key: str
    summary: bool
    ongoing: bool
    status: int  # 0 posted, 1 updated, 2 ignored
    at: float | None  # seconds, when the log line carries them

    @property
    def of_a_chat(self) -> bool:
        """Whether it stands for somebody's message, and not for a group of them or the app itself."""
        return not self.summary and (self.category == "msg" or talks(self.channel))


_EVENT = "notification_enqueue: ["
_ANY_EVENT = re.compile(r"^\s*(?:\d{2}-\d{2} \d{2}:\d{2}|\d{9,}\.\d+)\S*\s")
_EVENT_BODY = re.compile(
    r"^(\d+),(\d+),([^,]+),(-?\d+),(.*?),(-?\d+),Notification\((.*)\),(\d+)\]?$", re.DOTALL
)


class EventLines:
    """Reads `logcat -b events` line by line; a newline inside a tag spreads one event over several lines."""

    def __init__(self) -> None:
        self._held: list[str] = []

    def feed(self, line: str) -> Enqueued | None:
        """The event that this line completes, if it does."""
        line = line.rstrip("\r\n")
        if _EVENT in line:
            self._held = [line]
        elif not self._held or _ANY_EVENT.match(line) or len(self._held) >= _LINES:
            self._held = []
            return None
        else:
            self._held.append(line)
        if not line.rstrip().endswith("]"):
            return None
        whole, self._held = "\n".join(self._held), []
        return _enqueued(whole)


def enqueued(lines: Iterable[str]) -> Iterator[Enqueued]:
    """The notification events among the lines of an event log."""
    reader = EventLines()
    for line in lines:
        if event := reader.feed(line):
            yield event


def _enqueued(text: str) -> Enqueued | None:
    before, _, body = text.partition(_EVENT)
    match = _EVENT_BODY.match(body.rstrip())
    if match is None:
        return None
    fields = header_fields(match[7])
    flags = parse_flags(fields.get("flags", "0x0"))
    stamp = re.match(r"\s*(\d{9,}\.\d+)\s", before)
    tag = re.sub(r"\s", "", match[5])
    return Enqueued(
        package=match[3],
        user=int(match[6]),
        tag="" if tag == "NULL" else tag,
        channel=fields.get("channel", ""),
        jid=fields.get("shortcut", ""),
        category=fields.get("category", ""),
        group_key=fields.get("groupKey", ""),
        summary=bool(flags & SUMMARY),
        ongoing=bool(flags & (ONGOING | FOREGROUND)),
        status=int(match[8]),
        at=float(stamp[1]) if stamp else None,
    )
