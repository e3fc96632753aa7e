"""The language of the command line, found without opening the app: `--help` has to be there at once."""

import json
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from core.paths import Home
from core.texts import system_language, t


def _field(path: Path, *keys: str) -> str:
    with suppress(OSError, ValueError, KeyError, TypeError):
        value: Any = json.loads(path.read_text(encoding="utf-8"))
        for key in keys:
            value = value[key]
        if isinstance(value, str):
            return value
    return ""


@cache
def language() -> str:
    """The identity's language, the configuration's, else the system's."""
    home = Home.find()
    return _field(home.identity, "language") or _field(home.config, "user", "language") or system_language()


def say(key: str, **values: Any) -> str:
    """A sentence of the command line."""
    return t(f"cli.{key}", language(), **values)
