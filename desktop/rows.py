"""How one line of the conversation is drawn. `show_entry` may be called again and again as the line grows."""

import json
from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, QUrl
from PySide6.QtGui import (
    QDesktopServices,
    QKeySequence,
    QResizeEvent,
    QTextOption,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QSizePolicy,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

from desktop import pieces, theme
from desktop.messages import Entry
from desktop.words import Words

TEXT_WIDTH = 720
OWN_WIDTH = 560
MOST_SHOWN = 20_000


class Prose(QTextBrowser):
    """Text as tall as it is. It fetches nothing, and opens only web addresses, only on a click."""

    def __init__(self) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setObjectName("prose")
        self.setOpenLinks(False)
        self.anchorClicked.connect(self._open)
        self.highlighted.connect(lambda url: self.setToolTip(url.toString()))
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.document().setDocumentMargin(0)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)

    def put_markdown(self, text: str) -> None:
        """Show an answer, finished or not."""
        from desktop import markdown  # not before there is something to read

        colours = theme.current()
        self.document().setDefaultStyleSheet(
            f"a {{ color: {colours.color('accent').name()}; }} p, li {{ line-height: 118%; }}"
            " h1 { font-size: 18px; } h2 { font-size: 16px; } h3, h4, h5 { font-size: 14px; }"
            " pre, code { font-family: 'monospace'; font-size: 12px; }"
            f" blockquote {{ color: {colours.color('muted').name()}; }}"
        )
        drawn = markdown.html(text, line=colours.color("line").name(), sunken=colours.color("sunken").name())
        self.setHtml(drawn)
        self.setAccessibleName(text)
        self.updateGeometry()

    def put_plain(self, text: str) -> None:
        self.setPlainText(text)
        self.updateGeometry()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        document = self.document()
        if document.textWidth() != width:
            document.setTextWidth(width)
        return int(document.size().height()) + 1

    def sizeHint(self) -> QSize:
        return QSize(int(self.document().idealWidth()) + 2, self.heightForWidth(max(self.width(), 80)))

    def minimumSizeHint(self) -> QSize:
        return QSize(60, 16)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # the conversation scrolls, not its lines

    def loadResource(self, kind: int, url: QUrl | str) -> None:
        """Nothing is ever loaded: neither pictures from the web nor files of this machine."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def _open(self, url: QUrl) -> None:
        from desktop import markdown

        if markdown.opens(url.toString()):
            QDesktopServices.openUrl(url)


class Row(QWidget):
    """Base of all rows: keeps the entry, and copies its text from a menu."""

    def __init__(self, entry: Entry, words: Words) -> None:
        super().__init__()
        self.entry = entry
        self.words = words
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._menu)
        self.build()
        self.show_entry()

    def build(self) -> None:
        raise NotImplementedError

    def show_entry(self) -> None:
        raise NotImplementedError

    def found(self, on: bool) -> None:
        """Mark it as the line a search has found."""
        pieces.put(self, "found", on)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground, on)

    def _menu(self, point: object) -> None:
        menu = QMenu(self)
        copy = menu.addAction(theme.icon("copy"), self.words("message.copy"))
        copy.setShortcut(QKeySequence.StandardKey.Copy)
        copy.triggered.connect(lambda: QApplication.clipboard().setText(self.entry.text or self.entry.result))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.mapToGlobal(point))  # type: ignore[call-overload]


class Told(QLabel):
    """The owner's words: as wide as their longest line where there is room, and never the reason for more of it."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._widest = 0

    def setText(self, text: str) -> None:
        super().setText(text)
        metrics = self.fontMetrics()
        self._widest = max((metrics.horizontalAdvance(one) for one in text[:2000].split("\n")), default=0)
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        width = max(16, min(self._widest + 4, self.maximumWidth()))
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(16, self.fontMetrics().height())


class OwnerRow(Row):
    """The owner's words, right, on the soft accent."""

    def build(self) -> None:
        self.text = Told()
        balloon = QFrame()
        balloon.setProperty("own", True)
        inside = QHBoxLayout(balloon)
        inside.setContentsMargins(14, 9, 14, 9)
        inside.addWidget(self.text)
        self.place(balloon)

    def place(self, balloon: QFrame) -> None:
        """Put the words where they belong; nothing else is in the row."""
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 4, 0, 8)
        line.addStretch(1)
        line.addWidget(balloon)

    def show_entry(self) -> None:
        text = self.entry.text
        self.text.setText(text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "…")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.text.setMaximumWidth(max(16, min(OWN_WIDTH, int(self.width() * 0.86))))


class AgentRow(Row):
    """The agent's words, plain on the ground."""

    def build(self) -> None:
        self.prose = Prose()
        self.prose.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self.prose.setMaximumWidth(TEXT_WIDTH)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 2, 0, 10)
        line.addWidget(self.prose, 1)
        line.addStretch(0)
        theme.current().changed.connect(self.show_entry)

    def show_entry(self) -> None:
        text = self.entry.text
        self.prose.put_markdown(text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "…")


class ToolRow(Row):
    """One quiet line for a tool call; pressing it opens what went in and what came out."""

    def build(self) -> None:
        self.line = pieces.Press()
        self.text = pieces.Elided(role="tool")
        inside = QHBoxLayout(self.line)
        inside.setContentsMargins(0, 1, 0, 1)
        inside.addWidget(self.text)
        self.line.clicked.connect(self.toggle)
        self.details = pieces.label(role="code", wrap=True)
        self.details.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.details.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 2)
        column.setSpacing(4)
        column.addWidget(pieces.at_most(self.line, TEXT_WIDTH))
        column.addWidget(pieces.at_most(self.details, TEXT_WIDTH))

    def show_entry(self) -> None:
        entry, said = self.entry, self.words
        what = said.tool(entry.text)
        if entry.ok is None:
            end = "…"
        elif entry.ok:
            end = f" · {entry.seconds:.1f} s"
        else:
            end = f" · {said('tool.failed')}"
        self.text.say(f"→ {what}{end}")
        pieces.put(self.text, "failed", entry.ok is False)
        self.line.setAccessibleName(said("tool.line", tool=what))
        shown = json.dumps(entry.args, ensure_ascii=False, indent=2) if entry.args else "{}"
        result = entry.result if len(entry.result) <= 4000 else entry.result[:4000] + "…"
        self.details.setText(f"{shown}\n\n{result}".strip())

    def toggle(self) -> None:
        self.details.setVisible(self.details.isHidden())


class NoteRow(Row):
    """A quiet remark of the app itself."""

    def build(self) -> None:
        self.text = pieces.label(role="muted", wrap=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 2, 0, 8)
        column.addWidget(self.text)

    def show_entry(self) -> None:
        self.text.setText(self.entry.text)


class ErrorRow(Row):
    """What happened, what was not done, and what to press."""

    def __init__(self, entry: Entry, words: Words, again: Callable[[Entry], object]) -> None:
        self._again = again
        super().__init__(entry, words)

    def build(self) -> None:
        card = pieces.Card("danger")
        card.setMaximumWidth(620)
        self.title = pieces.label(role="strong")
        self.text = pieces.label(wrap=True)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.button = pieces.button("", "refresh", lambda: self._again(self.entry))
        for widget in (self.title, self.text):
            card.column.addWidget(widget)
        card.column.addLayout(pieces.row(self.button, 1))
        outside = QHBoxLayout(self)
        outside.setContentsMargins(0, 4, 0, 10)
        outside.addWidget(card, 1)
        outside.addStretch(0)

    def show_entry(self) -> None:
        self.title.setText(self.words("error.title"))
        self.text.setText(self.entry.text)
        action = self.entry.action
        self.button.setText(self.words("error.again" if action == "again" else "error.settings"))
        theme.current().dress(self.button, "refresh" if action == "again" else "settings")
        self.button.setVisible(bool(action))
