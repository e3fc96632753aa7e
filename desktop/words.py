"""The language of the screens, as one value that every widget asks and follows."""

from typing import Any

from PySide6.QtCore import QObject, Signal

from core.texts import t


class Words(QObject):
    """Calling it gives a text; `changed` says that every text on the screen is another one now.

    A widget fills its texts in a method `retitle`, which it calls once and connects to `changed`.
    """

    changed = Signal()

    def __init__(self, lang: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.lang = lang

    def __call__(self, key: str, **values: Any) -> str:
        return t(key, self.lang, **values)

    def known(self, key: str, otherwise: str) -> str:
        """The text of a key that somebody else made; what is no key is shown as it is."""
        try:
            return t(key, self.lang)
        except KeyError:
            return otherwise

    def tool(self, name: str) -> str:
        """What a tool does, as a person would say it; one from elsewhere by its name."""
        return self.known(f"tool.name.{name}", name.replace("_", " "))

    def speak(self, lang: str) -> None:
        """Change the language, on every screen that is open too."""
        if lang != self.lang:
            self.lang = lang
            self.changed.emit()
