"""A model's thinking aloud does not reach people, and what they talk about does."""

import pytest

from core.runs.spoken import Speech, only_plans, without_thinking

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
    "The user wants to know what arrived today. I should check the mail first, then answer in Spanish, because that "
    "is what they wrote in. Let me think about what tools there are."
)
NO_PLANS = (
    "The user wants a refund because the parcel came broken; the seller offered half of it, and they declined.",
    "The users of the old app have until March to move. We need to respond to their questions in time, as you know.",
    "I should say that it rains. " * 9,
    PLAN[:100],
    "Okay, the users table has three columns, and here is what each of them holds: a name, an address, and a number.",
)


def test_a_plan_is_no_answer_and_an_answer_about_users_is_no_plan() -> None:
    assert only_plans(PLAN)
    assert only_plans(f"Okay, so {PLAN[0].lower()}{PLAN[1:]}")
    assert [only_plans(text) for text in NO_PLANS] == [False] * len(NO_PLANS)


@pytest.mark.parametrize("size", [1, 4, 500])
def test_a_stream_shows_no_plan_and_loses_no_answer(size: int) -> None:
    for text in (PLAN, *NO_PLANS, "The", "Ok"):
        said: list[str] = []
        speech = Speech(said.append)
        for at in range(0, len(text), size):
            speech.hear(text[at : at + size])
        speech.end()
        assert "".join(said).strip() == ("" if text == PLAN else text.strip())
