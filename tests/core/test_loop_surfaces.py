"""The endings of a turn as surfaces have them: the API's result and frames, a thread's summary, Telegram's buttons."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from core.cli.main import group
from core.runs.steering import ask_questions
from core.runs.turn import Asked, Run, Turn
from core.tool import Context, Effect, tool
from tests.core.telegram_kit import OWNER, FakeRunner, talking
from tests.core.test_endings import Number
from tests.fakes.api_home import Served, served
from tests.fakes.house import WORKER
from tests.fakes.openai_server import Answer, OpenAIServer

CHAT = "/api/projects/0/super-agent/chat"


@tool(Effect.READ)
async def look(args: Number, ctx: Context) -> str:
    """Look something up."""
    return "the same"


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as server:
        yield server


@pytest.fixture
async def api(tmp_path: Path, model: OpenAIServer) -> AsyncIterator[Served]:
    agent: dict[str, Any] = {"enabled": True, "model": "standin:small", "judge": {"enabled": True}}
    engine = {"base_url": model.url, "api_key": "sk-standin-0123456789"}
    async with served(tmp_path, {"super_agent": agent, "engines": {"standin": engine}}) as one:
        one.app.models._command = WORKER  # the library takes seconds to load
        one.app.tools.add(look, ask_questions)
        yield one


@pytest.mark.anyio
async def test_a_contract_turn_over_the_api_with_its_verdict(api: Served, model: OpenAIServer) -> None:
    model.next(
        Answer(calls=[("look", {"value": 1})]),
        Answer(calls=[("finish", {"summary": "Done."})]),
        Answer(json.dumps({"score": 0.1, "reasoning": "Not yet.", "missing": []})),
        Answer(calls=[("finish", {"summary": "Really done."})]),
        Answer(json.dumps({"score": 1, "reasoning": "Yes.", "missing": []})),
    )
    body = {"prompt": "do it", "completionContract": True}
    async with api.http.stream("POST", f"{CHAT}/stream", json=body) as answer:
        frames = [json.loads(line) async for line in answer.aiter_lines() if line]
    verdicts = [one for one in frames if one["type"] == "judge_verdict"]
    assert [(one["iteration"], one["score"], one["passed"]) for one in verdicts] == [
        (1, 0.1, False),
        (2, 1.0, True),
    ]
    result = frames[-1]["result"]
    assert (result["text"], result["ending"]) == ("Really done.", "finish")
    assert [one["score"] for one in result["judge"]] == [0.1, 1.0]
    kept = (await api.http.get(f"/api/runs/{result['run_id']}")).json()
    assert (kept["ending"], [one["score"] for one in kept["judge"]]) == ("finish", [0.1, 1.0])
    # Without the contract the same body has no finish.
    await api.http.post(CHAT, json={"prompt": "hello"})
    assert "finish" not in model.requests[-1].tools


@pytest.mark.anyio
async def test_questions_come_structured_with_the_result(api: Served, model: OpenAIServer) -> None:
    asked = {"questions": [{"question": "Which?", "options": ["a", "b"]}]}
    model.next(Answer(calls=[("ask_questions", asked)]))
    result = (await api.http.post(CHAT, json={"prompt": "do it"})).json()
    assert (result["ending"], result["text"]) == ("questions", "Which?\n- a\n- b")
    assert result["questions"] == [{"question": "Which?", "options": ["a", "b"], "multiple": False}]


@pytest.mark.anyio
async def test_a_threads_summary_over_the_api(api: Served, model: OpenAIServer) -> None:
    await api.http.post(CHAT, json={"prompt": "hello", "channelMeta": {"thread": "t"}})
    told = (await api.http.get("/api/threads/summary", params={"thread": "api:t"})).json()
    assert (told["lines"], told["summary"], told["attempts"]) == (2, "", [])
    told = (await api.http.post("/api/threads/compact", json={"thread": "api:t"})).json()
    assert told["why"] == "There are not enough lines to sum up."
    gone = await api.http.get("/api/threads/summary", params={"thread": "nowhere"})
    assert gone.status_code == 404


def test_the_verb_says_what_is_not_there() -> None:
    result = CliRunner().invoke(group, ["thread", "summary", "nowhere", "--json"])
    assert result.exit_code != 0
    assert "nowhere" in result.output


class Asking(FakeRunner):
    """Asks in its first turn."""

    async def run(self, turn: Turn, *, parent: Run | None = None) -> Run:
        run = await super().run(turn, parent=parent)
        if len(self.turns) == 1:
            run.text, run.questions = (
                "Which?\n- the first one\n- b",
                [Asked("Which?", ("the first one", "b"))],
            )
        return run


@pytest.mark.anyio
async def test_on_telegram_the_options_are_buttons_and_a_press_is_the_owners_answer(tmp_path: Path) -> None:
    async with talking(tmp_path, runner=Asking()) as one:
        await one.api.say(OWNER, OWNER, "do it")
        await one.api.until(lambda: one.api.sent)
        first, second = one.api.sent[0].buttons
        assert one.api.sent[0].text == "Which?\n• the first one\n• b"
        assert await one.api.press(first) == "Taken as your answer."
        await one.api.until(lambda: len(one.api.sent) > 1)
        assert [turn.text for turn in one.runner.turns] == ["do it", "the first one"]
        assert one.runner.turns[1].thread == one.runner.turns[0].thread
        assert one.api.sent[1].text == "echo the first one"
        # A question takes one answer.
        assert await one.api.press(second) == "This is no longer open."
        assert len(one.runner.turns) == 2


@pytest.mark.anyio
async def test_several_questions_are_answered_in_words(tmp_path: Path) -> None:
    class Two(FakeRunner):
        async def run(self, turn: Turn, *, parent: Run | None = None) -> Run:
            run = await super().run(turn, parent=parent)
            run.questions = [Asked("One?", ("a",)), Asked("Two?", ("b",))]
            return run

    async with talking(tmp_path, runner=Two()) as one:
        await one.api.say(OWNER, OWNER, "do it")
        await one.api.until(lambda: one.api.sent)
        assert not one.api.sent[0].buttons
