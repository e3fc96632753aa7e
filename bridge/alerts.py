"""What an alert carried, as far as it can be read: for the relay only, never as the message itself.

A phone's bridge sends whatever Android showed: a summary ("7 new messages"), a fragment, a variable that was
never filled in, or a body that is not even valid. All of it is one thing, a wake-up; this module only answers
"what did it carry" for the case that the phone cannot be looked at.
"""

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

# Whole values in these exact shapes are variables of Tasker, MacroDroid and templates that stayed empty.
_VARIABLE = re.compile(
    r"%[A-Za-z][A-Za-z0-9_]*(\(\s*[0-9#:<>]*\s*\))?|\{[a-z_]+(=[^}]*)?\}|\[(not|notification)[a-z_]*\]|\{\{.*?\}\}",
    re.ASCII,
)
_ESCAPED = re.compile(r"%25[A-Za-z][A-Za-z0-9_]*")
_WHO = ("sender", "chat_name", "title", "android.title", "antitle", "name", "from", "bigTitle")
_WHAT = (
    "prompt",
    "message",
    "text",
    "body",
    "android.text",
    "bigText",
    "content",
    "antext",
    "ticker",
    "tickerText",
)
_LIMIT = 600


@dataclass(frozen=True, slots=True)
class Heard:
    """`who` and `what` are empty when the alert carried nothing that can be shown."""

    who: str = ""
    what: str = ""

    @property
    def says_nothing(self) -> bool:
        return not (self.who or self.what)

    def line(self, nothing: str) -> str:
        """One line for people; `nothing` stands where the alert carried no text."""
        if self.says_nothing:
            return nothing
        if self.who and self.what:
            return f"{self.who}: {self.what}"
        return self.who or self.what


def hear(body: str) -> Heard:
    """Read a kept body: JSON, almost-JSON, a form, or plain text. Unfilled variables count as no content."""
    fields = _fields(body)
    if fields is None:
        return Heard(what=_content(body))
    flat = _flat(fields)
    return Heard(who=_first(flat, _WHO), what=_first(flat, _WHAT))


def is_variable(text: str) -> bool:
    """Whether the whole text is a variable that nobody filled in. A real "100%" is not."""
    stripped = text.strip()
    return bool(stripped) and bool(_VARIABLE.fullmatch(stripped) or _ESCAPED.fullmatch(stripped))


def _content(text: Any) -> str:
    if not isinstance(text, str):
        return ""
    kept = " ".join(word for word in text.split() if not is_variable(word))
    return kept if len(kept) <= _LIMIT else kept[: _LIMIT - 1] + "…"


def _fields(body: str) -> Any:
    text = body.strip()
    if text.startswith(("{", "[")):
        # strict=False takes raw newlines inside strings, which phone tools paste in.
        try:
            return json.loads(text, strict=False)
        except ValueError:
            return _salvage(text)
        except RecursionError:
            return None
    if re.fullmatch(r"[\w.\-%+]+=[^\n]*", text) and "=" in text:
        return dict(parse_qsl(text, keep_blank_values=True)) or None
    return None


def _salvage(text: str) -> dict[str, str] | None:
    """Broken JSON usually has a quote too many inside one value: take each key's text up to the next key."""
    found = re.findall(
        r'"([A-Za-z_.]{2,30})"\s*:\s*"(.*?)"\s*(?=,\s*"[A-Za-z_.]{2,30}"\s*:|\}?\s*$)', text, re.S
    )
    return dict(found) or None


def _flat(value: Any) -> dict[str, str]:
    flat: dict[str, str] = {}
    pending = [value]
    while pending and len(flat) < 200:
        one = pending.pop(0)
        if isinstance(one, dict):
            for key, inner in one.items():
                if isinstance(inner, str | int | float) and not isinstance(inner, bool):
                    flat.setdefault(str(key), str(inner))
                else:
                    pending.append(inner)
        elif isinstance(one, list):
            pending.extend(one)
    return flat


def _first(flat: dict[str, str], names: tuple[str, ...]) -> str:
    return next((text for name in names if (text := _content(flat.get(name, "")))), "")
