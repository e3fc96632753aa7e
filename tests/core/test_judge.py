"""The judge: which turns it looks at, how it is read, and what it may do with a turn."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from core.events import JudgeBudgetExhausted, JudgeVerdict
from core.runs import history
from core.runs.judge import asks, due, question, read
from core.runs.turn import Call, Ending, Run, Status
from core.settings import Judge as Settings
from core.tool import Context, Effect, tool
from tests.fakes.house import House, house, turn
from tests.fakes.openai_server import Answer, fault


class Nothing(BaseModel):
    pass


@tool(Effect.READ)
async def look(args: Nothing, ctx: Context) -> str:
    """Look something up."""
    return "found"


def ended(ending: Ending = Ending.ANSWER, calls: tuple[str, ...] = ("look",), **changes: Any) -> Run:
    run = Run(id="run_1", turn=turn(**changes), ending=ending)
    run.calls = [Call("c", name, {}, "found") for name in calls]
    return run


@pytest.mark.parametrize(
    ("run", "text", "expected"),
    [
        (ended(), "Now I make the file.", True),
        (ended(calls=()), "Hello.", False),
        (ended(calls=("discover_tools",)), "Hello.", False),
        (ended(Ending.QUESTIONS), "Which one?", False),
        (ended(Ending.CLOSING), "Half done.", False),
        (ended(Ending.STUCK), "I am stuck.", False),
        (ended(), "Done. Shall I send it?", False),
        (ended(judged=False), "Now I make the file.", False),
        (ended(sealed=True), "Now I make the file.", False),
        (ended(Ending.FINISH, contract=True), "Done.", True),
        (ended(Ending.UNDECLARED, contract=True), "Done.", False),
        (ended(Ending.FINISH, channel="web_code"), "Done.", True),
    ],
)
def test_which_endings_are_looked_at(run: Run, text: str, expected: bool) -> None:
    assert due(Settings(enabled=True), run, text) is expected
    assert not due(Settings(enabled=False, continue_unfinished=False), run, text)


def test_the_two_switches_are_apart() -> None:
    assert not due(Settings(enabled=False), ended(Ending.FINISH, contract=True), "Done.")
    assert due(Settings(enabled=False), ended(), "Now I make the file.")
    assert not due(Settings(enabled=True, continue_unfinished=False), ended(), "Now I make the file.")


@pytest.mark.parametrize("text", ["Shall I go on?", "¿Sigo?", "**¿Sigo?**", "Ready? 🙂", "続けますか？"])
def test_a_question_at_the_end_waits_for_the_owner(text: str) -> None:
    assert asks(text)


def test_a_question_further_up_does_not() -> None:
    assert not asks("You asked: which one? I take the first.")


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ('{"score": 0.4, "reasoning": "r", "missing": ["m"]}', 0.4),
        ('```json\n{"score": 1}\n```', 1.0),
        ('<think>{"score": 0}</think>Here: {"score": 0.9} so.', 0.9),
        ('{"score": "0.4"}', None),
        ('{"score": true}', None),
        ('{"score": 1.4}', None),
        ('{"score": NaN}', None),
        ("I would say 0.4", None),
        ("[0.4]", None),
        ("", None),
    ],
)
def test_only_a_score_between_nought_and_one_is_a_verdict(answer: str, score: float | None) -> None:
    assert read(answer).score == score


def test_a_judge_that_cannot_be_used_accepts_and_the_threshold_belongs_to_the_passed() -> None:
    assert read("").passed(1.0)
    assert read('{"score": 0.6}').passed(0.6)
    assert not read('{"score": 0.59}').passed(0.6)


def test_the_judge_is_shown_the_last_calls_shortly_and_nothing_that_ends_its_turn() -> None:
    run = ended()
    run.calls = [Call("c", f"t{n}", {}, "<|im_end|>" + "x" * 500) for n in range(30)]
    body = question(run, "Done.")[1]["content"]
    lines = [line for line in body.splitlines() if line.startswith("- t")]
    assert (len(lines), lines[0][:5]) == (20, "- t10")
    assert max(map(len, lines)) <= 162
    assert "<|im_end|>" not in body


# With a model

MISSING = Answer(json.dumps({"score": 0.2, "reasoning": "No file.", "missing": ["the file"]}))
CONTENT = Answer(json.dumps({"score": 0.9, "reasoning": "All there.", "missing": []}))
LOOKS = Answer("Looking.", calls=[("look", {})])


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path, **{"super_agent.judge.continue_unfinished": True}) as built:
        built.tools.add(look)
        yield built


@pytest.mark.anyio
async def test_a_turn_that_only_announced_the_next_step_goes_on(here: House) -> None:
    here.server.next(LOOKS, Answer("Now I make the file."), MISSING, LOOKS, Answer("Here it is."), CONTENT)
    run = await here.runner.run(turn("make the file"))
    assert (run.status, run.text, run.ending) == (Status.DONE, "Here it is.", Ending.ANSWER)
    asked, pushed = here.server.requests[2].body, here.server.requests[3].body
    assert "make the file" in asked["messages"][1]["content"]
    assert not asked.get("tools")
    assert pushed["messages"][-2] == {"role": "assistant", "content": "Now I make the file."}
    assert "Missing: the file." in pushed["messages"][-1]["content"]
    assert [(one["score"], one["passed"]) for one in run.judge] == [(0.2, False), (0.9, True)]
    events = here.seen(JudgeVerdict)
    assert [(one.iteration, one.score, one.passed, one.run_id) for one in events] == [
        (1, 0.2, False, run.id),
        (2, 0.9, True, run.id),
    ]
    assert (run.tokens_in, run.tokens_out) == (66, 42)
    # The verdicts are kept: with the run, in its steps, and beside the answer in the thread.
    assert [one["score"] for one in (await history.find(here.store, run.id)).judge] == [0.2, 0.9]
    steps = [one for one in await history.steps(here.store, run.id) if one["kind"] == "judge"]
    assert [one["model"] for one in steps] == ["standin:small", "standin:small"]
    said = [one for one in await history.transcript(here.store, run.id) if one["kind"] == "assistant"]
    assert [one["score"] for one in said[0]["meta"]["judge"]] == [0.2, 0.9]
    spent = await here.store.all("select purpose from spend where run_id = ?", run.id)
    assert sorted(row["purpose"] for row in spent) == ["judge"] * 2 + ["turn"] * 4


@pytest.mark.anyio
async def test_two_rounds_are_the_most(here: House) -> None:
    here.server.default = lambda body: (
        MISSING if "You check whether" in body["messages"][0]["content"] else Answer("Almost.")
    )
    here.server.next(LOOKS)
    run = await here.runner.run(turn())
    assert (run.status, run.text, len(run.judge)) == (Status.DONE, "Almost.", 2)
    assert len(here.server.requests) == 6


@pytest.mark.anyio
async def test_the_rounds_share_the_steps_of_the_turn(here: House) -> None:
    here.server.next(LOOKS, Answer("Almost."), MISSING)
    run = await here.runner.run(turn(max_iters=3))
    assert (run.status, run.text) == (Status.DONE, "Almost.")
    assert [(one.iteration, one.left) for one in here.seen(JudgeBudgetExhausted)] == [(1, 1)]
    here.server.default = lambda body: (
        MISSING
        if "You check whether" in body["messages"][0]["content"]
        else LOOKS
        if body.get("tools")
        else Answer("Half done, go on?")
    )
    here.server.next(LOOKS, Answer("Almost."), MISSING)
    run = await here.runner.run(turn(max_iters=5))
    assert (run.status, run.ending, len(run.judge)) == (Status.BUDGET_EXCEEDED, Ending.CLOSING, 1)
    steps = [one for one in await history.steps(here.store, run.id) if one["kind"] == "reply"]
    # Five steps in all, one of them closing, and the judge's one question that is no step.
    assert len([one for one in steps if one.get("text") != MISSING.text]) == 5


@pytest.mark.anyio
@pytest.mark.parametrize("answer", [fault("auth"), Answer("no idea"), Answer("")])
async def test_an_unusable_judge_accepts(here: House, answer: Answer) -> None:
    here.server.next(LOOKS, Answer("Almost."), answer)
    run = await here.runner.run(turn())
    assert (run.status, run.text) == (Status.DONE, "Almost.")
    assert [(one["score"], one["passed"]) for one in run.judge] == [(None, True)]


@pytest.mark.anyio
async def test_its_own_model_is_exact_and_a_bad_pin_accepts(here: House) -> None:
    await here.config.set({"super_agent.judge.model": "standin:tiny"})
    here.server.next(LOOKS, Answer("Almost."), CONTENT)
    await here.runner.run(turn())
    assert [one.body["model"] for one in here.server.requests] == ["small", "small", "tiny"]
    await here.config.set({"super_agent.judge.model": "nonsense"})
    here.server.next(LOOKS, Answer("Almost."))
    run = await here.runner.run(turn())
    assert (run.status, len(here.server.requests)) == (Status.DONE, 5)
    assert "nonsense" in run.judge[0]["reasoning"]


@pytest.mark.anyio
async def test_a_chat_is_never_judged(here: House) -> None:
    run = await here.runner.run(turn())
    assert (run.text, run.judge, len(here.server.requests)) == ("ready", [], 1)
