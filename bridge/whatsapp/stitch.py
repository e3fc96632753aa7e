"""Joining the screens of one scrolled chat into one run of messages, none twice and none lost."""

from dataclasses import replace

from bridge.whatsapp.bubbles import Bubble, carried
from bridge.wording import same_message

SLACK = 24  # pixels by which rows that moved together may differ


def same_bubble(one: Bubble, other: Bubble) -> bool:
    """Whether two readings are of one message; what a clipped reading does not show is no difference."""
    if one.kind != other.kind:
        return (
            (one.clipped or other.clipped)
            and "unknown" in (one.kind, other.kind)
            and _agree(one.time, other.time)
        )
    if one.direction != other.direction or not _agree(one.time, other.time):
        return False
    if not one.is_message:
        return same_message(one.text, other.text)
    if (one.time == "" or other.time == "") and not (one.clipped or other.clipped):
        return False
    if not _agree_text(one, other) or (one.detail and other.detail and one.detail != other.detail):
        return False
    return one.seconds == other.seconds or None in (one.seconds, other.seconds)


def _agree(one: str, other: str) -> bool:
    return one == other or not one or not other


def _agree_text(one: Bubble, other: Bubble) -> bool:
    if one.text == other.text or same_message(one.text, other.text):
        return True
    if one.cut != other.cut:  # unfolded in between
        short, whole = (one, other) if one.cut else (other, one)
        return whole.text.startswith(short.text)
    return (one.clipped and not one.text) or (other.clipped and not other.text)


def better(one: Bubble, other: Bubble) -> Bubble:
    """The fuller of two readings of one message, with what only the other one shows."""
    first, second = sorted((one, other), key=lambda b: (b.clipped, b.cut, not b.text, b.kind == "unknown"))
    return replace(
        first,
        sender=first.sender or second.sender,
        time=first.time or second.time,
        status=second.status or first.status,
        day=first.day or second.day,
        quoted=first.quoted or second.quoted,
        edited=first.edited or second.edited,
        seconds=first.seconds if first.seconds is not None else second.seconds,
    )


def overlap(older: list[Bubble], newer: list[Bubble], *, moved: int | None = None) -> int | None:
    """How many rows at the end of `older` are those at the beginning of `newer`; None when they do not meet.

    Equal messages in a row ("OK", "OK") make several answers fit: then the one decides whose rows moved
    together, and as far as the finger did when `moved` says how far.
    """
    fits = [
        size
        for size in range(min(len(older), len(newer)), 0, -1)
        if all(same_bubble(a, b) for a, b in zip(older[-size:], newer[:size], strict=True))
    ]
    if not fits:
        return None
    shifts = {size: shift for size in fits if (shift := _shift(older[-size:], newer[:size])) is not None}
    if moved is not None:
        # The list never goes further than the finger, but stops earlier at its beginning.
        shifts = {size: shift for size, shift in shifts.items() if -SLACK <= shift <= moved + SLACK} or shifts
        return min(shifts, key=lambda size: (abs(shifts[size] - moved), -size)) if shifts else fits[0]
    return next(iter(shifts), fits[0])


def _shift(older: list[Bubble], newer: list[Bubble]) -> int | None:
    """How much further down the rows stand on the older page, if they all agree on it."""
    shifts = [a.row[1] - b.row[1] for a, b in zip(older, newer, strict=True) if not (a.clipped or b.clipped)]
    if not shifts or max(shifts) - min(shifts) > SLACK:
        return None
    return sorted(shifts)[len(shifts) // 2]


def stitch(pages: list[list[Bubble]], *, moved: int | None = None) -> list[Bubble] | None:
    """The pages from the oldest to the newest as one; None when two neighbours do not meet."""
    whole: list[Bubble] = []
    for page in pages:
        joined = join(whole, page, moved=moved)
        if joined is None:
            return None
        whole = joined
    return carried(whole)


def join(older: list[Bubble], newer: list[Bubble], *, moved: int | None = None) -> list[Bubble] | None:
    """Two pages that follow each other as one; None when they do not meet."""
    if not older or not newer:
        return older + newer
    size = overlap(older, newer, moved=moved)
    if size is None:
        return None
    middle = [better(a, b) for a, b in zip(older[-size:], newer[:size], strict=True)]
    return older[:-size] + middle + newer[size:]
