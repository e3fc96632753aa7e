"""The rail: who it is and what it is doing, and the way to every screen that is built."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from desktop import blobs, pieces, theme
from desktop.words import Words

WIDE, NARROW = 208, 64


class Portrait(QWidget):
    """The face of the agent, still, in the mood it is in."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.setFixedSize(size, size)
        self._key, self._mood = "noche", "asleep"

    def show_face(self, *, key: str = "", mood: str = "") -> None:
        self._key, self._mood = key or self._key, mood or self._mood
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        blobs.paint(painter, self.rect(), self._key, self._mood)
        painter.end()


class Entry(QPushButton):
    """One screen of the rail: icon, name, and a badge for what waits there."""

    def __init__(self, key: str, icon: str) -> None:
        super().__init__()
        self.key = key
        self.words = ""
        self.setCheckable(True)
        self.setProperty("rail", True)
        self.setIconSize(QSize(20, 20))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        theme.current().dress(self, icon)
        self.badge = pieces.label(role="count")
        self.badge.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.badge.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 10, 0)
        line.addStretch()
        self._line = line
        line.addWidget(self.badge)
        self.badge.hide()

    def fold(self, narrow: bool) -> None:
        self.setText("" if narrow else f"  {self.words}")
        self.setToolTip(self.words if narrow else "")
        pieces.put(self, "folded", narrow)
        self._line.setContentsMargins(0, 0, 0 if narrow else 10, 14 if narrow else 0)

    def count(self, n: int, spoken: str) -> None:
        self.badge.setText(str(n) if n < 100 else "99+")
        self.badge.setVisible(n > 0)
        self.setAccessibleName(f"{self.words}, {spoken}" if n else self.words)


class Rail(QFrame):
    """Chooses a screen; says nothing about what is on it."""

    chosen = Signal(str)

    def __init__(self, words: Words) -> None:
        super().__init__()
        self._words = words
        self._name, self._doing = "APX", ""
        self._waiting: dict[str, int] = {}
        self._narrow = False
        self.setProperty("rail", True)
        self.portrait = Portrait(44)
        self.name = pieces.Elided(role="strong")
        self.doing = pieces.Elided(role="small")
        said = QVBoxLayout()
        said.setSpacing(0)
        said.addWidget(self.name)
        said.addWidget(self.doing)
        self._said = QWidget()
        self._said.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Maximum)
        self._said.setLayout(said)
        said.setContentsMargins(0, 0, 0, 0)
        head = pieces.row(self.portrait, gap=10)
        head.addWidget(self._said, 1)
        head.setContentsMargins(4, 0, 0, 0)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(12, 20, 12, 16)
        self.column.setSpacing(2)
        self.column.addLayout(head)
        self.column.addSpacing(14)
        self.column.addStretch()
        self.entries: dict[str, Entry] = {}
        self._group = QButtonGroup(self)
        words.changed.connect(self.retitle)
        self.fold(False)

    def add(self, key: str, icon: str, *, below: bool = False) -> None:
        """A screen; the order of adding is the order of the rail."""
        entry = Entry(key, icon)
        entry.clicked.connect(lambda: self.chosen.emit(key))
        self._group.addButton(entry)
        above = len([one for one in self.entries if one != "settings"])
        self.entries[key] = entry
        if below:
            self.column.addWidget(entry)
        else:
            self.column.insertWidget(2 + above, entry)
        self.retitle()

    def mark(self, key: str) -> None:
        """Show which screen is open."""
        self.entries[key].setChecked(True)

    def introduce(self, name: str, icon: str) -> None:
        self._name = name
        self.name.say(name)
        self.portrait.show_face(key=icon)
        self.portrait.setToolTip(name)

    def feel(self, mood: str, doing: str) -> None:
        self._doing = doing
        self.portrait.show_face(mood=mood)
        self.doing.say(doing)
        self.portrait.setAccessibleName(f"{self._name}: {doing}")

    def wait(self, key: str, n: int) -> None:
        """A badge, only for what waits for the owner."""
        self._waiting[key] = n
        self.entries[key].count(n, self._words("rail.waiting", n=n))

    def retitle(self) -> None:
        for key, entry in self.entries.items():
            entry.words = self._words(f"rail.{key}")
            entry.setAccessibleName(entry.words)
            entry.fold(self._narrow)
        for key, n in self._waiting.items():
            self.wait(key, n)

    def fold(self, narrow: bool) -> None:
        """Icons only, or icons and names."""
        self._narrow = narrow
        self.setFixedWidth(NARROW if narrow else WIDE)
        self._said.setHidden(narrow)
        self.column.setContentsMargins(*((8, 16, 8, 12) if narrow else (12, 20, 12, 16)))
        for entry in self.entries.values():
            entry.fold(narrow)
