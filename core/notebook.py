"""`memory.md`: what the owner asked to keep, a line each under the day it was said, and theirs to edit by hand.

Only words of the owner's are written here, so that every line of it may be trusted.
"""

import re
from datetime import datetime
from pathlib import Path

from core.errors import Invalid
from core.neutral import one_line
from core.paths import replace

TITLE = "# Memory"
MAX_BYTES = 512 * 1024
MAX_FACT = 500
_MARKS = re.compile(r"^\s*(?:[-*+]\s+)?(?:\[\d{1,2}:\d{2}\])?(?:\[[\w .-]{1,30}\])?\s*")


def fact_of(line: str) -> str:
    """What a line says, without its bullet, hour and channel; empty for a heading."""
    return "" if line.lstrip().startswith("#") else one_line(_MARKS.sub("", line), MAX_FACT)


def facts(text: str) -> list[str]:
    """Everything a notebook says, in its order, each once."""
    return list(dict.fromkeys(found for line in text.splitlines() if (found := fact_of(line))))


def read(path: Path) -> str | None:
    """The notebook's text; None where there is none."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(data) > MAX_BYTES:
        raise Invalid(f"{path.name} is larger than {MAX_BYTES // 1024} kB. Shorten it.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Invalid(f"{path.name} is not UTF-8 text. Save it as UTF-8.") from error


def added(text: str, fact: str, at: datetime, channel: str) -> str:
    """The notebook with one more line, under today's heading."""
    lines = text.rstrip().splitlines() or [TITLE]
    heading = f"## {at:%Y-%m-%d}"
    if heading != next((line.strip() for line in reversed(lines) if line.startswith("## ")), ""):
        lines += ["", heading]
    mark = re.sub(r"[^\w .-]", "", channel)[:30]
    return "\n".join([*lines, f"- [{at:%H:%M}]{f'[{mark}]' if mark else ''} {fact}"]) + "\n"


def removed(text: str, fact: str) -> str:
    """The notebook without the lines that say this; the others stay as they were."""
    return "".join(line for line in text.splitlines(keepends=True) if fact_of(line) != fact)


def write(path: Path, text: str) -> None:
    """Replace the notebook as a whole, for its owner's eyes alone."""
    replace(path, text, mode=0o600)
