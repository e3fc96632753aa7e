"""The one conversation of the desktop as a list model: the window and the bubble are two views of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

if TYPE_CHECKING:  # the window is painted before the core's modules are read
    from core.runs.turn import Asked

ENTRY = int(Qt.ItemDataRole.UserRole)
Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class Kind(StrEnum):
    """What a line of the conversation is; each is drawn in its own way."""

    OWNER = "owner"
    AGENT = "agent"
    TOOL = "tool"
    FILE = "file"
    NOTE = "note"
    ERROR = "error"
    QUESTIONS = "questions"
    HANDOVER = "handover"
    SPEAKER = "speaker"  # who says what follows: the text is the name, the result the face


@dataclass(frozen=True, slots=True)
class File:
    """A file that came with an answer or a question; `path` is the copy that was checked, empty when it is gone."""

    name: str
    kind: str
    size: int
    path: Path | None = None
    caption: str = ""
    media_id: str = ""
    mime: str = ""


@dataclass(slots=True)
class Asking:
    """A card of questions, with what is chosen and written so far.

    `answer` is None while it waits, and empty when the conversation went on without one.
    """

    questions: "tuple[Asked, ...]"
    answer: str | None = None
    picked: dict[int, list[str]] = field(default_factory=dict)
    written: dict[int, str] = field(default_factory=dict)


@dataclass(slots=True)
class Handed:
    """Work that was handed to an agent; `ended` is how it ended in the background, empty while it goes on."""

    who: str
    state: str = ""  # waiting, waited, background, already, refused, failed
    job_id: str = ""
    ended: str = ""


@dataclass(slots=True)
class Entry:
    """One line of the conversation. `ok` is None while a tool works."""

    kind: Kind
    text: str = ""
    at: str = ""
    run_id: str = ""
    streaming: bool = False
    call_id: str = ""
    args: dict[str, Any] = field(default_factory=dict)
    result: str = ""
    ok: bool | None = None
    seconds: float = 0.0
    file: File | None = None
    files: tuple[File, ...] = ()  # that went with the owner's words
    asking: Asking | None = None
    handed: Handed | None = None
    action: str = ""  # what the button of a failure does: again, or a page of the settings


class Messages(QAbstractListModel):
    """All entries, oldest first. They are few bytes each; it is their widgets that are few at a time."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.entries: list[Entry] = []

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.entries)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        if not index.isValid():
            return None
        entry = self.entries[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return entry.text
        return entry if role == ENTRY else None

    def load(self, entries: Sequence[Entry]) -> None:
        """Put these in place of what was there."""
        self.beginResetModel()
        self.entries = list(entries)
        self.endResetModel()

    def add(self, entry: Entry, *, before: int | None = None) -> int:
        """Put an entry at the end, or before another; says where it stands."""
        row = len(self.entries) if before is None else before
        self.beginInsertRows(QModelIndex(), row, row)
        self.entries.insert(row, entry)
        self.endInsertRows()
        return row

    def touch(self, entry: Entry) -> None:
        """Say that this entry has changed; looked for from the end, where changes happen."""
        for row in range(len(self.entries) - 1, -1, -1):
            if self.entries[row] is entry:
                index = self.index(row)
                self.dataChanged.emit(index, index)
                return

    def remove(self, entry: Entry) -> None:
        """Take an entry out."""
        for row in range(len(self.entries) - 1, -1, -1):
            if self.entries[row] is entry:
                self.beginRemoveRows(QModelIndex(), row, row)
                del self.entries[row]
                self.endRemoveRows()
                return

    def find(self, text: str, before: int) -> int:
        """The nearest entry before that row which contains the text, or -1. Letter case does not matter."""
        wanted = text.casefold()
        for row in range(min(before, len(self.entries)) - 1, -1, -1):
            if wanted in self.entries[row].text.casefold():
                return row
        return -1
