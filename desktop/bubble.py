"""The bubble beside the mascot: the conversation of the window in small, what waits for the owner first."""

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QPainterPath, QRegion
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from desktop import compositing, pieces, theme
from desktop.at_work import Workers
from desktop.chat import Chat
from desktop.files import Save
from desktop.questions import Questions
from desktop.rail import Portrait
from desktop.talk import Talk
from desktop.words import Words


class Bubble(QWidget):
    """The same conversation in small, beside the mascot and never off the screen. Esc closes it."""

    window_wanted = Signal()
    SIZE = QSize(360, 480)

    def __init__(
        self, chat: Chat, questions: Questions, words: Words, save: Save, *, workers: Workers | None = None
    ) -> None:
        kind = Qt.WindowType
        super().__init__(None, kind.Tool | kind.FramelessWindowHint | kind.WindowStaysOnTopHint)
        self.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)
        self._words = words
        self.setFixedSize(self.SIZE)
        frame = QFrame()
        frame.setProperty("bubble", True)
        self.portrait = Portrait(30)
        self.name = pieces.Elided(role="strong")
        self.open = pieces.button("quiet", "external", self._to_window)
        self.open.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        self.shut = pieces.button("quiet", "close", self.hide)
        bar = QFrame()
        bar.setProperty("bar", True)
        bar.setFixedHeight(56)
        line = QHBoxLayout(bar)
        line.setContentsMargins(16, 0, 8, 0)
        line.setSpacing(10)
        line.addWidget(self.portrait)
        line.addWidget(self.name, 1)
        line.addWidget(self.open)
        line.addWidget(self.shut)
        self.talk = Talk(chat, questions, words, save, workers=workers, small=True)
        column = QVBoxLayout(frame)
        column.setContentsMargins(1, 1, 1, 1)
        column.setSpacing(0)
        column.addWidget(bar)
        column.addWidget(self.talk, 1)
        outside = QVBoxLayout(self)
        outside.setContentsMargins(0, 0, 0, 0)
        outside.addWidget(frame)
        self.setFocusProxy(self.talk)
        words.changed.connect(self.retitle)
        self.retitle()

    def retitle(self) -> None:
        self.open.setText(f"{self._words('bubble.open')}\u00a0 ")  # its picture stands at the other side
        pieces.name(self.open, self._words("bubble.open"))
        pieces.name(self.shut, self._words("bubble.close"), tip=True)

    def introduce(self, name: str, icon: str) -> None:
        self.name.say(name)
        self.setWindowTitle(name)
        self.portrait.show_face(key=icon)
        self.talk.call_it(name)

    def feel(self, mood: str, doing: str) -> None:
        self.portrait.show_face(mood=mood)
        self.portrait.setAccessibleName(doing)

    def _round_off(self) -> None:
        """Where windows are not blended, the corners would be black: they are cut off instead."""
        if compositing.active():
            self.clearMask()
            return
        shape = QPainterPath()
        shape.addRoundedRect(QRectF(self.rect()), theme.RADIUS_BUBBLE, theme.RADIUS_BUBBLE)
        self.setMask(QRegion(shape.toFillPolygon().toPolygon()))

    def show_beside(self, mascot: QRect) -> None:
        """Open next to this place of the screen, wholly on it."""
        self._round_off()
        screen = QGuiApplication.screenAt(mascot.center()) or QGuiApplication.primaryScreen()
        self.move(beside(mascot, self.SIZE, screen.availableGeometry()))
        self.show()
        self.raise_()
        self.activateWindow()
        self.talk.composer.setFocus()
        self.talk.view.to_end()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.hide()
            return
        super().keyPressEvent(event)

    def _to_window(self) -> None:
        self.hide()
        self.window_wanted.emit()


def beside(mascot: QRect, size: QSize, room: QRect, gap: int = 16) -> QPoint:
    """Left of the mascot if it fits, else right, above or below; in any case inside the room."""
    left = mascot.left() - gap - size.width()
    right = mascot.right() + gap
    x = left if left >= room.left() else right
    if x + size.width() > room.right() + 1:
        x = room.right() + 1 - size.width()
    y = mascot.bottom() - size.height()
    x = max(room.left(), min(x, room.right() + 1 - size.width()))
    y = max(room.top(), min(y, room.bottom() + 1 - size.height()))
    return QPoint(x, y)
