"""Cards of the agent's questions: pressed once, answered with one ordinary message, the same after a restart."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from core.runs.steering import ask_questions
from core.runs.turn import Asked
from desktop.asked import QuestionsRow, answer_of
from desktop.chat import Chat
from desktop.feed import Feed
from desktop.messages import Asking, Entry, Kind
from desktop.past import history
from desktop.questions import Questions
from desktop.talk import Talk
from desktop.words import Words
from tests.desktop.conftest import Until
from tests.fakes.house import House, house
from tests.fakes.openai_server import Answer

pytestmark = pytest.mark.anyio

COLOUR = {"question": "Which colour?", "options": ["Red & blue", "Green"], "multiple": False}


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as built:
        built.tools.add(ask_questions)
        yield built


async def chat_of(here: House, words: Words) -> Chat:
    feed = Feed()
    feed.listen(here.bus)
    chat = Chat(words, feed)

    async def find(media_id: str) -> None:
        return None

    chat.open(here.runner.run, find, await history(here.store, here.home, "desktop"))
    return chat


def card_of(talk: Talk) -> QuestionsRow:
    return next(row for row in reversed(talk.view.rows()) if isinstance(row, QuestionsRow))


async def test_a_press_is_the_answer_and_counts_once(
    here: House, words: Words, qtbot: QtBot, until: Until
) -> None:
    here.server.next(Answer("Before I paint:", calls=[("ask_questions", {"questions": [COLOUR]})]))
    chat = await chat_of(here, words)
    told: list[bool] = []
    chat.asked.connect(lambda: told.append(chat.waiting is not None))
    talk, bubble = (Talk(chat, Questions(), words, lambda file: None, small=small) for small in (False, True))
    for widget in (talk, bubble):
        qtbot.addWidget(widget)
        widget.show()
    chat.send("Paint the wall.")
    await until(lambda: not chat.working)
    kinds = [entry.kind for entry in chat.messages.entries]
    assert kinds == [Kind.OWNER, Kind.AGENT, Kind.QUESTIONS]  # and no line for the tool
    assert chat.messages.entries[1].text == "Before I paint:"
    assert told == [True]

    other = await chat_of(here, words)  # a restart: the card waits as before
    assert other.waiting is not None
    assert [entry.kind for entry in other.messages.entries] == kinds

    card, small = card_of(talk), card_of(bubble)
    assert [one.text() for one in card.asks[0].options] == ["Red && blue", "Green"]
    option = card.asks[0].options[0]
    option.setFocus()
    qtbot.keyClick(option, Qt.Key.Key_Space)
    await until(lambda: len(here.server.requests) == 2 and not chat.working)
    assert here.server.requests[1].body["messages"][-1]["content"] == "Red & blue"
    assert chat.waiting is None
    assert told[-1] is False
    for one in (card, small):
        assert not any(option.isEnabled() for option in one.asks[0].options)
        assert one.given.text() == "Red & blue"
        one.send()
        one.asks[0].options[1].click()
    assert len(here.server.requests) == 2
    again = await chat_of(here, words)
    answered = next(entry for entry in again.messages.entries if entry.asking)
    assert answered.asking is not None
    assert answered.asking.answer == "Red & blue"
    for one_chat in (chat, other, again):
        await one_chat.close()


async def test_what_is_written_instead_answers_the_card(here: House, words: Words, until: Until) -> None:
    here.server.next(Answer(calls=[("ask_questions", {"questions": [COLOUR]})]))
    chat = await chat_of(here, words)
    chat.send("Paint the wall.")
    await until(lambda: not chat.working)
    card = chat.waiting
    assert card is not None
    chat.send("Leave it white.")
    await until(lambda: not chat.working)
    assert card.asking is not None
    assert card.asking.answer == "Leave it white."
    chat.answer(card, "Green")
    assert not chat.working  # too late: it was answered
    await chat.close()


def row(qtbot: QtBot, words: Words, *asked: Asked) -> tuple[QuestionsRow, list[str]]:
    answers: list[str] = []
    entry = Entry(Kind.QUESTIONS, asking=Asking(tuple(asked)))
    made = QuestionsRow(entry, words, lambda _, text: answers.append(text))
    qtbot.addWidget(made)
    made.resize(400, 300)
    made.show()
    return made, answers


async def test_several_questions_wait_for_all_their_answers(qtbot: QtBot, words: Words) -> None:
    card, answers = row(
        qtbot, words, Asked("Which days?", ("Mon", "Tue", "Wed"), multiple=True), Asked("Who?")
    )
    for place in (2, 0, 1, 1):
        card.asks[0].options[place].click()
    assert not card.button.isEnabled()
    card.send()
    qtbot.keyClicks(card.asks[1].field, "Ana")
    assert card.button.isEnabled()
    qtbot.keyClicks(card.asks[0].field, "not early")
    qtbot.keyClick(card.asks[1].field, Qt.Key.Key_Return)
    assert answers == ["1. Mon, Wed, not early\n2. Ana"]


async def test_words_of_ones_own_take_the_place_of_an_option(qtbot: QtBot, words: Words) -> None:
    card, answers = row(qtbot, words, Asked("Which?", ("A", "B")))
    qtbot.keyClicks(card.asks[0].field, "C, please")
    qtbot.mouseClick(card.button, Qt.MouseButton.LeftButton)
    assert answers == ["C, please"]


async def test_a_card_that_scrolls_away_keeps_what_was_begun(qtbot: QtBot, words: Words) -> None:
    card, _ = row(qtbot, words, Asked("Which?", ("A", "B"), multiple=True), Asked("Why?"))
    card.asks[0].options[1].click()
    qtbot.keyClicks(card.asks[1].field, "because")
    again = QuestionsRow(card.entry, words, lambda *_: None)
    qtbot.addWidget(again)
    assert [one.isChecked() for one in again.asks[0].options] == [False, True]
    assert again.asks[1].field.text() == "because"
    assert answer_of(again.asking) == "1. B\n2. because"


async def test_a_long_answer_is_shown_whole_and_makes_the_card_no_wider(qtbot: QtBot, words: Words) -> None:
    long = "Only if it is before ten in the morning because after that nobody is at home until late"
    card, _ = row(qtbot, words, Asked("When?", (long,)))
    card.resize(300, 400)
    assert " ".join(card.asks[0].options[0].text().split()) == long
    assert card.minimumSizeHint().width() <= 300
