"""The mood and the line under the name follow from events alone."""

from datetime import UTC, datetime, timedelta

import pytest

from core import events
from core.events import Event
from desktop.presence import DONE_FOR, FAILED_FOR, Presence, after, doing, mood, settles_at

NOW = datetime(2026, 1, 2, 10, 0, tzinfo=UTC)
OPEN = Presence(open=True, listening=True)
STARTED = events.RunStarted(run_id="r", channel="desktop", sender="owner", thread="desktop", at=NOW)
TOOL = events.ToolStarted(run_id="r", call_id="c", tool="phone_screenshot", args={}, at=NOW)


def closed(status: str) -> Event:
    return events.RunClosed(run_id="r", channel="desktop", thread="desktop", status=status, text="", at=NOW)


def felt(*told: Event, start: Presence = OPEN) -> Presence:
    for event in told:
        start = after(start, event)
    return start


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ((), "idle"),
        ((STARTED,), "thinking"),
        ((STARTED, TOOL), "working"),
        ((STARTED, closed("completed")), "done"),
        ((STARTED, closed("failed")), "failed"),
        ((STARTED, closed("cancelled")), "idle"),
        ((events.RoundStarted(round_id="x"),), "working"),
        ((events.QuestionAsked(question_id="q"), STARTED, TOOL), "waiting"),
        (
            (events.QuestionAsked(question_id="q"), events.QuestionAnswered(question_id="q", answer="send")),
            "idle",
        ),
        ((events.ApprovalRequested(approval_id="a", tool="x", summary=""),), "waiting"),
        ((events.RoundClosed(round_id="x", status="relayed", conversations=0, at=NOW),), "failed"),
    ],
)
def test_mood(told: tuple[Event, ...], expected: str) -> None:
    assert mood(felt(*told), NOW) == expected


def test_done_and_failed_pass_by_themselves() -> None:
    done = felt(STARTED, closed("completed"))
    assert settles_at(done) == NOW + DONE_FOR
    assert mood(done, NOW + DONE_FOR) == "idle"
    failed = felt(STARTED, closed("failed"))
    assert mood(failed, NOW + DONE_FOR) == "failed"
    assert mood(failed, NOW + FAILED_FOR) == "idle"


def test_a_new_run_ends_the_bad_mood() -> None:
    assert mood(felt(STARTED, closed("failed"), STARTED), NOW + timedelta(seconds=1)) == "thinking"


def test_it_sleeps_when_nothing_can_reach_it() -> None:
    assert mood(Presence(open=True, listening=False), NOW) == "asleep"
    assert mood(Presence(), NOW) == "asleep"
    assert doing(Presence(), NOW)[0] == "doing.closed"


def test_a_round_says_whom_it_reads() -> None:
    read = events.ConversationRead(round_id="x", conversation_id="c", title="Mamá", messages=2)
    assert doing(felt(events.RoundStarted(round_id="x"), read), NOW) == ("doing.reading", {"chat": "Mamá"})


def test_many_questions_are_counted() -> None:
    asked = [events.QuestionAsked(question_id=str(n)) for n in range(3)]
    assert doing(felt(*asked), NOW) == ("doing.waiting.many", {"n": "3"})


def test_tools_that_overlap_end_one_by_one() -> None:
    second = events.ToolStarted(run_id="r", call_id="d", tool="web", args={})
    ended = events.ToolFinished(run_id="r", call_id="c", tool="x", ok=True, result="", seconds=0.1)
    assert doing(felt(STARTED, TOOL, second, ended), NOW) == ("doing.working", {"tool": "web"})
