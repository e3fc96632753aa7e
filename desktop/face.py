"""Keeps the presence up to date and says when mood or words change: one source for mascot, tray and rail."""

from dataclasses import replace
from datetime import UTC, datetime

from PySide6.QtCore import QObject, QTimer, Signal

from core.events import Event
from desktop import presence
from desktop.feed import Feed
from desktop.presence import Presence
from desktop.words import Words


class Face(QObject):
    """Hears every event; a mood that passes by itself is looked at again when its time is over."""

    changed = Signal(str, str)  # mood, what it is doing in words

    def __init__(self, words: Words, feed: Feed, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._presence = Presence()
        self._told: tuple[str, str] = ("", "")
        self._settling = QTimer(self)
        self._settling.setSingleShot(True)
        self._settling.timeout.connect(self.tell)
        feed.happened.connect(self._happened)
        words.changed.connect(self.tell)

    @property
    def mood(self) -> str:
        return presence.mood(self._presence, datetime.now(UTC))

    def know(self, **facts: object) -> None:
        """Facts that no event carries: open, listening, waiting."""
        self._presence = replace(self._presence, **facts)  # type: ignore[arg-type]
        self.tell()

    def close(self) -> None:
        """The core is gone."""
        self._presence = Presence()
        self.tell()

    def _happened(self, event: Event) -> None:
        self._presence = presence.after(self._presence, event)
        self.tell()

    def tell(self) -> None:
        """Say how it is, if that is news."""
        now = datetime.now(UTC)
        key, values = presence.doing(self._presence, now)
        told = (presence.mood(self._presence, now), self._words(key, **values))
        until = presence.settles_at(self._presence)
        if until is not None and until > now:
            self._settling.start(int((until - now).total_seconds() * 1000) + 20)
        if told != self._told:
            self._told = told
            self.changed.emit(*told)
