"""The chat: the part that window and bubble have in common, and the screen it is in the window."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from desktop import pieces
from desktop.cards import QuestionList
from desktop.chat import Chat
from desktop.composer import Composer
from desktop.conversation import Conversation, Search
from desktop.messages import Entry
from desktop.pieces import Notice
from desktop.questions import Questions
from desktop.rows import Save
from desktop.window import Screen
from desktop.words import Words


class Talk(QWidget):
    """Conversation, what waits, and the composer: the part that window and bubble have in common."""

    settings_wanted = Signal(str)

    def __init__(
        self, chat: Chat, questions: Questions, words: Words, save: Save, *, small: bool = False
    ) -> None:
        super().__init__()
        self._chat, self._words = chat, words
        margin = 16 if small else 24
        self._name = ""
        self.view = Conversation(chat.messages, words, save=save, again=self._again, margin=margin)
        self.empty = Notice("chat")
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(self.view)
        self.stack.setMinimumHeight(1)  # what waits comes first where there is little room
        self.questions = QuestionList(questions, words, margin=margin, small=small)
        self.composer = Composer(words, small=small)
        self.composer.submitted.connect(chat.send)
        self.composer.stopped.connect(chat.stop)
        self.composer.submitted.connect(lambda _: self.view.to_end())
        self.to_end = pieces.button("", "chevron-down", self.view.to_end)
        self.to_end.setParent(self.stack)
        self.to_end.setFixedSize(36, 36)
        self.to_end.hide()
        self.view.end_left.connect(self._away)
        below = QVBoxLayout()
        below.setContentsMargins(margin, 4, margin, margin - 4)
        below.addWidget(self.composer)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        if small:
            column.addSpacing(12)
            column.addWidget(self.questions)
        column.addWidget(self.stack, 1)
        if not small:
            column.addWidget(self.questions)
        column.addLayout(below)
        self.setFocusProxy(self.composer)
        chat.changed.connect(self.follow)
        for signal in (chat.messages.rowsInserted, chat.messages.modelReset, chat.messages.rowsRemoved):
            signal.connect(self.follow)
        words.changed.connect(self.retitle)
        self.retitle()

    def retitle(self) -> None:
        said = self._words
        pieces.name(self.to_end, said("chat.to_end"), tip=True)
        self.empty.say(said("chat.empty.title"), said("chat.empty.why"))
        self.follow()

    def follow(self) -> None:
        """Look as the conversation is now."""
        self.composer.set_state(self._chat.why, working=self._chat.working)
        unknown = self._chat.why == "composer.opening"  # nobody knows yet whether it is empty
        self.stack.setCurrentWidget(self.view if self._chat.messages.rowCount() or unknown else self.empty)

    def call_it(self, name: str) -> None:
        self.composer.call_it(name)

    def _again(self, entry: Entry) -> None:
        if entry.action == "again":
            self._chat.again(entry)
        else:
            self.settings_wanted.emit(entry.action)

    def _away(self, away: bool) -> None:
        self.to_end.setVisible(away)
        self._place()

    def _place(self) -> None:
        self.to_end.move(self.stack.width() // 2 - 18, self.stack.height() - 44)
        self.to_end.raise_()

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._place()


class ChatScreen(Screen):
    """The chat in the window, with search."""

    def __init__(self, chat: Chat, questions: Questions, words: Words, save: Save) -> None:
        super().__init__(words, "chat")
        self._chat = chat
        self._model = ""
        self.talk = Talk(chat, questions, words, save)
        self._search: Search | None = None
        self.glass = pieces.button("quiet", "search", self.open_search)
        self.bar.addWidget(self.glass)
        self._at = 0
        self.column.addWidget(self.talk, 1)
        self.setFocusProxy(self.talk)
        self.retitle()

    def retitle(self) -> None:
        super().retitle()
        pieces.name(self.glass, self.words("search.placeholder"), tip=True)

    def show_model(self, text: str) -> None:
        """Which model answers, beside the title."""
        self.chip.say(text)
        self.chip.setVisible(bool(text))

    @property
    def search(self) -> Search:
        """Made when it is first wanted."""
        if self._search is None:
            self._search = Search(self.words)
            self._search.wanted.connect(self._look)
            self._search.closed.connect(self._done)
            self.column.insertWidget(1, self._search)
        return self._search

    def open_search(self) -> None:
        self.search.open_it()

    def _look(self, text: str, further: bool) -> None:
        if not text:
            self._done()
            return
        count = self._chat.messages.rowCount()
        found = self._chat.messages.find(text, self._at if further and self._at else count)
        if found < 0 and further:
            found = self._chat.messages.find(text, count)  # round again from the end
        self._at = max(found, 0)
        self.search.said.setText("" if found >= 0 else self.words("search.nothing"))
        if found >= 0:
            self.talk.view.show_row(found)

    def _done(self) -> None:
        self._at = 0
        self.talk.view.forget_found()
        self.talk.composer.setFocus()
