"""Paints the blobs: a body from its file, and over it two eyes and a mark that say how the agent is doing.

`phase` is the place in the mood's cycle; phase 0 is the pose of a still picture.
"""

from functools import lru_cache

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QBitmap,
    QColor,
    QIcon,
    QPainter,
    QPainterPath,
    QPen,
    QPixmap,
    QPixmapCache,
    QRegion,
)
from PySide6.QtSvg import QSvgRenderer

from core import icons
from desktop import theme
from desktop.moods import POSES, Mood, Pose, dip, orbit

GROUND = 112.0  # where a body stands, in the units of the drawing
SMALL = 40  # below this many pixels the eyes need help to be seen


def paint(painter: QPainter, rect: QRectF | QRect, key: str, mood: str, phase: float = 0.0) -> None:
    """Draw a face into the largest square in the middle of a rectangle."""
    area = QRectF(rect)
    side = min(area.width(), area.height())
    icon, feeling = icons.find(key), Mood(mood)
    pose = POSES[feeling](phase % 1.0)
    device = painter.device()
    body = _body(icon, side, device.devicePixelRatioF() if device else 1.0)
    painter.save()
    painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
    painter.translate(area.center() - QPointF(side, side) / 2)
    painter.scale(side / icons.BOX, side / icons.BOX)
    painter.save()
    painter.translate(60, GROUND)
    painter.rotate(pose.tilt)
    painter.scale(1 - pose.squash * 0.15, 1 - pose.squash)
    painter.translate(-60, -GROUND)
    painter.drawPixmap(QRectF(0, 0, icons.BOX, icons.BOX), body, QRectF(body.rect()))
    _eyes(painter, icon.eyes, pose, 1.3 if side < SMALL else 1.0)
    painter.restore()
    if side < SMALL:  # a mark of the same proportion would be a speck
        painter.translate(114, 8)
        painter.scale(1.5, 1.5)
        painter.translate(-114, -8)
    _mark(painter, feeling, phase % 1.0, small=side < SMALL)
    painter.restore()


def _body(icon: icons.Icon, side: float, dpr: float) -> QPixmap:
    pixels = max(1, round(side * dpr))
    name, body = f"apx-body:{icon.key}:{pixels}", QPixmap()
    if QPixmapCache.find(name, body):
        return body
    body = QPixmap(pixels, pixels)
    body.fill(Qt.GlobalColor.transparent)
    painter = QPainter(body)
    QSvgRenderer(str(icon.body)).render(painter, QRectF(0, 0, pixels, pixels))
    painter.end()
    QPixmapCache.insert(name, body)
    return body


def _eyes(painter: QPainter, eyes: icons.Eyes, pose: Pose, boost: float) -> None:
    width, height = eyes.width * boost, eyes.height * boost * pose.open
    pen = QPen(QColor(eyes.color), width * 0.62)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    reach = min(width * 0.95, (eyes.right[0] - eyes.left[0]) * 0.3)  # two lines, never one
    for x, y in (eyes.left, eyes.right):
        middle = QPointF(x + pose.look[0], y + pose.look[1])
        if pose.eyes == "bar":
            tall = max(height, width * 0.3)
            bar = QRectF(middle.x() - width / 2, middle.y() - tall / 2, width, tall)
            radius = min(width, tall) / 2
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(eyes.color))
            painter.drawRoundedRect(bar, radius, radius)
            continue
        rise = {"smile": -width * 1.05, "flat": 0.0, "closed": width * 0.85}[pose.eyes]
        stroke = QPainterPath(middle - QPointF(reach, rise / 3))
        stroke.quadTo(middle + QPointF(0, rise), middle + QPointF(reach, -rise / 3))
        painter.strokePath(stroke, pen)


def _mark(painter: QPainter, mood: Mood, phase: float, *, small: bool) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    if mood is Mood.WAITING:
        _badge(painter, 12 + 1.2 * dip(2 * phase))
    elif mood is Mood.WORKING:
        painter.setBrush(theme.color("spark"))
        painter.drawEllipse(QPointF(100, 66) if small else QPointF(*orbit(phase)), 6, 6)
    elif mood is Mood.THINKING:
        painter.setBrush(theme.color("spark"))
        for step in range(3):
            lift = dip((phase * 2 - step * 0.16) % 1.0)
            painter.setOpacity(0.45 + 0.55 * lift)
            painter.drawEllipse(
                QPointF(88 + 11 * step, 19 - 5 * step - 2 * lift), 3.0 + step * 0.5, 3.0 + step * 0.5
            )
    elif mood is Mood.ASLEEP:
        _snore(painter, phase)


def _badge(painter: QPainter, radius: float) -> None:
    middle = QPointF(99, 22)
    painter.setBrush(theme.color("halo"))  # a golden badge would drown in a golden body
    painter.drawEllipse(middle, radius + 2.2, radius + 2.2)
    painter.setBrush(theme.color("badge"))
    painter.drawEllipse(middle, radius, radius)
    painter.setBrush(theme.color("on-badge"))
    painter.drawRoundedRect(QRectF(middle.x() - 1.9, middle.y() - 7.2, 3.8, 9.2), 1.9, 1.9)
    painter.drawEllipse(middle + QPointF(0, 5.4), 2.1, 2.1)


def _snore(painter: QPainter, phase: float) -> None:
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for start, size in (((94.0, 26.0), 7.0), ((105.0, 13.0), 10.0)):
        drift = 3 * dip(phase)
        x, y = start[0] + drift * 0.4 - size / 2, start[1] - drift - size / 2
        letter = QPainterPath(QPointF(x, y))
        for corner in (QPointF(x + size, y), QPointF(x, y + size), QPointF(x + size, y + size)):
            letter.lineTo(corner)
        for width, token in ((5.4, "halo"), (2.6, "snore")):
            pen = QPen(theme.color(token), width)
            pen.setCapStyle(Qt.PenCapStyle.RoundCap)
            pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
            painter.strokePath(letter, pen)


def pixmap(key: str, size: int, mood: str = Mood.IDLE, dpr: float = 1.0) -> QPixmap:
    """A still picture of that face, `size` pixels of the screen's own units on each side."""
    name, picture = f"apx-blob:{key}:{size}:{Mood(mood)}:{dpr:.2f}", QPixmap()
    if QPixmapCache.find(name, picture):
        return picture
    picture = QPixmap(QSize(round(size * dpr), round(size * dpr)))
    picture.setDevicePixelRatio(dpr)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    paint(painter, QRectF(0, 0, size, size), key, mood)
    painter.end()
    QPixmapCache.insert(name, picture)
    return picture


def icon(key: str, mood: str = Mood.IDLE) -> QIcon:
    """That face as an icon for a tray, a window or a list, sharp at the usual sizes."""
    made = QIcon()
    for size in (16, 20, 22, 24, 32, 44, 48, 64, 128):
        made.addPixmap(pixmap(key, size, mood))
    return made


@lru_cache(maxsize=32)
def silhouette(key: str, size: int, mood: str, steps: int = 60) -> QRegion:
    """Every pixel that some moment of the mood touches: what of the square answers to a click."""
    union = QPixmap(size, size)
    union.fill(Qt.GlobalColor.transparent)
    painter = QPainter(union)
    for step in range(steps):
        paint(painter, QRectF(0, 0, size, size), key, mood, step / steps)
    painter.end()
    return QRegion(QBitmap(union.mask()))
