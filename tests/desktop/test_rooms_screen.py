"""The screen of rooms: made, written to, watched while it answers, stopped, and changed, over a real app."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from core import agents
from core.app import App
from core.channels.rooms import Rooms, speaking
from core.events import SpeakerStarted
from core.paths import Home
from desktop import room_desk, slots
from desktop.composer import Lines
from desktop.feed import Feed
from desktop.mentions import fitting
from desktop.messages import Kind
from desktop.questions import Questions
from desktop.rooms import RoomsScreen
from desktop.speaker import SpeakerRow
from desktop.words import Words
from tests.desktop.conftest import Until
from tests.fakes.house import WORKER
from tests.fakes.openai_server import Answer, OpenAIServer, fault

pytestmark = pytest.mark.anyio


class Seen:
    def __init__(self, app: App, screen: RoomsScreen, server: OpenAIServer) -> None:
        self.app, self.screen, self.server = app, screen, server

    @property
    def rooms(self) -> Rooms:
        found = self.app.services[Rooms]
        assert isinstance(found, Rooms)
        return found

    def lines(self) -> list[tuple[Kind, str]]:
        return [(entry.kind, entry.text) for entry in self.screen.chat.messages.entries]

    def write(self, text: str) -> None:
        self.screen.talk.composer.lines.setPlainText(text)
        self.screen.talk.composer.lines.submitted.emit()


@asynccontextmanager
async def opened(home: Home, words: Words, qtbot: QtBot) -> AsyncIterator[Seen]:
    async with OpenAIServer() as server:
        settings = {
            "port": 0,
            "super_agent": {"enabled": True, "model": "standin:small"},
            "engines": {"standin": {"base_url": server.url, "api_key": "sk-standin-0123456789"}},
            "user": {"language": "en"},
        }
        home.config.write_text(json.dumps(settings), encoding="utf-8")
        home.identity.write_text(json.dumps({"agent_name": "Nube"}), encoding="utf-8")
        async with App.open(home, [speaking]) as app:
            app.models._command = WORKER
            for name in ("Ana Núñez", "Bob"):
                await agents.add(app.store, "default", name=name, slug=name.split()[0].lower())
            feed = Feed()
            feed.listen(app.bus)
            screen = room_desk.rooms_screen(app, words, feed, Questions(), lambda file: None)
            feed.rooms_changed.connect(screen.follow)
            qtbot.addWidget(screen)
            screen.resize(1000, 700)
            screen.show()
            try:
                yield Seen(app, screen, server)
            finally:
                screen.rest()
                feed.close()
                await screen.chat.close()
                await slots.settle()


Table = Callable[[], AbstractAsyncContextManager[Seen]]


@pytest.fixture
def table(home: Home, words: Words, qtbot: QtBot, until: Until) -> Table:
    """A room with Nube, Ana and Bob in it. Entered by the test: a timer of the screen belongs to the test's loop."""
    return lambda: seated(home, words, qtbot, until)


@asynccontextmanager
async def seated(home: Home, words: Words, qtbot: QtBot, until: Until) -> AsyncIterator[Seen]:
    """The room is made on the screen."""
    async with opened(home, words, qtbot) as made:
        screen = made.screen
        await until(lambda: screen.notice.title.text() == words("rooms.none"))
        screen.notice.button.click()
        await until(lambda: screen.form.switches)
        assert not screen.form.make.isEnabled()
        screen.form.title.setText("The plan")
        screen.form.make.click()
        await until(
            lambda: screen.chat.room_id and list(screen.members.faces) == ["super_agent", "ana", "bob"]
        )
        yield made


async def test_a_line_is_answered_under_names_and_faces(table: Table, until: Until) -> None:
    async with table() as seen:
        screen = seen.screen
        assert screen.talk.stack.currentWidget() is screen.talk.empty
        seen.server.next(Answer("I think so, @bob?"), Answer("Yes."))
        seen.write("@Ana is it ready?")
        await until(lambda: len(seen.lines()) == 5 and not screen.chat.working)
        expected = [
            (Kind.OWNER, "@Ana is it ready?"),
            (Kind.SPEAKER, "Ana Núñez"),
            (Kind.AGENT, "I think so, @bob?"),
            (Kind.SPEAKER, "Bob"),
            (Kind.AGENT, "Yes."),
        ]
        assert seen.lines() == expected
        assert sum(isinstance(row, SpeakerRow) for row in screen.talk.view.rows()) == 2
        await screen.chat.show_room(screen.chat.room_id)
        assert seen.lines() == expected  # what is kept looks as what was seen
        await seen.rooms.cut(await seen.rooms.find("The plan"), 2)
        await until(lambda: seen.lines() == expected[:3])


async def test_stop_and_what_came_from_elsewhere(table: Table, until: Until) -> None:
    async with table() as seen:
        screen = seen.screen
        seen.server.default = lambda body: fault("hang")
        await seen.rooms.say(await seen.rooms.find("The plan"), "@ana @bob, from the command line")
        await seen.server.arrived.wait()
        await until(lambda: (Kind.SPEAKER, "Ana Núñez") in seen.lines())
        assert not screen.talk.composer.stop.isHidden()
        await screen.chat.show_room(screen.chat.room_id)  # opened again in the middle
        assert seen.lines()[-1] == (Kind.SPEAKER, "Ana Núñez")
        screen.talk.composer.stop.click()
        await until(lambda: not screen.chat.working)
        assert seen.lines()[-1] == (Kind.NOTE, "Not answered: Bob.")
        assert screen.talk.composer.stop.isHidden()


async def test_a_failure_has_a_button_that_asks_again(table: Table, until: Until) -> None:
    async with table() as seen:
        screen = seen.screen
        seen.server.next(fault("auth"))
        seen.write("hello")
        await until(lambda: seen.lines() and seen.lines()[-1][0] is Kind.ERROR and not screen.chat.working)
        screen.chat.again(screen.chat.messages.entries[-1])
        await until(lambda: seen.lines()[-1] == (Kind.AGENT, "ready"))
        assert [text for kind, text in seen.lines() if kind is Kind.OWNER] == ["hello"]


async def test_a_line_that_was_not_said_stays_in_its_field(table: Table, until: Until) -> None:
    async with table() as seen:
        screen = seen.screen
        room = await seen.rooms.find("The plan")
        for slug in ("super_agent", "ana", "bob"):
            screen.members.left.emit(slug)
            await until(lambda slug=slug: slug not in screen.members.faces)
        seen.write("anybody here?")
        await until(lambda: screen.talk.composer.lines.toPlainText() == "anybody here?")
        assert "Nobody is in the room" in seen.lines()[-1][1]
        assert await seen.rooms.lines(room) == []
        screen.members.joined.emit(await seen.rooms.member("bob", "default"))
        await until(lambda: list(screen.members.faces) == ["bob"])


async def test_closing_a_room_asks_first(table: Table, until: Until, words: Words) -> None:
    async with table() as seen:
        from PySide6.QtWidgets import QMessageBox

        screen = seen.screen
        screen.close_it.click()
        (box,) = screen.findChildren(QMessageBox)
        next(one for one in box.buttons() if one.text() == words("rooms.close")).click()
        await until(lambda: not screen.cards)
        await until(lambda: screen.pages.currentWidget() is screen.notice)


async def test_a_room_can_be_chosen_while_another_answers(table: Table, until: Until) -> None:
    async with table() as seen:
        screen = seen.screen
        first = screen.chat.room_id
        other = await seen.rooms.create("default", "Other", [await seen.rooms.member("bob", "default")])
        started = asyncio.Event()
        seen.app.bus.subscribe(SpeakerStarted, lambda _: started.set())
        seen.server.next(fault("hang"))
        seen.write("@ana go")
        await started.wait()
        await until(lambda: other.id in screen.cards)
        screen.choose(other.id)
        await until(lambda: screen.chat.room_id == other.id and not screen.chat.working)
        assert seen.lines() == []
        screen.choose(first)
        await until(lambda: screen.chat.room_id == first and screen.chat.working)
        assert seen.lines()[-1] == (Kind.SPEAKER, "Ana Núñez")
        screen.chat.stop()
        await until(lambda: not screen.chat.working)


async def test_names_are_completed_with_the_keyboard(table: Table, qtbot: QtBot) -> None:
    async with table() as seen:
        screen = seen.screen
        lines, list_ = screen.talk.composer.lines, screen.mentions.list
        assert isinstance(lines, Lines)
        qtbot.keyClicks(lines, "dear @")
        assert [list_.item(row).text() for row in range(list_.count())] == [
            "Nube  @nube",
            "Ana Núñez  @ana",
            "Bob  @bob",
        ]
        qtbot.keyClick(lines, Qt.Key.Key_Down)
        qtbot.keyClick(lines, Qt.Key.Key_Return)
        assert lines.toPlainText() == "dear @ana "
        assert list_.isHidden()
        qtbot.keyClicks(lines, "and @NU")
        assert list_.count() == 2
        qtbot.keyClick(lines, Qt.Key.Key_Tab)
        assert lines.toPlainText() == "dear @ana and @nube "
        qtbot.keyClicks(lines, "me@bo")
        assert list_.isHidden()
        qtbot.keyClicks(lines, " @b")
        qtbot.keyClick(lines, Qt.Key.Key_Escape)
        assert list_.isHidden()
        assert lines.toPlainText().endswith(" @b")
        screen.members.mentioned.emit("bob")
        assert lines.toPlainText().endswith("@nube me@bo @bob ")


async def test_what_cannot_be_read_is_said(home: Home, words: Words, qtbot: QtBot, until: Until) -> None:
    async with opened(home, words, qtbot) as seen:
        found = seen.app.services.pop(Rooms)
        seen.screen.follow()
        await until(lambda: seen.screen.notice.title.text() == words("rooms.failed"))
        seen.app.services[Rooms] = found
        words.speak("es")
        await until(lambda: seen.screen.notice.title.text() == words("rooms.none"))
        assert seen.screen.new.text().strip() == "Nueva sala"


def test_completion_looks_at_short_names_and_every_word() -> None:
    from core.rooms import Member

    people = [Member("ana", "default", "Ana Núñez", ""), Member("x", "default", "Away", "", here=False)]
    assert [one.slug for one in fitting(people, "NÚ")] == ["ana"]
    assert fitting(people, "aw") == []


async def test_a_member_is_asked_taken_out_and_let_in_again(table: Table, until: Until, words: Words) -> None:
    async with table() as seen:
        members = seen.screen.members
        ask, out = members.choices(members.faces["ana"].person).actions()
        assert ask.text() == words("rooms.ask", name="Ana Núñez")
        ask.trigger()
        assert seen.screen.talk.composer.lines.toPlainText() == "@ana "
        out.trigger()
        await until(lambda: "ana" not in members.faces)
        (back,) = members.others().actions()
        assert back.text() == "Ana Núñez  @ana"
        back.trigger()
        await until(lambda: list(members.faces) == ["super_agent", "bob", "ana"])
