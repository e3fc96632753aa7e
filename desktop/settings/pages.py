"""The pages of the settings over one open app: where values come from and where changes go."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from core.api.doctor import examine
from core.errors import Refused
from core.message import Message
from desktop.settings.accounts import Accounts
from desktop.settings.identity import IdentityPage
from desktop.settings.models import ModelsPage
from desktop.settings.permissions import PermissionsPage
from desktop.settings.plain import AppearancePage, FilesPage, PhonePage, StatePage
from desktop.settings.screen import SettingsScreen
from desktop.settings.spending import SpendingPage
from desktop.settings.telegram import Claim, TelegramPage
from desktop.settings.web import WebPage
from desktop.settings.whatsapp import WhatsAppPage
from desktop.words import Words

if TYPE_CHECKING:
    from core.app import App

WAIT_S = 20.0


def screen(app: "App", words: Words, *, decide: Callable[[Claim, bool], Awaitable[object]]) -> SettingsScreen:
    """All pages, built when they are opened."""
    writes = _Writes(app, words)
    now = lambda: app.config.now  # noqa: E731
    return SettingsScreen(
        words,
        (
            (
                "identity",
                lambda: IdentityPage(
                    words,
                    identity=lambda: app.identity.now,
                    icon=lambda: app.identity.icon,
                    apply=writes.identity,
                    wear=writes.icon,
                ),
            ),
            (
                "models",
                lambda: ModelsPage(
                    words,
                    now=now,
                    change=writes.change,
                    keep=writes.engine_key,
                    attempt=writes.try_model,
                    explain=lambda: app.runner.router.explained(words.lang),
                ),
            ),
            (
                "permissions",
                lambda: PermissionsPage(words, now=now, change=writes.change, tools=app.tools.names),
            ),
            (
                "telegram",
                lambda: TelegramPage(
                    words,
                    now=now,
                    change=writes.change,
                    keep=writes.bot_token,
                    decide=decide,
                    attempt=writes.try_telegram,
                ),
            ),
            ("phone", lambda: PhonePage(words, now=now, change=writes.change)),
            ("whatsapp", lambda: WhatsAppPage(words, now=now, change=writes.change)),
            ("web", lambda: WebPage(words, now=now, change=writes.change, keep=writes.search_key)),
            ("files", lambda: FilesPage(words, now=now, change=writes.change)),
            (
                "spending",
                lambda: SpendingPage(
                    words,
                    now=now,
                    change=writes.change,
                    read=Accounts(app).read,
                    agent=lambda: app.identity.now.agent_name,
                ),
            ),
            ("appearance", lambda: AppearancePage(words, now=now, change=writes.change)),
            ("state", lambda: StatePage(words, lambda: examine(app))),
        ),
    )


class _Writes:
    """Where changes go: the configuration, the identity, the vault."""

    def __init__(self, app: "App", words: Words) -> None:
        self._app, self._words = app, words

    async def change(self, key: str, value: Any) -> None:
        await self._app.config.set({key: value})

    async def identity(self, name: str, value: Any) -> None:
        await self._app.identity.set(**{name: value})

    async def icon(self, key: str) -> None:
        await self._app.config.set({"super_agent.icon": key})

    async def engine_key(self, provider: str, secret: str) -> None:
        name = await self._app.vault.keep(f"engines.{provider}.api_key", secret)
        await self._app.config.set({f"engines.{provider}.api_key": name})

    async def search_key(self, secret: str) -> None:
        await self._app.config.set(
            {"web_search.api_key": await self._app.vault.keep("web_search.api_key", secret)}
        )

    async def bot_token(self, secret: str) -> None:
        app = self._app
        channels = app.config.now.telegram.channels
        channel = channels[0].name if channels else "default"
        name = await app.vault.keep(f"telegram.{channel}.bot_token", secret)
        if channels:
            await app.config.set({"telegram.channels.0.bot_token": name})
        else:
            await app.config.set({"telegram.channels": [{"name": channel, "bot_token": name}]})

    async def try_model(self) -> str:
        target = self._app.config.now.super_agent.model
        if not target:
            raise Refused(self._words("settings.models.none"))
        return await self._app.models.test(target, self._words.lang)

    async def try_telegram(self) -> str:
        outbox, words = self._app.outbox, self._words
        id = await outbox.post(Message(channel="telegram", text=words("settings.telegram.test.text")))
        receipt = await outbox.wait(id, WAIT_S)
        if receipt.state in {"rejected", "not_attempted"}:
            raise Refused(words("settings.telegram.test.rejected", why=receipt.reason))
        known = receipt.state if receipt.state in {"delivered", "unknown"} else "waiting"
        return words(f"settings.telegram.test.{known}")
