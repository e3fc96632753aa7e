"""What `dumpsys notification` and the event log say about messages, without opening any chat.

Message bodies are printed raw, newlines included, into a dump whose structure is its lines: whoever writes to
the owner writes into this text. So a header counts only where Android puts one, outside the extras of another
record and with the package's own uid; a key that occurs twice, or more messages than were announced, marks
the notice as doubtful. Even a clean notice is an alarm and a fallback text, never proof of who wrote.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from bridge.notification_extras import Extras, read_extras
from bridge.wording import clean_name, one_line

SUMMARY, ONGOING, FOREGROUND = 0x200, 0x2, 0x40
_FLAG_NAMES = {"GROUP_SUMMARY": SUMMARY, "ONGOING_EVENT": ONGOING, "FOREGROUND_SERVICE": FOREGROUND}

_LIST = re.compile(r"^ {0,4}Notification List:\s*$")
_OTHER_LIST = re.compile(r"^ {0,4}(?:Enqueued|Snoozed|Archived?)\b.*:\s*$")
_START = "    NotificationRecord(0x"
_HEADER = re.compile(
    r"NotificationRecord\(0x[0-9a-f]+: pkg=(?P<pkg>\S+) user=UserHandle\{(?P<user>-?\d+)\} id=-?\d+ tag=.*?"
    r"(?:\s(?:importance|score|pri)=-?\d+)?\s+"
    r"key=(?P<key>-?\d+\|[^|\s]+\|-?\d+\|.*?\|(?P<uid>\d+)(?:\|[^\s:|]+)?)\s*"
    r"(?:appImportanceLocked=\w+)?: Notification\((?P<rest>.*)",
    re.DOTALL,
)
_HEADER_LINES = 6
_CHAT_CHANNEL = re.compile(r"individual_chat|group_chat|silent_notifications")
_NOT_MESSAGES = {"call", "missed_call", "service", "progress", "transport", "sys", "err", "status", "alarm"}
_COUNTER = re.compile(
    r"\s*\(\d+\s(?:new messages?|messages?|mensajes?(?: nuevos?)?|mensage(?:m|ns)|(?:neue )?Nachrichten?|"
    r"messagg[io]|nouveaux messages?|הודעות)\)$"
)
_JID_NUMBER = re.compile(r"^(\d{6,15})@s\.whatsapp\.net$")
_OWN = {"you", "tú", "vos", "du", "ich", "me", "você", "eu", "vous", "moi", "tu", "io", "את/ה"}
_HIDDEN = re.compile(
    r"sensitive notification content hidden|se ocultó contenido sensible|contenido sensible|"
    r"conteúdo sensível|vertrauliche benachrichtigung|contenu sensible|contenuti sensibili",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NoticeMessage:
    """One message as a notification carries it; a record without a time keeps none."""

    sender: str
    text: str
    time_ms: int | None


@dataclass(frozen=True, slots=True)
class Notice:
    """One conversation among the notifications, or the group's summary when it stands alone."""

    key: str
    user: int
    package: str
    chat: str
    jid: str
    number: str
    group: bool
    messages: tuple[NoticeMessage, ...]
    summary_only: bool = False
    hidden: bool = False
    doubtful: bool = False
    text: str = ""  # the record's own line: all that a summary has
    channel: str = ""
    row_id: int | None = None


@dataclass(slots=True)
class _Record:
    """The lines of one record with what its header said."""

    key: str
    user: int
    uid: int
    package: str
    fields: dict[str, str]
    flags: int
    lines: list[str] = field(default_factory=list)
    doubtful: bool = False


def parse_flags(text: str) -> int:
    """Flags as bits, from the hexadecimal of old Androids or the names of new ones."""
    if text.startswith("0x"):
        return int(text, 16)
    return sum({_FLAG_NAMES.get(name, 0) for name in text.split("|")})


def talks(channel: str) -> bool:
    """Whether a channel carries what people write."""
    return bool(_CHAT_CHANNEL.search(channel))


def header_fields(rest: str) -> dict[str, str]:
    """The fields of `Notification(...)` that matter, those of a public version inside it left out."""
    own = rest.split("publicVersion=", 1)[0]
    found: dict[str, str] = {}
    for match in re.finditer(r"(?:^|\s)(channel|shortcut|flags|category|groupKey)=([^\s)]+)", own):
        found.setdefault(match[1], "" if match[2] == "null" else match[2])
    return found


def _record(header: str) -> _Record | None:
    match = _HEADER.search(header)
    if match is None:
        return None
    fields = header_fields(match["rest"])
    return _Record(
        key=re.sub(r"\s", "", match["key"]),
        user=int(match["user"]),
        uid=int(match["uid"]),
        package=match["pkg"],
        fields=fields,
        flags=parse_flags(fields.get("flags", "0x0")),
    )


def _header_at(lines: list[str], at: int) -> tuple[str, int]:
    """The header that starts here and how many lines it takes: a newline in the tag spreads it over three."""
    for count in range(1, _HEADER_LINES + 1):
        header = "\n".join(lines[at : at + count])
        if ": Notification(" in header:
            return header, count
        if at + count < len(lines) and lines[at + count].startswith(_START):
            break
    return lines[at], 1


class _Reader:
    """Cuts the block under "Notification List:" into records; texts of messages cannot start one."""

    def __init__(self, uid: int | None) -> None:
        self.records: list[_Record] = []
        self._app_id = None if uid is None else uid % 100000
        self._app_ids: dict[str, int] = {}
        self._extras_end: str | None = None
        self._ticker: str | None = None

    def read(self, lines: list[str], package: str) -> None:
        """Take every record of the list; `package` is the one whose uid was given."""
        at, listed = 0, False
        while at < len(lines):
            line, step = lines[at], 1
            if self._extras_end is not None:
                self._keep(line)
                if line.rstrip("\r") == self._extras_end:
                    self._extras_end = None
            elif self._ticker is not None:  # it repeats the message, so it too may hold anything
                self._keep(line)
                if re.match(rf"{self._ticker}[\w.]+=", line):
                    self._ticker = None
                    self._open(line)
            elif _LIST.match(line):
                listed = True
            elif listed and _OTHER_LIST.match(line):
                break
            elif listed and line.startswith(_START):
                step = self._begin(lines, at, package)
            elif listed:
                self._keep(line)
                self._open(line)
            at += step

    def _open(self, line: str) -> None:
        """What begins here may hold the text of a message."""
        indent = line[: len(line) - len(line.lstrip())]
        if line.strip() == "extras={" and self.records:
            self._extras_end = indent + "}"
        elif line.startswith(f"{indent}tickerText=") and self.records:
            self._ticker = indent

    def _keep(self, line: str) -> None:
        if self.records:
            self.records[-1].lines.append(line)

    def _begin(self, lines: list[str], at: int, package: str) -> int:
        header, step = _header_at(lines, at)
        record = _record(header)
        if record is None:
            self._keep(lines[at])
            return 1
        # The first header of a package stands before any text of its messages: its uid is the package's.
        known = self._app_ids.setdefault(
            record.package,
            self._app_id if record.package == package and self._app_id is not None else record.uid % 100000,
        )
        if record.uid % 100000 != known or not record.key.startswith(f"{record.user}|{record.package}|"):
            if self.records:
                self.records[-1].doubtful = True
            self._keep(lines[at])
            return 1
        self.records.append(record)
        return step


def notices(
    text: str,
    package: str,
    *,
    user: int | None = None,
    uid: int | None = None,
    keys: Collection[str] | None = None,
) -> list[Notice]:
    """The conversations that `dumpsys notification --noredact` shows for a package, own echoes left out.

    `uid` and `keys` (from `cmd notification list`) are what a forged record cannot know; give them when there
    are any.
    """
    reader = _Reader(uid)
    reader.read(text.split("\n"), package)
    wanted = [r for r in reader.records if r.package == package and (user is None or r.user == user)]
    known = None if keys is None else {re.sub(r"\s", "", key) for key in keys}
    if known is not None:
        wanted = [r for r in wanted if r.key in known]
    twice = {r.key for r in wanted if sum(r.key == other.key for other in wanted) > 1}
    found: list[Notice] = []
    summaries: list[Notice] = []
    for record in wanted:
        notice = _notice(record)
        if notice is None:
            continue
        if record.key in twice:
            notice = replace(notice, doubtful=True)
        (summaries if notice.summary_only else found).append(notice)
    covered = {notice.user for notice in found}
    return found + [notice for notice in summaries if notice.user not in covered]


def _notice(record: _Record) -> Notice | None:
    extras = read_extras(record.lines)
    category = record.fields.get("category", "")
    channel = record.fields.get("channel", "")
    summary = bool(record.flags & SUMMARY)
    chats = bool(extras.messages) or category == "msg" or talks(channel)
    if not chats and record.fields.get("groupKey") != "group_key_messages":
        return None
    if category in _NOT_MESSAGES or (record.flags & (ONGOING | FOREGROUND) and not extras.messages):
        return None
    jid = record.fields.get("shortcut", "")
    group = extras.value("android.isGroupConversation") == "true" or jid.endswith("@g.us")
    number = _JID_NUMBER.match(jid)
    line = extras.value("android.text") or extras.value("android.bigText")
    messages = _messages(record, extras, group, line, summary)
    if messages is None:
        return None
    return Notice(
        key=record.key,
        user=record.user,
        package=record.package,
        chat=_chat(extras, group),
        jid=jid,
        number=number[1] if number else "",
        group=group,
        messages=messages,
        summary_only=summary and not extras.messages,
        hidden=extras.redacted or bool(_HIDDEN.search(line)),
        doubtful=record.doubtful or extras.doubtful,
        text=line,
        channel=channel,
        row_id=_number(extras.value("last_row_id")),
    )


def _messages(
    record: _Record, extras: Extras, group: bool, line: str, summary: bool
) -> tuple[NoticeMessage, ...] | None:
    """What others wrote; None when all there is are the owner's own words."""
    if not extras.messages:
        if summary or extras.redacted or not line:
            return ()
        return (NoticeMessage("" if group else _chat(extras, group), line, _when(record)),)
    myself = clean_name(extras.value("android.selfDisplayName")).casefold()
    kept = []
    for message in extras.messages:
        sender = clean_name(message.sender)
        name = sender.casefold()
        own = not message.has_sender or name == myself if myself else not message.has_sender or name in _OWN
        if not own:
            kept.append(NoticeMessage(sender, message.text, message.time_ms))
    return tuple(kept) if kept else None


def _when(record: _Record) -> int | None:
    for line in record.lines:
        if match := re.match(r"^\s+when=(\d{10,})\s*$", line):
            return int(match[1])
        if line.strip() == "extras={":
            break
    return None


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _chat(extras: Extras, group: bool) -> str:
    title = one_line(clean_name(extras.value("android.title")))
    if not group:
        return _COUNTER.sub("", title)
    hidden = one_line(clean_name(extras.value("android.hiddenConversationTitle")))
    if hidden:
        return hidden
    named = one_line(clean_name(extras.value("android.conversationTitle")))
    if named:
        return _COUNTER.sub("", named)
    sender = clean_name(extras.messages[-1].sender) if extras.messages else ""
    if sender and title.endswith(f": {sender}"):
        title = title[: -len(sender) - 2]
    return _COUNTER.sub("", title)
