"""Telegram as a part of the app: one connection for each configured bot, following the settings as they change.

Names: a bot is known by the name of its entry in `telegram.channels`. Its outbox channel is "telegram:NAME",
and the first one is "telegram" as well.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from core.channels import telegram_buttons, telegram_menu, telegram_people
from core.channels.telegram_answer import ANSWER
from core.channels.telegram_intake import Intake, Taker
from core.channels.telegram_lock import BotLock
from core.channels.telegram_out import Sender
from core.channels.telegram_poll import Poller, Timing
from core.channels.telegram_presses import ButtonPress
from core.channels.telegram_wire import Line, Route, connected, guard_logs
from core.errors import Invalid, NotConfigured
from core.events import ChannelState, ConfigChanged
from core.settings import Channel
from core.texts import t

if TYPE_CHECKING:
    from core.app import App

log = logging.getLogger(__name__)

ENVIRONMENT = ("TELEGRAM_BOT_TOKEN", "BOT_TELEGRAM_TOKEN")


class Connection:
    """One bot: its poll, its intake, its way out. Lives inside `open`."""

    def __init__(
        self, telegram: "Telegram", name: str, token: str, api_base: str, *, first: bool, timing: Timing
    ) -> None:
        app = telegram.app
        self.name, self._app, self._first = name, app, first
        self._telegram, self._timing = telegram, timing
        self._menu: asyncio.Task[None] | None = None
        route, polls = Route(), 0

        def line() -> Line:
            return connected(token, api_base, poll_s=timing.poll_s, slack_s=timing.slack_s, route=route)

        def poll_line() -> Line:
            # A second poll that hangs may hang on the way there: every other one tries the other way.
            nonlocal polls
            polls += 1
            if polls > 2:
                route.ipv4 = not route.ipv4
            return line()

        # Its own connection, so that a poll that is thrown away takes no message with it.
        self.line = line()
        self.poller = Poller(
            app.store,
            poll_line,
            timing,
            server=api_base,
            lock=BotLock(app.home.root),
            say=lambda key, **values: t(key, app.identity.language, **values),
            stored=self._stored,
            state=self._state,
            interval_s=lambda: max(app.config.now.telegram.poll_interval_ms / 1000, 0.3),
        )
        self._sender = Sender(app.store, name, self.line, self._to_chat, lambda: app.identity.language)
        self.intake = Intake(
            app,
            self.line,
            timing,
            name=name,
            channel=self.channel,
            bot=lambda: (self.poller.bot_id, self.poller.username),
            presses=telegram.presses,
            takers=telegram.takers,
            quiet=self._sender.quiet,
        )

    def channel(self) -> Channel:
        """The settings of this bot as they are now."""
        return next(
            (one for one in self._telegram.channels() if one.name == self.name), Channel(name=self.name)
        )

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Connected until the block is left."""
        tasks = [asyncio.create_task(self.poller.run()), asyncio.create_task(self.intake.run())]
        for task in tasks:
            task.add_done_callback(_log_bug)
        names = [f"telegram:{self.name}", *(["telegram"] if self._first else [])]
        leave = [self._app.outbox.serve(name, self._sender.send, self._sender.split) for name in names]
        try:
            yield
        finally:
            tasks += [self._menu] if self._menu else []
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.gather(*(one() for one in leave))
            await self.line.hang_up()

    def _to_chat(self, to: str) -> str:
        return telegram_people.owner_chat(self.channel()) if to == "owner" else to

    def _stored(self) -> None:
        self.intake.wake.set()

    def _state(self, state: str, detail: str) -> None:
        self._app.bus.emit(ChannelState(channel=f"telegram:{self.name}", state=state, detail=detail))
        if state == "online":
            if self._menu is None or self._menu.done():
                self._menu = asyncio.create_task(self._publish())
                self._menu.add_done_callback(_log_bug)
            for name in (f"telegram:{self.name}", *(("telegram",) if self._first else ())):
                self._app.outbox.hurry(name)

    async def _publish(self) -> None:
        """The menu of commands, once the bot is heard: it is never waited for."""
        app, bot_id = self._app, self.poller.bot_id
        lang, limit_s = app.identity.language, self._timing.aside_s
        await telegram_menu.publish(app.store, self.line, bot_id, home=app.home, lang=lang, limit_s=limit_s)


def _log_bug(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (bug := task.exception()):
        log.error("A Telegram task met a bug", exc_info=bug)


class Telegram:
    """All bots. `on_button` says who takes a press; found through `app.services[Telegram]`."""

    def __init__(self, app: "App", timing: Timing) -> None:
        self.app, self._timing = app, timing
        self.presses: dict[str, ButtonPress] = {ANSWER: self._answered}
        self.takers: list[Taker] = []
        self.connections: dict[str, Connection] = {}
        self._stacks: dict[str, AsyncExitStack] = {}
        self._wanted: dict[str, tuple[str, str, bool]] = {}
        self._look = asyncio.Event()

    def on_button(self, kind: str, handler: ButtonPress) -> Callable[[], None]:
        """Presses of buttons of `kind` go to `handler(payload, user_id)`, whose answer is shown as a toast.

        Only the owner's presses arrive, one for each line of buttons; a handler that raises `Unsettled` leaves
        its line to be pressed again. Call what is returned to stop.
        """
        self.presses[kind] = handler
        return lambda: self.presses.pop(kind, None) and None

    def on_words(self, take: Taker) -> Callable[[], None]:
        """`take(text, user_id)` sees the owner's words first; what it answers is said, and the words are its own.

        An empty answer leaves them to the assistant. Call what is returned to stop.
        """
        self.takers.append(take)
        return lambda: self.takers.remove(take)

    async def _answered(self, payload: dict[str, str], _: int) -> str:
        connection, run_id = self.connections.get(payload["channel"]), payload["run_id"]
        if connection is None:
            raise NotConfigured(
                t("telegram.no_channel", self.app.identity.language, channel=payload["channel"])
            )
        await self.withdraw(ANSWER, "run_id", run_id)  # a question takes one answer
        connection.intake.answer(payload["chat"], payload["text"], f"answer/{run_id}")
        return t("telegram.answer_taken", self.app.identity.language)

    async def withdraw(self, kind: str, name: str, value: str) -> None:
        """Buttons of `kind` whose payload has this value mean nothing any more: they go from their messages."""
        for shown in await telegram_buttons.withdraw(self.app.store, kind, name, value):
            connection = self.connections.get(shown.channel)
            if connection is not None and shown.receipt.isdigit():
                await connection.intake.redraw(shown.chat, int(shown.receipt), shown.keyboard)

    def channels(self) -> tuple[Channel, ...]:
        """The configured bots; a token in the environment makes one where the file names none."""
        channels = self.app.config.now.telegram.channels
        return channels or ((Channel(),) if _environment() else ())

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Connected as configured until the block is left."""
        leave = self.app.bus.subscribe(ConfigChanged, self._config_changed)
        # Beside the start: connecting imports a large library, and nobody waits for a bot.
        self._look.set()
        task = asyncio.create_task(self._keep_following())
        task.add_done_callback(_log_bug)
        try:
            yield
        finally:
            leave()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await asyncio.gather(*(self._disconnect(name) for name in tuple(self.connections)))

    def look(self) -> None:
        """Read the settings again, tokens in the vault included."""
        self._look.set()

    def _config_changed(self, event: ConfigChanged) -> None:
        if any(key.startswith("telegram") for key in event.keys):
            self._look.set()

    async def _keep_following(self) -> None:
        while True:
            await self._look.wait()
            self._look.clear()
            await self._follow()

    async def _follow(self) -> None:
        """Make the connections those that the settings name; what cannot be served says why."""
        wanted, why = await self._plan()
        for name in tuple(self.connections):
            if wanted.get(name) != self._wanted[name]:
                await self._disconnect(name)
                why.setdefault(name, t("telegram.no_channel", self.app.identity.language, channel=name))
        for name, (token, api_base, first) in wanted.items():
            if name not in self.connections:
                await asyncio.to_thread(import_module, "core.channels.telegram_bot")
                connection = Connection(self, name, token, api_base, first=first, timing=self._timing)
                stack = AsyncExitStack()
                await stack.enter_async_context(connection.open())
                self.connections[name], self._stacks[name] = connection, stack
                self._wanted[name] = wanted[name]
        for name in set(why) - set(wanted):
            await self.app.outbox.refuse(f"telegram:{name}", why[name])
        if not wanted:
            none = t("telegram.no_token", self.app.identity.language)
            await self.app.outbox.refuse("telegram", next(iter(why.values()), none))

    async def _plan(self) -> tuple[dict[str, tuple[str, str, bool]], dict[str, str]]:
        """Name → (token, server, is the first), and for the others name → the sentence that says why not."""
        settings, lang = self.app.config.now.telegram, self.app.identity.language
        wanted: dict[str, tuple[str, str, bool]] = {}
        why: dict[str, str] = {}
        for channel in self.channels() or (Channel(),):
            token, problem = await self._token(channel)
            if not settings.enabled:
                why[channel.name] = t("telegram.off", lang)
            elif not token:
                why[channel.name] = problem or t("telegram.no_token", lang)
            elif any(token == other for other, _, _ in wanted.values()):
                why[channel.name] = t("telegram.token_twice", lang, channel=channel.name)
            else:
                wanted[channel.name] = (token, settings.api_base, not wanted)
        return wanted, why

    async def _token(self, channel: Channel) -> tuple[str, str]:
        try:
            token = await self.app.config.secret(channel.bot_token)
        except Invalid as error:
            return "", str(error)
        return (token or _environment()).strip(), ""

    async def _disconnect(self, name: str) -> None:
        del self.connections[name], self._wanted[name]
        await self._stacks.pop(name).aclose()


def _environment() -> str:
    return next((os.environ[name] for name in ENVIRONMENT if os.environ.get(name)), "")


@asynccontextmanager
async def telegram(app: "App", *, timing: Timing | None = None) -> AsyncIterator[None]:
    """The part: Telegram as the settings have it, while the app lives."""
    guard_logs()
    whole = Telegram(app, timing or Timing())
    app.services[Telegram] = whole
    try:
        async with whole.open():
            yield
    finally:
        del app.services[Telegram]
