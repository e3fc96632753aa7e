"""No widget is destroyed in a thread that is not Qt's."""

import gc
import threading
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QObject, QTimer
from pytestqt.qtbot import QtBot

from desktop import collecting
from desktop.collecting import Collector


@pytest.fixture
def collector(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    monkeypatch.setattr(collecting, "LOOK_MS", 5)
    monkeypatch.setattr(collecting, "STARTING", 0)
    gc.collect()
    gc.enable()
    collector = Collector()
    collector.open()
    yield collector
    collector.close()
    gc.disable()  # as the tests run


def dropped() -> list[str]:
    """A running timer in a cycle that nobody holds; the list is filled with the thread that destroys it."""
    ended: list[str] = []
    owner = QObject()
    timer = QTimer(owner)
    timer.start(60_000)
    owner.self = owner  # type: ignore[attr-defined]
    owner.destroyed.connect(lambda: ended.append(threading.current_thread().name))
    return ended


def busy() -> None:
    kept = [[number] for number in range(50_000)]
    kept.clear()


def test_another_thread_that_allocates_destroys_nothing(collector: Collector, qtbot: QtBot) -> None:
    ended = dropped()
    thread = threading.Thread(target=busy)
    thread.start()
    thread.join()
    assert ended == []
    busy_lists = [[number] for number in range(1_000)]  # past the threshold, so that it is worth a look
    qtbot.waitUntil(lambda: ended != [])
    assert ended == [threading.main_thread().name]
    assert len(busy_lists) == 1_000


@pytest.mark.parametrize("before", [True, False])
def test_a_closed_collector_leaves_python_as_it_was(qtbot: QtBot, before: bool) -> None:
    (gc.enable if before else gc.disable)()
    collector = Collector()
    collector.open()
    assert not gc.isenabled()
    collector.close()
    assert gc.isenabled() is before
    gc.disable()


def test_what_is_made_at_the_start_is_set_apart(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "LOOK_MS", 5)
    collector = Collector()
    collector.open()
    qtbot.waitUntil(lambda: gc.get_freeze_count() > 0)
    collector.close()
    assert gc.get_freeze_count() == 0
    gc.disable()
