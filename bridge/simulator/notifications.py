"""Notifications as the system keeps them, and as `dumpsys notification` and the event log print them.

The formats differ by Android version; what a message says is printed raw, newlines and all, as the real
dump does.
"""

import base64
import hashlib
import zlib
from dataclasses import dataclass, field
from datetime import datetime

from bridge.simulator.faults import Faults

GROUP_SUMMARY, ONGOING, ONLY_ALERT_ONCE, AUTO_CANCEL, FOREGROUND = 0x200, 0x2, 0x8, 0x10, 0x40
_FLAG_NAMES = {
    ONGOING: "ONGOING_EVENT",
    ONLY_ALERT_ONCE: "ONLY_ALERT_ONCE",
    AUTO_CANCEL: "AUTO_CANCEL",
    FOREGROUND: "FOREGROUND_SERVICE",
    GROUP_SUMMARY: "GROUP_SUMMARY",
}


@dataclass(slots=True)
class Line:
    """One message inside a notification."""

    sender: str
    text: str
    at: datetime


@dataclass(slots=True)
class Record:
    """One posted notification."""

    package: str
    uid: int
    id: int
    tag: str | None
    channel: str
    title: str
    text: str
    at: datetime
    user: int = 0
    shortcut: str = ""
    group_key: str = ""
    conversation: str = ""  # of groups
    flags: int = ONLY_ALERT_ONCE
    category: str = "msg"
    me: str = "Tú"
    lines: list[Line] = field(default_factory=list)
    row: int = 0

    @property
    def key(self) -> str:
        return f"{self.user}|{self.package}|{self.id}|{self.tag or 'null'}|{self.uid}"

    @property
    def is_summary(self) -> bool:
        return bool(self.flags & GROUP_SUMMARY)

    def brief(self, android: int, faults: Faults) -> str:
        """`Notification(...)`, which the dump's header and the event log share."""
        named = android >= 15 or faults.is_set("named_flags")
        if named:
            flags = "|".join(name for bit, name in _FLAG_NAMES.items() if self.flags & bit) or "0"
            defaults = "0"
        else:
            flags, defaults = f"0x{self.flags:x}", "0x0"
        group = f" groupKey={self.group_key}" if self.group_key else ""
        category = f" category={self.category}" if self.category else ""
        return (
            f"Notification(channel={self.channel} shortcut={self.shortcut or 'null'} "
            "contentView=null vibrate=null "
            f"sound=null defaults={defaults} flags={flags} color=0xff075e54{category}{group} "
            "sortKey=1 actions=2 "
            f"vis=PRIVATE publicVersion=Notification(channel={self.channel} shortcut=null contentView=null "
            f"vibrate=null sound=null defaults={defaults} flags={flags} color=0xff075e54 vis=PUBLIC))"
        )


def chat_tag(chat_id: str, *, newline: bool) -> str:
    """WhatsApp's per-chat tag: a hash; older versions leave a line end behind it."""
    return base64.b64encode(hashlib.sha256(chat_id.encode()).digest()).decode() + ("\n" if newline else "")


def dump(records: list[Record], *, android: int, faults: Faults, noredact: bool, package: str = "") -> str:
    """`dumpsys notification [--noredact] [--package P]`."""
    if faults.strike("dumpsys_timeout"):
        return "\n*** SERVICE 'notification' DUMP TIMEOUT (10000ms) EXPIRED ***\n\n"
    redact = not noredact or faults.is_set("redacted_dump")
    shown = [r for r in records if not package or r.package == package]
    parts = ["Current Notification Manager state:\n", "  Notification List:\n"]
    parts += [_record(r, android, faults, redact) for r in shown]
    parts += [
        "  \n",
        "  Snoozed notifications:\n",
        "  Usage Stats:\n",
        "    AggregatedStats{key='__global'}\n",
    ]
    for r in shown[:1]:
        parts.append(
            f"  mArchive=Archive (25 notifications)\n    StatusBarNotification(pkg={r.package} "
            f"user=UserHandle{{{r.user}}} id={r.id} tag={r.tag or 'null'} key={r.key}: "
            f"{r.brief(android, faults)})\n"
        )
    return "".join(parts)


def _text(value: str, redact: bool, kind: str = "String") -> str:
    return f"{kind} [length={len(value)}]" if redact else f"{kind} ({value})"


def _record(r: Record, android: int, faults: Faults, redact: bool) -> str:
    glued = android <= 10 or faults.is_set("glued_key")
    head = (
        f"    NotificationRecord(0x{zlib.crc32(r.key.encode()) & 0xFFFFFFF:08x}: pkg={r.package} "
        f"user=UserHandle{{{r.user}}} "
    )
    head += f"id={r.id} tag={r.tag or 'null'} "
    head += (
        f"key={r.key}appImportanceLocked=false: "
        if glued
        else f"importance={2 if r.is_summary else 4} key={r.key}: "
    )
    ms = int(r.at.timestamp() * 1000)
    kind = "SpannableString" if faults.is_set("spannable_title") else "String"
    notified = f"0x{r.flags:x}"
    out = [
        f"{head}{r.brief(android, faults)})",
        f"      uid={r.uid} userId={r.user}",
        f"      opPkg={r.package}",
        f"      icon=Icon(typ=RESOURCE pkg={r.package} id=0x7f080a8c)",
        f"      flags={notified}",
        "      pri=1" if not r.is_summary else "      pri=0",
        f"      key={r.key}",
        "      seen=true",
        f"      groupKey={r.user}|{r.package}|g:{r.group_key}" if r.group_key else f"      groupKey={r.key}",
        "      notification=",
        "            fullscreenIntent=null",
        f"            contentIntent=PendingIntent{{3fd1a7e: PendingIntentRecord{{91a2c6f "
        f"{r.package} startActivity}}}}",
        "            number=0",
        "            groupAlertBehavior=0",
    ]
    if not faults.is_set("no_time"):
        out.append(f"            when={ms}")
    ticker = r.text if not redact else (r.text[:8] + "..." if len(r.text) > 16 else "...")
    out += [f"            tickerText={ticker}", "            vis=PRIVATE", "            contentView=null"]
    out += ["            color=0xff075e54", "            timeout=0", "            extras={"]
    extra = "                "
    out += [
        f"{extra}android.title={_text(r.title, redact, kind)}",
        f"{extra}android.reduced.images=Boolean (true)",
    ]
    out.append(f"{extra}android.subText=null")
    if r.lines:
        out.append(f"{extra}android.template=String (android.app.Notification$MessagingStyle)")
    out += [
        f"{extra}android.showChronometer=Boolean (false)",
        f"{extra}android.text={_text(r.text, redact)}",
        f"{extra}android.progress=Integer (0)",
        f"{extra}android.progressMax=Integer (0)",
        f"{extra}android.appInfo=ApplicationInfo (ApplicationInfo{{8e9bd5c {r.package}}})",
    ]
    if r.lines:
        out.append(f"{extra}android.selfDisplayName={_text(r.me, redact)}")
        if r.conversation:
            out.append(f"{extra}android.conversationTitle={_text(r.conversation, redact)}")
            out.append(f"{extra}android.hiddenConversationTitle={_text(r.conversation, redact)}")
        out.append(f"{extra}android.messages=Parcelable[] ({len(r.lines)})")
        if not redact:
            out += [f"{extra}  [{i}] {_bundle(line, faults)}" for i, line in enumerate(r.lines)]
    out.append(f"{extra}android.showWhen=Boolean (true)")
    if r.lines:
        out += [
            f"{extra}android.messagingUser=Person (android.app.Person@4b12f0a)",
            f"{extra}last_row_id=Long ({r.row})",
            f"{extra}android.isGroupConversation=Boolean ({'true' if r.conversation else 'false'})",
        ]
    out += [
        "            }",
        "      stats=SingleNotificationStats{posttimeElapsedMs=1}",
        "      mContactAffinity=0.0",
    ]
    if android >= 15:
        out.append("      mSensitiveContent=false")
    if not faults.is_set("no_time"):
        out += [
            f"      mRankingTimeMs={ms}",
            f"      mCreationTimeMs={ms}",
            f"      mVisibleSinceMs={ms}",
            f"      mUpdateTimeMs={ms}",
        ]
    out.append(f"      effectiveNotificationChannel=NotificationChannel{{mId='{r.channel}', mImportance=4}}")
    if r.shortcut:
        out.append(f"      shortcut={r.shortcut} found valid? true")
    return "\n".join(out) + "\n"


def _bundle(line: Line, faults: Faults) -> str:
    time = "" if faults.is_set("no_time") else f", time={int(line.at.timestamp() * 1000)}"
    return (
        f"Bundle[{{extras=Bundle[{{}}], sender_person=android.app.Person@5a3f0c1, sender={line.sender}, "
        f"text={line.text}{time}}}]"
    )
