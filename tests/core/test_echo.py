"""A model that says one thing over and over: what is a circle, where it is cut, and how the turn goes on."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.runs.echo import ENOUGH, UNIT, Ear, circle
from core.runs.turn import Status
from tests.fakes.house import House, house, turn
from tests.fakes.openai_server import Answer

LINE = "I will now look at the file and then tell you what is in it. "


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as built:
        yield built


@pytest.mark.parametrize("unit", ["a", "ab ", LINE, "x" * 30 + "y" * 300, "año 🎉\n"])
def test_a_circle_is_cut_after_its_second_round(unit: str) -> None:
    text = "It begins well. " + unit * (4000 // len(unit) + 9)
    cut = text[: circle(text)]
    assert cut.startswith("It begins well. ")
    assert unit.strip() in cut
    assert len(cut) <= len("It begins well. ") + 3 * len(unit)


@pytest.mark.parametrize(
    "text",
    [
        LINE * 20,  # too short to be sure
        "".join(f"{n}. The same line with another number.\n" for n in range(400)),
        LINE * 100 + "And then something else is said at the end, which is not in the circle.",
        "".join(f"| {n:>5} | {'-' * 40} |\n" for n in range(200)),
    ],
)
def test_what_only_resembles_itself_is_none(text: str) -> None:
    assert circle(text) == 0


@given(st.text(max_size=60), st.text(min_size=1, max_size=UNIT))
def test_whatever_repeats_long_enough_is_found_and_what_came_before_stays(before: str, unit: str) -> None:
    text = before + unit * ((ENOUGH + 2 * UNIT) // len(unit) + 2)
    end = circle(text)
    assert 0 < end <= len(before) + 2 * len(unit)
    assert text.startswith(text[:end])


def test_the_ear_passes_on_until_it_has_heard_enough() -> None:
    said: list[str] = []
    ear = Ear(said.append)
    for _ in range(400):
        ear.hear(LINE)
    assert ear.circling.is_set()
    assert ENOUGH < len("".join(said)) < 2 * (ENOUGH + UNIT)


@pytest.mark.anyio
async def test_the_model_is_told_and_goes_on_with_what_is_new(here: House) -> None:
    here.server.next(Answer("Well. " + LINE * 80), Answer("It holds a poem."))
    run = await here.runner.run(turn())
    assert run.status is Status.DONE
    assert run.text.endswith("It holds a poem.")
    assert run.text.count(LINE.strip()) <= 3
    note = here.server.requests[1].body["messages"][-1]["content"]
    assert "over and over" in note
    lines = await here.store.all("select text from messages where role = 'assistant'")
    assert [row["text"] for row in lines] == [run.text]


@pytest.mark.anyio
async def test_a_model_that_cannot_stop_is_stopped_and_it_is_said(here: House) -> None:
    here.server.next(*[Answer(LINE * 80)] * 4)
    run = await here.runner.run(turn())
    assert run.text.endswith("(It went on saying the same thing and was stopped here.)")
    assert len(run.text) < 1000
    assert len(here.server.requests) == 3
