"""How a turn ends: under a contract, by asking, in circles, in silence; and what it may not do twice."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from core.events import Said, StuckAbort, StuckDetected
from core.runs import history
from core.runs.steering import ask_questions
from core.runs.turn import Asked, Ending, Status
from core.tool import Context, Effect, tool
from tests.fakes.house import House, house, turn
from tests.fakes.openai_server import Answer

pytestmark = pytest.mark.anyio


class Number(BaseModel):
    value: int


ran: list[tuple[str, int]] = []


@tool(Effect.READ)
async def look(args: Number, ctx: Context) -> str:
    """Look something up."""
    ran.append(("look", args.value))
    return "the same"


@tool(Effect.READ)
async def screen(args: Number, ctx: Context) -> str:
    """Look at a screen that changes."""
    ran.append(("screen", args.value))
    return f"screen {len(ran)}"


@tool(Effect.SEND)
async def post(args: Number, ctx: Context) -> str:
    """Send a number to somebody."""
    ran.append(("post", args.value))
    return "sent"


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[House]:
    ran.clear()
    async with house(tmp_path) as built:
        built.tools.add(look, screen, post, ask_questions)
        yield built


LOOK = Answer(calls=[("look", {"value": 1})])
FINISH = Answer("", calls=[("finish", {"summary": "It is done."})])


async def test_a_contract_turn_ends_with_finish(here: House) -> None:
    here.server.next(LOOK, FINISH)
    run = await here.runner.run(turn(contract=True))
    assert (run.status, run.text, run.ending) == (Status.DONE, "It is done.", Ending.FINISH)
    assert "finish" in here.server.requests[0].tools
    assert (await history.find(here.store, run.id)).ending == "finish"


async def test_finish_is_only_there_under_a_contract(here: House) -> None:
    here.server.next(Answer("a"), Answer("b", calls=FINISH.calls))
    await here.runner.run(turn())
    assert "finish" not in here.server.requests[0].tools
    run = await here.runner.run(turn(channel="code"))
    assert "finish" in here.server.requests[1].tools
    assert run.text == "b\n\nIt is done."


async def test_a_contract_turn_that_only_talks_is_told_twice_and_keeps_its_words(here: House) -> None:
    here.server.next(Answer("I begin."), Answer("I go on."), Answer("I am still at it."))
    run = await here.runner.run(turn(contract=True))
    assert (run.status, run.ending) == (Status.DONE, Ending.UNDECLARED)
    assert run.text == "I begin.\n\nI go on.\n\nI am still at it."
    assert len(here.server.requests) == 3
    assert "You have not called finish" in here.server.requests[1].body["messages"][-1]["content"]


async def test_what_was_said_before_finish_is_not_lost(here: House) -> None:
    here.server.next(LOOK, Answer("The whole report."), FINISH)
    run = await here.runner.run(turn(contract=True))
    assert run.text == "The whole report.\n\nIt is done."


async def test_nothing_runs_after_the_end_of_the_turn(here: House) -> None:
    here.server.next(Answer(calls=[*FINISH.calls, ("post", {"value": 1})]))
    run = await here.runner.run(turn(contract=True, can_ask=True))
    assert (ran, run.ending) == ([], Ending.FINISH)


async def test_asking_ends_the_turn_with_the_questions_as_text(here: House) -> None:
    asked = {"questions": [{"question": "Which file?", "options": ["a.txt", "b.txt"]}]}
    here.server.next(LOOK, Answer("I found two.", calls=[("ask_questions", asked)]))
    run = await here.runner.run(turn())
    assert (run.status, run.ending) == (Status.DONE, Ending.QUESTIONS)
    assert run.text == "I found two.\n\nWhich file?\n- a.txt\n- b.txt"
    assert run.questions == [Asked("Which file?", ("a.txt", "b.txt"))]
    said = (await history.transcript(here.store, run.id))[-1]
    assert said["meta"]["questions"][0]["options"] == ["a.txt", "b.txt"]
    here.server.next(Answer("b.txt it is."))
    await here.runner.run(turn("b.txt"))
    told = here.server.requests[-1].body["messages"]
    assert told[-2]["content"].endswith("- b.txt")


async def test_several_questions_are_numbered(here: House) -> None:
    asked = {"questions": [{"question": "One?"}, {"question": "Two?", "options": ["x"]}]}
    here.server.next(Answer(calls=[("ask_questions", asked)]))
    assert (await here.runner.run(turn())).text == "1. One?\n\n2. Two?\n- x"


@pytest.mark.parametrize("channel", ["a2a", "routine"])
async def test_nobody_is_asked_where_nobody_could_answer(here: House, channel: str) -> None:
    await here.runner.run(turn(channel=channel))
    assert "ask_questions" not in here.server.requests[0].tools


async def test_going_round_in_circles_is_noted_once_and_then_ends_early(here: House) -> None:
    here.server.default = lambda body: LOOK if body.get("tools") else Answer("I could not get further.")
    run = await here.runner.run(turn(channel="telegram"))
    assert (run.status, run.ending, run.text) == (Status.DONE, Ending.STUCK, "I could not get further.")
    assert len(ran) == 8
    assert "You seem to be stuck" in here.server.requests[4].body["messages"][-1]["content"]
    assert [one.kind for one in here.seen(StuckDetected)] == ["action_repeat"]
    assert [(one.kind, one.run_id) for one in here.seen(StuckAbort)] == [("action_repeat", run.id)]
    assert [one["closes"] for one in await history.steps(here.store, run.id) if one["kind"] == "stuck"] == [
        False,
        True,
    ]


async def test_a_batch_of_the_same_call_is_one_circle(here: House) -> None:
    here.server.next(Answer(calls=[("look", {"value": 1})] * 8), Answer("I see."))
    run = await here.runner.run(turn())
    assert (run.ending, len(here.seen(StuckDetected)), here.seen(StuckAbort)) == (Ending.ANSWER, 1, [])


async def test_watching_a_screen_change_is_no_circle(here: House) -> None:
    here.server.next(*[Answer(calls=[("screen", {"value": 1})])] * 12, Answer("It is ready."))
    run = await here.runner.run(turn())
    assert (run.text, len(run.calls), here.seen(StuckDetected)) == ("It is ready.", 12, [])


async def test_it_can_be_switched_off(here: House) -> None:
    await here.config.set({"super_agent.stuck_detection.enabled": False})
    here.server.next(*[LOOK] * 12, Answer("Done."))
    assert (await here.runner.run(turn())).ending is Ending.ANSWER


async def test_a_closing_step_that_stays_silent_is_no_silence(here: House) -> None:
    here.server.default = lambda body: LOOK if body.get("tools") else Answer("")
    run = await here.runner.run(turn(max_iters=2))
    assert run.status is Status.BUDGET_EXCEEDED
    assert run.text == "The steps for this request ran out before it was finished."
    notes = [one for one in here.server.requests[-1].body["messages"] if "last step" in str(one["content"])]
    assert len(notes) == 1


async def test_the_same_send_runs_once_in_a_turn_and_again_in_the_next(here: House) -> None:
    send = Answer(calls=[("post", {"value": 5})])
    here.server.next(send, send, Answer(calls=[("post", {"value": 6})]), Answer("Sent."))
    run = await here.runner.run(turn(can_ask=True))
    assert ran == [("post", 5), ("post", 6)]
    assert [one.args["value"] for one in here.asked] == [5, 6]
    assert "Already done in this turn" in run.calls[1].result
    here.server.next(send, Answer("Sent."))
    await here.runner.run(turn(can_ask=True))
    assert ran[2:] == [("post", 5)]


async def test_a_call_written_as_prose_is_run_and_not_only_claimed(here: House) -> None:
    here.server.next(
        Answer('I look it up.\n<tool_call>{"name": "look", "arguments": {"value": 7}}</tool_call>'),
        Answer("It is the same."),
    )
    run = await here.runner.run(turn())
    assert (ran, run.text) == ([("look", 7)], "It is the same.")
    told = here.server.requests[1].body["messages"]
    assert told[-2]["content"] == "I look it up."
    assert told[-2]["tool_calls"][0]["function"]["name"] == "look"


async def test_thinking_reaches_nobody_and_thinking_alone_is_no_answer(here: House) -> None:
    here.server.next(Answer("<think>secret</think>"), Answer("<think>secret</think>Write `<think>` there."))
    run = await here.runner.run(turn())
    assert run.text == "Write `<think>` there."
    assert "".join(one.text for one in here.seen(Said)) == "Write `<think>` there."


async def test_an_answer_that_stays_too_long_says_that_it_is_cut(here: House) -> None:
    here.server.next(*[Answer("One, ", finish="length")] * 4)
    run = await here.runner.run(turn())
    assert run.text.startswith("One, One, One,")
    assert run.text.endswith("(The answer was longer than the model may write, and ends here.)")
    assert len(here.server.requests) == 3


async def test_a_plan_without_a_tag_reaches_nobody_and_the_answer_is_asked_for(here: House) -> None:
    plan = (
        "The user is asking whether it rains. I should look at the forecast and then answer in Spanish. "
        "Let me keep it short and friendly, and mention the umbrella."
    )
    here.server.next(Answer(plan), Answer("Sí, llueve."))
    run = await here.runner.run(turn())
    assert run.text == "Sí, llueve."
    assert "".join(one.text for one in here.seen(Said)) == "Sí, llueve."
    assert "nobody reads it" in here.server.requests[1].body["messages"][-1]["content"]
    notes = await here.store.all(
        "select json_extract(body, '$.target') as target from run_steps where kind = 'note'"
        " and json_extract(body, '$.text') like '%no answer%'"
    )
    assert [row["target"] for row in notes] == ["standin:small"]
    here.server.next(*[Answer(plan)] * 3)
    run = await here.runner.run(turn())
    assert run.status is Status.FAILED
    assert "The user" not in run.text
