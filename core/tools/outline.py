"""A page as the browser's accessibility tree tells it: lines with references, and what each reference stands for.

Pure. The text comes from the page, so it is data; what is typed into password fields does not leave it.
"""

import re
from collections.abc import Iterable

HIDDEN = "•••"
_REF = re.compile(r"\[ref=(\w{1,20})\]")
_LABEL = re.compile(r'([a-z]+)(?: "((?:[^"\\]|\\.)*)")?')
_VALUE = re.compile(r"^(\s*- .*?\[ref=\w+\](?: \[[^\]]*\])*'?: )(.+)$")
LONG = 40


def _plain(line: str) -> str:
    """The key of a line without the marks of YAML."""
    text = line.strip().removeprefix("- ")
    quoted = re.match(r"'((?:[^']|'')*)'", text)
    return quoted[1].replace("''", "'") if quoted else text


def elements(outline: str) -> dict[str, str]:
    """What each reference of an outline is: its role and its name, as in `button "Send"`."""
    found = {}
    for line in outline.splitlines():
        text = _plain(line)
        ref, label = _REF.search(text), _LABEL.match(text)
        if ref and label:
            name = label[2]
            found[ref[1]] = f'{label[1]} "{name}"' if name else label[1]
    return found


def same(said: str, label: str) -> bool:
    """Somebody's words for an element are those of the page: all of its name, with or without the role."""
    given, whole = _words(said), _words(label)
    name = whole.partition(" ")[2]
    if not given:
        return False
    if len(given) >= LONG and (whole.startswith(given) or name.startswith(given)):
        return True
    return given in {whole, name}


def _words(text: str) -> str:
    return " ".join(re.sub(r'["\\]', "", text).split()).casefold()


def covered(outline: str, secrets: Iterable[str]) -> str:
    """The outline without what stands in password fields."""
    hidden = {" ".join(one.split()) for one in secrets if one.strip()}
    if not hidden:
        return outline
    lines = []
    for line in outline.splitlines():
        value = _VALUE.match(line)
        if value and _unquoted(value[2]).strip() in hidden:
            line = value[1] + HIDDEN
        lines.append(line)
    return "\n".join(lines)


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] == '"':
        return re.sub(r"\\(.)", r"\1", value[1:-1])
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return value


def piece(text: str, from_char: int, most: int, tool: str) -> str:
    """A part of a long text, and how to go on."""
    part = text[from_char : from_char + most]
    end = from_char + len(part)
    if end < len(text):
        return f"{part}\n[cut: {len(text)} characters in all; go on: {tool} with from_char={end}]"
    return part or "[nothing]"
