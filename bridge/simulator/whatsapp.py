"""The app itself: which screen it shows, what taps and keys do to it, and what it sends.

It knows nothing of adb, of windows over it or of geometry; screens call it when something of theirs is
touched.
"""

from collections.abc import Callable
from datetime import datetime

from bridge.simulator.faults import Faults
from bridge.simulator.model import CHANNEL, COMMUNITY, GROUP, PERSON, Chat, Message, Sent, shown_number

MODALS = ("update_required", "two_step_pin", "app_lock", "backup_offer")


class WhatsApp:
    """One installed WhatsApp with its chats; `sent`, `read_chats` and `violations` are what really
    happened."""

    def __init__(
        self, *, locale: str, now: Callable[[], datetime], faults: Faults, package: str = "com.whatsapp"
    ) -> None:
        self.locale = locale
        self.now = now
        self.faults = faults
        self.package = package
        self.version = "2.26.38.73"
        self.chats: list[Chat] = []
        self.unregistered: set[str] = set()  # numbers that are not on WhatsApp
        self.enter_sends = False
        self.twelve_hour: bool | None = None
        self.sent: list[Sent] = []
        self.read_chats: list[str] = []  # chat ids whose unread messages were marked read, in order
        self.opened_chats: list[str] = []
        self.violations: list[str] = []
        self.on_read: Callable[[Chat], None] = lambda chat: None
        self.visible: Callable[[], bool] = lambda: True  # behind a lock, nothing is read
        self.screens: list[tuple[str, str]] = []  # empty: not running
        self.modal = ""
        self.list_offset = 0
        self.chat_offset = 0  # pixels above the end
        self.to_divider = False  # the chat was just opened: show it from its first unread message
        self.divider: tuple[int, int] | None = None  # id of the first unread message, how many
        self.focused = False  # the composer has the focus
        self.keyboard = False
        self.connected = True  # the field has an input connection
        self.last_chat = ""
        self.search = ""

    # what is there

    def find(self, which: str) -> Chat:
        """The chat with this id, title or number."""
        digits = which.lstrip("+").replace(" ", "")
        for chat in self.chats:
            if which in (chat.id, chat.title) or (digits and digits == chat.number):
                return chat
        raise KeyError(f"The simulated WhatsApp has no chat {which!r}.")

    def add(
        self,
        title: str,
        *,
        number: str = "",
        saved: bool = True,
        kind: str = PERSON,
        id: str = "",
        pinned: bool = False,
        muted: bool = False,
        archived: bool = False,
        read_only: bool = False,
    ) -> Chat:
        """Put a chat into the list; a person needs a number."""
        number = number.lstrip("+").replace(" ", "")
        if not id:
            tail = {PERSON: "s.whatsapp.net", "broadcast": "broadcast", CHANNEL: "newsletter"}.get(
                kind, "g.us"
            )
            id = f"{number or 120363000000000000 + len(self.chats)}@{tail}"
        chat = Chat(id=id, title=title or shown_number(number), number=number, saved=saved, kind=kind)
        chat.pinned, chat.muted, chat.archived, chat.read_only = pinned, muted, archived, read_only
        self.chats.append(chat)
        return chat

    def listed(self, *, archived: bool = False) -> list[Chat]:
        """The rows of the list, in its order."""
        rows = [
            c for c in self.chats if c.archived == archived and (c.messages or c.draft or c.kind == COMMUNITY)
        ]
        rows.sort(key=lambda c: (c.last.at.timestamp(), c.last.id) if c.last else (0.0, 0), reverse=True)
        return sorted(rows, key=lambda c: not c.pinned)

    @property
    def screen(self) -> str:
        return self.modal or (self.screens[-1][0] if self.screens else "")

    @property
    def open_chat_shown(self) -> Chat | None:
        """The chat whose composer and bubbles are on the screen."""
        if self.screens and self.screens[-1][0] == "chat":
            return self.find(self.screens[-1][1])
        return None

    @property
    def activity(self) -> str:
        """The class that Android would name for the screen."""
        top = self.screens[-1][0] if self.screens else "list"
        tail = {
            "chat": ".Conversation",
            "selection": ".home.ui.HomeActivity",
            "picker": ".contact.picker.ContactPicker",
            "viewer": ".mediaview.MediaViewActivity",
            "info": ".chatinfo.ContactInfoActivity",
            "call": ".calling.ui.VoipActivity",
        }.get(top, ".home.ui.HomeActivity")
        return self.package + tail

    # coming and going

    def launch(self) -> None:
        """The icon was tapped: where the app was last, or its list."""
        if not self.screens:
            self.screens = [("list", "")]
            self.list_offset = 0
            if self.faults.strike("opens_in_last_chat"):
                self.open(self.find(self.last_chat) if self.last_chat else self.listed()[-1])
        if self.faults.strike("opens_in"):
            where = self.faults.text("opens_in", "search")
            self.screens = [("list", ""), (where, "")]
        for modal in MODALS:
            if self.faults.strike(modal):
                self.modal = modal

    def reset(self) -> None:
        """The process ends: nothing is open any more; drafts stay."""
        self.screens, self.modal = [], ""
        self.list_offset = 0
        self._leave_chat()

    def clear_top(self) -> None:
        """Only the list is left of what was open."""
        self._leave_chat()
        self.screens = [("list", "")] if self.screens else []

    def back(self) -> bool:
        """The BACK key; False when the app has nothing left to close."""
        if self.modal:
            stuck = self.modal in ("update_required", "two_step_pin", "app_lock")
            self.modal = self.modal if stuck else ""
            return not stuck
        if self.keyboard:
            self.keyboard = False
            return True
        if len(self.screens) > 1:
            if self.screens.pop()[0] == "chat":
                self._leave_chat()
            return True
        self.screens = []
        return False

    def open(self, chat: Chat) -> None:
        """Show a chat, which marks it read for everybody to see as soon as it can be seen."""
        if chat.kind == COMMUNITY:
            self.screens.append(("community", chat.id))
            return
        self._leave_chat()
        self.screens = [s for s in self.screens if s[0] != "chat"] + [("chat", chat.id)]
        self.last_chat = chat.id
        self.opened_chats.append(chat.id)
        self.to_divider = chat.unread > 0
        self.chat_offset = 0
        if self.faults.is_set("history_page"):
            chat.loaded = int(self.faults.number("history_page", 15))
        if self.faults.strike("deleted_after_alert") and chat.last and not chat.last.outgoing:
            chat.last.deleted = True
        self.divider = None
        if chat.unread and (fresh := [m for m in chat.messages if not m.outgoing][-chat.unread :]):
            self.divider = (fresh[0].id, chat.unread)
        if self.visible():
            self.mark_read(chat)

    def mark_read(self, chat: Chat) -> None:
        if chat.unread or chat.marked_unread:
            self.read_chats.append(chat.id)
        chat.unread, chat.marked_unread = 0, False
        self.on_read(chat)

    def open_link(self, number: str, text: str) -> None:
        """A wa.me or smsto link: the chat of a number, with words in the composer."""
        if not self.screens:
            self.screens = [("list", "")]
        number = number.lstrip("+")
        if self.faults.strike("not_on_whatsapp") or number in self.unregistered or len(number) < 8:
            self.modal = "not_on_whatsapp:" + shown_number(number)
            return
        chat = next((c for c in self.chats if c.number == number and c.kind == PERSON), None)
        if chat is None:
            chat = self.add("", number=number, saved=False)
        self._leave_chat()
        self.screens = [("list", "")]
        self.open(chat)
        if not text or self.faults.strike("prefill_ignored"):
            return
        chat.draft = chat.draft + text if self.faults.strike("prefill_appended") else text
        self.focused = self.keyboard = True

    def _leave_chat(self) -> None:
        self.focused = self.keyboard = False
        self.connected = True
        self.chat_offset, self.to_divider, self.divider = 0, False, None

    # typing and sending

    def focus(self) -> None:
        self.focused = self.keyboard = self.connected = True

    def type(self, text: str) -> bool:
        """Characters arrive from a keyboard; False when no field takes them."""
        chat = self.open_chat_shown
        if self.screen == "search":
            self.search += text
            return True
        if chat is None or not self.focused or not self.connected or self.modal:
            return False
        chat.draft += text
        return True

    def erase(self, count: int = 1) -> None:
        """The DEL key, or a keyboard helper's "clear"."""
        chat = self.open_chat_shown
        if chat is not None and self.focused:
            chat.draft = chat.draft[:-count] if count else chat.draft

    def enter(self) -> None:
        if self.enter_sends:
            self.send()
        else:
            self.type("\n")

    def send(self) -> None:
        """The send button. With an empty composer its place is the microphone's."""
        chat = self.open_chat_shown
        if chat is None:
            return
        if not chat.draft.strip():
            self.violations.append(f"voice note recorded in {chat.title}")
            return
        if self.faults.strike("send_does_nothing"):
            return
        text, chat.draft = chat.draft.strip(), ""
        waits = self.faults.strike("pending")
        chat.messages.append(
            Message(text, self.now(), outgoing=True, status="pending" if waits else "delivered")
        )
        self.chat_offset, self.divider = 0, None
        self.sent.append(Sent(chat.id, chat.title, text, self.now()))

    def deliver(self, chat: Chat, message: Message, *, seen: bool) -> None:
        """A message arrives; `seen` when its chat is open before somebody's eyes."""
        chat.messages.append(message)
        if chat.loaded is not None:
            chat.loaded += 1
        if not message.outgoing and not seen:
            chat.unread += 1

    def select(self, chat: Chat) -> None:
        """A long press on a row."""
        self.violations.append(f"long press on {chat.title}")
        self.screens.append(("selection", chat.id))

    def touch_forbidden(self, what: str) -> None:
        """Something was touched that nobody may touch on the owner's behalf."""
        self.violations.append(what)


__all__ = ["GROUP", "WhatsApp"]
