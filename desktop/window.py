"""The main window: the rail at the left, one screen at the right. It is on the screen before the core is open."""

import json
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QByteArray, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QKeySequence, QPaintEvent, QResizeEvent, QShortcut
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMainWindow, QStackedWidget, QVBoxLayout, QWidget

from core.paths import Home, replace
from desktop import pieces
from desktop.pieces import Notice
from desktop.rail import Rail
from desktop.words import Words

FOLDS_BELOW = 900
SCREENS = (
    ("guide", "check"),
    ("chat", "chat"),
    ("rooms", "rooms"),
    ("rounds", "rounds"),
    ("phone", "phone"),
    ("tasks", "tasks"),
    ("activity", "activity"),
    ("jobs", "agents"),
    ("memory", "memory"),
    ("settings", "settings"),
)


class Window(QMainWindow):
    """Shows the screens it is given; a screen that has not come yet shows that it is being opened."""

    painted = Signal()
    closing = Signal()
    opened = Signal(str)
    searched = Signal()
    retried = Signal()

    def __init__(self, words: Words, home: Home, hides: Callable[[], bool]) -> None:
        super().__init__()
        self._words, self._home, self._hides = words, home, hides
        self._seen = False
        self._name = "APX"
        self.setMinimumSize(560, 420)
        self.rail = Rail(words)
        self.stack = QStackedWidget()
        self.notice = Notice()
        self.notice.pressed.connect(self.retried)
        self.failure = ""
        self._screens: dict[str, QWidget] = {}
        self.current = "chat"
        ground = QWidget()
        line = QHBoxLayout(ground)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(0)
        line.addWidget(self.rail)
        line.addWidget(self.stack, 1)
        self.stack.addWidget(self.notice)
        self.setCentralWidget(ground)
        self.rail.chosen.connect(self.open)
        for number, (key, icon) in enumerate(SCREENS):
            self.rail.add(key, icon, below=key == "settings")
            if number:
                self._shortcut(f"Ctrl+{number}", partial(self.open, key))
        self.rail.entries["guide"].hide()
        self._shortcut("Ctrl+,", lambda: self.open("settings"))
        self._shortcut(QKeySequence(QKeySequence.StandardKey.Find), self._search)
        words.changed.connect(self.retitle)
        self._restore()
        self.open("chat")
        self.retitle()

    def _shortcut(self, keys: str | QKeySequence, press: Callable[[], object]) -> None:
        QShortcut(QKeySequence(keys), self, lambda: press(), context=Qt.ShortcutContext.WindowShortcut)

    def _search(self) -> None:
        self.open("chat")
        self.searched.emit()

    def put(self, key: str, screen: QWidget) -> None:
        """A screen is ready; the one that had its name goes."""
        if (old := self._screens.get(key)) is not None:
            self.stack.removeWidget(old)
            old.deleteLater()
        self._screens[key] = screen
        self.stack.addWidget(screen)
        if self.current == key:
            self.open(key)

    def take(self, key: str) -> None:
        """A screen that lived on the core goes with it."""
        if (old := self._screens.pop(key, None)) is not None:
            self.stack.removeWidget(old)
            old.deleteLater()
            self.open(self.current)

    def open(self, key: str) -> None:
        """Go to a screen."""
        self.current = key
        self.rail.mark(key)
        screen = self._screens.get(key)
        if screen is None or self.failure:
            self._say()
        self.stack.setCurrentWidget(self.notice if screen is None or self.failure else screen)
        if screen is not None and not self.failure:
            screen.setFocus(Qt.FocusReason.OtherFocusReason)
        self.opened.emit(key)

    def fail(self, why: str) -> None:
        """The core could not be opened: say so in place of every screen, with a button to try again."""
        self.failure = why
        self.open(self.current)

    def recover(self) -> None:
        """Another try begins, or has come through."""
        self.failure = ""
        self.open(self.current)

    def introduce(self, name: str, icon: str) -> None:
        self._name = name
        self.rail.introduce(name, icon)
        self.retitle()

    def retitle(self) -> None:
        self.setWindowTitle(self._name)
        self._say()

    def _say(self) -> None:
        said = self._words
        if self.failure:
            self.notice.say(said("opening.failed"), self.failure, said("opening.retry"), icon="warning")
        else:
            self.notice.say(said("opening.title"), said("opening.why"), icon="dot")

    def bring(self) -> None:
        """In front of the others, wherever it was."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._seen:
            self._seen = True
            QTimer.singleShot(0, self, self.painted.emit)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.rail.fold(self.width() < FOLDS_BELOW)

    def closeEvent(self, event: QCloseEvent) -> None:
        """With a tray or a mascot to come back from it only hides; else closing is leaving."""
        self.remember()
        event.ignore()
        if self._hides():
            self.hide()
        else:
            self.closing.emit()

    def remember(self) -> None:
        """Keep place and size for the next time."""
        if self._home.root.is_dir():
            kept = bytes(self.saveGeometry().toBase64().data()).decode()
            replace(self._home.root / "window.json", json.dumps({"geometry": kept}))

    def _restore(self) -> None:
        self.resize(1180, 760)
        try:
            kept = json.loads((self._home.root / "window.json").read_text(encoding="utf-8"))
            self.restoreGeometry(QByteArray.fromBase64(str(kept["geometry"]).encode()))
        except (OSError, ValueError, KeyError, TypeError):
            return  # the first time, or a file that somebody else wrote


class Screen(QWidget):
    """A screen: a bar with its name and its buttons, and a body."""

    def __init__(self, words: Words, key: str) -> None:
        super().__init__()
        self.words, self._key = words, key
        bar = QFrame()
        bar.setProperty("bar", True)
        bar.setFixedHeight(56)
        self.title = pieces.label(role="title")
        self.chip = pieces.Chip()
        self.chip.hide()
        self.bar = QHBoxLayout(bar)
        self.bar.setContentsMargins(24, 0, 24, 0)
        self.bar.setSpacing(12)
        self.bar.addWidget(self.title)
        self.bar.addWidget(self.chip)
        self.bar.addStretch(1)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(0)
        self.column.addWidget(bar)
        words.changed.connect(self.retitle)

    def retitle(self) -> None:
        self.title.setText(self.words(f"rail.{self._key}"))
