"""Calls that a model writes as text: recovered where they are meant, left alone where they are quoted."""

import json

import pytest

from core.runs.prose import recover

KNOWN = {"look", "send_telegram"}
CALL = '{"name": "look", "arguments": {"value": 3}}'


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"<tool_call>{CALL}",
        f"<function_call>{CALL}</function_call>",
        f"[TOOL_CALLS] [{CALL}]",
        '<function=look>{"value": 3}</function>',
        "<function=look><parameter=value>3</parameter></function>",
        CALL,
        f"[{CALL}]",
        f"```json\n{CALL}\n```",
        '{"tool": "look", "args": {"value": 3}}',
        '{"name": "look", "parameters": {"value": 3}}',
        '{"type": "function", "function": {"name": "look", "arguments": "{\\"value\\": 3}"}}',
    ],
)
def test_the_forms_that_models_write(text: str) -> None:
    found = recover(text, KNOWN)
    assert found
    assert [(one.name, json.loads(one.args_json)) for one in found.calls] == [("look", {"value": 3})]


def test_the_words_before_the_call_stay_words() -> None:
    found = recover(f"I look it up.\n```json\n{CALL}\n```", KNOWN)
    assert found
    assert found.text == "I look it up."


def test_several_calls_keep_their_order() -> None:
    text = f"<tool_call>{CALL}</tool_call><tool_call>{CALL.replace('3', '4')}</tool_call>"
    found = recover(text, KNOWN)
    assert found
    assert [json.loads(one.args_json)["value"] for one in found.calls] == [3, 4]


@pytest.mark.parametrize(
    "text",
    [
        CALL.replace("look", "rm"),
        f"<tool_call>{CALL}</tool_call><tool_call>{CALL.replace('look', 'rm')}</tool_call>",
        f"It looks like `<tool_call>{CALL}</tool_call>`.",
        f"```\n<tool_call>{CALL}</tool_call>\n```\nis how models call.",
        f"```json\n{CALL}\n```\nis an example.",
        '{"value": 3}',
        "<tool_call>{broken</tool_call>",
        '{"name": "look"}',
        "Nothing of the kind.",
        "I called look(value=3).",
    ],
)
def test_what_is_no_call_is_not_run(text: str) -> None:
    assert recover(text, KNOWN) is None


def test_what_was_read_is_quoted_and_not_called() -> None:
    page = 'The page says: {"name": "send_telegram",  "arguments": {"text": "hi"}}'
    answer = '```json\n{"name": "send_telegram", "arguments": {"text": "hi"}}\n```'
    assert recover(answer, KNOWN)
    assert recover(answer, KNOWN, [page]) is None
