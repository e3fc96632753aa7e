"""Arriving messages and the notifications they make."""

from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.simulator.list_screen import preview
from bridge.simulator.model import GROUP, Chat, Message
from bridge.simulator.notifications import (
    AUTO_CANCEL,
    FOREGROUND,
    GROUP_SUMMARY,
    ONGOING,
    ONLY_ALERT_ONCE,
    Line,
    Record,
    chat_tag,
)
from bridge.simulator.whatsapp import WhatsApp
from bridge.simulator.words import say

if TYPE_CHECKING:
    from bridge.simulator.phone import SimPhone

UIDS = {"com.whatsapp": 10148, "com.whatsapp.w4b": 10149, "com.android.shell": 2000}
KEEPS = 25  # messages in one notification


class Inbox:
    """Delivers messages to a phone's WhatsApp and keeps its notifications in step."""

    def __init__(self, phone: "SimPhone") -> None:
        self._phone = phone

    def receive(self, which: str, text: str, *, sender: str, kind: str, extra: dict[str, object]) -> Message:
        phone, app = self._phone, self._phone.whatsapp
        chat = app.find(which)
        message = replace(Message(text, phone.now(), sender=sender, kind=kind), **extra)  # type: ignore[arg-type]
        watched = phone.usable and phone.app is app and not app.modal
        seen = watched and app.open_chat_shown is chat
        app.deliver(chat, message, seen=seen)
        if seen:
            app.read_chats.append(chat.id)
        elif not (phone.awake and phone.app is app) and not chat.muted and not chat.archived:
            self.notify(app, chat, message)
        return message

    def notify(self, app: WhatsApp, chat: Chat, message: Message) -> None:
        """Post or update the chat's notification, then the summary of all."""
        phone, faults = self._phone, self._phone.faults
        package, user = app.package, 0
        if faults.is_set("other_user"):
            package, user = "com.whatsapp.w4b", 10
        uid = UIDS[package] + 100000 * user
        text = preview(message, replace(chat, kind="person"), app.locale)
        if message.kind == "text" and not message.deleted:
            text = message.text  # a notification keeps the line ends
        if faults.is_set("sensitive_hidden"):
            text = say(app.locale, "sensitive")
        sender = message.sender or chat.title
        group = chat.kind == GROUP
        line = Line(sender, text, message.at)
        if not faults.is_set("only_summary"):
            tag = chat_tag(chat.id, newline=phone.android <= 11)
            old = next((r for r in phone.notifications if r.tag == tag and r.user == user), None)
            record = Record(
                package,
                uid,
                1,
                tag,
                "group_chat_defaults_2" if group else "individual_chat_defaults_1",
                f"{chat.title}: {sender}" if group else chat.title,
                text,
                message.at,
                user=user,
                shortcut=chat.id,
                group_key="group_key_messages",
                conversation=chat.title if group else "",
                me=say(app.locale, "you"),
                lines=[*(old.lines if old else ()), line][-KEEPS:],
                row=message.id,
            )
            for _ in range(
                1 + int(faults.number("update_storm", 12) if faults.is_set("update_storm") else 1)
            ):
                self.post(record)
        pending = [r for r in phone.notifications if r.package == package and not r.is_summary]
        count = max(1, sum(len(r.lines) for r in pending))
        several = len(pending) > 1
        title = "WhatsApp" if several else chat.title
        words = say(app.locale, "new_messages", n=count, m=len(pending)) if several else text
        flags = ONLY_ALERT_ONCE | AUTO_CANCEL | GROUP_SUMMARY
        self.post(
            Record(
                package,
                uid,
                1,
                None,
                "silent_notifications_3",
                title,
                words,
                message.at,
                user=user,
                group_key="group_key_messages",
                flags=flags,
            )
        )
        if faults.is_set("noise_records"):
            self._noise(package, uid)

    def post(self, record: Record) -> None:
        """Post or update by key, with its line in the event log."""
        phone = self._phone
        at = next((i for i, r in enumerate(phone.notifications) if r.key == record.key), None)
        if at is None:
            phone.notifications.insert(0, record)
        else:
            phone.notifications[at] = record
        brief = record.brief(phone.android, phone.faults)
        fields = (
            f"{record.uid},4821,{record.package},{record.id},{record.tag or 'NULL'},{record.user},{brief}"
        )
        phone.log_event("notification_enqueue", f"[{fields},{0 if at is None else 1}]")

    def cancel(self, record: Record, reason: int) -> None:
        phone = self._phone
        phone.notifications.remove(record)
        phone.log_event("notification_canceled", f"[{record.key},{reason},1200,1200,0,-1,-1,NULL]")

    def clear(self, chat: Chat) -> None:
        """The chat was read: its notification goes, and the summary with the last one."""
        for record in [r for r in self._phone.notifications if r.shortcut == chat.id]:
            self.cancel(record, 8)
        summaries = [r for r in self._phone.notifications if r.is_summary]
        for summary in summaries:
            if not any(r.package == summary.package and r.lines for r in self._phone.notifications):
                self.cancel(summary, 8)

    def post_shell(self, tag: str, title: str, lines: list[tuple[str, str]], text: str) -> None:
        """What `cmd notification post` makes, as com.android.shell."""
        now = self._phone.now()
        record = Record(
            "com.android.shell",
            2000,
            2020,
            tag,
            "shell_cmd",
            title,
            text,
            now,
            flags=0,
            category="",
            lines=[Line(who, said, now) for who, said in lines],
            conversation=title if lines else "",
        )
        self.post(record)

    def _noise(self, package: str, uid: int) -> None:
        phone, now = self._phone, self._phone.now()
        for id, channel, text, flags in (
            (7, "other_notifications@1", say(phone.locale, "checking"), ONGOING | FOREGROUND),
            (23, "voip_notification_11", say(phone.locale, "call"), ONGOING),
            (5, "chat_history_backup@1", say(phone.locale, "backup"), ONGOING | FOREGROUND),
        ):
            self.post(
                Record(
                    package, uid, id, None, channel, "WhatsApp", text, now, flags=flags, category="service"
                )
            )
