"""Texts that came over a screen: odd spaces, invisible marks, emoji that became dots."""

import re

from bridge.sameness import same_text

_INVISIBLE = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\u00ad\u061c]")
_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\t\x0b\x0c\r]")
_NUMBER = re.compile(r"^\+?[\d\s().\-]{7,24}$")
_CLOCK = re.compile(r"^(\d{1,2})[:.h](\d{2})(?:\s*([ap])\.?\s*m\.?)?$", re.IGNORECASE)
_TIME_SHAPE = re.compile(r"^\D{0,6}\d{1,2}[:.h]\d{2}\D{0,10}$")
_LENGTH = re.compile(r"^(?:(\d+):)?(\d{1,2}):(\d{2})$")
ELLIPSIS = "…"


def plain_spaces(text: str) -> str:
    """The text with every kind of space as a space, newlines kept, invisible marks gone."""
    return _SPACES.sub(" ", _INVISIBLE.sub("", text.replace("\r\n", "\n")))


def one_line(text: str) -> str:
    """The text as one line with single spaces."""
    return " ".join(plain_spaces(text).split())


def clean_name(text: str) -> str:
    """A name without the marks that apps put around it, nor the tilde of an unsaved sender."""
    return one_line(text).removeprefix("~").strip()


def same_title(one: str, other: str) -> bool:
    """Whether two readings name the same chat; either may be cut off with an ellipsis."""
    one, other = one_line(one), one_line(other)
    if not one or not other:
        return False
    if same_text(one, other):
        return True
    for cut, whole in ((one, other), (other, one)):
        kept = cut.removesuffix("...").removesuffix(ELLIPSIS).rstrip()
        if kept != cut and len(kept) >= 8 and len(whole) > len(kept):
            return same_text(kept, whole[: len(kept)].rstrip()) or same_text(kept, whole[: len(kept)])
    return False


def same_message(one: str, other: str) -> bool:
    """Whether two messages are equal line by line: a lost newline counts, an unreadable emoji does not."""
    ours, theirs = _lines(one), _lines(other)
    return len(ours) == len(theirs) and all(same_text(a, b) for a, b in zip(ours, theirs, strict=True))


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").strip().split("\n")


def digits(text: str) -> str:
    """The number that a title is, digits alone, or nothing when it is a name."""
    text = clean_name(text)
    if not _NUMBER.match(text):
        return ""
    found = re.sub(r"\D", "", text)
    return found if 7 <= len(found) <= 15 else ""


def international(text: str) -> str:
    """The digits of a number that says its country (+ or 00), or nothing: a country is never guessed."""
    text = clean_name(text)
    found = digits(text.replace("/", " "))
    if text.startswith("+"):
        return found
    return found[2:] if text.startswith("00") else ""


def is_time(text: str) -> bool:
    """Whether this is a time of day, in whatever way it is written, and not a date."""
    return bool(_TIME_SHAPE.match(one_line(text)))


def clock(text: str) -> str:
    """A time of day as HH:MM when it can be told, else as it came."""
    text = one_line(text)
    match = _CLOCK.match(text)
    if match is None:
        return text
    hour = int(match[1])
    if match[3]:
        hour = hour % 12 + (12 if match[3].lower() == "p" else 0)
    return f"{hour:02}:{match[2]}"


def seconds(text: str) -> int | None:
    """The length of a recording: `0:17`, `1:02:03`."""
    match = _LENGTH.match(one_line(text))
    if match is None:
        return None
    return int(match[1] or 0) * 3600 + int(match[2]) * 60 + int(match[3])
