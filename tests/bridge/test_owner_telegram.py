"""The owner decides on Telegram: each question has its own line of buttons, and the first answer wins."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge.owner_questions import Questions
from bridge.simulator.bot_api import Press
from bridge.simulator.casts import empty
from bridge.simulator.phone import SimPhone
from tests.fakes.town import OWNER, House, house

pytestmark = pytest.mark.anyio


def two_questions() -> SimPhone:
    phone = empty("es")
    for name, number, text in (
        ("Ana", "34600100201", "Hola"),
        ("Beto", "34600100202", "¿Cuánto sale la clase?"),
        ("Caro", "34600100203", "¿Vienes el viernes?"),
    ):
        phone.receive(phone.whatsapp.add(name, number=number).id, text)
    return phone


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    # Under `draft` a greeting becomes a question with a draft, the others are questions without one.
    async with house(tmp_path, two_questions(), whatsapp={"posture": "draft"}) as one:
        await one.round()
        yield one


def lines(home: House) -> list[list[str]]:
    """The labels under the report, line by line, as the owner sees them now."""
    rows = home.bot.sent[0].reply_markup.get("inline_keyboard", [])
    return [[one["text"] for one in row] for row in rows]


def button(home: House, chat: str, answer: str) -> Press:
    """The button for an answer about a chat: the report numbers both alike."""
    sent = home.bot.sent[0]
    number = next(line[0] for line in sent.text.splitlines() if f". {chat} (" in line)
    words = {"send": "Enviar", "write": "Escribir", "leave": "Dejar"}[answer]
    return next(one for one in sent.buttons if one.label.startswith(f"{number} ") and words in one.label)


def received(home: House) -> list[tuple[str, str]]:
    return [(sent.title, sent.text) for sent in home.phone.sent]


async def delivered(home: House) -> None:
    await home.app.services[Questions].aclose()


async def test_a_press_decides_its_question_and_leaves_the_others(home: House) -> None:
    before = lines(home)
    assert len(before) == 3
    assert await home.bot.press(button(home, "Ana", "send"), OWNER)
    await delivered(home)
    ((title, text),) = received(home)
    assert title == "Ana"
    assert text
    await home.bot.until(lambda: len(lines(home)) == 2)
    assert await home.bot.press(button(home, "Beto", "leave"), OWNER)
    await home.bot.until(lambda: len(lines(home)) == 1)
    assert len(received(home)) == 1
    (left,) = await home.questions.open_ones()
    assert left["title"] == "Caro"
    confirmed = [sent.text for sent in home.bot.sent[1:]]
    assert any("Ana" in one and text in one for one in confirmed)


async def test_write_another_takes_the_next_words_as_they_are(home: House) -> None:
    press = button(home, "Beto", "write")
    assert await home.bot.press(press, OWNER)
    await home.bot.until(lambda: any("Beto" in sent.text for sent in home.bot.sent[1:]))
    assert len(lines(home)) == 3  # nothing is decided yet
    await home.bot.say(OWNER, OWNER, "La clase es a las 10 🎉")
    await home.bot.until(lambda: len(lines(home)) == 2)
    await delivered(home)
    assert received(home) == [("Beto", "La clase es a las 10 🎉")]
    runs = await home.app.store.all("select * from runs where channel = 'telegram'")
    assert runs == []
    # The words after it are for the assistant again.
    await home.bot.say(OWNER, OWNER, "hola")
    await home.bot.until(lambda: home.bot.sent[-1].text.startswith("Hola"))
    assert len(received(home)) == 1


async def test_a_stranger_presses_nothing(home: House) -> None:
    await home.bot.press(button(home, "Ana", "send"), 666)
    assert received(home) == []
    assert len(await home.questions.open_ones()) == 3


async def test_what_is_decided_elsewhere_loses_its_buttons_here(home: House) -> None:
    press = button(home, "Caro", "leave")
    asked = next(one for one in await home.questions.open_ones() if one["title"] == "Caro")
    await home.questions.answer(asked["id"], "write", text="Sí, voy", by="desktop")
    await home.bot.until(lambda: len(lines(home)) == 2)
    await home.bot.press(press, OWNER)
    await delivered(home)
    assert received(home) == [("Caro", "Sí, voy")]


async def test_words_that_were_waited_for_too_long_or_for_another_answer_go_to_the_assistant(
    home: House,
) -> None:
    await home.bot.press(button(home, "Beto", "write"), OWNER)
    asked = next(one for one in await home.questions.open_ones() if one["title"] == "Beto")
    await home.questions.answer(asked["id"], "leave", by="desktop")
    await home.bot.until(lambda: len(lines(home)) == 2)
    await home.bot.say(OWNER, OWNER, "hola")
    await home.bot.until(lambda: home.bot.sent[-1].text.startswith("Hola"))
    await home.bot.press(button(home, "Caro", "write"), OWNER)
    await home.app.store.run(
        "update settings set value = json_set(value, '$.at', '2026-01-01T00:00:00.000+00:00')"
        " where key = 'question.writing'"
    )
    await home.bot.say(OWNER, OWNER, "gracias")
    await home.bot.until(lambda: home.bot.sent[-1].text.startswith("De nada"))
    assert received(home) == []
