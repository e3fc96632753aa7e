"""Files in the conversation: one that came with an answer as a card, pictures that went with a question in small."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QPixmap
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout

from desktop import pieces, theme, thumbnails
from desktop.flow import Wrap
from desktop.messages import Entry, File
from desktop.pieces import Press
from desktop.rows import OwnerRow, Row
from desktop.words import Words

ALONE = QSize(280, 200)
AMONG = QSize(132, 100)

Save = Callable[[File], object]


class FileRow(Row):
    """A file as a card: what it is, a look at it, and Save as."""

    def __init__(self, entry: Entry, words: Words, save: Save) -> None:
        self._save = save
        super().__init__(entry, words)

    def build(self) -> None:
        card = pieces.Card(pad=10)
        card.setMaximumWidth(400)
        card.setMinimumWidth(240)
        self.picture = QLabel()
        self.picture.setFixedSize(44, 64)
        self.picture.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.picture.setProperty("thumb", True)
        self.title = pieces.Elided(role="strong")
        self.facts = pieces.Elided(role="small")
        self.caption = pieces.label(wrap=True)
        self.button = pieces.button("", "save", self._pressed)
        middle = QVBoxLayout()
        middle.setSpacing(2)
        middle.addStretch()
        middle.addWidget(self.title)
        middle.addWidget(self.facts)
        middle.addStretch()
        line = QHBoxLayout()
        line.setSpacing(12)
        line.addWidget(self.picture)
        line.addLayout(middle, 1)
        line.addWidget(self.button)
        card.column.addLayout(line)
        card.column.addWidget(self.caption)
        outside = QHBoxLayout(self)
        outside.setContentsMargins(0, 4, 0, 10)
        outside.addWidget(card, 1)
        outside.addStretch(0)

    def show_entry(self) -> None:
        file, said = self.entry.file, self.words
        if file is None:
            return
        self.title.say(file.name)
        self.facts.say(f"{said(f'file.kind.{file.kind}')} · {size_text(file.size)}")
        self.caption.setText(file.caption)
        self.caption.setVisible(bool(file.caption))
        gone = file.path is None or not file.path.exists()
        self.button.setText(said("file.gone") if gone else said("file.save"))
        self.button.setEnabled(not gone)
        pieces.name(self.button, said("file.save.name", name=file.name))
        self.picture.setPixmap(self._look(file))

    def _pressed(self) -> None:
        if self.entry.file is not None:
            self._save(self.entry.file)

    def _look(self, file: File) -> QPixmap:
        if file.kind == "image":
            picture = thumbnails.of_file(file.path, QSize(44, 64), self.devicePixelRatioF())
            if not picture.isNull():
                return picture
        return theme.icon("image" if file.kind == "image" else "file", "muted").pixmap(QSize(24, 24))


class Shown(Press):
    """One picture of a question; pressing it opens it with the program that people see pictures with."""

    def __init__(self, file: File, room: QSize, words: Words) -> None:
        super().__init__()
        self.file = file
        self.setObjectName("picture")
        line = QVBoxLayout(self)
        line.setContentsMargins(1, 1, 1, 1)
        self.picture = QLabel()
        small = thumbnails.of_file(file.path, room, self.devicePixelRatioF(), fill=room == AMONG)
        gone = small.isNull()
        if gone:
            self.setProperty("card", True)
            line.setContentsMargins(12, 8, 12, 8)
            self.picture.setPixmap(theme.icon("image", "muted").pixmap(QSize(20, 20)))
            told = pieces.row(self.picture, gap=8)
            told.addWidget(pieces.short(pieces.Elided(file.name, "small"), 200))
            told.addWidget(pieces.label(words("file.gone"), "small"))
            line.addLayout(told)
            self.setCursor(Qt.CursorShape.ArrowCursor)
            self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        else:
            self.picture.setPixmap(small)
            if room == AMONG:  # tiles of one size
                self.picture.setFixedSize(room)
                self.picture.setAlignment(Qt.AlignmentFlag.AlignCenter)
                self.picture.setProperty("tile", True)
            line.addWidget(self.picture)
            self.clicked.connect(self._open)
            self.setToolTip(file.name)
        pieces.name(self, words("file.gone.name" if gone else "file.open.name", name=file.name))

    def _open(self) -> None:
        if self.file.path is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.file.path)))


class Tiles(Wrap):
    """Several pictures, up to four side by side where there is room."""

    ACROSS, GAP = 4, 8

    def __init__(self, shown: Sequence[Shown]) -> None:
        super().__init__(*shown, gap=self.GAP)
        self._shown = shown

    def sizeHint(self) -> QSize:
        each = max(one.sizeHint().width() for one in self._shown) + self.GAP
        width = min(len(self._shown), self.ACROSS) * each - self.GAP
        return QSize(width, self.heightForWidth(width))


class PicturedRow(OwnerRow):
    """The owner's words with the pictures that went with them."""

    def place(self, balloon: QFrame) -> None:
        files: Sequence[File] = self.entry.files
        room = ALONE if len(files) == 1 else AMONG
        self.shown = [Shown(file, room, self.words) for file in files]
        self.pictures = Tiles(self.shown) if len(files) > 1 else self.shown[0]
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(0)
        for widget in (self.pictures, balloon):
            right = QHBoxLayout()
            right.setContentsMargins(0, 4, 0, 4)
            right.addStretch(1)
            right.addWidget(widget)
            column.addLayout(right)
        balloon.setVisible(bool(self.entry.text))


def size_text(size: int) -> str:
    """A size as people say it."""
    if size < 1000:
        return f"{size} B"
    if size < 1_000_000:
        return f"{size / 1000:.0f} KB"
    return f"{size / 1_000_000:.1f} MB"
