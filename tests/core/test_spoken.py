"""A model's thinking aloud does not reach people, and what they talk about does."""

import pytest

from core.runs.spoken import Speech, without_thinking

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
