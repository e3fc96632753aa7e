"""An app whose Telegram is the stand-in on loopback, and a runner that answers when it is told to."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bridge.simulator.bot_api import BotApi, bot_api
from core.app import App
from core.channels.telegram import telegram
from core.channels.telegram_poll import Timing
from core.events import ChannelState, Event
from core.outbox import Outbox, Pace
from core.paths import Home
from core.runs.turn import Attachment, Run, Status, Turn
from core.store import new_id

FAST = Timing(
    poll_s=1.0,
    slack_s=1.0,
    first_s=0.02,
    most_s=0.05,
    conflict_s=0.05,
    typing_s=0.05,
    press_s=0.1,
    album_s=0.05,
)
OWNER = 7
TOKEN = "123456:AAHdemo-token_for-tests-0123456789"


@dataclass
class FakeRunner:
    """Remembers turns; `reply` makes the answer, `hold` keeps it back."""

    turns: list[Turn] = field(default_factory=list)
    cancelled: list[Turn] = field(default_factory=list)
    reply: Callable[[Turn], str] = lambda turn: f"echo {turn.text}"
    files: list[Attachment] = field(default_factory=list)
    status: Status = Status.DONE
    hold: asyncio.Event | None = None
    bugs: list[BaseException] = field(default_factory=list)
    started: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, turn: Turn, *, parent: Run | None = None) -> Run:
        self.turns.append(turn)
        self.started.set()
        if self.bugs:
            raise self.bugs.pop(0)
        try:
            if self.hold:
                await self.hold.wait()
        except asyncio.CancelledError:
            self.cancelled.append(turn)
            raise
        return Run(new_id("run"), turn, self.status, self.reply(turn), files=list(self.files))


@dataclass
class Desk:
    """What a test holds in its hands."""

    app: App
    api: BotApi
    runner: FakeRunner
    events: list[Event]

    def seen(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def asked(self, method: str) -> list[dict[str, str]]:
        """The parameters of every request of a method."""
        return [call.params for call in self.api.calls if call.method == method]

    def told(self) -> list[str]:
        """The states that the channel went through."""
        return [event.state for event in self.seen(ChannelState)]

    async def ask(self, text: str, **more: Any) -> str:
        """The owner writes, and the next message that arrives is the answer."""
        count = len(self.api.sent)
        await self.api.say(OWNER, OWNER, text, **more)
        await self.api.until(lambda: len(self.api.sent) > count)
        return self.api.sent[count].text

    def texts(self) -> list[str]:
        return [one.text for one in self.api.sent]

    async def states(self) -> list[str]:
        rows = await self.app.store.all("select state from telegram_updates order by update_id")
        return [row["state"] for row in rows]

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until something is true of the events and turns."""
        async with asyncio.timeout(30):
            while not holds():  # noqa: ASYNC110 - any event may be the one
                await asyncio.sleep(0.01)

    async def until_states(self, *wanted: str) -> None:
        async with asyncio.timeout(30):
            while await self.states() != list(wanted):  # noqa: ASYNC110 - rows do not tell
                await asyncio.sleep(0.01)


@asynccontextmanager
async def desk(
    path: Path,
    api: BotApi,
    *,
    runner: FakeRunner | None = None,
    channel: dict[str, Any] | None = None,
    real_runner: bool = False,
    timing: Timing = FAST,
    **settings: Any,
) -> AsyncIterator[Desk]:
    """The app of the home at `path`, connected to `api`."""
    fake, events = runner or FakeRunner(), []

    @asynccontextmanager
    async def prepared(app: App) -> AsyncIterator[None]:
        app.bus.subscribe(Event, events.append)
        await app.outbox.stop()
        app.outbox = Outbox(app.store, app.bus, pace=Pace(burst=100, per_s=1000, first_s=0.01, most_s=0.05))
        if not real_runner:
            app.runner = fake  # type: ignore[assignment]
        owned = {"owner_user_id": OWNER, "chat_id": str(OWNER)} if channel is None else channel
        await app.config.set(
            {
                "user.language": "en",
                "telegram.enabled": True,
                "telegram.api_base": api.base_url,
                "telegram.channels": [{"name": "main", "bot_token": TOKEN, **owned}],
                **settings,
            }
        )
        async with app.outbox.open():
            yield

    async with App.open(Home(path), [prepared, lambda app: telegram(app, timing=timing)]) as app:
        yield Desk(app, api, fake, events)


@asynccontextmanager
async def talking(path: Path, **more: Any) -> AsyncIterator[Desk]:
    """A desk with its own server."""
    async with bot_api(TOKEN) as api, desk(path, api, **more) as one:
        yield one
