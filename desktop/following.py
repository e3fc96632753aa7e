"""A screen that follows what happens: it reads again soon after, once for a burst, and never twice at a time."""

from PySide6.QtCore import QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from core.errors import ApxError
from desktop.pieces import scrolled
from desktop.slots import slot
from desktop.window import Screen
from desktop.words import Words

SETTLE_MS = 150  # much is told in a short time; the eye wants to see it in steps
WIDE = 860


class Following(Screen):
    """Subclasses read in `read`, and say in `failed` what could not be read."""

    def __init__(self, words: Words, key: str) -> None:
        super().__init__(words, key)
        self._reading = self._again = False
        self._left: QWidget | None = None
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(SETTLE_MS)
        self._soon.timeout.connect(self.refresh)

    def follow(self) -> None:
        """Something happened to what is shown here."""
        if not self._soon.isActive():
            self._soon.start()

    def rest(self) -> None:
        """Read nothing more: the core is about to close."""
        self._soon.stop()
        self._soon.blockSignals(True)

    @slot()
    async def refresh(self) -> None:
        """Read again. What happens meanwhile is read once more afterwards."""
        if self._reading:
            self._again = True
            return
        self._reading = True
        try:
            await self.read()
        except ApxError as error:
            self.failed(str(error))
        finally:
            self._reading = False
        if self._again:
            self._again = False
            self.follow()

    async def read(self) -> None:
        """Read what is shown, and show it."""

    def failed(self, why: str) -> None:
        """It could not be read."""

    def columns(self, cards: QVBoxLayout, detail: QWidget, *, above: int) -> QWidget:
        """The list at the left and what is chosen in it at the right, `above` pixels below the bar."""
        body = QWidget()
        columns = QHBoxLayout(body)
        columns.setContentsMargins(0, 0, 0, 0)
        columns.setSpacing(0)
        right = QVBoxLayout()
        right.addWidget(detail)
        right.addStretch()
        self._left = scrolled(cards, (24, above, 10, 20))
        columns.addWidget(self._left)
        columns.addWidget(scrolled(right, (10, above, 24, 20)), 1)
        return body

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._left is not None:
            self._left.setFixedWidth(334 if self.width() >= WIDE else 250)
