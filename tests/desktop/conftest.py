"""Widget tests run on the application's own kind of loop, over a real store, bus and configuration."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytestqt.plugin
from PySide6.QtWidgets import QApplication
from qasync import QEventLoop

from core.events import Bus
from core.paths import Home
from core.store import Store
from desktop import slots, theme
from desktop.feed import Feed
from desktop.rounds import Rounds
from desktop.words import Words

# Between the phases of a test pytest-qt turns Qt's loop by hand. asyncio's timers are Qt's here, and their work needs a
# running loop, which there is none of then: everything waits for the next phase instead.
pytestqt.plugin._process_events = lambda: None


@pytest.fixture
def anyio_backend(qapp: QApplication) -> tuple[str, dict[str, Any]]:
    return "asyncio", {"loop_factory": lambda: QEventLoop(qapp)}


@pytest.fixture(autouse=True)
def dressed(qapp: QApplication) -> None:
    if not qapp.styleSheet():
        theme.apply(qapp, "light")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.make()
    return home


@pytest.fixture
def words() -> Words:
    return Words("en")


@pytest.fixture
def bus() -> Bus:
    return Bus()


@pytest.fixture
def feed(bus: Bus) -> Feed:
    feed = Feed()
    feed.listen(bus)
    return feed


@pytest.fixture
async def store(home: Home) -> AsyncIterator[Store]:
    async with Store.open(home.db) as store:
        yield store
        for screen in QApplication.allWidgets():
            if isinstance(screen, Rounds):
                screen.rest()
        await slots.settle()


Until = Callable[[Callable[[], object]], Any]


@pytest.fixture
def until() -> Until:
    """Let the loop turn until something is true; the test's own timeout is the limit."""

    async def wait(true: Callable[[], object]) -> None:
        async with asyncio.timeout(30):
            while not true():  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    return wait
