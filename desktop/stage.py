"""Everything on the screen that needs no core: it is there first, and it stays while the core comes and goes."""

from collections.abc import Callable
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Signal
from PySide6.QtWidgets import QApplication, QFileDialog

from core.paths import Home
from desktop import blobs, theme
from desktop.at_work import Workers
from desktop.chat import Chat
from desktop.feed import Feed
from desktop.look import Look
from desktop.messages import File
from desktop.questions import Questions
from desktop.talk import ChatScreen
from desktop.theme import Mode
from desktop.threads import Conversations
from desktop.window import Window
from desktop.words import Words

if TYPE_CHECKING:
    from desktop.bubble import Bubble


class Stage(QObject):
    """Window, bubble, mascot and tray, and what they share.

    The window comes first and alone; `furnish` adds what nobody waits for.
    """

    round_asked = Signal()

    def __init__(self, app: QApplication, home: Home, look: Look, leave: Callable[[], object]) -> None:
        super().__init__()
        self._app, self._look, self._leave = app, look, leave
        self._name, self._icon = look.name, look.icon
        theme.apply(app, look.mode)
        self.words = Words(look.lang, self)
        self.feed = Feed(self)
        self.questions = Questions(self)
        self.chat = Chat(self.words, self.feed, self)
        self.workers = Workers(self)
        self.conversations = Conversations(self)
        self.window = Window(self.words, home, self.can_hide)
        self.talk = ChatScreen(
            self.chat,
            self.questions,
            self.words,
            self.save,
            workers=self.workers,
            conversations=self.conversations,
        )
        self.window.put("chat", self.talk)
        self.window.closing.connect(lambda: leave())
        self.window.searched.connect(self.talk.open_search)
        self.talk.talk.settings_wanted.connect(lambda _: self.window.open("settings"))
        self.window.introduce(look.name, look.icon)
        self.window.rail.feel("asleep", self.words("doing.closed"))
        self.talk.talk.call_it(look.name)
        self._bubble: Bubble | None = None
        self.furnished = False

    def furnish(self, *, hidden: bool) -> None:
        """The face, the mascot and the tray; a hidden window stays so if something can bring it back."""
        from desktop.face import Face
        from desktop.mascot import Mascot
        from desktop.tray import Tray

        look = self._look
        self.face: Face = Face(self.words, self.feed, self)
        self.tray: Tray = Tray(look.icon, look.name, look.lang, self)
        self.mascot: Mascot = Mascot(look.icon, look.name, look.lang)
        self.mascot.set_mood("asleep")
        self.furnished = True
        self.tray.quit_asked.connect(lambda: self._leave())
        self.tray.window_toggled.connect(self.toggle_window)
        self.tray.mascot_toggled.connect(lambda: self.show_mascot(not self.mascot.isVisible()))
        self.tray.settings_asked.connect(self.show_settings)
        self.tray.round_asked.connect(self.round_asked)
        self.mascot.clicked.connect(self.toggle_bubble)
        self.mascot.menu_requested.connect(self._menu)
        self.feed.questions_changed.connect(self.questions.refresh)
        self.questions.changed.connect(self._waits)
        self.chat.asked.connect(self._waits)
        self.face.changed.connect(self._feel)
        self.words.changed.connect(self._speak)
        self.introduce(look.name, look.icon)
        self.face.tell()
        self.tray.show()
        self.show_mascot(look.mascot)
        if hidden and not self.can_hide():
            self.window.show()  # nothing else could bring it back
        self._told_tray()

    @property
    def bubble(self) -> "Bubble":
        """Made when it is first wanted: nobody waits for it at the start."""
        if self._bubble is None:
            from desktop.bubble import Bubble

            self._bubble = Bubble(self.chat, self.questions, self.words, self.save, workers=self.workers)
            self._bubble.window_wanted.connect(self.window.bring)
            self._bubble.talk.settings_wanted.connect(lambda _: self.show_settings())
            self._bubble.introduce(self._name, self._icon)
            self._bubble.feel(self.face.mood, "")
        return self._bubble

    def can_hide(self) -> bool:
        """Whether something stays from which the window can be brought back."""
        return self.furnished and (self.tray.present or self.mascot.isVisible())

    def toggle_window(self) -> None:
        if self.window.isVisible() and self.window.isActiveWindow():
            self.window.hide()
        else:
            self.window.bring()
        self._told_tray()

    def show_settings(self) -> None:
        self.window.open("settings")
        self.window.bring()

    def show_mascot(self, shown: bool) -> None:
        if shown:
            self.mascot.place(None if self.mascot.pos().isNull() else self.mascot.pos())
        self.mascot.setVisible(shown)
        if not shown and self._bubble is not None:
            self._bubble.hide()
        if not shown and not self.can_hide() and not self.window.isVisible():
            self.window.show()
        self._told_tray()

    def toggle_bubble(self) -> None:
        if self.bubble.isVisible():
            self.bubble.hide()
        else:
            self.bubble.show_beside(self.mascot.geometry())

    def introduce(self, name: str, icon: str) -> None:
        """The name and the face, everywhere at once."""
        self._name, self._icon = name, icon
        self._app.setApplicationDisplayName(name)
        self._app.setWindowIcon(blobs.icon(icon))
        self.window.introduce(name, icon)
        self.talk.talk.call_it(name)
        self.tray.set_name(name)
        self.tray.set_icon(icon)
        self.mascot.set_name(name)
        self.mascot.set_icon(icon)
        if self._bubble is not None:
            self._bubble.introduce(name, icon)

    def wear(self, mode: Mode) -> None:
        """Light, dark, or as the system."""
        theme.apply(self._app, mode)

    def fail(self, why: str) -> None:
        """The core could not be opened: say why, where there is room for it."""
        self.chat.refuse("composer.failed")
        self.face.close()
        self.window.fail(why)
        self.window.bring()

    def recover(self) -> None:
        """Another try begins."""
        self.chat.refuse("composer.opening")
        self.window.recover()

    def close(self) -> None:
        """Take everything off the screen."""
        self.window.remember()
        if self.furnished:
            self.tray.hide()
            self.mascot.hide()
            self.mascot.deleteLater()
        for widget in (self.window, self._bubble):
            if widget is not None:
                widget.hide()
                widget.deleteLater()

    def save(self, file: File) -> None:
        """Ask where a copy of a file goes, and put it there; the dialog never stops the loop."""
        parent = self.window if self.window.isVisible() else self._bubble
        dialog = QFileDialog(parent, self.words("file.save"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.selectFile(file.name)

        def chosen(target: str) -> None:
            try:
                if file.path is not None:
                    copyfile(file.path, target)
            except OSError as error:
                self.chat.note(self.words("file.not_saved", name=file.name, why=error.strerror or str(error)))
            else:
                self.chat.note(self.words("file.saved", name=Path(target).name))

        dialog.fileSelected.connect(chosen)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _feel(self, mood: str, doing: str) -> None:
        self.window.rail.feel(mood, doing)
        self.mascot.set_mood(mood)
        self.tray.set_mood(mood)
        if self._bubble is not None:
            self._bubble.feel(mood, doing)

    def _speak(self) -> None:
        self.tray.set_language(self.words.lang)
        self.mascot.set_language(self.words.lang)

    def _waits(self) -> None:
        waiting = self.questions.open
        card = self.chat.waiting
        cards = {card.run_id} if card is not None and not self.chat.why else set()
        self.face.know(waiting=frozenset(question.id for question in waiting) | cards)
        asked = sum(question.kind == "permission" for question in waiting)
        self.window.rail.wait("chat", asked + len(cards))
        self.window.rail.wait("rounds", len(waiting) - asked)

    def _menu(self, point: QPoint) -> None:
        self._told_tray()
        self.tray.menu.popup(point)

    def _told_tray(self) -> None:
        self.tray.set_window_shown(self.window.isVisible())
        self.tray.set_mascot_shown(self.mascot.isVisible())
