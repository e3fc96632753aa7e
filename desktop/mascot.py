"""The blob that lives on the desktop: drawn while something moves, and otherwise not at all."""

import random
from collections.abc import Sequence
from math import pi, sin
from typing import Final

from PySide6.QtCore import QElapsedTimer, QPoint, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QBitmap,
    QContextMenuEvent,
    QGuiApplication,
    QHideEvent,
    QImage,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QScreen,
    QShowEvent,
)
from PySide6.QtWidgets import QWidget

from core import icons
from core.texts import t
from desktop import blobs, compositing, theme
from desktop.moods import MOTIONS, Mood

SIZE: Final = 112
HEADROOM: Final = 16  # above the blob, for the hop
MARGIN: Final = 16  # from the corner where it lives until somebody moves it
DRAG_PX: Final = 4  # a hand that clicks is not perfectly still
FRAME_MS: Final = 34  # just under 30 frames a second
HOP_MS: Final = 420


def clamp(rect: QRect, screens: Sequence[QRect]) -> QRect:
    """The rectangle moved as little as needed to lie on one screen: the one it covers most, else the nearest."""
    if not screens:
        return rect

    def nearness(screen: QRect) -> tuple[int, int]:
        shared = screen.intersected(rect)
        way = rect.center() - screen.center()
        return shared.width() * shared.height(), -(way.x() ** 2 + way.y() ** 2)

    screen = max(screens, key=nearness)
    x = max(screen.left(), min(rect.x(), screen.x() + screen.width() - rect.width()))
    y = max(screen.top(), min(rect.y(), screen.y() + screen.height() - rect.height()))
    return QRect(QPoint(x, y), rect.size())


class Mascot(QWidget):
    """A face in a window of its own shape. It shows how the agent is and passes clicks on; others decide."""

    clicked = Signal()
    menu_requested = Signal(QPoint)  # where on the screen
    moved = Signal(QPoint)  # a person put it there

    def __init__(self, key: str = icons.DEFAULT, name: str = "", lang: str = "en") -> None:
        super().__init__(
            None,
            Qt.WindowType.Tool
            | Qt.WindowType.FramelessWindowHint
            | Qt.WindowType.WindowStaysOnTopHint
            | Qt.WindowType.NoDropShadowWindowHint
            | Qt.WindowType.WindowDoesNotAcceptFocus,
        )
        for attribute in (
            Qt.WidgetAttribute.WA_TranslucentBackground,
            Qt.WidgetAttribute.WA_ShowWithoutActivating,
            Qt.WidgetAttribute.WA_AlwaysShowToolTips,
            Qt.WidgetAttribute.WA_MacAlwaysShowToolWindow,
        ):
            self.setAttribute(attribute)
        self.setFixedSize(SIZE, SIZE + HEADROOM)
        self._key, self._name, self._lang = key, name, lang
        self._mood = Mood.IDLE
        self._still = False
        self._blended = True
        self._wanted: QPoint | None = None
        self._pressed: QPoint | None = None
        self._dragging = False
        self._cycle_from: int | None = None  # on the clock
        self._hop_from: int | None = None
        self._clock = QElapsedTimer()
        self._clock.start()
        self._frames = QTimer(self, interval=FRAME_MS)
        self._frames.timeout.connect(self._frame)
        self._rest = QTimer(self, singleShot=True)
        self._rest.timeout.connect(self._begin_cycle)
        self._follow_screens()
        theme.current().changed.connect(self._restart)
        self._reshape()
        self._describe()

    @property
    def mood(self) -> Mood:
        return self._mood

    @property
    def moving(self) -> bool:
        """Whether frames are being drawn now."""
        return self._frames.isActive()

    def set_icon(self, key: str) -> None:
        """Wear another face."""
        self._key = key
        self._reshape()
        self.update()

    def set_mood(self, mood: str) -> None:
        """Show how the agent is doing from now on."""
        if Mood(mood) is self._mood:
            return
        self._mood = Mood(mood)
        self._describe()
        self._restart()

    def set_name(self, name: str) -> None:
        """The name people and screen readers know it by."""
        self._name = name
        self._describe()

    def set_language(self, lang: str) -> None:
        """Describe itself in another language."""
        self._lang = lang
        self._describe()

    def set_still(self, still: bool) -> None:
        """Stop moving, to save a battery; the face still shows the mood."""
        self._still = still
        self._restart()

    def place(self, point: QPoint | None) -> None:
        """Stand there, or in the lower right corner; on a screen in any case, now and when screens change."""
        self._wanted = point
        self._settle()

    def hop(self) -> None:
        """Jump once, if jumping is welcome."""
        if self._may_move():
            self._hop_from = self._clock.elapsed()
            self._reshape()
            self._frames.start()

    # where it stands

    def _follow_screens(self) -> None:
        app = QGuiApplication.instance()
        assert isinstance(app, QGuiApplication)
        later = Qt.ConnectionType.QueuedConnection  # Qt moves windows of a lost screen first
        app.screenAdded.connect(self._screen_came, later)
        app.screenRemoved.connect(self._settle, later)
        app.primaryScreenChanged.connect(self._settle, later)
        for screen in app.screens():
            screen.availableGeometryChanged.connect(self._settle, later)

    def _screen_came(self, screen: QScreen) -> None:
        screen.availableGeometryChanged.connect(self._settle, Qt.ConnectionType.QueuedConnection)
        self._settle()

    def _settle(self) -> None:
        screens = [screen.availableGeometry() for screen in QGuiApplication.screens()]
        primary = QGuiApplication.primaryScreen()
        if not screens or self._dragging:
            return
        corner = primary.availableGeometry().bottomRight() + QPoint(
            1 - SIZE - MARGIN, 1 - SIZE - HEADROOM - MARGIN
        )
        self.move(clamp(QRect(self._wanted or corner, self.size()), screens).topLeft())

    # how it looks

    def _describe(self) -> None:
        mood = t(f"shell.mood.{self._mood}", self._lang)
        text = t("shell.state", self._lang, name=self._name, mood=mood) if self._name else mood
        self.setWindowTitle(self._name)
        self.setAccessibleName(self._name)
        self.setAccessibleDescription(text)
        self.setToolTip(text)

    def _reshape(self) -> None:
        """Be clickable, and without a compositor visible, only where there is something to see."""
        if not self._blended:
            self.setMask(QBitmap.fromImage(self._picture().createAlphaMask()))
        elif self._hop_from is None:
            self.setMask(blobs.silhouette(self._key, SIZE, self._mood).translated(0, HEADROOM))
        else:
            self.clearMask()  # it leaves its own shape for a moment

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self._blended:
            self._draw(painter)
        else:  # the mask cuts hard, so the edge must not be half black
            whole = self._picture().convertToFormat(QImage.Format.Format_ARGB32)
            painter.drawImage(0, 0, whole.convertToFormat(QImage.Format.Format_RGB32))
        painter.end()

    def _picture(self) -> QImage:
        picture = QImage(self.size(), QImage.Format.Format_ARGB32_Premultiplied)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        self._draw(painter)
        painter.end()
        return picture

    def _draw(self, painter: QPainter) -> None:
        lift, squash = self._hop()
        painter.translate(SIZE / 2, self.height() - lift)
        painter.scale(1, 1 - squash)
        blobs.paint(painter, QRectF(-SIZE / 2, -SIZE, SIZE, SIZE), self._key, self._mood, self._phase())

    def _phase(self) -> float:
        if self._cycle_from is None:
            return 0.0
        return (self._clock.elapsed() - self._cycle_from) / MOTIONS[self._mood].cycle_ms % 1.0

    def _hop(self) -> tuple[float, float]:
        """How high it is, and how far it is pressed down before and after."""
        if self._hop_from is None:
            return 0.0, 0.0
        done = min(1.0, (self._clock.elapsed() - self._hop_from) / HOP_MS)
        if 0.2 <= done <= 0.8:
            return (HEADROOM - 2) * sin(pi * (done - 0.2) / 0.6), 0.0
        return 0.0, 0.1 * sin(pi * (done if done < 0.2 else 1 - done) / 0.2)

    # when it moves

    def _may_move(self) -> bool:
        return self.isVisible() and not self._still and not theme.current().reduced_motion

    def _restart(self) -> None:
        self._blended = compositing.active()
        self._quieten()
        if self._may_move():
            if self._mood is Mood.IDLE:
                self._take_a_rest()  # a blink at once would look like a twitch
            else:
                self._begin_cycle()
        self.update()

    def _quieten(self) -> None:
        self._frames.stop()
        self._rest.stop()
        self._cycle_from = self._hop_from = None
        self._reshape()

    def _begin_cycle(self) -> None:
        if self._may_move():
            self._cycle_from = self._clock.elapsed()
            self._frames.start()

    def _take_a_rest(self) -> None:
        if (rest := MOTIONS[self._mood].rest_ms) is not None:
            self._rest.start(random.randint(*rest))

    def _frame(self) -> None:
        now, motion = self._clock.elapsed(), MOTIONS[self._mood]
        if self._cycle_from is not None and not motion.endless and now - self._cycle_from >= motion.cycle_ms:
            self._cycle_from = None
            self._take_a_rest()
        if self._hop_from is not None and now - self._hop_from >= HOP_MS:
            self._hop_from = None
            self._reshape()
        if not self._blended:
            self._reshape()
        if self._cycle_from is None and self._hop_from is None:
            self._frames.stop()
        self.update()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._settle()
        self._restart()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._quieten()

    # what a hand does

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self._pressed = event.globalPosition().toPoint() - self.pos()
            self._dragging = False

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """The second press of a double click says nothing new: it would undo what the first one did."""

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None:
            return
        target = event.globalPosition().toPoint() - self._pressed
        if not self._dragging:
            way = target - self.pos()
            if max(abs(way.x()), abs(way.y())) <= DRAG_PX:
                return
            handle = self.windowHandle()
            if QGuiApplication.platformName().startswith("wayland") and handle.startSystemMove():
                self._pressed = None  # there the compositor moves windows, and does not say where to
                return
            self._dragging = True
        self.move(target)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() is not Qt.MouseButton.LeftButton or self._pressed is None:
            return
        self._pressed = None
        if self._dragging:
            self._dragging = False
            self.place(self.pos())
            self._wanted = self.pos()
            self.moved.emit(self.pos())
        else:
            self.hop()
            self.clicked.emit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_requested.emit(event.globalPos())
