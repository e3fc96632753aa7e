"""Who the assistant is: its name and face, and what it knows of the owner, with a live look at it."""

from collections.abc import Awaitable, Callable
from typing import Any

from PySide6.QtCore import QSize, Qt, QTimeZone
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QButtonGroup, QGridLayout, QHBoxLayout, QToolButton, QWidget

from core import icons
from core.identity import Identity
from core.texts import languages
from desktop import blobs, pieces, theme
from desktop.rail import Portrait
from desktop.settings.editors import Choice, Suggested
from desktop.settings.form import Form, Row
from desktop.settings.screen import Page
from desktop.slots import slot
from desktop.words import Words

WIDE = 92
FACE = 46
OWN_NAMES = {"en": "English", "es": "Español", "es-AR": "Español (Argentina)", "es-UY": "Español (Uruguay)"}


class Faces(QWidget):
    """Every face there is; a click wears it."""

    def __init__(self, words: Words, wear: Callable[[str], object]) -> None:
        super().__init__()
        self._words = words
        self._group = QButtonGroup(self)
        self.buttons: dict[str, QToolButton] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(8)
        self._across = 0
        self.setMinimumWidth(4 * 64)
        for key in icons.ICONS:
            button = QToolButton()
            button.setCheckable(True)
            button.setProperty("bordered", True)
            button.setIcon(blobs.icon(key))
            button.setIconSize(QSize(FACE, FACE))
            button.setFixedHeight(66)
            button.setMinimumWidth(56)
            button.setSizePolicy(button.sizePolicy().Policy.Expanding, button.sizePolicy().Policy.Fixed)
            button.setCursor(Qt.CursorShape.PointingHandCursor)
            button.clicked.connect(lambda _=False, key=key: wear(key))
            self._group.addButton(button)
            self.buttons[key] = button
        self._place(8)
        words.changed.connect(self.retitle)
        self.retitle()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place(max(4, min(8, self.width() // WIDE)))

    def _place(self, across: int) -> None:
        if across != self._across:
            self._across = across
            for place, button in enumerate(self.buttons.values()):
                self._grid.addWidget(button, place // across, place % across)

    def retitle(self) -> None:
        for key, button in self.buttons.items():
            pieces.name(button, icons.label(key, self._words.lang), tip=True)

    def choose(self, key: str) -> None:
        if (button := self.buttons.get(key)) is not None:
            button.setChecked(True)


class IdentityPage(Page):
    """Live: every surface changes with it."""

    def __init__(
        self,
        words: Words,
        *,
        identity: Callable[[], Identity],
        icon: Callable[[], str],
        apply: Callable[[str, Any], Awaitable[object]],
        wear: Callable[[str], Awaitable[object]],
    ) -> None:
        super().__init__(words)
        self._identity, self._icon = identity, icon
        now = identity()
        self.portrait = Portrait(96)
        self.names = Form(words, now, apply, names=("agent_name",))
        self.owner = Form(words, now, apply, names=("owner_name",))
        top = QWidget()
        line = QHBoxLayout(top)
        line.setContentsMargins(4, 0, 0, 0)
        line.setSpacing(22)
        line.addWidget(self.portrait)
        line.addWidget(self.names, 1, Qt.AlignmentFlag.AlignVCenter)
        line.addWidget(self.owner, 1, Qt.AlignmentFlag.AlignVCenter)
        self.card(top)
        self._wear = wear
        self.faces = Faces(words, self.wear)
        self.card(self.faces, title="settings.super_agent.icon", help="settings.super_agent.icon.help")
        self.more = Form(words, now, apply, names=("personality", "owner_context"))
        self.card(self.more)

        async def language(value: Any) -> None:
            await apply("language", value)

        async def zone(value: Any) -> None:
            await apply("timezone", value)

        self.language = Row(words, "identity.language", Choice(self._languages()), language)
        zones = sorted(bytes(one.data()).decode() for one in QTimeZone.availableTimeZoneIds())
        self.zone = Row(words, "identity.timezone", Suggested(["", *(z for z in zones if "/" in z)]), zone)
        for row in (self.language, self.zone):
            row.editor.setMaximumWidth(320)
        self.card(self.language, self.zone)
        words.changed.connect(self._relabel)
        theme.current().changed.connect(self.portrait.update)
        self.refresh()

    @slot(str)
    async def wear(self, key: str) -> None:
        """Another face, on every surface at once."""
        await self._wear(key)

    def _languages(self) -> list[tuple[str, str]]:
        known = [*languages(), "es-AR", "es-UY"]
        return [
            ("", self.words("identity.language.system")),
            *((one, OWN_NAMES.get(one, one)) for one in known),
        ]

    def _relabel(self) -> None:
        editor = self.language.editor
        assert isinstance(editor, Choice)
        editor.offer(self._languages())

    def refresh(self) -> None:
        now = self._identity()
        self.portrait.show_face(key=self._icon(), mood="done")
        self.names.take(now)
        self.owner.take(now)
        self.more.take(now)
        self.language.put(now.language)
        self.zone.put(now.timezone)
        self.faces.choose(self._icon())
