"""Pages that are only forms: what files may leave, how the desktop looks, the phone."""

from collections.abc import Awaitable, Callable
from typing import Any

from PySide6.QtGui import QShowEvent

from core.settings import Settings
from desktop.checks import Checklist, Examine
from desktop.settings.form import Apply, Form
from desktop.settings.screen import Page
from desktop.words import Words

Now = Callable[[], Settings]
Set = Callable[[str, Any], Awaitable[object]]


def under(prefix: str, change: Set) -> Apply:
    """Changes of one section, by the names of its fields."""

    async def apply(name: str, value: Any) -> None:
        await change(f"{prefix}.{name}", value)

    return apply


class FilesPage(Page):
    """Which kinds of files may reach the owner, and how large they may be."""

    def __init__(self, words: Words, *, now: Now, change: Set) -> None:
        super().__init__(words)
        self._now = now
        delivery = now().file_delivery
        self.kinds = Form(words, delivery.kinds, under("file_delivery.kinds", change))
        self.largest = Form(words, delivery, under("file_delivery", change))
        self.card(self.kinds, title="settings.file_delivery.kinds", help="settings.file_delivery.kinds.help")
        self.card(self.largest)

    def refresh(self) -> None:
        self.kinds.take(self._now().file_delivery.kinds)
        self.largest.take(self._now().file_delivery)


class PhonePage(Page):
    """Which phone and which WhatsApp on it."""

    def __init__(self, words: Words, *, now: Now, change: Set) -> None:
        super().__init__(words)
        self._now = now
        self.phone = Form(words, now().phone, under("phone", change))
        self.card(self.phone)

    def refresh(self) -> None:
        self.phone.take(self._now().phone)


class AppearancePage(Page):
    """Light, dark, and whether the mascot is there."""

    def __init__(self, words: Words, *, now: Now, change: Set) -> None:
        super().__init__(words)
        self._now = now
        self.form = Form(words, now().desktop, under("desktop", change))
        self.card(self.form)

    def refresh(self) -> None:
        self.form.take(self._now().desktop)


class StatePage(Page):
    """What was looked at, with what to do where something is wrong."""

    def __init__(self, words: Words, examine: Examine) -> None:
        super().__init__(words)
        self.checks = Checklist(words, examine)
        self.card(self.checks, title="settings.state", help="settings.state.help")

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.checks.look()
