"""The agent's place among the small icons of the desktop, where there is such a place."""

import sys
from functools import partial

from PySide6.QtCore import QObject, Signal, SignalInstance
from PySide6.QtGui import QAction, QCursor, QGuiApplication
from PySide6.QtWidgets import QMenu, QSystemTrayIcon

from core import icons
from core.texts import t
from desktop import blobs, theme
from desktop.moods import Mood


class Tray(QObject):
    """An icon with a menu. It only says what was asked for; without a system tray it is simply absent."""

    window_toggled = Signal()
    mascot_toggled = Signal()
    round_asked = Signal()
    settings_asked = Signal()
    quit_asked = Signal()

    def __init__(
        self, key: str = icons.DEFAULT, name: str = "", lang: str = "en", parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._key, self._name, self._lang = key, name, lang
        self._mood = Mood.IDLE
        self._window_shown = self._mascot_shown = False
        self.menu = QMenu()
        self._window = self._add(self.window_toggled)
        self._mascot = self._add(self.mascot_toggled)
        self.menu.addSeparator()
        self._round = self._add(self.round_asked, "rounds")
        self._settings = self._add(self.settings_asked, "settings")
        self.menu.addSeparator()
        self._quit = self._add(self.quit_asked)
        self.icon = QSystemTrayIcon(self)
        self.icon.activated.connect(self._activated)
        if sys.platform != "darwin":  # there a menu of its own would open on the left click too
            self.icon.setContextMenu(self.menu)
        theme.current().changed.connect(self._draw)
        self._draw()
        self._describe()

    def _add(self, asked: SignalInstance, picture: str = "") -> QAction:
        action = self.menu.addAction("")
        action.setData(picture)
        action.triggered.connect(partial(self._ask, asked))
        return action

    def _ask(self, asked: SignalInstance, checked: bool = False) -> None:
        asked.emit()

    @property
    def present(self) -> bool:
        """Whether people can see it, so that a closed window can be found again."""
        return QSystemTrayIcon.isSystemTrayAvailable() and self.icon.isVisible()

    def show(self) -> None:
        """Appear, now or when the desktop's tray does."""
        if QGuiApplication.platformName() != "offscreen":  # no desktop, no tray, only warnings
            self.icon.show()

    def hide(self) -> None:
        """Leave the tray."""
        self.icon.hide()

    def set_icon(self, key: str) -> None:
        """Wear another face."""
        self._key = key
        self._draw()

    def set_mood(self, mood: str) -> None:
        """Show how the agent is doing."""
        if Mood(mood) is not self._mood:
            self._mood = Mood(mood)
            self._draw()
            self._describe()

    def set_name(self, name: str) -> None:
        """The name in the tooltip."""
        self._name = name
        self._describe()

    def set_language(self, lang: str) -> None:
        """Speak another language."""
        self._lang = lang
        self._describe()

    def set_window_shown(self, shown: bool) -> None:
        """So that the menu offers the opposite."""
        self._window_shown = shown
        self._describe()

    def set_mascot_shown(self, shown: bool) -> None:
        """So that the menu offers the opposite."""
        self._mascot_shown = shown
        self._describe()

    def set_round_possible(self, possible: bool) -> None:
        """A round needs a phone."""
        self._round.setEnabled(possible)

    def _draw(self) -> None:
        self.icon.setIcon(blobs.icon(self._key, self._mood))
        for action in self.menu.actions():
            if picture := action.data():
                action.setIcon(theme.icon(picture))

    def _describe(self) -> None:
        mood = t(f"shell.mood.{self._mood}", self._lang)
        self.icon.setToolTip(t("shell.state", self._lang, name=self._name, mood=mood) if self._name else mood)
        for action, key in (
            (self._window, "hide_window" if self._window_shown else "show_window"),
            (self._mascot, "hide_mascot" if self._mascot_shown else "show_mascot"),
            (self._round, "round"),
            (self._settings, "settings"),
            (self._quit, "quit"),
        ):
            action.setText(t(f"shell.tray.{key}", self._lang))

    def _activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason is QSystemTrayIcon.ActivationReason.Trigger:
            self.window_toggled.emit()
        elif reason is QSystemTrayIcon.ActivationReason.Context and sys.platform == "darwin":
            self.menu.popup(QCursor.pos())
