"""The web: who is asked when something is looked up, and which browser is driven."""

from collections.abc import Awaitable, Callable
from typing import Any

from desktop.settings.form import Form
from desktop.settings.plain import Now, Set, under
from desktop.settings.screen import Page
from desktop.words import Words

Keep = Callable[[str], Awaitable[object]]  # the key of the search provider


class WebPage(Page):
    """Search and browser; the key goes where keys are kept."""

    def __init__(self, words: Words, *, now: Now, change: Set, keep: Keep) -> None:
        super().__init__(words)
        self._now = now
        plain = under("web_search", change)

        async def apply(name: str, value: Any) -> None:
            await (keep(value) if name == "api_key" else plain(name, value))

        self.search = Form(words, now().web_search, apply)
        self.browser = Form(words, now().browser, under("browser", change))
        self.card(self.search, title="settings.web_search", help="settings.web_search.help")
        self.card(self.browser, title="settings.browser", help="settings.browser.help")

    def refresh(self) -> None:
        self.search.take(self._now().web_search)
        self.browser.take(self._now().browser)
