"""Pictures in small: read no larger than they are shown, upright and with round corners."""

from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF, QSize, Qt
from PySide6.QtGui import QImageReader, QPainter, QPainterPath, QPixmap

from desktop import theme

MAX_MEGABYTES = 256  # of one picture as it is unpacked: a small file can hold a wall


def of_file(path: Path | None, room: QSize, ratio: float, *, fill: bool = False) -> QPixmap:
    """The picture of a file in that room; `fill` cuts it to the shape of the room."""
    if path is None or not path.is_file():
        return QPixmap()
    return _small(QImageReader(str(path)), room, ratio, fill)


def of_data(data: bytes, room: QSize, ratio: float) -> QPixmap:
    """The same of bytes, cut to the shape of the room."""
    buffer = QBuffer()
    buffer.setData(QByteArray(data))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    return _small(QImageReader(buffer), room, ratio, True)


def _small(reader: QImageReader, room: QSize, ratio: float, fill: bool) -> QPixmap:
    reader.setAutoTransform(True)
    QImageReader.setAllocationLimit(MAX_MEGABYTES)
    wanted = QSize(round(room.width() * ratio), round(room.height() * ratio))
    whole = reader.size()
    mode = Qt.AspectRatioMode.KeepAspectRatioByExpanding if fill else Qt.AspectRatioMode.KeepAspectRatio
    if whole.isValid():
        # A picture that lies on its side is turned after it has been read.
        turned = bool(reader.transformation().value & 4)
        inside = wanted.transposed() if turned else wanted
        fits = whole.scaled(inside, mode)
        reader.setScaledSize(fits if fits.width() < whole.width() else whole)
    read = QPixmap.fromImage(reader.read())
    if read.isNull():
        return read
    if read.width() > wanted.width() or read.height() > wanted.height():
        cut = read.rect()
        cut.setSize(read.size().boundedTo(wanted))
        cut.moveCenter(read.rect().center())
        read = read.copy(cut)
    read.setDevicePixelRatio(ratio)
    return _rounded(read, ratio)


def _rounded(picture: QPixmap, ratio: float) -> QPixmap:
    made = QPixmap(picture.size())
    made.setDevicePixelRatio(ratio)
    made.fill(Qt.GlobalColor.transparent)
    size = picture.deviceIndependentSize()
    shape = QPainterPath()
    radius = min(theme.RADIUS, size.width() / 4, size.height() / 4)
    shape.addRoundedRect(QRectF(0, 0, size.width(), size.height()), radius, radius)
    painter = QPainter(made)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setClipPath(shape)
    painter.drawPixmap(0, 0, picture)
    painter.end()
    return made
