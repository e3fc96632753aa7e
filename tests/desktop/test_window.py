"""The window: there before the core, the same keys everywhere, and no way to lose it."""

import json
from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget
from pytestqt.qtbot import QtBot

from core.paths import Home
from desktop.rail import NARROW, WIDE
from desktop.window import Window
from desktop.words import Words

CTRL = Qt.KeyboardModifier.ControlModifier


class Hides:
    """Whether something stays that can bring the window back."""

    able = True

    def __call__(self) -> bool:
        return self.able


@pytest.fixture
def hides() -> Hides:
    return Hides()


@pytest.fixture
def window(qtbot: QtBot, words: Words, home: Home, hides: Hides) -> Iterator[Window]:
    window = Window(words, home, hides)
    qtbot.addWidget(window, before_close_func=lambda w: setattr(hides, "able", True))
    window.show()
    qtbot.waitExposed(window)
    yield window
    window.hide()


def test_it_says_that_it_has_been_painted_once(qtbot: QtBot, words: Words, home: Home) -> None:
    window = Window(words, home, lambda: True)
    qtbot.addWidget(window)
    painted: list[bool] = []
    window.painted.connect(lambda: painted.append(True))
    with qtbot.waitSignal(window.painted):
        window.show()
    window.repaint()
    assert painted == [True]


def test_a_screen_that_has_not_come_says_that_it_is_being_opened(window: Window, words: Words) -> None:
    window.open("rounds")
    assert window.stack.currentWidget() is window.notice
    assert window.notice.title.text() == words("opening.title")
    screen = QLabel("rounds")
    window.put("rounds", screen)
    assert window.stack.currentWidget() is screen


def test_keys_go_to_the_screens(window: Window, qtbot: QtBot) -> None:
    opened: list[str] = []
    window.opened.connect(opened.append)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    for key in (Qt.Key.Key_2, Qt.Key.Key_3, Qt.Key.Key_4, Qt.Key.Key_9, Qt.Key.Key_1, Qt.Key.Key_Comma):
        qtbot.keyClick(window, key, CTRL)
    assert opened == ["rooms", "rounds", "phone", "settings", "chat", "settings"]
    with qtbot.waitSignal(window.searched):
        qtbot.keyClick(window, Qt.Key.Key_F, CTRL)
    assert window.current == "chat"


def test_closing_hides_while_something_can_bring_it_back(window: Window, hides: Hides) -> None:
    left: list[bool] = []
    window.closing.connect(lambda: left.append(True))
    window.close()
    assert not window.isVisible()
    assert left == []
    window.bring()
    hides.able = False
    window.close()
    assert window.isVisible()
    assert left == [True]


def test_a_failure_to_open_is_shown_with_a_way_to_try_again(
    window: Window, qtbot: QtBot, words: Words
) -> None:
    window.put("chat", QLabel("chat"))
    window.fail("The home is in use by process 7. Stop that one first.")
    assert window.stack.currentWidget() is window.notice
    assert "process 7" in window.notice.why.text()
    with qtbot.waitSignal(window.retried):
        qtbot.mouseClick(window.notice.button, Qt.MouseButton.LeftButton)
    window.recover()
    assert window.stack.currentWidget() is not window.notice


def test_the_rail_folds_to_icons(window: Window) -> None:
    window.resize(1000, 600)
    assert window.rail.width() == WIDE
    window.resize(800, 600)
    assert window.rail.width() == NARROW
    assert window.rail.entries["chat"].text() == ""
    assert window.rail.entries["chat"].toolTip() == "Chat"


def test_a_badge_only_for_what_waits(window: Window) -> None:
    badge = window.rail.entries["rounds"].badge
    assert badge.isHidden()
    window.rail.wait("rounds", 2)
    assert (badge.text(), badge.isHidden()) == ("2", False)
    assert "2" in window.rail.entries["rounds"].accessibleName()
    window.rail.wait("rounds", 0)
    assert badge.isHidden()


def test_names_and_words_change_live(window: Window, words: Words) -> None:
    window.introduce("Roby", "sol")
    assert window.windowTitle() == "Roby"
    words.speak("es")
    assert window.rail.entries["settings"].text().strip() == "Ajustes"


def test_every_button_has_a_name(window: Window) -> None:
    for button in window.findChildren(QAbstractButton):
        assert button.accessibleName() or button.text().strip() or not button.isVisible()


def test_place_and_size_are_remembered(window: Window, words: Words, home: Home, qtbot: QtBot) -> None:
    window.resize(700, 500)
    window.remember()
    again = Window(words, home, lambda: True)
    qtbot.addWidget(again)
    assert again.size().width() == 700


@pytest.mark.parametrize("text", ["", "{", json.dumps({"geometry": 3}), json.dumps([])])
def test_a_broken_memory_is_a_first_time(words: Words, home: Home, qtbot: QtBot, text: str) -> None:
    (home.root / "window.json").write_text(text, encoding="utf-8")
    window = Window(words, home, lambda: True)
    qtbot.addWidget(window)
    assert window.width() == 1180


def test_a_screen_goes_with_its_core(window: Window) -> None:
    screen = QWidget()
    window.put("phone", screen)
    window.open("phone")
    window.take("phone")
    assert window.stack.currentWidget() is window.notice
