"""A model's thinking aloud does not reach people, and what they talk about does."""

import pytest

from core.runs.spoken import Speech, is_planning, without_thinking

CASES = [
    ("<think>secret</think>Hello.", "Hello."),
    ("<THINKING>a</THINKING>\n\nHello.", "Hello."),
    ("<think>a<think>b</think>c</think>Hello.", "Hello."),
    ("all thinking</think>Hello.", "Hello."),
    ("Hello.<think>never closed", "Hello."),
    ("One <reasoning>x</reasoning>two", "One two"),
    ("The tag `<think>` opens it.", "The tag `<think>` opens it."),
    ("```xml\n<think>kept</think>\n```\nDone.", "```xml\n<think>kept</think>\n```\nDone."),
    ("a < b and <b>bold</b> <thinker>", "a < b and <b>bold</b> <thinker>"),
]


@pytest.mark.parametrize(("text", "visible"), CASES)
def test_what_people_read(text: str, visible: str) -> None:
    assert without_thinking(text) == visible


@pytest.mark.parametrize("size", [1, 3, 7])
@pytest.mark.parametrize(("text", "visible"), [one for one in CASES if not one[0].startswith("all thinking")])
def test_a_stream_shows_the_same_and_never_more(text: str, visible: str, size: int) -> None:
    said: list[str] = []
    speech = Speech(said.append)
    for at in range(0, len(text), size):
        speech.hear(text[at : at + size])
        assert visible.startswith("".join(said).rstrip())
    speech.end()
    assert "".join(said).strip() == visible
    assert "".join(speech.pieces) == text


PLAN = (
    "Okay, the user is asking about the weather tomorrow. I should check the forecast first and then tell them. "
    "Let me think about which tool fits; we need to keep it short."
)
ANSWERS = [
    "The user wants to log in and cannot.",  # short: a summary somebody asked for
    "The user is asking for a refund of the order of last week because the parcel was open when it arrived. "
    "The shop answered on Monday that the carrier has to confirm the damage first, which takes ten days.",
    "I should answer that with a question: which of the two houses is meant?",
    "Okay, the usual: bread, milk and eggs.",
    "Mañana llueve. " * 20,
    "We need two litres of paint. " * 10,
]


def test_a_plan_is_told_from_an_answer() -> None:
    assert is_planning(PLAN)
    assert is_planning(PLAN.removeprefix("Okay, "))
    assert not any(is_planning(one) for one in ANSWERS)


@pytest.mark.parametrize("size", [1, 5, 400])
@pytest.mark.parametrize("text", [PLAN, *ANSWERS])
def test_a_plan_is_streamed_to_nobody_and_an_answer_is(text: str, size: int) -> None:
    said: list[str] = []
    speech = Speech(said.append)
    for at in range(0, len(text), size):
        speech.hear(text[at : at + size])
    speech.end()
    assert "".join(said) == ("" if text is PLAN else text)
