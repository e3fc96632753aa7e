"""The pictures that will go with the next message: in small above the field, each with its name and a way out.

They are held here until they are sent: what is taken away again leaves nothing behind.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QIODevice, QMimeData, QSize, Qt, Signal
from PySide6.QtGui import QImage, QKeyEvent
from PySide6.QtWidgets import QFileDialog, QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from core.errors import ApxError
from core.texts import t
from desktop import pieces, theme, thumbnails
from desktop.flow import Wrap
from desktop.slots import slot
from desktop.words import Words

if TYPE_CHECKING:  # the window is painted before the core's modules are read
    from core.runs.pictures import Picture

THUMB = QSize(36, 36)
NAME_WIDTH = 180
SMALL_NAME_WIDTH = 110


def brings_pictures(mime: QMimeData) -> bool:
    """Whether what is pasted or dropped is files or a picture, and not text with a picture of itself."""
    return bool(paths_of(mime)) or (mime.hasImage() and not mime.hasText())


def paths_of(mime: QMimeData) -> list[Path]:
    return [Path(url.toLocalFile()) for url in mime.urls() if url.isLocalFile()] if mime.hasUrls() else []


def encoded(image: QImage, most: int) -> bytes:
    """A pasted picture as a file's bytes: exact where that has room, else as a photograph."""
    data = b""
    for kind, quality in (("PNG", -1), ("JPEG", 92), ("JPEG", 75)):
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        image.save(buffer, kind, quality)  # type: ignore[call-overload]
        data = bytes(buffer.data().data())
        if len(data) <= most:
            break
    return data


class Chip(QFrame):
    """One picture: how it looks, what it is called, and the button that takes it away."""

    def __init__(self, picture: "Picture", words: Words, leave: Callable[[], object], *, small: bool) -> None:
        super().__init__()
        self._words, self._name = words, picture.name
        self.setProperty("attached", True)
        self.look = QLabel()
        self.look.setFixedSize(THUMB)
        self.look.setAlignment(Qt.AlignmentFlag.AlignCenter)
        look = thumbnails.of_data(picture.data, THUMB, self.devicePixelRatioF())
        self.look.setPixmap(theme.icon("image", "muted").pixmap(QSize(20, 20)) if look.isNull() else look)
        self.name = pieces.short(
            pieces.Elided(picture.name, "small"), SMALL_NAME_WIDTH if small else NAME_WIDTH
        )
        self.leave = pieces.button("quiet", "close", leave)
        self.leave.setIconSize(QSize(14, 14))
        self.leave.setFixedSize(26, 26)
        self.leave.setProperty("tiny", True)
        line = QHBoxLayout(self)
        line.setContentsMargins(4, 4, 4, 4)
        line.setSpacing(8)
        for widget in (self.look, self.name, self.leave):
            line.addWidget(widget)
        self.retitle()

    def retitle(self) -> None:
        pieces.name(self.leave, self._words("attach.leave", name=self._name), tip=True)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Delete, Qt.Key.Key_Backspace}:
            self.leave.click()
            return
        super().keyPressEvent(event)


class Attached(QWidget):
    """The strip of them. `refused` says what could not be taken, a sentence for each."""

    changed = Signal()
    refused = Signal(str)

    def __init__(self, words: Words, *, small: bool = False) -> None:
        super().__init__()
        self._words, self._small = words, small
        self.pictures: list[Picture] = []
        self.reading = 0
        self._pasted = 0
        self.chips: list[Chip] = []
        self.strip = Wrap(gap=6)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.strip)
        self.hide()
        words.changed.connect(self.retitle)

    def retitle(self) -> None:
        for chip in self.chips:
            chip.retitle()

    def take(self) -> "tuple[Picture, ...]":
        """They go with a message."""
        taken = tuple(self.pictures)
        self.pictures.clear()
        self._draw()
        return taken

    def bring(self, mime: QMimeData) -> None:
        """Take what was pasted or dropped."""
        if paths := paths_of(mime):
            self.read(paths)
            return
        image = mime.imageData()
        if isinstance(image, QImage) and not image.isNull():
            from core.runs.sight import MAX_BYTES

            self._pasted += 1
            self._add([(self._words("attach.pasted", n=self._pasted), encoded(image, MAX_BYTES))])

    def choose(self) -> None:
        """Ask for files; the dialog never stops the loop."""
        dialog = QFileDialog(self.window(), self._words("attach.choose"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setNameFilter(f"{self._words('attach.filter')} (*.png *.jpg *.jpeg *.gif *.webp)")
        dialog.filesSelected.connect(lambda files: self.read([Path(one) for one in files]))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    @slot(list)
    async def read(self, paths: Sequence[Path]) -> None:
        """Read files beside the loop: one of them may lie on a slow disk."""
        self.reading += 1
        try:
            brought = await asyncio.to_thread(_read, list(paths), self._words.lang)
        finally:
            self.reading -= 1
        self._add(brought)

    def _add(self, brought: "Sequence[tuple[str, bytes | str]]") -> None:
        from core.runs import pictures
        from core.runs.sight import MAX_IMAGES

        lang, refusals = self._words.lang, []
        for name, data in brought:
            if isinstance(data, str):
                refusals.append(data)
                continue
            try:
                pictures.few_enough(len(self.pictures) + 1, lang)
                self.pictures.append(pictures.checked(name, data, lang))
            except ApxError as error:
                refusals.append(str(error))
                if len(self.pictures) >= MAX_IMAGES:
                    break  # the rest would say the same
        self._draw()
        self.refused.emit("\n".join(refusals))

    def _leave(self, picture: "Picture") -> None:
        self.pictures = [one for one in self.pictures if one is not picture]
        self._draw()
        self.refused.emit("")

    def _draw(self) -> None:
        layout = self.strip.layout()
        assert layout is not None
        pieces.clear(layout)
        self.chips = []
        for picture in self.pictures:
            chip = Chip(picture, self._words, partial(self._leave, picture), small=self._small)
            self.chips.append(chip)
            layout.addWidget(chip)
        self.setVisible(bool(self.chips))
        self.strip.updateGeometry()
        self.changed.emit()


def _read(paths: Sequence[Path], lang: str) -> list[tuple[str, bytes | str]]:
    """Name and bytes of each, or the sentence that says why there are none."""
    from core.runs.pictures import label, too_large
    from core.runs.sight import MAX_BYTES

    brought: list[tuple[str, bytes | str]] = []
    for path in paths:
        try:
            size = path.stat().st_size
            large = size > MAX_BYTES and path.is_file()
            brought.append((path.name, too_large(path.name, size, lang) if large else path.read_bytes()))
        except OSError:
            brought.append((path.name, t("pictures.unread", lang, name=label(path.name))))
    return brought
