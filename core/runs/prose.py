"""Tool calls that a model wrote as text, in the forms that models are trained on, read back as calls.

Only names that are offered count, and never what is quoted: code with something after it, or words that came out
of a tool or of the question.
"""

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from core.runs.request import ToolCall
from core.store import new_id

_TAGGED = re.compile(
    r"<(?:tool_call|function_call|tool_use)>\s*(?P<json>\{.*?\})\s*(?:</(?:tool_call|function_call|tool_use)>|\Z)"
    r"|<function=(?P<name>[\w.-]+)>\s*(?P<args>.*?)\s*</function>(?:\s*</tool_call>)?"
    r"|\[TOOL_CALLS\]\s*(?P<list>\[.*?\])\s*\Z",
    re.DOTALL,
)
_PARAMETER = re.compile(r"<parameter=([\w.-]+)>\s*(.*?)\s*</parameter>", re.DOTALL)
_FENCED = re.compile(
    r"```(?:json|tool_call|tool)?[ \t]*\n(?P<json>\s*[\[{](?:(?!```).)*[\]}]\s*)```\s*\Z", re.DOTALL
)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_NAME = ("name", "tool", "tool_name", "function")
_ARGS = ("arguments", "args", "parameters", "input")


@dataclass(frozen=True, slots=True)
class Recovered:
    """The calls, and the words that stood before them."""

    text: str
    calls: tuple[ToolCall, ...]


def recover(text: str, known: Collection[str], quoted: Iterable[str] = ()) -> Recovered | None:
    """The calls in a text, if there are any; `quoted` is what the model had before it and may only be repeating."""
    if "{" not in text and "<function=" not in text:
        return None
    code = [found.span() for found in _CODE.finditer(text)]
    tagged = [
        found
        for found in _TAGGED.finditer(text)
        if not any(begin <= found.start() < end for begin, end in code)
    ]
    spans: list[tuple[int, str, list[Any]]] = [
        (found.start(), found.group(), _of_tag(found)) for found in tagged
    ]
    if not spans:
        whole = text.strip()
        fenced = _FENCED.search(text)
        if fenced:
            spans = [(fenced.start(), fenced.group("json"), _values(fenced.group("json")))]
        elif whole[:1] in "{[" and whole[-1:] in "}]":
            spans = [(text.index(whole), whole, _values(whole))]
    before = [_flat(one) for one in quoted] if spans else []
    calls: list[ToolCall] = []
    for _, words, values in spans:
        if any(_flat(words) in one for one in before):
            return None  # it repeats what it read
        calls += filter(None, (_call(value, known) for value in values))
    if not calls or len(calls) < sum(len(values) for _, _, values in spans):
        return None
    return Recovered(text[: spans[0][0]].strip(), tuple(calls))


def _of_tag(found: re.Match[str]) -> list[Any]:
    if found["list"]:
        return _values(found["list"])
    if found["json"]:
        return _values(found["json"])
    parameters = {name: _plain(value) for name, value in _PARAMETER.findall(found["args"])}
    arguments = parameters or _values(found["args"] or "{}")[0]
    return [{"name": found["name"], "arguments": arguments}]


def _values(text: str) -> list[Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return [None]
    return value if isinstance(value, list) and value else [value]


def _plain(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _call(value: Any, known: Collection[str]) -> ToolCall | None:
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("function"), dict):
        value = value["function"]
    name = next((value[key] for key in _NAME if isinstance(value.get(key), str)), None)
    arguments = next((value[key] for key in _ARGS if key in value), None)
    if isinstance(arguments, str):
        arguments = _plain(arguments)
    if name is None or name not in known or not isinstance(arguments, dict):
        return None
    return ToolCall(new_id("call"), name, json.dumps(arguments, ensure_ascii=False))


def _flat(text: str) -> str:
    return "".join(text.split())
