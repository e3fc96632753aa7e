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
from bridge.handset import Handset
from bridge.owner_questions import Questions
from bridge.rounds import Rounds
from bridge.simulator.bot_api import BotApi, bot_api
from bridge.simulator.phone import SimPhone
from bridge.simulator.stage import SimDevice, adb_server, connect, simulated_phone
from core import alerts
from core.app import App
from core.channels.telegram import telegram
from core.events import Event, RoundClosed
from core.paths import Home

OWNER = 77
TOKEN = "123456:house-token"
ALERT = b'{"prompt": "2 new messages", "channel": "whatsapp"}'


@dataclass(slots=True)
class House:
    """What a story needs to act and to look."""

    app: App
    device: SimDevice
    bot: BotApi
    rounds: Rounds
    handset: Handset
    questions: Questions
    events: list[Event]

    @property
    def phone(self) -> SimPhone:
        return self.device.phone

    async def alert(self, body: bytes = ALERT) -> str:
        """Post an alert as the HTTP door does."""
        accepted = await alerts.accept(self.app.store, self.app.bus, project_id="default", body=body)
        return accepted.alert_id

    async def closed(self, count: int = 1, timeout_s: float = 60) -> list[RoundClosed]:
        """Wait until this many rounds have closed."""
        async with asyncio.timeout(timeout_s):
            while len(found := [event for event in self.events if isinstance(event, RoundClosed)]) < count:
                await asyncio.sleep(0.02)
        return found

    async def round(self, timeout_s: float = 60) -> str:
        """One alert, one round, and the one Telegram it closed with (empty when there was none)."""
        before = len([event for event in self.events if isinstance(event, RoundClosed)])
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
            "channels": [{"name": "default", "bot_token": TOKEN, "owner_user_id": OWNER, "chat_id": str(OWNER)}],
        }
    for key, value in more.items():
        given[key] = given.get(key, {}) | value if isinstance(value, dict) else value
    return given


@asynccontextmanager
async def server_and_phone(tmp_path: Path, phone: SimPhone) -> AsyncIterator[tuple[int, SimDevice]]:
    """A real adb server that knows one simulated phone."""
    adb = await program.find()
    assert adb is not None
    home = tmp_path / "adb-home"
    home.mkdir(exist_ok=True)
    async with simulated_phone(phone=phone) as device, adb_server(adb, home) as port:
        await connect(port, device.address)
        yield port, device


@asynccontextmanager
async def house(tmp_path: Path, phone: SimPhone, **more: Any) -> AsyncIterator[House]:
    """The house, alive until the block is left."""
    async with AsyncExitStack() as stack:
        port, device = await stack.enter_async_context(server_and_phone(tmp_path, phone))
        bot = await stack.enter_async_context(bot_api(TOKEN))
        home = Home(tmp_path / "home")
        home.make()
        home.config.write_text(json.dumps(settings(bot, device.address, port, **more)), "utf-8")
        app = await stack.enter_async_context(App.open(home, [telegram]))
        events: list[Event] = []
        app.bus.subscribe(Event, events.append)
        handset = Handset(app.config, app.bus)
        questions = Questions(app, handset)
        rounds = await stack.enter_async_context(Rounds.open(app, handset, questions))
        stack.push_async_callback(questions.aclose)
        yield House(app, device, bot, rounds, handset, questions, events)
