"""The small things every screen is made of, so that a card or a chip looks the same everywhere."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QEnterEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from desktop import theme

GAP = 12


def put(widget: QWidget, name: str, value: object) -> None:
    """Set a property that the style sheet reads, and have the sheet read it."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def label(text: str = "", role: str = "", *, wrap: bool = False) -> QLabel:
    """Plain text, always: what others wrote must not become markup. `role` is a word of the style sheet."""
    made = QLabel(text)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setWordWrap(wrap)
    if role:
        made.setProperty("role", role)
    return made


class Button(QPushButton):
    """A push button whose picture keeps its distance from the words."""

    def setText(self, text: str) -> None:
        super().setText(f" {text}" if text and not self.icon().isNull() else text)
        self.setAccessibleName(text)


def button(kind: str = "", icon: str = "", press: Callable[[], object] | None = None) -> Button:
    """A button without its words, which its owner sets in `retitle`. `kind` is primary, danger or quiet."""
    made = Button()
    if kind:
        made.setProperty(kind, True)
    if icon:
        token = {"primary": "on-accent", "danger": "danger"}.get(kind, "text")
        theme.current().dress(made, icon, token)
        made.setIconSize(QSize(18, 18))
    if press is not None:
        made.clicked.connect(lambda: press())
    made.setCursor(Qt.CursorShape.PointingHandCursor)
    return made


def name(widget: QWidget, text: str, *, tip: bool = False) -> None:
    """What a screen reader says of it, and the tooltip where the words are not on the widget."""
    widget.setAccessibleName(text)
    if tip:
        widget.setToolTip(text)


def clear(layout: QLayout) -> None:
    """Take everything out of a layout and let go of it."""
    while (item := layout.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            widget.hide()
            widget.setParent(None)
            widget.deleteLater()
        elif (inner := item.layout()) is not None:
            clear(inner)


def row(*things: QWidget | int, gap: int = 8) -> QHBoxLayout:
    """Things side by side; a number is a stretch."""
    made = QHBoxLayout()
    made.setContentsMargins(0, 0, 0, 0)
    made.setSpacing(gap)
    for thing in things:
        if isinstance(thing, int):
            made.addStretch(thing)
        else:
            made.addWidget(thing)
    return made


def at_most(widget: QWidget, width: int) -> QWidget:
    """The widget at the left, never wider than that. A column alone would give it the height of the full width."""
    holder = QWidget()
    line = QHBoxLayout(holder)
    line.setContentsMargins(0, 0, 0, 0)
    line.setSpacing(0)
    widget.setMaximumWidth(width)
    line.addWidget(widget, 1)
    line.addStretch(0)
    return holder


class Card(QFrame):
    """A surface with a border and a column inside. `tone` is empty, accent, warn, danger or info."""

    clicked = Signal()

    def __init__(self, tone: str = "", *, gap: int = 8, pad: int = 16) -> None:
        super().__init__()
        self.setProperty("card", True)
        self.setProperty("tone", tone)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(pad, pad, pad, pad)
        self.column.setSpacing(gap)

    def tone(self, tone: str) -> None:
        put(self, "tone", tone)


class Chip(QLabel):
    """One short fact. `tone` is empty, accent, warn, danger or info."""

    def __init__(self, text: str = "", tone: str = "") -> None:
        super().__init__(text)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("chip", tone or "quiet")
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def say(self, text: str, tone: str = "") -> None:
        self.setText(text)
        put(self, "chip", tone or "quiet")


class Elided(QLabel):
    """One line that ends in an ellipsis where the room ends; the whole of it is the tooltip."""

    def __init__(self, text: str = "", role: str = "") -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        if role:
            self.setProperty("role", role)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._whole = ""
        self.say(text)

    def say(self, text: str) -> None:
        self._whole = " ".join(text.split())
        self.setAccessibleName(self._whole)
        self._fit()

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        return QSize(self.fontMetrics().horizontalAdvance(self._whole) + 4, hint.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in {QEvent.Type.FontChange, QEvent.Type.StyleChange}:
            self._fit()

    def _fit(self) -> None:
        shown = self.fontMetrics().elidedText(self._whole, Qt.TextElideMode.ElideRight, max(self.width(), 0))
        if shown != self.text():
            self.setText(shown)
        self.setToolTip(self._whole if shown != self._whole else "")


def short(label: Elided, most: int) -> Elided:
    """As wide as its words and never wider than that: a name beside something that takes the rest of the room."""
    label.ensurePolished()
    label.setFixedWidth(min(most, label.sizeHint().width()))
    label.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
    return label


class Masked(QLabel):
    """Text whose codes are dots until the pointer rests on it, or the keyboard reaches it."""

    def __init__(self, plain: str, masked: str) -> None:
        super().__init__(masked)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self._plain, self._masked = plain, masked
        if plain != masked:
            self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            self.setCursor(Qt.CursorShape.WhatsThisCursor)

    def _reveal(self) -> None:
        self.setText(self._plain)

    def _cover(self) -> None:
        self.setText(self._masked)

    def enterEvent(self, event: QEnterEvent) -> None:
        self._reveal()
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        if not self.hasFocus():
            self._cover()
        super().leaveEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._reveal()
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._cover()
        super().focusOutEvent(event)


class Avatar(QWidget):
    """The first letters of a name in a quiet circle."""

    def __init__(self, title: str, size: int = 36) -> None:
        super().__init__()
        self.setFixedSize(size, size)
        words = [word for word in title.split() if word[:1].isalnum()]
        letters = words[0][0] + words[1][0] if len(words) > 1 else (words[0][:2] if words else "?")
        self._letters = letters.upper()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("sunken"))
        painter.drawEllipse(QRectF(self.rect()))
        font = self.font()
        font.setPixelSize(self.height() * 13 // 36)
        font.setWeight(font.Weight.DemiBold)
        painter.setFont(font)
        painter.setPen(theme.color("muted"))
        painter.drawText(self.rect(), int(Qt.AlignmentFlag.AlignCenter), self._letters)
        painter.end()


class Press(QFrame):
    """A frame that is pressed as a whole, by pointer or keyboard."""

    clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.clicked.emit()
        super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space}:
            self.clicked.emit()
            return
        super().keyPressEvent(event)


class Notice(QWidget):
    """A screen with nothing to show: what would be here, why it is not, and one button that helps."""

    pressed = Signal()

    def __init__(self, icon: str = "") -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(32, 32, 32, 32)
        column.setSpacing(8)
        self._icon = icon
        self._picture = QLabel()
        self.title = label(role="strong")
        self.why = label(role="muted", wrap=True)
        self.button = button("primary", press=self.pressed.emit)
        column.addStretch(2)
        for widget in (self._picture, self.title, self.why, self.button):
            if isinstance(widget, QLabel):
                widget.setAlignment(Qt.AlignmentFlag.AlignCenter)
            column.addWidget(widget, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(3)
        theme.current().changed.connect(self._draw)
        self._draw()

    def say(self, title: str, why: str, press: str = "", icon: str = "") -> None:
        """Fill it; without `press` there is no button."""
        self.title.setText(title)
        self.why.setText(why)
        self.why.setVisible(bool(why))
        self._fit()
        self.button.setText(press)
        self.button.setVisible(bool(press))
        self._icon = icon or self._icon
        self._draw()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        # A centred label that wraps does not get the height it needs by itself.
        width = max(160, min(420, self.width() - 64))
        self.why.setFixedSize(width, max(0, self.why.heightForWidth(width)))

    def _draw(self) -> None:
        self._picture.setVisible(bool(self._icon))
        if self._icon:
            self._picture.setPixmap(theme.icon(self._icon, "muted").pixmap(QSize(36, 36)))


def scrolled(content: QLayout, margins: tuple[int, int, int, int]) -> QScrollArea:
    """A layout that scrolls up and down, with its margins inside."""
    inside = QWidget()
    inside.setLayout(content)
    content.setContentsMargins(*margins)
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(inside)
    return area
