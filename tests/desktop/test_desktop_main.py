"""The whole desktop: it opens its core, answers, tries again, and leaves with everything closed."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from PySide6.QtWidgets import QApplication

from bridge.simulator.bot_api import bot_api
from core.app import App, owned
from core.channels.telegram import telegram
from core.channels.telegram_people import Claim, keep_claim
from core.paths import Home
from core.store import Store
from desktop import instance, main
from desktop.look import Look, read
from desktop.messages import Kind
from desktop.settings.screen import SettingsScreen
from desktop.settings.telegram import TelegramPage
from desktop.stage import Stage
from tests.desktop.conftest import Until

pytestmark = pytest.mark.anyio


@pytest.fixture
async def stages(monkeypatch: pytest.MonkeyPatch) -> list[Stage]:
    """The stages that were built, so that a test can look at the screen."""
    built: list[Stage] = []

    class Kept(Stage):
        def __init__(self, *args: object) -> None:
            super().__init__(*args)  # type: ignore[arg-type]
            built.append(self)

    @asynccontextmanager
    async def opened(home: Home) -> AsyncIterator[App]:
        async with App.open(home) as app:
            yield app

    monkeypatch.setattr(main, "Stage", Kept)
    monkeypatch.setattr(main, "_opened", opened)
    return built


@pytest.fixture
def ready(home: Home) -> Home:
    home.config.write_text(
        json.dumps({"port": 0, "super_agent": {"enabled": True, "model": "practice:rules"}}), encoding="utf-8"
    )
    home.identity.write_text(json.dumps({"agent_name": "Roby", "language": "es"}), encoding="utf-8")
    return home


async def test_it_opens_answers_and_leaves(
    qapp: QApplication, ready: Home, stages: list[Stage], until: Until
) -> None:
    task = asyncio.ensure_future(main.live(qapp, ready))
    await until(lambda: stages and stages[0].chat.why == "")
    stage = stages[0]
    assert stage.window.windowTitle() == "Roby"
    screens = {"guide", "chat", "rooms", "rounds", "phone", "tasks", "activity", "jobs", "memory", "settings"}
    assert set(stage.window._screens) == screens
    assert stage.window.current == "chat"  # a model is chosen: no first steps
    stage.chat.send("hola")
    await until(lambda: not stage.chat.working)
    assert stage.chat.messages.entries[0].text == "hola"
    assert stage.chat.messages.entries[-1].kind in {Kind.AGENT, Kind.ERROR}
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(task, 20)
    with owned(ready):
        pass  # the home is free again


async def test_what_was_said_is_there_the_next_time(
    qapp: QApplication, ready: Home, stages: list[Stage], until: Until
) -> None:
    for number in range(2):
        task = asyncio.ensure_future(main.live(qapp, ready))
        await until(lambda n=number: len(stages) > n and stages[n].chat.why == "")
        if number == 0:
            stages[0].chat.send("hola")
            await until(lambda: not stages[0].chat.working)
        else:
            assert stages[1].chat.messages.entries[0].text == "hola"
        stages[number].tray.quit_asked.emit()
        await asyncio.wait_for(task, 20)


async def test_a_home_in_use_is_said_and_tried_again(
    qapp: QApplication, ready: Home, stages: list[Stage], until: Until
) -> None:
    with owned(ready):
        task = asyncio.ensure_future(main.live(qapp, ready))
        await until(lambda: stages and stages[0].window.failure)
        assert str(os.getpid()) in stages[0].window.failure
    stages[0].window.retried.emit()
    await until(lambda: stages[0].chat.why == "")
    assert stages[0].window.failure == ""
    stages[0].tray.quit_asked.emit()
    await asyncio.wait_for(task, 20)


async def test_a_second_start_brings_the_first_to_the_front(
    qapp: QApplication, ready: Home, stages: list[Stage], until: Until
) -> None:
    assert not instance.ask_to_show(ready)
    task = asyncio.ensure_future(main.live(qapp, ready, hidden=True))
    await until(lambda: stages and stages[0].chat.why == "")
    stages[0].window.hide()
    assert await asyncio.to_thread(instance.ask_to_show, ready)
    await until(stages[0].window.isVisible)
    stages[0].tray.quit_asked.emit()
    await asyncio.wait_for(task, 20)


async def test_a_change_of_name_language_and_face_shows_at_once(
    qapp: QApplication, ready: Home, stages: list[Stage], until: Until
) -> None:
    task = asyncio.ensure_future(main.live(qapp, ready))
    await until(lambda: stages and stages[0].chat.why == "")
    stage = stages[0]
    ready.identity.write_text(json.dumps({"agent_name": "Ada", "language": "en"}), encoding="utf-8")
    await until(lambda: stage.window.windowTitle() == "Ada")
    assert stage.window.rail.entries["settings"].text().strip() == "Settings"
    stage.tray.quit_asked.emit()
    await asyncio.wait_for(task, 20)


async def test_the_first_look_comes_from_the_files(ready: Home, tmp_path: object) -> None:
    assert read(ready) == Look("Roby", "noche", "es", "system", True)
    ready.config.write_text("{broken", encoding="utf-8")
    ready.identity.write_text("[]", encoding="utf-8")
    assert read(ready).name == "APX"


async def test_who_wrote_to_the_bot_becomes_the_owner_only_here(
    qapp: QApplication, ready: Home, stages: list[Stage], until: Until
) -> None:
    ready.config.write_text(
        json.dumps({"port": 0, "telegram": {"channels": [{"name": "default", "bot_token": "1:a"}]}}),
        encoding="utf-8",
    )
    async with Store.open(ready.db) as store:
        await keep_claim(store, "default", Claim(7, "Alex", "7"))
    task = asyncio.ensure_future(main.live(qapp, ready))
    await until(lambda: stages and stages[0].chat.why == "")
    settings = stages[0].window._screens["settings"]
    assert isinstance(settings, SettingsScreen)
    settings.open("telegram")
    page = settings.built["telegram"]
    assert isinstance(page, TelegramPage)
    await until(lambda: not page.claim_card.isHidden())
    page.yes.click()
    await until(
        lambda: json.loads(ready.config.read_text())["telegram"]["channels"][0].get("owner_user_id") == 7
    )
    stages[0].tray.quit_asked.emit()
    await asyncio.wait_for(task, 20)


async def test_a_bot_that_was_connected_before_the_window_looked_is_shown_as_it_is(
    qapp: QApplication, ready: Home, stages: list[Stage], until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bot_api("123456:AAHdemo-token_for-tests-0123456789") as api:

        @asynccontextmanager
        async def connected(home: Home) -> AsyncIterator[App]:
            async with App.open(home, [telegram]) as app:
                await until(lambda: any(one.params.get("timeout", "0") != "0" for one in api.calls))
                yield app

        monkeypatch.setattr(main, "_opened", connected)
        channel = {"name": "main", "bot_token": api.token, "owner_user_id": 7}
        settings = {"enabled": True, "api_base": api.base_url, "channels": [channel]}
        ready.config.write_text(json.dumps({"port": 0, "telegram": settings}), encoding="utf-8")
        task = asyncio.ensure_future(main.live(qapp, ready))
        await until(lambda: stages and stages[0].chat.why == "")
        screen = stages[0].window._screens["settings"]
        assert isinstance(screen, SettingsScreen)
        screen.open("telegram")
        page = screen.built["telegram"]
        assert isinstance(page, TelegramPage)
        await until(lambda: page.state.text() == "conectado")
        stages[0].tray.quit_asked.emit()
        await asyncio.wait_for(task, 20)
