"""The extras of one notification record: `key=Type (value)` lines whose values may hold any text at all."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_KEY = re.compile(r"^(?P<indent>\s+)(?P<key>[\w.$]+)=(?P<value>null$|[\w$]+(?:\[\])? ?[(\[].*)", re.DOTALL)
_TYPED = re.compile(r"^(?P<type>[\w$]+(?:\[\])?) ?\((?P<value>.*)\)$", re.DOTALL)
_REDACTED = re.compile(r"^\w+ \[length=\d+\]$")
_PART = re.compile(r"(?:^|, )(extras|sender_person|sender|text|time|type|uri)=")
_TAIL = re.compile(
    r", (?:(?P<time>time)=\d+|(?P<type>type)=[^,\n]*|(?P<uri>uri)=[^,\s]*|"
    r"(?P<extras>extras)=Bundle\[\{[^\n]*?\}\]|(?P<sender_person>sender_person)=[^,\s]*|(?P<sender>sender)=[^,\n]*)$"
)


@dataclass(frozen=True, slots=True)
class RawMessage:
    """One element of `android.messages`; a message without a sender is the owner's own."""

    sender: str
    text: str
    time_ms: int | None
    has_sender: bool


@dataclass(slots=True)
class Extras:
    """The values by key, the messages, and whether the text around them contradicts itself."""

    values: dict[str, str] = field(default_factory=dict)
    messages: tuple[RawMessage, ...] = ()
    doubtful: bool = False
    redacted: bool = False

    def value(self, key: str) -> str:
        """The text of a key, empty when it is missing or null."""
        return self.values.get(key, "")


def read_extras(lines: list[str]) -> Extras:
    """Read the extras of a record; the same key twice means that a message imitates the dump."""
    extras = Extras()
    for key, value in _entries(lines):
        if key in extras.values:
            extras.doubtful = True
            continue
        if _REDACTED.match(value):
            extras.redacted = extras.redacted or key in {"android.title", "android.text"}
            extras.values[key] = ""
            continue
        if key == "android.messages":
            extras.messages, sound = _messages(value)
            hidden = "\n" not in value  # a redacted dump counts the messages and shows none
            extras.redacted = extras.redacted or hidden
            extras.doubtful = extras.doubtful or not (sound or hidden)
            extras.values[key] = ""
            continue
        typed = _TYPED.match(value)
        extras.values[key] = typed["value"] if typed else ""
    return extras


def _entries(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Every `key=value` of the block; a line that starts no key at its indentation continues the last one."""
    begin = next((at for at, line in enumerate(lines) if line.strip() == "extras={"), None)
    if begin is None:
        return
    outer = lines[begin][: len(lines[begin]) - len(lines[begin].lstrip())]
    indent: str | None = None
    key, held = "", [""]
    for line in lines[begin + 1 :]:
        line = line.rstrip("\r")
        if line == outer + "}":
            break
        match = _KEY.match(line)
        if match and len(match["indent"]) > len(outer) and match["indent"] == (indent or match["indent"]):
            if key:
                yield key, "\n".join(held)
            indent = match["indent"]
            key, held = match["key"], [match["value"]]
        else:
            held.append(line)
    if key:
        yield key, "\n".join(held)


def _messages(value: str) -> tuple[tuple[RawMessage, ...], bool]:
    """The messages of `Parcelable[] (n)` and whether there are as many as it says."""
    first, _, rest = value.partition("\n")
    count = re.search(r"\((\d+)\)", first)
    lines = rest.split("\n") if rest else []
    indent: str | None = None
    elements: list[list[str]] = []
    for line in lines:
        match = re.match(r"^(\s+)\[(\d+)\] (Bundle\[\{.*)", line, re.DOTALL)
        if match and (indent is None or match[1] == indent) and int(match[2]) == len(elements):
            indent = match[1]
            elements.append([match[3]])
        elif elements:
            elements[-1].append(line)
    announced = int(count[1]) if count else len(elements)
    messages = tuple(m for m in (_message("\n".join(element)) for element in elements) if m is not None)
    return messages, announced == len(elements) == len(messages)


def _message(text: str) -> RawMessage | None:
    body = text.rstrip()
    if not (body.startswith("Bundle[{") and body.endswith("}]")):
        return None
    body = body[len("Bundle[{") : -len("}]")]
    start = re.search(r"(?:^|, )text=", body)
    if start is None:  # a picture without a word
        head, said, tail = body, "", dict[str, str]()
    else:
        head = body[: start.start()]
        before = {match[1] for match in _PART.finditer(head)}
        said, tail = _without_tail(body[start.end() :], before)
    parts = _parts(head) | tail
    time = parts.get("time", "")
    return RawMessage(parts.get("sender", ""), said, int(time) if time.isdigit() else None, "sender" in parts)


def _without_tail(rest: str, before: set[str]) -> tuple[str, dict[str, str]]:
    """Take the fields that follow the body off its end: each once, and none that stood in front of it."""
    taken: dict[str, str] = {}
    while match := _TAIL.search(rest):
        name = next(name for name, value in match.groupdict().items() if value)
        if name in before or name in taken:
            break
        taken[name] = match[0].partition("=")[2]
        rest = rest[: match.start()]
    return rest, taken


def _parts(head: str) -> dict[str, str]:
    marks = list(_PART.finditer(head))
    found: dict[str, str] = {}
    for at, mark in enumerate(marks):
        end = marks[at + 1].start() if at + 1 < len(marks) else len(head)
        found.setdefault(mark[1], head[mark.end() : end])
    return found
