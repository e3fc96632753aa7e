"""Going round in circles: what counts, what never does, and what follows."""

from itertools import count

import pytest

from core.runs.stuck import Circle, Finding, Stuck
from core.runs.turn import Call


def calls(stuck: Stuck, *made: tuple[str, dict[str, object], str, bool]) -> list[Finding]:
    found = (stuck.after(Call("c", tool, args, result, ok)) for tool, args, result, ok in made)
    return [one for one in found if one]


def test_the_same_call_with_the_same_result_four_times() -> None:
    same = ("tap", {"x": 1}, "ok", True)
    assert calls(Stuck(), same, same, same) == []
    assert calls(Stuck(), same, same, same, same) == [Finding(Circle.ACTION_REPEAT, "tap", 4)]


def test_the_same_failing_call_three_times_whatever_it_says() -> None:
    made = [("fetch", {"url": "x"}, f"error: timed out at {n}", False) for n in range(3)]
    assert calls(Stuck(), *made[:2]) == []
    assert calls(Stuck(), *made) == [Finding(Circle.ERROR_REPEAT, "fetch", 3)]


def test_looking_again_at_something_that_changes_never_counts() -> None:
    dumps = [("phone_screen", {}, f"<hierarchy>{n}</hierarchy>", True) for n in range(40)]
    assert calls(Stuck(), *dumps) == []


def test_looking_between_taps_at_a_screen_that_changes_never_counts() -> None:
    made = []
    for n in range(15):
        made += [("tap", {"x": 1}, "ok", True), ("phone_screen", {}, f"screen {n}", True)]
    assert calls(Stuck(), *made) == []


@pytest.mark.parametrize("length", [2, 3])
def test_a_few_calls_in_turn_are_a_circle(length: int) -> None:
    turn = [("read_file", {"path": str(n)}, "the same", True) for n in range(length)]
    assert calls(Stuck(), *turn * 2) == []
    found = calls(Stuck(), *turn * 3)
    assert [one.kind for one in found] == [Circle.ALTERNATION]


def test_failing_and_succeeding_in_turn_is_a_circle_too() -> None:
    number = count()
    made = []
    for _ in range(3):
        made += [("run_shell", {"c": "make"}, f"error {next(number)}", False), ("look", {}, "same", True)]
    assert [one.kind for one in calls(Stuck(), *made)] == [Circle.ALTERNATION]


def test_a_tool_that_fails_with_ever_other_arguments() -> None:
    made = [("edit_file", {"old": str(n)}, "error: not found", False) for n in range(6)]
    assert calls(Stuck(), *made[:5]) == []
    assert calls(Stuck(), *made) == [Finding(Circle.FAILING_TOOL, "edit_file", 6)]


def test_after_the_note_it_starts_anew_and_the_second_time_is_the_end() -> None:
    stuck, same = Stuck(), ("tap", {}, "ok", True)
    assert len(calls(stuck, *[same] * 4)) == 1
    assert not stuck.over
    assert calls(stuck, *[same] * 3) == []
    assert len(calls(stuck, same)) == 1
    assert stuck.over


def test_the_order_of_arguments_makes_no_other_call() -> None:
    one, other = ("f", {"a": 1, "b": 2}, "x", True), ("f", {"b": 2, "a": 1}, "x", True)
    assert len(calls(Stuck(), one, other, one, other)) == 1


def test_the_limits_are_the_settings_and_it_can_be_off() -> None:
    same = ("tap", {}, "ok", True)
    assert len(calls(Stuck(action_repeat=2), same, same)) == 1
    assert calls(Stuck(action_repeat=50), *[same] * 49) == []
    assert len(calls(Stuck(action_repeat=50), *[same] * 50)) == 1
    assert calls(Stuck(enabled=False), *[same] * 99) == []


def test_the_note_says_what_was_seen() -> None:
    assert "tap gave the same result 4 times in a row" in Finding(Circle.ACTION_REPEAT, "tap", 4).note
