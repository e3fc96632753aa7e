"""Commands, arguments and results as they are: nothing cut, nothing invisible, never wider than the room."""

import re

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import (
    QFontMetricsF,
    QResizeEvent,
    QShowEvent,
    QSyntaxHighlighter,
    QTextCharFormat,
    QTextDocument,
)
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy

from desktop import theme

HIDDEN = re.compile("⟨U\\+[0-9A-F]{4,6}⟩")
EDGES = 22  # above and below the text


class _Hidden(QSyntaxHighlighter):
    """Signs that cannot be seen stand out by their numbers."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        theme.current().changed.connect(self.rehighlight)

    def highlightBlock(self, text: str) -> None:
        look = QTextCharFormat()
        look.setForeground(theme.color("danger"))
        look.setBackground(theme.color("danger-soft"))
        for found in HIDDEN.finditer(text):
            self.setFormat(found.start(), len(found.group()), look)


class Code(QPlainTextEdit):
    """All of a text, broken wherever the room ends; a long one scrolls and none is cut."""

    def __init__(self, text: str, lines: int) -> None:
        super().__init__(text)
        self._lines = lines
        self.setReadOnly(True)
        self.setProperty("code", True)
        self.setWordWrapMode(self.wordWrapMode().WrapAtWordBoundaryOrAnywhere)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabChangesFocus(True)
        # As tall as its text: it must not make what it stands in grow.
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(0)
        self._mark = _Hidden(self.document())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()

    def _fit(self) -> None:
        # A plain text document counts its height in lines.
        lines = int(self.document().size().height())
        much = lines > self._lines
        shown = self._lines + 0.5 if much else lines  # half a line says that there is more
        tall = round(shown * QFontMetricsF(self.font()).lineSpacing()) + EDGES
        bar = Qt.ScrollBarPolicy.ScrollBarAsNeeded if much else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(bar)
        if tall != self.height():
            self.setFixedHeight(tall)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, 40)
