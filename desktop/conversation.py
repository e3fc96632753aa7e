"""The conversation on the screen: few widgets at a time, however long it is.

Only a stretch of the model has widgets. It slides when the reader comes near an end of it, and the line under
the reader's eyes stays where it is. Ten thousand messages cost what a hundred do.
"""

from collections.abc import Callable

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QLineEdit, QScrollArea, QVBoxLayout, QWidget

from desktop import pieces
from desktop.drawn import Deeds, row_for
from desktop.files import Save
from desktop.messages import Entry, Messages
from desktop.rows import Row
from desktop.words import Words

PAGE = 24
MOST = 96
NEAR = 240


class Conversation(QScrollArea):
    """A view of the messages that keeps to the end while the reader is there."""

    end_left = Signal(bool)

    def __init__(
        self,
        messages: Messages,
        words: Words,
        *,
        save: Save,
        again: Callable[[Entry], object],
        answer: Callable[[Entry, str], object] | None = None,
        margin: int = 24,
    ) -> None:
        super().__init__()
        self._messages, self._words = messages, words
        self._deeds = Deeds(save, again, answer) if answer else Deeds(save, again)
        self.first = self.last = 0
        self._at_end = True
        self._sliding = False
        self._found: Row | None = None
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.ground = ground = QWidget()
        self.column = QVBoxLayout(ground)
        self.column.setContentsMargins(margin, 16, margin, 8)
        self.column.setSpacing(2)
        self.column.addStretch(1)  # a short conversation sits above the composer
        self.setWidget(ground)
        bar = self.verticalScrollBar()
        bar.valueChanged.connect(self._scrolled)
        bar.rangeChanged.connect(lambda *_: self._keep_end())
        messages.modelReset.connect(self.rebuild)
        messages.rowsInserted.connect(self._inserted)
        messages.rowsRemoved.connect(lambda *_: self.rebuild())
        messages.dataChanged.connect(self._changed)
        words.changed.connect(self.rebuild)
        self.rebuild()

    def rows(self) -> list[Row]:
        """The rows that have widgets now, oldest first."""
        items = (self.column.itemAt(place).widget() for place in range(1, self.column.count()))  # type: ignore[union-attr]
        return [row for row in items if isinstance(row, Row)]

    def rebuild(self) -> None:
        """Draw the end of the conversation afresh."""
        count = self._messages.rowCount()
        self._draw(max(0, count - PAGE), count)
        self.to_end()

    def to_end(self) -> None:
        """Go to the last message."""
        count = self._messages.rowCount()
        if self.last < count:
            self._draw(max(0, count - PAGE), count)
        self._at_end = True
        self._keep_end()
        self.end_left.emit(False)

    def show_row(self, row: int) -> None:
        """Bring a message into view and mark it as found."""
        if not self.first <= row < self.last:
            count = self._messages.rowCount()
            first = max(0, min(row - PAGE // 2, count - PAGE))
            self._draw(first, min(count, first + PAGE))
        self._at_end = False
        self.forget_found()
        self._found = self.rows()[row - self.first]
        self._found.found(True)
        self._lay_out()
        self.ensureWidgetVisible(self._found, 0, self.height() // 3)

    def forget_found(self) -> None:
        """Take the mark of the last search away."""
        if self._found is not None:
            self._found.found(False)
            self._found = None

    def _draw(self, first: int, last: int) -> None:
        self._sliding = True
        self._found = None
        for row in self.rows():
            self._drop(row)
        self.first, self.last = first, last
        self.column.setEnabled(False)  # laid out once, not after every row
        for place in range(first, last):
            self._add(self.column.count(), place)
        self._lay_out()
        self._sliding = False

    def _add(self, where: int, place: int) -> None:
        row = row_for(self._messages.entries[place], self._words, self._deeds)
        self.column.insertWidget(where, row)
        row.show()  # a layout gives no room to what is not shown yet

    def _drop(self, row: Row) -> None:
        if row is self._found:
            self._found = None
        self.column.removeWidget(row)
        row.hide()
        row.deleteLater()

    def _inserted(self, _: object, first: int, last: int) -> None:
        if first > self.last:
            return  # below what is drawn: it is there when the reader comes
        if first < self.first:
            self.first += last - first + 1
            self.last += last - first + 1
            return
        for place in range(first, last + 1):
            self._add(1 + place - self.first, place)
            self.last += 1
        if self._at_end and self.last - self.first > MOST:
            for row in self.rows()[: self.last - self.first - MOST]:
                self._drop(row)
                self.first += 1

    def _changed(self, top: object, *_: object) -> None:
        place = top.row()  # type: ignore[attr-defined]
        if self.first <= place < self.last:
            self.rows()[place - self.first].show_entry()

    def _scrolled(self, value: int) -> None:
        if self._sliding:
            return
        bar = self.verticalScrollBar()
        at_end = value >= bar.maximum() - 4 and self.last == self._messages.rowCount()
        if at_end != self._at_end:
            self._at_end = at_end
            self.end_left.emit(not at_end)
        # Sliding inside the signal of the scroll bar would fight with the drag that caused it.
        if value < NEAR and self.first > 0:
            QTimer.singleShot(0, self, self._older)
        elif value > bar.maximum() - NEAR and self.last < self._messages.rowCount():
            QTimer.singleShot(0, self, self._newer)

    def _older(self) -> None:
        if self.verticalScrollBar().value() >= NEAR or self.first == 0:
            return
        self._slide(max(0, self.first - PAGE), self.last)

    def _newer(self) -> None:
        count = self._messages.rowCount()
        if self.last >= count:
            return
        self._slide(self.first, min(count, self.last + PAGE))

    def _slide(self, first: int, last: int) -> None:
        self._sliding = True
        rows = self.rows()
        seen = self.verticalScrollBar().value()
        anchor = next((row for row in rows if row.geometry().bottom() >= seen), rows[0])
        offset = anchor.y() - seen
        self.column.setEnabled(False)
        for place in range(self.first - 1, first - 1, -1):
            self._add(1, place)
        for place in range(self.last, last):
            self._add(self.column.count(), place)
        grew_up = first < self.first
        self.first, self.last = first, last
        rows = self.rows()
        for row in rows[MOST:] if grew_up else rows[: max(0, len(rows) - MOST)]:
            self._drop(row)
            if grew_up:
                self.last -= 1
            else:
                self.first += 1
        self._lay_out()
        self.verticalScrollBar().setValue(anchor.y() - offset)
        self._sliding = False

    def _lay_out(self) -> None:
        # The places are needed now, not when the loop comes round to them.
        ground = self.ground
        self.column.setEnabled(True)
        self.column.invalidate()
        self.column.activate()
        height = max(self.viewport().height(), ground.heightForWidth(self.viewport().width()))
        ground.resize(self.viewport().width(), height)
        self.verticalScrollBar().setRange(0, height - self.viewport().height())
        self.column.activate()

    def _keep_end(self) -> None:
        if self._at_end and not self._sliding:
            self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._keep_end()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._keep_end()
        return done


class Search(QFrame):
    """Ctrl+F: a field that walks from the latest match to the oldest."""

    wanted = Signal(str, bool)  # text, further back
    closed = Signal()

    def __init__(self, words: Words) -> None:
        super().__init__()
        self._words = words
        self.field = QLineEdit()
        self.field.setClearButtonEnabled(True)
        self.said = pieces.label(role="muted")
        self.older = pieces.button("quiet", "chevron-up", lambda: self.wanted.emit(self.field.text(), True))
        self.shut = pieces.button("quiet", "close", self.close_it)
        line = pieces.row(self.field, self.said, self.older, self.shut)
        line.setContentsMargins(24, 8, 24, 8)
        self.setLayout(line)
        self.field.returnPressed.connect(lambda: self.wanted.emit(self.field.text(), True))
        self.field.textEdited.connect(lambda text: self.wanted.emit(text, False))
        self.hide()
        words.changed.connect(self.retitle)
        self.retitle()

    def retitle(self) -> None:
        self.field.setPlaceholderText(self._words("search.placeholder"))
        pieces.name(self.field, self._words("search.placeholder"))
        pieces.name(self.older, self._words("search.older"), tip=True)
        pieces.name(self.shut, self._words("search.close"), tip=True)

    def open_it(self) -> None:
        self.show()
        self.field.setFocus()
        self.field.selectAll()

    def close_it(self) -> None:
        self.hide()
        self.said.clear()
        self.closed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_it()
            return
        super().keyPressEvent(event)
