"""A whole home on real parts: the app, a simulated phone behind a real adb server, a Bot API stand-in.

The tests keep the ground truth: what each contact received is asked of the phone, what the owner received of
the stand-in.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridge import program
from bridge.owner_questions import Questions
from bridge.parts import phone as phone_part
from bridge.simulator.bot_api import BotApi, bot_api
from bridge.simulator.phone import SimPhone
from bridge.simulator.stage import SimDevice, adb_server, connect, simulated_phone
from core import alerts
from core.app import App
from core.channels.telegram import telegram
from core.events import E, Event, RoundClosed
from core.paths import Home

OWNER = 77
TOKEN = "123456:house-token"
ALERT = b'{"prompt": "2 new messages", "channel": "whatsapp"}'


@dataclass(slots=True)
class House:
    """What a story needs to act and to look."""

    app: App
    device: SimDevice
    adb_port: int
    bot: BotApi
    events: list[Event]

    @property
    def phone(self) -> SimPhone:
        return self.device.phone

    @property
    def questions(self) -> Questions:
        found: Questions = self.app.services[Questions]
        return found

    async def chats(self) -> dict[str, Any]:
        """The conversations of all rounds by title, the latest of each."""
        rows = await self.app.store.all("select * from conversations order by found_at")
        return {row["title"]: dict(row) for row in rows}

    async def alert(self, body: bytes = ALERT) -> str:
        """Post an alert as the HTTP door does."""
        accepted = await alerts.accept(self.app.store, self.app.bus, project_id="default", body=body)
        return accepted.alert_id

    async def closed(self, count: int = 1, timeout_s: float = 60) -> list[RoundClosed]:
        """Wait until this many rounds have closed."""
        enough = asyncio.Event()

        def count_them(_: Event | None = None) -> None:
            if len(self.of(RoundClosed)) >= count:
                enough.set()

        leave = self.app.bus.subscribe(RoundClosed, count_them)
        count_them()
        try:
            await asyncio.wait_for(enough.wait(), timeout_s)
        finally:
            leave()
        return self.of(RoundClosed)

    def of(self, kind: type[E]) -> list[E]:
        """The events of one kind, in their order."""
        return [event for event in self.events if isinstance(event, kind)]

    async def round(self, timeout_s: float = 60) -> str:
        """One alert, one round, and the one Telegram it closed with (empty when there was none)."""
        before = len(self.of(RoundClosed))
        sent = len(self.bot.sent)
        await self.alert()
        closed = await self.closed(before + 1, timeout_s)
        row = await self.app.store.one("select report_id from rounds where id = ?", closed[-1].round_id)
        if row is None or row["report_id"] is None:
            return ""
        receipt = await self.app.outbox.wait(row["report_id"], 15)
        assert receipt.state == "delivered", receipt
        assert len(self.bot.sent) == sent + 1
        return self.bot.sent[-1].text


def settings(bot: BotApi | None, serial: str, adb_port: int, **more: Any) -> dict[str, Any]:
    """A configuration for this house; dotted keys in `more` are given as nested dictionaries."""
    given: dict[str, Any] = {
        "port": 0,
        "user": {"language": "es"},
        "super_agent": {"enabled": True, "model": "practice:rules"},
        "phone": {"serial": serial, "adb_port": adb_port},
        "whatsapp": {"posture": "auto", "quiet_s": 0.05, "cap_s": 0.5, "owner_wait_s": 0},
    }
    if bot is not None:
        given["telegram"] = {
            "enabled": True,
            "api_base": bot.base_url,
            "channels": [
                {"name": "default", "bot_token": TOKEN, "owner_user_id": OWNER, "chat_id": str(OWNER)}
            ],
        }
    for key, value in more.items():
        given[key] = given.get(key, {}) | value if isinstance(value, dict) else value
    return given


@asynccontextmanager
async def server_and_phone(tmp_path: Path, cast: SimPhone) -> AsyncIterator[tuple[int, SimDevice]]:
    """A real adb server that knows one simulated phone."""
    adb = await program.find()
    assert adb is not None
    home = tmp_path / "adb-home"
    home.mkdir(exist_ok=True)
    async with simulated_phone(phone=cast) as device, adb_server(adb, home) as port:
        await connect(port, device.address)
        yield port, device


@asynccontextmanager
async def house(tmp_path: Path, cast: SimPhone, **more: Any) -> AsyncIterator[House]:
    """The house, alive until the block is left."""
    async with AsyncExitStack() as stack:
        port, device = await stack.enter_async_context(server_and_phone(tmp_path, cast))
        bot = await stack.enter_async_context(bot_api(TOKEN))
        home = Home(tmp_path / "home")
        home.make()
        home.config.write_text(json.dumps(settings(bot, device.address, port, **more)), "utf-8")
        events: list[Event] = []

        @asynccontextmanager
        async def listening(app: App) -> AsyncIterator[None]:
            app.bus.subscribe(Event, events.append)
            yield

        app = await stack.enter_async_context(App.open(home, [listening, telegram, phone_part]))
        yield House(app, device, port, bot, events)
