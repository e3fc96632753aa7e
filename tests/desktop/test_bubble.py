"""The bubble is never off the screen, shows the same conversation, and closes with Esc."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QRect, QSize, Qt
from pytestqt.qtbot import QtBot

from desktop.bubble import Bubble, beside
from desktop.chat import Chat
from desktop.feed import Feed
from desktop.messages import Entry, Kind
from desktop.questions import Questions
from desktop.words import Words

SIZE = QSize(360, 480)


@pytest.fixture
def chat(words: Words, feed: Feed) -> Chat:
    return Chat(words, feed)


@pytest.fixture
def bubble(qtbot: QtBot, chat: Chat, words: Words) -> Iterator[Bubble]:
    bubble = Bubble(chat, Questions(), words, lambda file: None)
    qtbot.addWidget(bubble)
    yield bubble
    bubble.hide()


@given(
    st.integers(-2000, 4000), st.integers(-2000, 4000), st.integers(400, 4000), st.integers(500, 3000),
    st.integers(-2000, 2000), st.integers(-2000, 2000),
)  # fmt: skip
def test_it_is_wholly_on_the_screen(x: int, y: int, width: int, height: int, left: int, top: int) -> None:
    room = QRect(left, top, width, height)
    place = QRect(beside(QRect(x, y, 112, 128), SIZE, room), SIZE)
    assert room.contains(place)


def test_it_stands_left_of_the_mascot_and_does_not_cover_it() -> None:
    mascot = QRect(1700, 900, 112, 128)
    place = QRect(beside(mascot, SIZE, QRect(0, 0, 1920, 1080)), SIZE)
    assert place.right() < mascot.left()
    corner = QRect(10, 900, 112, 128)
    assert QRect(beside(corner, SIZE, QRect(0, 0, 1920, 1080)), SIZE).left() > corner.right()


def test_esc_closes_it(bubble: Bubble, qtbot: QtBot) -> None:
    bubble.show_beside(QRect(500, 500, 112, 128))
    assert bubble.isVisible()
    qtbot.keyClick(bubble.talk.composer.lines, Qt.Key.Key_Escape)
    assert not bubble.isVisible()


def test_it_shows_the_conversation_of_the_window(bubble: Bubble, chat: Chat) -> None:
    chat.messages.add(Entry(Kind.OWNER, "hola"))
    assert [row.entry.text for row in bubble.talk.view.rows()] == ["hola"]


def test_the_way_to_the_window(bubble: Bubble, qtbot: QtBot) -> None:
    bubble.show_beside(QRect(500, 500, 112, 128))
    with qtbot.waitSignal(bubble.window_wanted):
        qtbot.mouseClick(bubble.open, Qt.MouseButton.LeftButton)
    assert not bubble.isVisible()
