"""Completion of names after an @: a list above the field, driven by the keys of the field."""

import re
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt
from PySide6.QtGui import QIcon, QKeyEvent
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QWidget

from core.runs.mentions import folded
from desktop import blobs, pieces
from desktop.composer import Lines
from desktop.room import Person

_TYPED = re.compile(r"(?:^|[\s(¿¡,;])@([\w-]*)$")
MOST = 6


def fitting(members: Sequence[Person], typed: str) -> list[Person]:
    """The members whose short name, or a word of whose name, begins like that."""
    start = folded(typed)
    return [
        one
        for one in members
        if one.here and any(word.startswith(start) for word in [one.handle, *folded(one.name).split()])
    ][:MOST]


class Mentions(QObject):
    """Watches a field; the list never takes the focus away from it."""

    def __init__(self, lines: Lines, over: QWidget) -> None:
        super().__init__(lines)
        self._lines, self._over = lines, over
        self.members: Sequence[Person] = ()
        self.list = QListWidget(over)
        self.list.setProperty("popup", True)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setIconSize(QSize(24, 24))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.itemClicked.connect(lambda _: self.take())
        self.list.hide()
        lines.installEventFilter(self)
        lines.cursorPositionChanged.connect(self.look)
        lines.focused.connect(lambda on: None if on else self.list.hide())

    def name_it(self, text: str) -> None:
        """What a screen reader calls the list."""
        pieces.name(self.list, text)

    def look(self) -> None:
        """Offer what fits before the cursor."""
        cursor = self._lines.textCursor()
        typed = _TYPED.search(cursor.block().text()[: cursor.positionInBlock()])
        found = fitting(self.members, typed[1]) if typed and not cursor.hasSelection() else []
        self.list.clear()
        for one in found:
            item = QListWidgetItem(self._face(one), f"{one.name}  @{one.handle}")
            item.setData(Qt.ItemDataRole.UserRole, one.handle)
            self.list.addItem(item)
        self.list.setVisible(bool(found))
        if found:
            self.list.setCurrentRow(0)
            self._place()

    def mention(self, handle: str) -> None:
        """Write a name at the cursor, in place of what was begun."""
        cursor = self._lines.textCursor()
        before = cursor.block().text()[: cursor.positionInBlock()]
        if typed := _TYPED.search(before):
            for _ in range(len(typed[1]) + 1):
                cursor.deletePreviousChar()
        elif before and not before[-1].isspace():
            cursor.insertText(" ")
        cursor.insertText(f"@{handle} ")
        self.list.hide()
        self._lines.setFocus()

    def take(self) -> None:
        """Write the chosen name."""
        item = self.list.currentItem()
        if item is not None:
            self.mention(str(item.data(Qt.ItemDataRole.UserRole)))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QKeyEvent) or event.type() is not QEvent.Type.KeyPress:
            return False
        if self.list.isHidden():
            return False
        key = event.key()
        if key in {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab}:
            self.take()
        elif key == Qt.Key.Key_Escape:
            self.list.hide()
        elif key in {Qt.Key.Key_Down, Qt.Key.Key_Up}:
            step = 1 if key == Qt.Key.Key_Down else -1
            self.list.setCurrentRow((self.list.currentRow() + step) % self.list.count())
        else:
            return False
        return True

    def _face(self, person: Person) -> QIcon:
        picture = blobs.pixmap(person.icon or "noche", 24, dpr=self.list.devicePixelRatioF())
        icon = QIcon(picture)
        icon.addPixmap(picture, QIcon.Mode.Selected)  # else it is tinted
        return icon

    def _place(self) -> None:
        width = min(self.list.sizeHintForColumn(0) + 28, self._over.width() - 16)
        height = self.list.sizeHintForRow(0) * self.list.count() + 10
        self.list.resize(max(width, 180), height)
        corner = self._lines.mapTo(self._over, QPoint(0, 0))
        field = self._lines.parentWidget() or self._lines
        top = field.mapTo(self._over, QPoint(0, 0)).y() - height - 6
        left = corner.x() + self._lines.cursorRect().left() - 12
        self.list.move(max(8, min(left, self._over.width() - self.list.width() - 8)), top)
        self.list.raise_()
