"""Pages that are only forms: what files may leave, what the agent may do, how the desktop looks, the phone."""

from collections.abc import Awaitable, Callable
from typing import Any

from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QRadioButton, QVBoxLayout, QWidget

from core.errors import ApxError
from core.settings import Settings
from desktop import pieces
from desktop.settings.form import Apply, Form
from desktop.settings.screen import Page
from desktop.slots import slot
from desktop.words import Words

Now = Callable[[], Settings]
Set = Callable[[str, Any], Awaitable[object]]
MODES = ("automatico", "permiso", "total")


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
    """Which phone and app, and how conversations are treated."""

    def __init__(self, words: Words, *, now: Now, change: Set) -> None:
        super().__init__(words)
        self._now = now
        self.phone = Form(words, now().phone, under("phone", change))
        self.whatsapp = Form(words, now().whatsapp, under("whatsapp", change))
        self.card(self.phone, title="settings.page.phone")
        self.card(self.whatsapp, title="settings.whatsapp")

    def refresh(self) -> None:
        self.phone.take(self._now().phone)
        self.whatsapp.take(self._now().whatsapp)


class AppearancePage(Page):
    """Light, dark, and whether the mascot is there."""

    def __init__(self, words: Words, *, now: Now, change: Set) -> None:
        super().__init__(words)
        self._now = now
        self.form = Form(words, now().desktop, under("desktop", change))
        self.card(self.form)

    def refresh(self) -> None:
        self.form.take(self._now().desktop)


class PermissionsPage(Page):
    """What the agent may do without asking, in plain words."""

    def __init__(self, words: Words, *, now: Now, change: Set) -> None:
        super().__init__(words)
        self._now, self._change = now, change
        self.modes: dict[str, QRadioButton] = {}
        self._texts: dict[str, tuple[QRadioButton, Any]] = {}
        box = QWidget()
        column = QVBoxLayout(box)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(14)
        group = QButtonGroup(self)
        for mode in MODES:
            button = QRadioButton()
            button.clicked.connect(lambda _=False, mode=mode: self.choose(mode))
            help_text = pieces.label(role="small", wrap=True)
            inset = QHBoxLayout()
            inset.setContentsMargins(28, 0, 0, 0)
            inset.addWidget(help_text)
            line = QVBoxLayout()
            line.setSpacing(0)
            line.addWidget(button)
            line.addLayout(inset)
            column.addLayout(line)
            group.addButton(button)
            self.modes[mode] = button
            self._texts[mode] = (button, help_text)
        self.said = pieces.label(role="small", wrap=True)
        self.said.hide()
        self.card(
            box,
            self.said,
            title="settings.super_agent.permission_mode",
            help="settings.super_agent.permission_mode.help",
        )
        words.changed.connect(self.retitle)
        self.retitle()
        self.refresh()

    def retitle(self) -> None:
        for mode, (button, help_text) in self._texts.items():
            key = f"settings.super_agent.permission_mode.{mode}"
            button.setText(self.words(key))
            help_text.setText(self.words(f"{key}.help"))
            button.setAccessibleDescription(help_text.text())

    @slot(str)
    async def choose(self, mode: str) -> None:
        try:
            await self._change("super_agent.permission_mode", mode)
        except ApxError as error:
            pieces.put(self.said, "role", "error")
            self.said.setText(str(error))
        else:
            pieces.put(self.said, "role", "small")
            self.said.setText(self.words("settings.applied"))
        self.said.show()
        self.refresh()

    def refresh(self) -> None:
        self.modes[self._now().super_agent.permission_mode].setChecked(True)
