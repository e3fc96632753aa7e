"""Where in a JSON file each key stands, so that an error can name its line."""

import re
from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]

_BLANK = re.compile(r"\s*")
_SCALAR = re.compile(r"[^\s,\]}]+")


def lines(text: str) -> dict[tuple[str | int, ...], int]:
    """Path of each key and list item to its line, counted from 1. The text must be valid JSON."""
    found: dict[tuple[str | int, ...], int] = {}
    line_of = _line_counter(text)

    def skip(at: int) -> int:
        match = _BLANK.match(text, at)
        return match.end() if match else at

    def value(at: int, path: tuple[str | int, ...]) -> int:
        at = skip(at)
        if text[at] == "{":
            return members(at + 1, path)
        if text[at] == "[":
            return items(at + 1, path)
        if text[at] == '"':
            return int(scanstring(text, at + 1)[1])
        match = _SCALAR.match(text, at)
        return match.end() if match else at + 1

    def members(at: int, path: tuple[str | int, ...]) -> int:
        at = skip(at)
        while text[at] != "}":
            name, after = scanstring(text, at + 1)
            found[(*path, name)] = line_of(at)
            at = skip(value(skip(after) + 1, (*path, name)))
            if text[at] == ",":
                at = skip(at + 1)
        return at + 1

    def items(at: int, path: tuple[str | int, ...]) -> int:
        at = skip(at)
        index = 0
        while text[at] != "]":
            found[(*path, index)] = line_of(at)
            at = skip(value(at, (*path, index)))
            index += 1
            if text[at] == ",":
                at = skip(at + 1)
        return at + 1

    with suppress(IndexError, JSONDecodeError):  # not valid JSON after all: what was found is still right
        value(0, ())
    return found


def _line_counter(text: str) -> Callable[[int], int]:
    starts = [match.end() for match in re.finditer("\n", text)]
    return lambda at: bisect_right(starts, at) + 1
