"""Bars of days, each of coloured parts: painted here, in the colours of the theme."""

from collections.abc import Callable, Sequence
from datetime import date

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from desktop import theme
from desktop.spent import Slice

COLOURS = ("accent", "info", "warn", "danger", "muted")
BELOW, ABOVE = 22, 8
APART = 8  # between the amounts and the bars


def keys(slices: Sequence[Slice]) -> list[str]:
    """The parts, the costliest first; what comes after the fourth shares the last colour."""
    sums: dict[str, int] = {}
    for one in slices:
        sums[one.key] = sums.get(one.key, 0) + one.cost_micros
    return sorted(sums, key=lambda key: (-sums[key], key))


def colour(place: int) -> str:
    return COLOURS[min(place, len(COLOURS) - 1)]


def top(most: int) -> int:
    """A round number that is not below the highest bar."""
    step = 1
    while True:
        for factor in (1, 2, 5):
            if step * factor >= most:
                return step * factor
        step *= 10


class Bars(QWidget):
    """`say` turns an amount into words, `day` a date into a short one, `name` a key into what it stands for."""

    def __init__(
        self, say: Callable[[int], str], day: Callable[[date], str], name: Callable[[str], str] = str
    ) -> None:
        super().__init__()
        self._say, self._day, self._name = say, day, name
        self.days: tuple[str, ...] = ()
        self.slices: tuple[Slice, ...] = ()
        self._keys: list[str] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(200)
        theme.current().changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(480, 200)

    def put(self, days: Sequence[str], slices: Sequence[Slice]) -> None:
        self.days, self.slices = tuple(days), tuple(slices)
        self._keys = keys(slices)
        self.update()

    def total(self, day: str) -> int:
        return sum(one.cost_micros for one in self.slices if one.day == day)

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.told(event.pos().x()), self)
            return True
        return super().event(event)

    def told(self, x: float) -> str:
        """What the bar at a place stands for."""
        left = self._left()
        if not self.days or x < left:
            return ""
        place = int((x - left) / ((self.width() - left) / len(self.days)))
        if place >= len(self.days):
            return ""
        day = self.days[place]
        parts = [one for one in self.slices if one.day == day]
        lines = [f"{self._name(one.key)}: {self._say(one.cost_micros)}" for one in parts]
        return "\n".join([f"{self._day(date.fromisoformat(day))}: {self._say(self.total(day))}", *lines])

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._small())
        floor = self.height() - BELOW
        highest, start = self._highest(), self._left()
        self._lines(painter, floor, start)
        room = (self.width() - start) / max(1, len(self.days))
        for place, day in enumerate(self.days):
            left = start + place * room
            self._bar(painter, QRectF(left + room * 0.15, ABOVE, room * 0.7, floor - ABOVE), day, highest)
            if place % 7 == len(self.days) % 7 - 1 or (len(self.days) % 7 == 0 and place % 7 == 6):
                painter.setPen(theme.color("muted"))
                box = QRectF(left + room / 2 - 40, floor + 4, 80, BELOW - 4)
                side = Qt.AlignmentFlag.AlignHCenter
                if box.right() > self.width():
                    box, side = box.translated(self.width() - box.right(), 0), Qt.AlignmentFlag.AlignRight
                painter.drawText(box, int(side), self._day(date.fromisoformat(day)))
        painter.end()

    def _small(self) -> QFont:
        font = self.font()
        font.setPixelSize(theme.SMALL)
        return font

    def _highest(self) -> int:
        return top(max([self.total(day) for day in self.days], default=0) or 10_000)

    def _marks(self) -> list[tuple[float, str]]:
        """The amounts beside the bars, each with its height as a part of the whole."""
        return [(part, self._say(round(self._highest() * part))) for part in (0, 0.5, 1)]

    def _left(self) -> int:
        """Where the bars begin: right of the widest amount."""
        metrics = QFontMetrics(self._small())
        return max(metrics.horizontalAdvance(text) for _, text in self._marks()) + APART

    def _lines(self, painter: QPainter, floor: float, left: int) -> None:
        for part, text in self._marks():
            y = round(floor - (floor - ABOVE) * part) + 0.5
            painter.setPen(QPen(theme.color("line"), 1))
            painter.drawLine(QPointF(left, y), QPointF(self.width(), y))
            painter.setPen(theme.color("muted"))
            box = QRectF(0, y - 8, left - APART, 16)
            painter.drawText(box, int(Qt.AlignmentFlag.AlignVCenter), text)

    def _bar(self, painter: QPainter, room: QRectF, day: str, highest: int) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        bottom = room.bottom()
        for place, key in enumerate(self._keys):
            cost = sum(one.cost_micros for one in self.slices if one.day == day and one.key == key)
            if cost:
                tall = max(1.0, room.height() * cost / highest)
                painter.setBrush(theme.color(colour(place)))
                painter.drawRoundedRect(QRectF(room.x(), bottom - tall, room.width(), tall), 1.5, 1.5)
                bottom -= tall


class Key(QWidget):
    """A square in the colour of a part."""

    def __init__(self, place: int) -> None:
        super().__init__()
        self._place = place
        self.setFixedSize(10, 10)
        theme.current().changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color(colour(self._place)))
        painter.drawRoundedRect(self.rect(), 3, 3)
        painter.end()
