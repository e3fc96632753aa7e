"""What people read, in their language: flat catalogues, one file for each area and language.

A catalogue is `assets/locale/<area>.<lang>.json`, key to text; `{name}` stands for a value. A regional
language ("es-AR") may have files of its own with only what differs.
"""

import json
import os
from collections.abc import Iterator
from functools import cache
from typing import Any

from core.paths import ASSETS


def languages() -> tuple[str, ...]:
    """The languages that every catalogue has."""
    return ("en", "es")


@cache
def catalogue(lang: str) -> dict[str, str]:
    """All texts of exactly this language, all areas together."""
    texts: dict[str, str] = {}
    for path in sorted((ASSETS / "locale").glob(f"*.{lang}.json")):
        texts |= json.loads(path.read_text(encoding="utf-8"))
    return texts


def _chain(lang: str) -> Iterator[str]:
    lang = lang.replace("_", "-")
    if lang:
        yield lang
        if "-" in lang:
            if lang.startswith("es-") and lang in {"es-UY", "es-PY"}:
                yield "es-AR"  # the same "vos"
            yield lang.split("-")[0]
    yield "en"


def t(key: str, lang: str, **values: Any) -> str:
    """The text of `key` in `lang`, or in the nearest language that has it."""
    for one in _chain(lang):
        text = catalogue(one).get(key)
        if text is not None:
            return text.format(**values) if values else text
    raise KeyError(f"No text for {key!r} in assets/locale")


def system_language() -> str:
    """The language the desktop session asks for, or English."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name, "").split(".")[0].replace("_", "-")
        if value and value not in {"C", "POSIX"}:
            return value
    return "en"
