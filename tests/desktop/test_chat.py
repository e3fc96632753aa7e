"""The conversation: streamed as it comes, kept in order, sent once, stopped when asked."""

import asyncio
from pathlib import Path

import pytest

from core import events
from core.events import Bus
from core.runs.turn import Run, Status, Turn
from desktop.chat import Chat
from desktop.feed import Feed
from desktop.messages import Kind
from desktop.words import Words
from tests.desktop.conftest import Until

pytestmark = pytest.mark.anyio


class Scripted:
    """A runner that does what its script says, and remembers what it was asked."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self.turns: list[Turn] = []
        self.status = Status.DONE
        self.error_kind: str | None = None
        self.text = "Half and half."
        self.free = asyncio.Event()
        self.cancelled = False

    async def run(self, turn: Turn) -> Run:
        self.turns.append(turn)
        id = f"run_{len(self.turns)}"
        self.bus.emit(events.RunStarted(run_id=id, channel="desktop", sender="owner", thread="desktop"))
        self.bus.emit(events.Said(run_id=id, text="Let me "))
        self.bus.emit(events.Said(run_id=id, text="look."))
        self.bus.emit(events.ToolStarted(run_id=id, call_id="c1", tool="phone_screenshot", args={"a": 1}))
        try:
            await self.free.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        self.bus.emit(
            events.ToolFinished(
                run_id=id, call_id="c1", tool="phone_screenshot", ok=True, result="fine", seconds=0.4
            )
        )
        self.bus.emit(
            events.FileDelivered(run_id=id, media_id="m1", name="a.png", kind="image", size=3, caption="")
        )
        for piece in ("Half ", "and ", "half."):
            self.bus.emit(events.Said(run_id=id, text=piece))
        self.bus.emit(
            events.RunClosed(
                run_id=id, channel="desktop", thread="desktop", status=self.status, text=self.text
            )
        )
        return Run(id=id, turn=turn, status=self.status, text=self.text, error_kind=self.error_kind)


@pytest.fixture
async def runner(bus: Bus) -> Scripted:
    return Scripted(bus)


@pytest.fixture
async def chat(words: Words, feed: Feed, runner: Scripted, tmp_path: Path) -> Chat:
    async def find(media_id: str) -> Path:
        return tmp_path / media_id

    chat = Chat(words, feed)
    chat.open(runner.run, find, [])
    return chat


def kinds(chat: Chat) -> list[Kind]:
    return [entry.kind for entry in chat.messages.entries]


async def test_an_answer_is_streamed_with_its_tools_and_files_in_order(
    chat: Chat, runner: Scripted, until: Until, tmp_path: Path
) -> None:
    chat.send("hola")
    assert chat.working
    await until(lambda: len(chat.messages.entries) == 3)
    question, said, tool = chat.messages.entries
    assert (question.text, said.text, tool.text, tool.ok) == (
        "hola",
        "Let me look.",
        "phone_screenshot",
        None,
    )
    runner.free.set()
    await until(lambda: not chat.working)
    assert kinds(chat) == [Kind.OWNER, Kind.AGENT, Kind.TOOL, Kind.FILE, Kind.AGENT]
    assert tool.ok is True
    assert tool.result == "fine"
    assert chat.messages.entries[-1].text == "Half and half."
    await until(lambda: chat.messages.entries[3].file and chat.messages.entries[3].file.path)
    turn = runner.turns[0]
    assert (turn.channel, turn.thread, turn.sender, turn.can_ask) == ("desktop", "desktop", "owner", True)
    await chat.close()


async def test_a_second_message_while_one_is_answered_is_not_sent(
    chat: Chat, runner: Scripted, until: Until
) -> None:
    chat.send("uno")
    chat.send("dos")
    runner.free.set()
    await until(lambda: not chat.working)
    assert [turn.text for turn in runner.turns] == ["uno"]
    await chat.close()


async def test_the_closing_text_wins_over_what_was_streamed(
    chat: Chat, runner: Scripted, until: Until
) -> None:
    runner.text = "Corrected."
    runner.free.set()
    chat.send("hola")
    await until(lambda: not chat.working)
    assert chat.messages.entries[-1].text == "Corrected."
    assert "Half and half." not in [entry.text for entry in chat.messages.entries]
    await chat.close()


async def test_stop_stops_and_says_so(chat: Chat, runner: Scripted, until: Until, words: Words) -> None:
    chat.send("hola")
    await until(lambda: len(chat.messages.entries) == 3)
    chat.stop()
    await until(lambda: not chat.working)
    assert runner.cancelled
    assert chat.messages.entries[-1].kind is Kind.NOTE
    assert chat.messages.entries[-1].text == words("chat.stopped")
    assert chat.messages.entries[2].ok is False
    await chat.close()


async def test_a_failure_is_a_card_that_can_ask_again(chat: Chat, runner: Scripted, until: Until) -> None:
    runner.status, runner.text = Status.FAILED, "The model did not answer. Nothing was sent."
    runner.free.set()
    chat.send("hola")
    await until(lambda: not chat.working)
    card = chat.messages.entries[-1]
    assert (card.kind, card.text, card.action) == (Kind.ERROR, runner.text, "again")
    runner.status, runner.text = Status.DONE, "Half and half."
    chat.again(card)
    await until(lambda: len(runner.turns) == 2 and not chat.working)
    assert [turn.text for turn in runner.turns] == ["hola", "hola"]
    assert card not in chat.messages.entries
    await chat.close()


async def test_a_missing_model_leads_to_the_settings(chat: Chat, runner: Scripted, until: Until) -> None:
    runner.status, runner.text, runner.error_kind = Status.FAILED, "No model.", "not_configured"
    runner.free.set()
    chat.send("hola")
    await until(lambda: not chat.working)
    assert chat.messages.entries[-1].action == "models"
    await chat.close()


async def test_before_the_core_is_open_nothing_is_sent(words: Words, feed: Feed) -> None:
    chat = Chat(words, feed)
    chat.send("hola")
    assert chat.messages.entries == []
    assert chat.why == "composer.opening"


async def test_other_conversations_stay_outside(chat: Chat, bus: Bus) -> None:
    bus.emit(events.RunStarted(run_id="t", channel="telegram", sender="owner", thread="telegram:1"))
    bus.emit(events.Said(run_id="t", text="secret"))
    assert chat.messages.entries == []


async def test_closing_ends_what_is_on_its_way(chat: Chat, runner: Scripted, until: Until) -> None:
    chat.send("hola")
    await until(lambda: runner.turns)
    await chat.close()
    assert runner.cancelled
    assert not chat.working
