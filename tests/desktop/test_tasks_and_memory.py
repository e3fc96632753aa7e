"""Tasks and what is known, on the screen: written, changed, done, forgotten."""

from collections.abc import AsyncIterator

import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from core import tasks
from core.app import App
from core.memory import Memory, Source
from core.paths import Home
from desktop import kept, slots
from desktop.words import Words
from tests.desktop.conftest import Until

pytestmark = pytest.mark.anyio


@pytest.fixture
async def app(home: Home) -> AsyncIterator[App]:
    home.config.write_text('{"port": 0}', encoding="utf-8")
    async with App.open(home) as app:
        app.services[Memory] = Memory(app.store, app.bus, app.home)
        yield app


async def test_a_task_is_written_and_done(app: App, words: Words, qtbot: QtBot, until: Until) -> None:
    screen = kept.tasks_screen(app, words)
    qtbot.addWidget(screen)
    await until(lambda: screen.notice.title.text() == words("tasks.none.open"))
    screen.field.setText("Call Dr. Paz")
    screen.add.click()
    await until(lambda: screen.cards)
    detail = screen.detail
    await until(lambda: detail.task is not None)
    detail.field.setText("on Thursday")
    detail.field.returnPressed.emit()
    await until(lambda: detail.field.text() == "")
    screen.refresh()
    await until(lambda: "on Thursday" in [one.text() for one in detail.findChildren(QLabel)])
    detail.done.click()
    while [one.state for one in await tasks.listed(app.store, state=None)] != ["done"]:
        await until(lambda: True)
    screen.refresh()
    await until(lambda: not screen.cards)
    screen.rest()
    await slots.settle()


async def test_a_task_that_does_not_hold_says_why(app: App, words: Words, qtbot: QtBot, until: Until) -> None:
    screen = kept.tasks_screen(app, words)
    qtbot.addWidget(screen)
    screen.field.setText("x" * 300)
    screen.add.click()
    await until(lambda: "200" in screen.wrong.text())
    assert screen.field.text() == "x" * 300
    screen.rest()
    await slots.settle()


async def test_facts_say_whom_they_are_from_and_can_be_forgotten(
    app: App, words: Words, qtbot: QtBot, until: Until
) -> None:
    memory: Memory = app.services[Memory]
    await memory.remember(
        "Marina moves in March", source=Source.THIRD_PARTY, channel="whatsapp", sender="Marina"
    )
    screen = kept.memory_screen(app, words)
    qtbot.addWidget(screen)
    screen.field.setText("Classes are on Tuesdays")
    screen.add.click()
    await until(lambda: len(screen.cards) == 2)
    said = [one.text() for one in screen.findChildren(QLabel)]
    assert words("memory.source.third_party") in said
    screen.shown.put("owner")
    screen.shown.changed.emit()
    assert len(screen.cards) == 1
    next(iter(screen.cards.values())).button.click()
    await until(lambda: not screen.cards)
    screen.shown.put("forgotten")
    screen.shown.changed.emit()
    await until(lambda: len(screen.cards) == 1)
    screen.rest()
    await slots.settle()
