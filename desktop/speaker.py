"""Who speaks in a room: the line above what somebody says, and the same face small in lists and menus."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout

from desktop import pieces
from desktop.messages import Entry, Kind
from desktop.rail import Portrait
from desktop.rows import Row

FACE = 28


def heading(name: str, icon: str, *, run_id: str = "", speaking: bool = False) -> Entry:
    """The line that says who speaks; its face works while they do."""
    return Entry(Kind.SPEAKER, name, run_id=run_id, result=icon, streaming=speaking)


def portrait(icon: str, size: int, mood: str = "idle") -> Portrait:
    """A still face."""
    face = Portrait(size)
    face.show_face(key=icon, mood=mood)
    return face


class SpeakerRow(Row):
    """A face and a name on the ground."""

    def build(self) -> None:
        self.face = Portrait(FACE)
        self.name = pieces.label(role="strong")
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 10, 0, 2)
        line.setSpacing(8)
        line.addWidget(self.face)
        line.addWidget(self.name, 1, Qt.AlignmentFlag.AlignVCenter)

    def show_entry(self) -> None:
        self.face.show_face(key=self.entry.result, mood="thinking" if self.entry.streaming else "idle")
        self.name.setText(self.entry.text)
