"""Details that few people want: a line with an arrow, and what is under it once it is opened."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from desktop import pieces, theme


class Fold(QWidget):
    """Shut at first. `fill` is called with the column when it is opened for the first time."""

    def __init__(self, fill: Callable[[QVBoxLayout], object], text: str = "", *, tool: bool = False) -> None:
        super().__init__()
        self._fill, self._filled = fill, False
        self.line = pieces.button("" if tool else "quiet", press=self._toggle)
        self.line.setCheckable(True)
        if tool:
            self.line.setProperty("tool", True)
        theme.current().dress(self.line, "chevron-right", "muted")
        self.body = QWidget()
        self.column = QVBoxLayout(self.body)
        self.column.setContentsMargins(26 if tool else 8, 4, 0, 8)
        self.column.setSpacing(8)
        self.body.hide()
        outside = QVBoxLayout(self)
        outside.setContentsMargins(0, 0, 0, 0)
        outside.setSpacing(0)
        outside.addWidget(self.line, 0, Qt.AlignmentFlag.AlignLeft)
        outside.addWidget(self.body)
        self.say(text)

    def say(self, text: str) -> None:
        self.line.setText(text)

    def open(self) -> None:
        """Show what is under it."""
        if not self.line.isChecked():
            self.line.click()

    def _toggle(self) -> None:
        opened = self.line.isChecked()
        theme.current().dress(self.line, "chevron-down" if opened else "chevron-right", "muted")
        if opened and not self._filled:
            self._filled = True
            self._fill(self.column)
        self.body.setVisible(opened)
