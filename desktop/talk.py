"""The chat: the part that window and bubble have in common, and the screen it is in the window."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from desktop import pieces
from desktop.at_work import Strip, Workers
from desktop.cards import QuestionList
from desktop.chat import Chat
from desktop.composer import Composer
from desktop.conversation import Conversation, Search
from desktop.files import Save
from desktop.messages import Entry
from desktop.pieces import Notice
from desktop.questions import Questions
from desktop.threads import Conversations, ThreadList
from desktop.window import Screen
from desktop.words import Words


class Talk(QWidget):
    """Conversation, what waits, and the composer: the part that window and bubble have in common."""

    settings_wanted = Signal(str)

    def __init__(
        self,
        chat: Chat,
        questions: Questions,
        words: Words,
        save: Save,
        *,
        workers: Workers | None = None,
        small: bool = False,
        pictures: bool = True,
        rounds: bool = True,
    ) -> None:
        super().__init__()
        self._chat, self._words = chat, words
        margin = 16 if small else 24
        self._name = ""
        self.view = Conversation(
            chat.messages, words, save=save, again=self._again, answer=chat.answer, margin=margin
        )
        self.empty = Notice("chat")
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(self.view)
        self.stack.setMinimumHeight(1)  # what waits comes first where there is little room
        self.questions = QuestionList(questions, words, margin=margin, small=small, rounds=rounds)
        self.strip = Strip(workers or Workers(self), words, margin=margin, small=small)
        self.composer = Composer(words, small=small, pictures=pictures)
        self.composer.submitted.connect(self._send)
        self.setAcceptDrops(pictures)  # anywhere over the conversation is near enough
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
        column.addWidget(self.strip)
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
        self.composer.warn_of(self._chat.blind)
        unknown = self._chat.why == "composer.opening"  # nobody knows yet whether it is empty
        self.stack.setCurrentWidget(self.view if self._chat.messages.rowCount() or unknown else self.empty)

    def call_it(self, name: str) -> None:
        self.composer.call_it(name)

    def _send(self, text: str) -> None:
        self._chat.send(text, self.composer.attached.take())

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self.composer.dragEnterEvent(event)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.composer.dragLeaveEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:
        self.composer.dropEvent(event)

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
    """The chat in the window, with search, and with the list of conversations beside it."""

    def __init__(
        self,
        chat: Chat,
        questions: Questions,
        words: Words,
        save: Save,
        *,
        workers: Workers | None = None,
        conversations: Conversations | None = None,
    ) -> None:
        super().__init__(words, "chat")
        self._chat = chat
        self._conversations = conversations or Conversations(self)
        self._model = ""
        self.talk = Talk(chat, questions, words, save, workers=workers)
        self.threads = ThreadList(self._conversations, words)
        self.threads.hide()
        self.list = pieces.button("quiet", "menu", self.toggle_threads)
        self.list.setCheckable(True)
        self.bar.insertWidget(0, self.list)
        self.new = pieces.button("quiet", "plus", self._conversations.begin)
        # What the conversation is called stands where other screens have their name.
        self.heading = pieces.Elided(role="title")
        self.heading.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self.heading.setMinimumWidth(60)
        self.title.hide()
        self.bar.insertWidget(1, self.heading)
        self._search: Search | None = None
        self.glass = pieces.button("quiet", "search", self.open_search)
        self.bar.addWidget(self.new)
        self.bar.addWidget(self.glass)
        self._at = 0
        beside = QHBoxLayout()
        beside.setContentsMargins(0, 0, 0, 0)
        beside.setSpacing(0)
        beside.addWidget(self.threads)
        self.right = QVBoxLayout()
        self.right.setContentsMargins(0, 0, 0, 0)
        self.right.setSpacing(0)
        self.right.addWidget(self.talk, 1)
        beside.addLayout(self.right, 1)
        self.column.addLayout(beside, 1)
        self.setFocusProxy(self.talk)
        chat.changed.connect(self._follow)
        self._conversations.changed.connect(self._name)
        self.retitle()

    def retitle(self) -> None:
        super().retitle()
        pieces.name(self.glass, self.words("search.placeholder"), tip=True)
        pieces.name(self.list, self.words("threads.show"), tip=True)
        pieces.name(self.new, self.words("threads.new"), tip=True)
        self._name()

    def toggle_threads(self) -> None:
        """Show or hide the list of conversations."""
        self.threads.setVisible(self.threads.isHidden())
        self.list.setChecked(not self.threads.isHidden())
        self._name()

    def _follow(self) -> None:
        self._conversations.show_current(self._chat.thread_name, locked=self._chat.working)

    def _name(self) -> None:
        known = self._conversations
        self.heading.say(known.title() or self.words("rail.chat"))
        self.new.setEnabled(not known.locked)
        self.new.setVisible(self.threads.isHidden())

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
            self.right.insertWidget(0, self._search)
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
