"""The settings: pages at the left, cards at the right; a page is built when it is first opened."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QItemSelectionModel, QStringListModel, Qt, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QListView,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from desktop import pieces
from desktop.pieces import Card, scrolled
from desktop.window import Screen
from desktop.words import Words

WIDEST = 860


class Page(QWidget):
    """A column of cards. `refresh` shows the values in force."""

    def __init__(self, words: Words) -> None:
        super().__init__()
        self.words = words
        self.cards = QVBoxLayout(self)
        self.cards.setContentsMargins(0, 0, 0, 24)
        self.cards.setSpacing(12)

    def card(self, *things: QWidget, title: str = "", help: str = "") -> Card:
        """One more card, with a title from the catalogue."""
        made = Card(gap=14)
        if title:
            head = Heading(self.words, title, help)
            made.column.addWidget(head)
        for thing in things:
            made.column.addWidget(thing)
        self.cards.addWidget(made)
        return made

    def refresh(self) -> None:
        """The configuration in force is another one."""


class Heading(QWidget):
    """The title of a card, and a line of help."""

    def __init__(self, words: Words, title: str, help: str = "") -> None:
        super().__init__()
        self._words, self._title, self._help = words, title, help
        self.title = pieces.label(role="strong")
        self.help = pieces.label(role="small", wrap=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(self.title)
        column.addWidget(self.help)
        words.changed.connect(self.retitle)
        self.retitle()

    def retitle(self) -> None:
        self.title.setText(self._words(self._title))
        self.help.setText(self._words(self._help) if self._help else "")
        self.help.setVisible(bool(self._help))


class SettingsScreen(Screen):
    """One page at a time."""

    opened = Signal(str)

    def __init__(self, words: Words, pages: Sequence[tuple[str, Callable[[], Page]]]) -> None:
        super().__init__(words, "settings")
        self._pages = dict(pages)
        self.built: dict[str, Page] = {}
        self.hint = pieces.label(role="small")
        self.bar.addWidget(self.hint)
        self.names = QStringListModel(self)
        self.list = QListView()
        self.list.setProperty("pages", True)
        self.list.setModel(self.names)
        self.list.setFixedWidth(184)
        self.list.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.list.setSpacing(1)
        self.stack = QStackedWidget()
        self._places: dict[str, int] = {}
        body = QHBoxLayout()
        body.setContentsMargins(24, 18, 0, 0)
        body.setSpacing(20)
        body.addWidget(self.list)
        body.addWidget(self.stack, 1)
        self.column.addLayout(body, 1)
        self.retitle()
        self.list.selectionModel().currentChanged.connect(lambda at, _: self._open(at.row()))
        self.open(next(iter(self._pages)))
        self.setFocusProxy(self.list)

    def retitle(self) -> None:
        super().retitle()
        self.hint.setText(self.words("settings.hint"))
        pieces.name(self.list, self.words("rail.settings"))
        texts = [self.words(f"settings.page.{key}") for key in self._pages]
        if not self.names.stringList():
            self.names.setStringList(texts)
        for place, text in enumerate(texts):  # replacing the whole list would lose the selection
            self.names.setData(self.names.index(place), text)

    def open(self, key: str) -> None:
        """Go to a page."""
        index = self.names.index(list(self._pages).index(key))
        self.list.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.ClearAndSelect)

    def refresh(self) -> None:
        """The configuration in force is another one."""
        for page in self.built.values():
            page.refresh()

    def _open(self, row: int) -> None:
        if row < 0:
            return
        key = list(self._pages)[row]
        if key not in self.built:
            page = self._pages[key]()
            page.setMaximumWidth(WIDEST)
            page.cards.addStretch()
            self.built[key] = page
            self._places[key] = self.stack.addWidget(_scrolled(page))
        self.stack.setCurrentIndex(self._places[key])
        self.opened.emit(key)


def _scrolled(page: QWidget) -> QScrollArea:
    line = QHBoxLayout()
    line.addWidget(page, 1)
    line.addStretch(0)
    return scrolled(line, (0, 2, 24, 0))


class Trial(QWidget):
    """A button that tries something and a sentence that says how it went."""

    def __init__(self, words: Words, key: str, icon: str, attempt: Callable[[], object]) -> None:
        super().__init__()
        self._words, self._key = words, key
        self.button = pieces.button("", icon, lambda: attempt())
        self.said = pieces.label(role="small", wrap=True)
        self.said.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        line = pieces.row(self.button, gap=12)
        line.addWidget(self.said, 1)
        self.setLayout(line)
        words.changed.connect(self.retitle)
        self.retitle()

    def retitle(self) -> None:
        self.button.setText(self._words(self._key))

    def begin(self) -> bool:
        """False when it is being tried already."""
        if not self.button.isEnabled():
            return False
        self.button.setEnabled(False)
        pieces.put(self.said, "role", "small")
        self.said.setText(self._words("settings.trying"))
        return True

    def end(self, text: str, *, wrong: bool = False) -> None:
        """How it went."""
        self.button.setEnabled(True)
        pieces.put(self.said, "role", "error" if wrong else "small")
        self.said.setText(text)
