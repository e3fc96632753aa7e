"""The list of conversations: what they are called, opening one, beginning another, and reading one held elsewhere."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from core.runs.titles import Titles
from desktop import slots
from desktop.chat import Chat
from desktop.feed import Feed
from desktop.questions import Questions
from desktop.talk import ChatScreen
from desktop.threads import Conversations
from desktop.words import Words
from desktop.working import Talks, Team
from tests.desktop.conftest import Until
from tests.fakes.house import House, house, turn
from tests.fakes.openai_server import Answer, fault

pytestmark = pytest.mark.anyio


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as built:
        yield built


class Window:
    """The chat screen over a house, as the window joins them."""

    def __init__(self, here: House, words: Words, qtbot: QtBot) -> None:
        self.feed = Feed()
        self.feed.listen(here.bus)
        self.chat = Chat(words, self.feed)
        self.known = Conversations()
        team = Team(here, words)  # type: ignore[arg-type]
        self.talks = Talks(here, self.chat, self.known, team, words)  # type: ignore[arg-type]
        self.screen = ChatScreen(self.chat, Questions(), words, lambda file: None, conversations=self.known)
        self.feed.titled.connect(lambda _: self.known.refresh())
        qtbot.addWidget(self.screen)
        self.screen.show()

    @property
    def titles(self) -> list[str]:
        return [card.one.title for card in self.screen.threads.cards]

    def said(self) -> list[str]:
        return [entry.text for entry in self.chat.messages.entries]

    async def close(self) -> None:
        await self.chat.close()
        self.known.serve(None)
        await slots.settle()
        self.feed.close()


async def test_a_new_conversation_gets_its_title_and_the_old_one_stays(
    here: House, words: Words, qtbot: QtBot, until: Until
) -> None:
    titles = Titles(here.store, here.bus, here.runner.desk, lambda: "en")
    async with titles.open():
        one = Window(here, words, qtbot)
        await one.talks.open()
        one.screen.toggle_threads()
        assert one.screen.threads.none.isVisible()
        here.server.next(Answer("By bus."), Answer("Travelling to Lima"))
        one.chat.send("How do I get to Lima?")
        await until(lambda: one.titles == ["Travelling to Lima"])
        assert one.screen.heading.accessibleName() == "Travelling to Lima"
        await until(lambda: not one.chat.working)
        qtbot.mouseClick(one.screen.threads.new, Qt.MouseButton.LeftButton)
        await until(lambda: one.chat.thread_name != "desktop")
        assert one.said() == []
        assert one.screen.heading.accessibleName() == words("rail.chat")
        here.server.next(Answer("Boil it."), fault("server"))
        one.chat.send("How long does an egg take?")
        await until(lambda: len(one.titles) == 2 and not one.chat.working)
        await titles.settled()
        await until(lambda: one.titles == ["How long does an egg take?", "Travelling to Lima"])
        assert "Lima" not in str(here.server.requests[2].body["messages"][1:])  # a conversation of its own

        qtbot.keyClick(one.screen.threads.cards[1], Qt.Key.Key_Return)
        await until(lambda: one.chat.thread_name == "desktop")
        assert one.said() == ["How do I get to Lima?", "By bus."]
        again = Window(here, words, qtbot)  # the one that was shown last is shown again
        await again.talks.open()
        assert again.chat.thread_name == "desktop"
        for window in (one, again):
            await window.close()


async def test_a_conversation_held_elsewhere_is_only_read(
    here: House, words: Words, qtbot: QtBot, until: Until
) -> None:
    await here.runner.run(turn("News?", channel="telegram", thread="telegram:5"))
    await here.runner.run(turn("hello", channel="a2a", thread="a2a:x"))
    one = Window(here, words, qtbot)
    await one.talks.open()
    assert one.titles == []  # not on the screen
    one.screen.toggle_threads()
    assert one.titles == ["News?"]
    one.screen.threads.cards[0].clicked.emit()
    await until(lambda: one.said())
    assert one.said() == ["News?", "ready"]
    assert one.screen.talk.composer.why.text() == words("composer.elsewhere")
    assert not one.chat.send("An answer")
    await one.known.begin()
    assert one.chat.why == ""
    await one.close()


async def test_while_an_answer_is_on_its_way_the_conversation_stays(
    here: House, words: Words, qtbot: QtBot, until: Until
) -> None:
    here.server.next(fault("hang"))
    one = Window(here, words, qtbot)
    await one.talks.open()
    one.screen.toggle_threads()
    one.chat.send("Wait for it")
    await until(lambda: one.known.locked)
    assert not one.screen.threads.new.isEnabled()
    await one.known.begin()
    assert one.chat.thread_name == "desktop"
    one.chat.stop()
    await until(lambda: not one.known.locked)
    await one.close()
