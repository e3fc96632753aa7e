"""The phone rings by itself: its event log over the real adb, one look, one alert for each message."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bridge import watcher
from bridge.simulator.bot_api import BotApi
from bridge.simulator.casts import empty
from bridge.simulator.phone import SimPhone
from bridge.watcher import Watcher
from core.events import ChannelState, RoundClosed
from tests.fakes.town import House, house

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "QUIET_S", 0.05)
    monkeypatch.setattr(watcher, "AGAIN_S", (0.05,))


def cast() -> SimPhone:
    phone = empty("es")
    phone.whatsapp.add("Ana", number="34600100201")
    phone.whatsapp.add("Beto", number="34600100202")
    phone.home()
    return phone


@asynccontextmanager
async def watched(tmp_path: Path, cast: SimPhone, **more: Any) -> AsyncIterator[House]:
    given = {"watch": True, "enabled": True} | more.pop("whatsapp", {})
    async with house(tmp_path, cast, whatsapp=given, **more) as here:
        yield here


async def until(true: Callable[[], object]) -> None:
    """Until something is true; the test's own limit is the end of waiting."""
    async with asyncio.timeout(30):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def online(here: House) -> bool:
    return here.app.services[Watcher].state == "online"


async def bodies(here: House) -> list[tuple[str, str]]:
    return [
        (row["source"], row["body"])
        for row in await here.app.store.all("select * from alerts order by received_at")
    ]


def told(bot: BotApi) -> str:
    return "\n".join(one.text for one in bot.sent)


async def test_a_message_becomes_an_alert_a_round_and_one_telegram(tmp_path: Path) -> None:
    async with watched(tmp_path, cast()) as here:
        await until(lambda: online(here))
        assert await bodies(here) == []
        here.phone.receive("Ana", "¿Vienes el viernes?")
        await here.closed(1)
        await until(lambda: here.bot.sent)
        assert "Ana" in told(here.bot)
        assert "viernes" in told(here.bot)
        assert await bodies(here) == [("watch", '{"title": "Ana", "text": "¿Vienes el viernes?"}')]


async def test_a_message_alerts_once_over_updates_and_restarts(tmp_path: Path) -> None:
    phone = cast()
    async with watched(tmp_path, phone, whatsapp={"posture": "never"}) as here:
        await until(lambda: online(here))
        phone.receive("Ana", "hola")
        await here.closed(1)
        await here.app.services[Watcher].look()
        chat = phone.whatsapp.find("Ana")
        phone.inbox.notify(phone.whatsapp, chat, chat.messages[-1])
        await here.app.services[Watcher].look()
        assert len(await bodies(here)) == 1
    async with watched(tmp_path, phone, whatsapp={"posture": "never"}) as here:
        await until(lambda: online(here))
        assert len(await bodies(here)) == 1


async def test_what_came_while_nobody_listened_is_seen_when_the_phone_is_back(tmp_path: Path) -> None:
    phone = cast()
    phone.receive("Ana", "temprano")  # before the start
    async with watched(tmp_path, phone) as here:
        await here.closed(1)
        await until(lambda: online(here))
        await here.device.stop()
        await until(lambda: not online(here))
        phone.receive("Beto", "mientras")
        await here.device.start(here.device.port)
        await until(lambda: any("mientras" in one.text for one in here.bot.sent))
        states = [one.state for one in here.of(ChannelState) if one.channel == "phone_watch"]
        assert states[0] == "online"
        assert "offline" in states
        assert [text for _, text in await bodies(here)] == [
            '{"title": "Ana", "text": "temprano"}',
            '{"title": "Beto", "text": "mientras"}',
        ]


async def test_a_notification_that_says_nothing_wakes_all_the_same(tmp_path: Path) -> None:
    phone = cast()
    phone.faults.set("dumpsys_timeout")
    async with watched(tmp_path, phone) as here:
        await until(lambda: online(here))
        phone.receive("Ana", "hola")
        await here.closed(1)
        assert await bodies(here) == [("watch", "")]
        await until(lambda: "Ana" in told(here.bot))  # the round reads the screen itself


async def test_only_the_pinned_app_and_user_ring(tmp_path: Path) -> None:
    phone = cast()
    phone.faults.set("other_user")
    async with watched(tmp_path, phone) as here:
        await until(lambda: online(here))
        phone.receive("Ana", "hola")
        phone.log_event(
            "notification_enqueue", "[1000,1,com.other,1,NULL,0,Notification(channel=c flags=0x18),0]"
        )
        await here.app.services[Watcher].look()
        assert await bodies(here) == []


async def test_it_follows_the_switch(tmp_path: Path) -> None:
    async with watched(tmp_path, cast(), whatsapp={"watch": False}) as here:
        assert here.app.services[Watcher].state == "off"
        here.phone.receive("Ana", "hola")
        await here.app.config.set({"whatsapp.watch": True})
        await until(lambda: online(here))
        await here.closed(1)
        await here.app.config.set({"whatsapp.watch": False})
        await until(lambda: here.app.services[Watcher].state == "off")
        here.phone.receive("Beto", "nadie escucha")
        assert len(await bodies(here)) == 1
        assert len(here.of(RoundClosed)) == 1


async def test_a_burst_is_one_round(tmp_path: Path) -> None:
    async with watched(tmp_path, cast(), whatsapp={"quiet_s": 0.4}) as here:
        await until(lambda: online(here))
        for n in range(4):
            here.phone.receive("Ana" if n % 2 else "Beto", f"mensaje {n}")
            await asyncio.sleep(0)
        await here.closed(1)
        await until(lambda: here.bot.sent)
        assert len(here.bot.sent) == 1
        assert all(f"mensaje {n}" in told(here.bot) for n in range(4))


async def test_a_phone_that_is_not_there_is_said_and_waited_for(tmp_path: Path) -> None:
    async with watched(tmp_path, cast(), phone={"serial": "NOT-HERE"}) as here:
        await until(lambda: here.app.services[Watcher].state == "offline")
        assert here.app.services[Watcher].why == "other_phone"
        await here.app.config.set({"phone.serial": here.device.address})
        await until(lambda: online(here))
