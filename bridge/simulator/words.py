"""What the simulated WhatsApp says in each language; not a catalogue of ours, so it stays beside the
simulator."""

import json
from datetime import datetime
from pathlib import Path

WORDS: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("words.json").read_text("utf-8"))


def say(locale: str, key: str, **values: object) -> str:
    """One phrase of the simulated app; an unknown language speaks English."""
    return WORDS.get(locale[:2], WORDS["en"])[key].format(**values)


def unread(locale: str, count: int) -> str:
    """The badge's description and the divider's text."""
    return say(locale, "unread_1") if count == 1 else say(locale, "unread_n", n=count)


def clock(locale: str, at: datetime, *, twelve: bool | None = None) -> str:
    """The time on a bubble, with the narrow space that Android puts before am and pm."""
    if twelve is None:
        twelve = locale.startswith("en")
    if not twelve:
        return f"{at:%H:%M}"
    half = "am" if at.hour < 12 else "pm"
    if locale.startswith("es"):
        half = half[0] + ".\u00a0m."
    return f"{(at.hour + 11) % 12 + 1}:{at:%M}\u202f{half}"


def day(locale: str, at: datetime, now: datetime) -> str:
    """The day on a divider or, for days before today, in the list."""
    ago = (now.date() - at.date()).days
    if ago <= 0:
        return say(locale, "today")
    if ago == 1:
        return say(locale, "yesterday")
    if locale.startswith("en"):
        return f"{at.month}/{at.day}/{at:%y}"
    return f"{at.day}/{at.month}/{at:%y}" if locale.startswith("es") else f"{at:%d/%m/%Y}"
