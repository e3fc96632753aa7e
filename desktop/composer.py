"""Where the owner writes. It says what was written and that Stop was pressed; what becomes of it is its owner's."""

from PySide6.QtCore import QMimeData, QSize, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPlainTextEdit, QSizePolicy, QVBoxLayout, QWidget

from desktop import pieces
from desktop.attached import Attached, brings_pictures
from desktop.words import Words

MOST_LINES = 8


class Lines(QPlainTextEdit):
    """A text field as tall as its text, up to `MOST_LINES`. Enter submits, Shift+Enter makes a line."""

    submitted = Signal()
    focused = Signal(bool)
    brought = Signal(QMimeData)  # pictures that were pasted

    def __init__(self, *, pictures: bool = False) -> None:
        super().__init__()
        self._pictures = pictures
        if pictures:
            self.setAcceptDrops(False)  # its owner takes them, wherever they are let go
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

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return (self._pictures and brings_pictures(source)) or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        if self._pictures and brings_pictures(source):
            self.brought.emit(source)
            return
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

    While it is not ready it keeps what is typed, and says why nothing can be sent. With `pictures` it takes them from
    the clipboard, from a drag and from the disk; whoever hears `submitted` takes them out of `attached`.
    """

    submitted = Signal(str)
    stopped = Signal()

    def __init__(self, words: Words, *, small: bool = False, pictures: bool = False) -> None:
        super().__init__()
        self._words = words
        self._name = ""
        self._why = "composer.opening"
        self._working = False
        self._blind = ""
        self.lines = Lines(pictures=pictures)
        self.button = pieces.button("primary", "send", self._press)
        self.stop = pieces.button("", "stop", self.stopped.emit)
        self.why = pieces.label(role="small", wrap=True)
        self.wrong = pieces.label(role="error", wrap=True)
        self.wrong.hide()
        self.attached = Attached(words, small=small)
        self.clip = pieces.button("quiet", "attach", self.attached.choose)
        self.clip.setVisible(pictures)
        self.frame = QFrame()
        self.frame.setProperty("card", True)
        above = QVBoxLayout(self.frame)
        above.setContentsMargins(8 if pictures else 14, 8, 8, 8)
        above.setSpacing(8)
        above.addWidget(self.attached)
        inside = QHBoxLayout()
        inside.setSpacing(8)
        above.addLayout(inside)
        inside.addWidget(self.clip, 0, Qt.AlignmentFlag.AlignBottom)
        inside.addWidget(self.lines, 1, Qt.AlignmentFlag.AlignVCenter)
        inside.addWidget(self.button, 0, Qt.AlignmentFlag.AlignBottom)
        inside.addWidget(self.stop, 0, Qt.AlignmentFlag.AlignBottom)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.frame)
        column.addWidget(self.wrong)
        column.addWidget(self.why)
        self._small = small
        self.setAcceptDrops(pictures)
        self.lines.brought.connect(self.attached.bring)
        self.attached.changed.connect(self._show)
        self.attached.refused.connect(self._refuse)
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
        pieces.name(self.clip, said("attach.add"), tip=True)
        self._show()

    def call_it(self, name: str) -> None:
        """The name the placeholder speaks of."""
        self._name = name
        self.retitle()

    def set_state(self, why: str = "", *, working: bool = False) -> None:
        """`why` is the key of the reason for which nothing can be sent; empty when it can."""
        self._why, self._working = why, working
        self._show()

    def warn_of(self, model: str) -> None:
        """The model that answers, where it does not see pictures; empty where it does."""
        self._blind = model
        self._show()

    def _refuse(self, sentences: str) -> None:
        self.wrong.setText(sentences)
        self.wrong.setVisible(bool(sentences))

    def _show(self) -> None:
        why = self._words(self._why) if self._why else ""
        if not why and self._blind and self.attached.pictures:
            why = self._words("pictures.will_not_see", model=self._blind)
        self.why.setText(why)
        self.why.setVisible(bool(why))
        self.button.setVisible(not self._working)
        self.stop.setVisible(self._working)
        something = bool(self.lines.toPlainText().strip()) or bool(self.attached.pictures)
        self.button.setEnabled(not self._why and something)

    def _press(self) -> None:
        self._submit()
        self.lines.setFocus()

    def _submit(self) -> None:
        text = self.lines.toPlainText().strip()
        something = bool(text) or bool(self.attached.pictures)
        if not something or self._why or self._working or self.attached.reading:
            return  # kept in the field: it goes when it can
        self.lines.clear()
        self._refuse("")
        self.submitted.emit(text)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if brings_pictures(event.mimeData()):
            event.acceptProposedAction()
            pieces.put(self.frame, "tone", "accent")

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._settle()
        super().dragLeaveEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:
        event.acceptProposedAction()
        self.attached.bring(event.mimeData())
        self._settle()
        self.lines.setFocus()

    def _settle(self) -> None:
        pieces.put(self.frame, "tone", "accent" if self.lines.hasFocus() else "")
