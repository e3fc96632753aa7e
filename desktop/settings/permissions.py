"""What the agent may do by itself: the mode, how risk is looked at, and tools that are always or never asked about."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QRadioButton, QVBoxLayout, QWidget

from core.errors import ApxError
from desktop import pieces
from desktop.flow import Wrap
from desktop.settings.editors import Choice, Items, Switch
from desktop.settings.form import Row
from desktop.settings.plain import Now, Set, under
from desktop.settings.screen import Page
from desktop.slots import slot
from desktop.words import Words

MODES = ("automatico", "permiso", "total")
LEVELS = ("LOW", "MEDIUM", "HIGH")


class Picks(QWidget):
    """Tools as buttons that stay pressed; one that is not there now stays in the list all the same."""

    changed = Signal()

    def __init__(self, words: Words, tools: Callable[[], Sequence[str]]) -> None:
        super().__init__()
        self._words, self._tools = words, tools
        self.buttons: dict[str, pieces.Button] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 4, 0, 0)
        words.changed.connect(self.retitle)

    def retitle(self) -> None:
        for name, button in self.buttons.items():
            button.setText(self._words.tool(name))
            button.setToolTip(name)

    def value(self) -> list[str]:
        return sorted(name for name, button in self.buttons.items() if button.isChecked())

    def put(self, value: Any) -> None:
        names = sorted({*self._tools(), *value})
        if names != list(self.buttons):
            pieces.clear(self._column)
            self.buttons = {name: self._button() for name in names}
            self._column.addWidget(Wrap(*self.buttons.values(), gap=6))
            self.retitle()
        for name, button in self.buttons.items():
            button.setChecked(name in value)

    def wrong(self, is_wrong: bool) -> None:
        """Every choice of them is a good one."""

    def _button(self) -> pieces.Button:
        button = pieces.button(press=partial(self.changed.emit))
        button.setCheckable(True)
        button.setProperty("small", True)
        button.setProperty("segment", True)
        return button


class PermissionsPage(Page):
    """What the agent may do without asking, in plain words."""

    def __init__(self, words: Words, *, now: Now, change: Set, tools: Callable[[], Sequence[str]]) -> None:
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
        self._risk(change)
        self._lists(change, tools)
        words.changed.connect(self.retitle)
        self.retitle()
        self.refresh()

    def _risk(self, change: Set) -> None:
        words, apply = self.words, under("super_agent.security_risk", change)

        async def enabled(value: Any) -> None:
            await apply("enabled", value)

        async def level(value: Any) -> None:
            await apply("confirm_at", value)

        async def unknown(value: Any) -> None:
            await apply("confirm_unknown", value)

        self.risk = Row(words, "settings.risk.enabled", Switch(), enabled, side=True)
        self.level = Row(words, "settings.risk.confirm_at", Choice([(one, "") for one in LEVELS]), level)
        self.level.editor.setMaximumWidth(320)
        self.unknown = Row(words, "settings.risk.confirm_unknown", Switch(), unknown, side=True)
        self.card(self.risk, self.level, self.unknown)

    def _lists(self, change: Set, tools: Callable[[], Sequence[str]]) -> None:
        words = self.words

        async def allowed(value: Any) -> None:
            await change("super_agent.allowed_tools", value)

        async def denied(value: Any) -> None:
            await change("super_agent.denied_tools", value)

        self.allowed = Row(words, "settings.allowed_tools", Picks(words, tools), allowed)
        self.denied = Row(words, "settings.denied_tools", Items(), denied)
        self.card(self.allowed)
        self.card(self.denied)

    def retitle(self) -> None:
        levels = [(one, self.words(f"settings.risk.confirm_at.{one}")) for one in LEVELS]
        self.level.editor.offer(levels)  # type: ignore[attr-defined]
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
        agent = self._now().super_agent
        self.modes[agent.permission_mode].setChecked(True)
        self.risk.put(agent.security_risk.enabled)
        self.level.put(agent.security_risk.confirm_at)
        self.unknown.put(agent.security_risk.confirm_unknown)
        for row in (self.level, self.unknown):
            row.setVisible(agent.security_risk.enabled)
        self.allowed.put(agent.allowed_tools)
        self.denied.put(agent.denied_tools)
