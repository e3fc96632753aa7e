"""The editors of settings: one class for each kind of value, all with the same three words.

`changed` says that the person has decided on a value, `value` is what is in the editor, `put` shows another one
without taking the caret from somebody who is writing.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from PySide6.QtCore import QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QSpinBox,
    QWidget,
)

from desktop import pieces, theme

PAUSE_MS = 700


class Editor(Protocol):
    """What a row needs of its editor."""

    changed: Any

    def value(self) -> Any: ...
    def put(self, value: Any) -> None: ...
    def wrong(self, is_wrong: bool) -> None: ...


class Switch(QCheckBox):
    """On or off, at once."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.clicked.connect(lambda: self.changed.emit())
        theme.current().changed.connect(self.update)

    def value(self) -> bool:
        return self.isChecked()

    def put(self, value: Any) -> None:
        self.setChecked(bool(value))

    def wrong(self, is_wrong: bool) -> None:
        """A switch has no wrong value."""

    def sizeHint(self) -> QSize:
        return QSize(40, 24)

    def hitButton(self, point: object) -> bool:
        return self.rect().contains(point)  # type: ignore[call-overload, no-any-return]

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        on = self.isChecked()
        track = QRectF(1, (self.height() - 22) / 2, 38, 22)
        painter.setPen(theme.color("text" if self.hasFocus() else "accent" if on else "muted"))
        painter.setBrush(theme.color("accent" if on else "sunken"))
        painter.drawRoundedRect(track, 11, 11)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("on-accent" if on else "muted"))
        painter.drawEllipse(QRectF(track.x() + (19 if on else 3), track.y() + 3, 16, 16))
        painter.end()


class Line(QLineEdit):
    """One line of text, taken after a pause, with Enter, or when it is left."""

    changed = Signal()

    def __init__(self, placeholder: str = "") -> None:
        super().__init__()
        self.setPlaceholderText(placeholder)
        self._taken = ""
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MS)
        self._pause.timeout.connect(self._take)
        self.textEdited.connect(lambda _: self._pause.start())
        self.editingFinished.connect(self._take)

    def _take(self) -> None:
        self._pause.stop()
        if self.text() != self._taken:
            self._taken = self.text()
            self.changed.emit()

    def value(self) -> Any:
        return self.text().strip()

    def put(self, value: Any) -> None:
        text = "" if value is None else str(value)
        if text == self.text().strip() or self._pause.isActive():
            return
        self._taken = text
        at = self.cursorPosition()
        self.setText(text)
        self.setCursorPosition(min(at, len(text)))

    def wrong(self, is_wrong: bool) -> None:
        pieces.put(self, "wrong", is_wrong)


class Lines(QPlainTextEdit):
    """Several lines of text."""

    changed = Signal()

    def __init__(self, height: int = 84) -> None:
        super().__init__()
        self.setFixedHeight(height)
        self.setTabChangesFocus(True)
        self._taken = ""
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MS)
        self._pause.timeout.connect(self._take)
        self.textChanged.connect(self._typed)

    def _typed(self) -> None:
        if self.toPlainText() != self._taken:
            self._pause.start()

    def focusOutEvent(self, event: object) -> None:
        super().focusOutEvent(event)  # type: ignore[arg-type]
        self._take()

    def _take(self) -> None:
        self._pause.stop()
        if self.toPlainText() != self._taken:
            self._taken = self.toPlainText()
            self.changed.emit()

    def value(self) -> Any:
        return self.toPlainText().strip()

    def put(self, value: Any) -> None:
        text = str(value or "")
        if text == self.toPlainText().strip() or self._pause.isActive():
            return
        self._taken = text
        cursor = self.textCursor()
        at = min(cursor.position(), len(text))
        self.setPlainText(text)
        cursor = self.textCursor()
        cursor.setPosition(at)
        self.setTextCursor(cursor)

    def wrong(self, is_wrong: bool) -> None:
        pieces.put(self, "wrong", is_wrong)


class Items(Lines):
    """A list, one item a line."""

    def value(self) -> Any:
        return [line.strip() for line in self.toPlainText().splitlines() if line.strip()]

    def put(self, value: Any) -> None:
        super().put("\n".join(str(one) for one in value or ()))


class Whole(QSpinBox):
    """A whole number within its bounds."""

    changed = Signal()

    def __init__(self, low: int, high: int) -> None:
        super().__init__()
        self.setRange(low, high)
        self.setKeyboardTracking(False)
        self.setFixedWidth(116)
        self.lineEdit().setTextMargins(10, 0, 0, 0)
        self.valueChanged.connect(lambda _: self.changed.emit())

    def wheelEvent(self, event: object) -> None:
        event.ignore()  # type: ignore[attr-defined]  # scrolling a page must not change numbers

    def put(self, value: Any) -> None:
        self.blockSignals(True)
        self.setValue(int(value or 0))
        self.blockSignals(False)

    def wrong(self, is_wrong: bool) -> None:
        pieces.put(self, "wrong", is_wrong)


class Decimal(QDoubleSpinBox):
    """A number with a fraction within its bounds."""

    changed = Signal()

    def __init__(self, low: float, high: float) -> None:
        super().__init__()
        self.setRange(low, high)
        self.setDecimals(1)
        self.setKeyboardTracking(False)
        self.setFixedWidth(116)
        self.lineEdit().setTextMargins(10, 0, 0, 0)
        self.valueChanged.connect(lambda _: self.changed.emit())

    def wheelEvent(self, event: object) -> None:
        event.ignore()  # type: ignore[attr-defined]

    def put(self, value: Any) -> None:
        self.blockSignals(True)
        self.setValue(float(value or 0))
        self.blockSignals(False)

    def wrong(self, is_wrong: bool) -> None:
        pieces.put(self, "wrong", is_wrong)


class Choice(QComboBox):
    """One of several, by their names for people."""

    changed = Signal()

    def __init__(self, choices: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self.offer(choices)
        self.activated.connect(lambda _: self.changed.emit())

    def offer(self, choices: Sequence[tuple[str, str]]) -> None:
        """The values and their names; what is chosen stays."""
        kept = self.value() if self.count() else None
        self.clear()
        for value, said in choices:
            self.addItem(said, value)
        if kept is not None:
            self.put(kept)

    def wheelEvent(self, event: object) -> None:
        event.ignore()  # type: ignore[attr-defined]

    def value(self) -> Any:
        return self.currentData()

    def put(self, value: Any) -> None:
        place = self.findData(value)
        if place < 0:
            self.addItem(str(value), value)
            place = self.count() - 1
        self.setCurrentIndex(place)

    def wrong(self, is_wrong: bool) -> None:
        pieces.put(self, "wrong", is_wrong)


class Suggested(QComboBox):
    """Text with suggestions: anything may be written, some of it is offered."""

    changed = Signal()

    def __init__(self, offered: Sequence[str], placeholder: str = "") -> None:
        super().__init__()
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.addItems(list(offered))
        field = self.lineEdit()
        assert field is not None
        field.setPlaceholderText(placeholder)
        self._taken = ""
        self.activated.connect(lambda _: self._take())
        field.editingFinished.connect(self._take)

    def _take(self) -> None:
        if self.currentText() != self._taken:
            self._taken = self.currentText()
            self.changed.emit()

    def wheelEvent(self, event: object) -> None:
        event.ignore()  # type: ignore[attr-defined]

    def value(self) -> Any:
        return self.currentText().strip()

    def put(self, value: Any) -> None:
        text = str(value or "")
        if text != self.currentText() and not (self.hasFocus() and self.currentText() != self._taken):
            self.setEditText(text)
        self._taken = text

    def wrong(self, is_wrong: bool) -> None:
        pieces.put(self, "wrong", is_wrong)


class Secret(QWidget):
    """A secret: dots until it is asked to show, and what is stored never comes back into the field."""

    changed = Signal()

    def __init__(self, show: str, stored: str) -> None:
        super().__init__()
        self._stored = stored
        self.line = Line()
        self.line.setEchoMode(QLineEdit.EchoMode.Password)
        self.eye = pieces.button("quiet", "eye", self._toggle)
        pieces.name(self.eye, show, tip=True)
        self.eye.setCheckable(True)
        column = QHBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.line, 1)
        column.addWidget(self.eye)
        self.setFocusProxy(self.line)
        self.line.changed.connect(self._given)

    def _given(self) -> None:
        if self.line.text().strip():
            self.changed.emit()

    def _toggle(self) -> None:
        mode = QLineEdit.EchoMode
        self.line.setEchoMode(mode.Normal if self.eye.isChecked() else mode.Password)

    def value(self) -> Any:
        return self.line.text().strip()

    def put(self, value: Any) -> None:
        """`value` is what the configuration holds; only whether there is something is shown."""
        if not self.line.hasFocus():
            self.line.clear()
        self.line.setPlaceholderText(self._stored if value else "")

    def wrong(self, is_wrong: bool) -> None:
        self.line.wrong(is_wrong)
