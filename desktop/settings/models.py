"""Which model answers, and the keys of its providers; keys go to the vault and never come back to the screen."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.errors import ApxError
from desktop import pieces
from desktop.settings.editors import Choice, Line, Secret, Suggested
from desktop.settings.form import Form, Row
from desktop.settings.plain import Now, Set, under
from desktop.settings.routing import Explain, Route, StandIns, Weighed
from desktop.settings.screen import Page, Trial
from desktop.slots import slot
from desktop.words import Words

PRACTICE = "practice:rules"
PROVIDERS = (
    "anthropic",
    "openai",
    "gemini",
    "openrouter",
    "groq",
    "mistral",
    "deepseek",
    "xai",
    "ollama",
)
LOCAL = ("ollama", "practice")
Keep = Callable[[str, str], Awaitable[object]]  # provider, secret
Attempt = Callable[[], Awaitable[str]]


class Provider(QWidget):
    """One provider: its key, and another address where that makes sense."""

    def __init__(self, words: Words, name: str, *, now: Now, change: Set, keep: Keep) -> None:
        super().__init__()
        self._name, self._now = name, now

        async def key(value: Any) -> None:
            await keep(name, value)

        async def address(value: Any) -> None:
            await change(f"engines.{name}.base_url", value)

        secret = Secret(words("settings.secret.show"), words("settings.secret.stored"))
        self.key = Row(words, "settings.engines.api_key", secret, key)
        self.address = Row(words, "settings.engines.base_url", Line(), address)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        column.addWidget(pieces.label(name, "strong"))
        column.addWidget(self.key)
        column.addWidget(self.address)
        self.refresh()

    def refresh(self) -> None:
        engine = self._now().engines.get(self._name)
        self.key.put(engine.api_key if engine else "")
        self.address.put(engine.base_url if engine else "")


class ModelsPage(Page):
    """The model and its providers. `attempt` asks the model one thing and says in a sentence how that went."""

    def __init__(
        self, words: Words, *, now: Now, change: Set, keep: Keep, attempt: Attempt, explain: Explain
    ) -> None:
        super().__init__(words)
        self._now, self._change, self._keep, self._attempt = now, change, keep, attempt
        settings = now().super_agent
        self.enabled = Form(words, settings, under("super_agent", change), names=("enabled",))

        self._offered = (PRACTICE, *(f"{name}:" for name in PROVIDERS))
        offered = self._offered
        self.model = self._named("settings.super_agent.model", "super_agent.model")
        self.trial = Trial(words, "settings.models.test", "play", self.test)
        self.card(self.enabled, self.model, self.trial)
        self.stand_ins = StandIns(words, offered, now=now, change=change)
        self.card(self.stand_ins, title="settings.fallback", help="settings.fallback.help")
        self.weighed = Weighed(words, offered, now=now, change=change)
        self.card(self.weighed, title="settings.classifier", help="settings.classifier.help")
        self.memory = self._named("settings.memory.embeddings", "memory.embeddings")
        self.card(self.memory, title="settings.memory")
        self.route = Route(words, explain)
        self.card(self.route)
        self.providers: dict[str, Provider] = {}
        self.more = Choice([(name, name) for name in PROVIDERS])
        self.more.setMaximumWidth(200)
        self.add = pieces.button("", "plus", lambda: self._show(self.more.value()))
        self.keys = self.card(title="settings.models.keys", help="settings.models.keys.help")
        self.keys.column.addLayout(pieces.row(self.more, self.add, 1))
        words.changed.connect(self.retitle)
        self.retitle()
        self.refresh()

    def _named(self, key: str, setting: str) -> Row:
        """A row that holds the name of a model."""
        editor = Suggested(self._offered, self.words("settings.super_agent.model.example"))
        editor.setMaximumWidth(420)
        return Row(self.words, key, editor, partial(self._change, setting))

    def retitle(self) -> None:
        self.add.setText(self.words("settings.models.add"))
        pieces.name(self.more, self.words("settings.models.provider"))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.route.look()

    @slot()
    async def test(self) -> None:
        """Ask the model for one word."""
        if not self.trial.begin():
            return
        try:
            self.trial.end(await self._attempt())
        except ApxError as error:
            self.trial.end(str(error), wrong=True)

    def refresh(self) -> None:
        settings = self._now()
        self.enabled.take(settings.super_agent)
        self.model.put(settings.super_agent.model)
        self.memory.put(settings.memory.embeddings)
        self.stand_ins.refresh()
        self.weighed.refresh()
        if self.isVisible():
            self.route.look()
        wanted = set(settings.engines)
        current = settings.super_agent.model.partition(":")[0]
        if current and current not in LOCAL:
            wanted.add(current)
        for name in sorted(wanted):
            self._show(name)
        for provider in self.providers.values():
            provider.refresh()

    def _show(self, name: str) -> None:
        if name and name not in self.providers:
            made = Provider(self.words, name, now=self._now, change=self._change, keep=self._keep)
            self.providers[name] = made
            self.keys.column.insertWidget(self.keys.column.count() - 1, made)
