"""Where the owner writes. It says what was written and that Stop was pressed; what becomes of it is its owner's."""

from PySide6.QtCore import QMimeData, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPlainTextEdit, QSizePolicy, QVBoxLayout, QWidget

from desktop import pieces
from desktop.words import Words

MOST_LINES = 8


class Lines(QPlainTextEdit):
    """A text field as tall as its text, up to `MOST_LINES`. Enter submits, Shift+Enter makes a line."""

    submitted = Signal()
    focused = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("plain", True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(0)
        self.document().documentLayout().documentSizeChanged.connect(lambda _: self._grow())
        self._grow()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        plain = not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and plain:
            self.submitted.emit()
            return
        super().keyPressEvent(event)

    def insertFromMimeData(self, source: QMimeData) -> None:
        self.insertPlainText(source.text())

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focused.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focused.emit(False)

    def sizeHint(self) -> QSize:
        return QSize(200, self.height())

    def _grow(self) -> None:
        # A plain-text layout counts its height in lines.
        lines = min(max(int(self.document().size().height()), 1), MOST_LINES)
        self.setFixedHeight(lines * self.fontMetrics().lineSpacing() + 4)
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(
            policy.ScrollBarAsNeeded if lines == MOST_LINES else policy.ScrollBarAlwaysOff
        )


class Composer(QWidget):
    """The field and its one button, which is Send, or Stop while an answer is on its way.

    While it is not ready it keeps what is typed, and says why nothing can be sent.
    """

    submitted = Signal(str)
    stopped = Signal()

    def __init__(self, words: Words, *, small: bool = False) -> None:
        super().__init__()
        self._words = words
        self._name = ""
        self._why = "composer.opening"
        self._working = False
        self.lines = Lines()
        self.button = pieces.button("primary", "send", self._press)
        self.stop = pieces.button("", "stop", self.stopped.emit)
        self.why = pieces.label(role="small")
        self.frame = QFrame()
        self.frame.setProperty("card", True)
        inside = QHBoxLayout(self.frame)
        inside.setContentsMargins(14, 8, 8, 8)
        inside.setSpacing(8)
        inside.addWidget(self.lines, 1, Qt.AlignmentFlag.AlignVCenter)
        inside.addWidget(self.button, 0, Qt.AlignmentFlag.AlignBottom)
        inside.addWidget(self.stop, 0, Qt.AlignmentFlag.AlignBottom)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.frame)
        column.addWidget(self.why)
        self._small = small
        self.setFocusProxy(self.lines)
        self.lines.submitted.connect(self._submit)
        self.lines.textChanged.connect(self._show)
        self.lines.focused.connect(lambda on: pieces.put(self.frame, "tone", "accent" if on else ""))
        words.changed.connect(self.retitle)
        self.retitle()

    def retitle(self) -> None:
        said = self._words
        text = (
            said("composer.placeholder", name=self._name) if self._name else said("composer.placeholder.bare")
        )
        self.lines.setPlaceholderText(text)
        pieces.name(self.lines, text)
        self.button.setText("" if self._small else said("composer.send"))
        self.stop.setText("" if self._small else said("composer.stop"))
        pieces.name(self.button, said("composer.send"), tip=True)
        pieces.name(self.stop, said("composer.stop"), tip=True)
        self._show()

    def call_it(self, name: str) -> None:
        """The name the placeholder speaks of."""
        self._name = name
        self.retitle()

    def set_state(self, why: str = "", *, working: bool = False) -> None:
        """`why` is the key of the reason for which nothing can be sent; empty when it can."""
        self._why, self._working = why, working
        self._show()

    def _show(self) -> None:
        self.why.setText(self._words(self._why) if self._why else "")
        self.why.setVisible(bool(self._why))
        self.button.setVisible(not self._working)
        self.stop.setVisible(self._working)
        self.button.setEnabled(not self._why and bool(self.lines.toPlainText().strip()))

    def _press(self) -> None:
        self._submit()
        self.lines.setFocus()

    def _submit(self) -> None:
        text = self.lines.toPlainText().strip()
        if not text or self._why or self._working:
            return  # kept in the field: it goes when it can
        self.lines.clear()
        self.submitted.emit(text)
