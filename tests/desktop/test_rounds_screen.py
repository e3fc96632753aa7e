"""The rounds as people see them: read from the tables, codes covered, decisions answered once."""

import asyncio
from collections.abc import Sequence

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from core.errors import Refused, Unavailable
from core.store import Store
from desktop import records
from desktop.pieces import Masked
from desktop.questions import Buttons
from desktop.records import Round
from desktop.rounds import Rounds
from desktop.talked import TalkedRow, verdict
from desktop.words import Words
from tests.desktop.conftest import Until

pytestmark = pytest.mark.anyio

ROUND = (
    "insert into rounds (id, project_id, state, phone_state, started_at, closed_at, in_background)"
    " values (?, 'default', ?, ?, ?, ?, 1)"
)
TALK = (
    "insert into conversations (id, round_id, position, title, state, decision, decision_args, outcome, outcome_why,"
    " found_at) values (?, 'rnd_1', ?, ?, 'done', ?, ?, ?, ?, '2026-01-02T10:00:00.000+00:00')"
)
SAID = "insert into phone_messages (conversation_id, position, direction, kind, text) values (?, ?, 'in', 'text', ?)"


@pytest.fixture
async def walked(store: Store) -> Store:
    """A round with one of each outcome, and an older one that only passed its alert on."""
    at = "2026-01-02T10:00:00.000+00:00"
    await store.run(ROUND, "rnd_1", "closed", "ready", at, "2026-01-02T10:00:38.000+00:00")
    await store.run(ROUND, "rnd_0", "relayed", "absent", "2026-01-01T10:00:00.000+00:00", at)
    rows = [
        ("c1", 0, "Mamá", "reply", '{"text": "Sí"}', "sent", ""),
        ("c2", 1, "Marina", "ask_owner", '{"question": "?"}', "not_sent", ""),
        ("c3", 2, "Banco", "forward", "{}", "not_sent", ""),
        ("c4", 3, "Fútbol", "leave", "{}", "not_sent", ""),
        ("c5", 4, "Leo", "reply", '{"text": "Ya"}', "unknown", "the screen did not say"),
        ("c6", 5, "Ana", "reply", '{"text": "No"}', "rejected", "the chat was closed"),
    ]
    for row in rows:
        await store.run(TALK, *row)
    await store.run(SAID, "c1", 0, "¿Venís?")
    await store.run(SAID, "c3", 0, "Tu código es 483921")
    await store.run(
        "insert into questions (id, kind, conversation_id, round_id, question, draft, asked_at)"
        " values ('q1', 'conversation', 'c2', 'rnd_1', '¿Cuánto sale?', 'Sale 8.000', ?)",
        at,
    )
    return store


class Phone:
    """Takes answers and round requests, and remembers them."""

    def __init__(self) -> None:
        self.answers: list[tuple[str, str, str]] = []
        self.started = 0
        self.error: Exception | None = None
        self.free = asyncio.Event()
        self.free.set()

    async def answer(self, id: str, choice: str, text: str) -> None:
        await self.free.wait()
        if self.error:
            raise self.error
        self.answers.append((id, choice, text))

    async def start(self) -> None:
        if self.error:
            raise self.error
        self.started += 1


@pytest.fixture
async def phone() -> Phone:
    return Phone()


def screen(store: Store, phone: Phone, words: Words, qtbot: QtBot) -> Rounds:
    made = Rounds(
        words,
        rounds=lambda: records.rounds(store),
        conversations=lambda id: records.conversations(store, id),
        steps=lambda id: records.steps(store, id),
        answer=phone.answer,
        start=phone.start,
    )
    qtbot.addWidget(made)
    return made


def shown(rounds: Rounds) -> dict[str, TalkedRow]:
    rows = rounds.detail.findChildren(TalkedRow)
    return {row.talked.title: row for row in rows}


def texts(row: TalkedRow) -> str:
    return " | ".join(one.text() for one in row.findChildren(QLabel))


async def test_every_conversation_says_what_was_done_and_how_sure(
    walked: Store, phone: Phone, words: Words, qtbot: QtBot, until: Until
) -> None:
    rounds = screen(walked, phone, words, qtbot)
    await until(lambda: len(shown(rounds)) == 6)
    said = {title: texts(row) for title, row in shown(rounds).items()}
    assert "Answered ✓ sent" in said["Mamá"]
    assert "“Sí”" in said["Mamá"]
    assert "Asks you" in said["Marina"]
    assert "Passed on to you" in said["Banco"]
    assert "Left alone" in said["Fútbol"]
    assert "not known whether it was sent" in said["Leo"]
    assert "the screen did not say" in said["Leo"]
    assert "Not sent: refused" in said["Ana"]
    assert list(rounds.cards) == ["rnd_1", "rnd_0"]
    names = rounds.cards["rnd_1"].accessibleName()
    assert "6 chats, 1 answered, 1 for you, 1 passed on, 1 not certain, 1 left alone" in names
    assert "alert passed on" in rounds.cards["rnd_0"].accessibleName()


async def test_codes_are_dots_until_the_pointer_rests_on_them(
    walked: Store, phone: Phone, words: Words, qtbot: QtBot, until: Until
) -> None:
    rounds = screen(walked, phone, words, qtbot)
    await until(lambda: "Banco" in shown(rounds))
    line = next(one for one in shown(rounds)["Banco"].findChildren(Masked) if "código" in one.text())
    assert line.text() == "“Tu código es ••••••”"
    line._reveal()
    assert "483921" in line.text()
    line._cover()
    assert "483921" not in line.text()


async def test_a_decision_is_answered_once(
    walked: Store, phone: Phone, words: Words, qtbot: QtBot, until: Until
) -> None:
    rounds = screen(walked, phone, words, qtbot)
    await until(lambda: "Marina" in shown(rounds))
    buttons = shown(rounds)["Marina"].findChild(Buttons)
    assert isinstance(buttons, Buttons)
    phone.free.clear()
    buttons.yes.click()
    buttons.yes.click()
    await until(lambda: not buttons.isEnabled())
    phone.free.set()
    await until(lambda: phone.answers)
    assert phone.answers == [("q1", "send", "Sale 8.000")]


async def test_another_answer_is_written_here(
    walked: Store, phone: Phone, words: Words, qtbot: QtBot, until: Until
) -> None:
    rounds = screen(walked, phone, words, qtbot)
    await until(lambda: "Marina" in shown(rounds))
    buttons = shown(rounds)["Marina"].findChild(Buttons)
    assert isinstance(buttons, Buttons)
    buttons.other.click()
    buttons.field.setPlainText("Mañana te digo")
    buttons.send.click()
    await until(lambda: phone.answers)
    assert phone.answers == [("q1", "write", "Mañana te digo")]


async def test_an_answer_that_could_not_be_taken_says_why_and_can_be_given_again(
    walked: Store, phone: Phone, words: Words, qtbot: QtBot, until: Until
) -> None:
    rounds = screen(walked, phone, words, qtbot)
    await until(lambda: "Marina" in shown(rounds))
    buttons = shown(rounds)["Marina"].findChild(Buttons)
    assert isinstance(buttons, Buttons)
    phone.error = Refused("It was answered on Telegram.")
    buttons.no.click()
    await until(lambda: buttons.wrong.text())
    assert buttons.wrong.text() == "It was answered on Telegram."
    assert buttons.isEnabled()


async def test_no_rounds_yet(store: Store, phone: Phone, words: Words, qtbot: QtBot, until: Until) -> None:
    rounds = screen(store, phone, words, qtbot)
    assert rounds.notice.title.text() == words("rounds.loading")
    await until(lambda: rounds.notice.title.text() == words("rounds.empty"))
    rounds.notice.button.click()
    await until(lambda: phone.started == 1)


async def test_a_round_that_cannot_start_says_why(
    walked: Store, phone: Phone, words: Words, qtbot: QtBot, until: Until
) -> None:
    rounds = screen(walked, phone, words, qtbot)
    phone.error = Refused("No phone is chosen yet.")
    rounds.begin.click()
    await until(lambda: rounds.wrong.text())
    assert rounds.wrong.text() == "No phone is chosen yet."
    assert rounds.begin.isEnabled()


async def test_a_list_that_cannot_be_read_says_why_and_tries_again(
    walked: Store, phone: Phone, words: Words, qtbot: QtBot, until: Until
) -> None:
    broken = [True]

    async def read() -> Sequence[Round]:
        if broken[0]:
            raise Unavailable("The database is busy.")
        return await records.rounds(walked)

    rounds = screen(walked, phone, words, qtbot)
    rounds._rounds = read
    await until(lambda: rounds.notice.why.text() == "The database is busy.")
    broken[0] = False
    rounds.notice.button.click()
    await until(lambda: rounds.cards and rounds.detail.one)


async def test_the_language_changes_live(
    walked: Store, phone: Phone, words: Words, qtbot: QtBot, until: Until
) -> None:
    rounds = screen(walked, phone, words, qtbot)
    await until(lambda: "Mamá" in shown(rounds))
    words.speak("es")
    assert rounds.begin.text().strip() == "Hacer una ronda"
    await until(lambda: "Respondido ✓ enviado" in texts(shown(rounds)["Mamá"]))


@pytest.mark.parametrize(
    ("decision", "outcome", "state", "key"),
    [
        (None, None, "failed", "done.failed"),
        (None, None, "found", "done.found"),
        ("reply", "not_sent", "done", "done.not_sent"),
        ("reply", None, "decided", "done.sending"),
        ("ask_owner", "sent", "done", "done.asked_sent"),
    ],
)
async def test_verdicts(walked: Store, decision: str, outcome: str, state: str, key: str) -> None:
    await walked.run(
        "update conversations set decision = ?, outcome = ?, state = ? where id = 'c6'",
        decision,
        outcome,
        state,
    )
    talked = next(one for one in await records.conversations(walked, "rnd_1") if one.id == "c6")
    assert verdict(talked)[0] == key


@pytest.mark.parametrize(
    ("answer", "outcome", "key"),
    [
        ("leave", "not_sent", "done.left"),
        ("Sale 8.000", "sent", "done.answer_sent"),
        ("Sale 8.000", "not_sent", "done.answer_not_sent"),
        ("Sale 8.000", "unknown", "done.unknown"),
    ],
)
async def test_what_became_of_the_owners_answer(walked: Store, answer: str, outcome: str, key: str) -> None:
    await walked.run("update questions set state = 'answered', answer = ?", answer)
    await walked.run("update conversations set outcome = ? where id = 'c2'", outcome)
    talked = next(one for one in await records.conversations(walked, "rnd_1") if one.id == "c2")
    assert verdict(talked)[0] == key


async def test_pressing_a_card_with_the_keyboard_opens_its_round(
    walked: Store, phone: Phone, words: Words, qtbot: QtBot, until: Until
) -> None:
    rounds = screen(walked, phone, words, qtbot)
    await until(lambda: rounds.cards)
    qtbot.keyClick(rounds.cards["rnd_0"], Qt.Key.Key_Return)
    await until(lambda: rounds.detail.one is not None and rounds.detail.one.id == "rnd_0")
