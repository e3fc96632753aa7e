"""What a speaker of a room is shown: who said what, so that nobody's words can pass for somebody else's."""

import re
from collections.abc import Sequence

from core.identity import Identity
from core.neutral import neutral
from core.rooms import Line, Member, Room
from core.runs.turn import Message

MOST_LINES = 60
MOST_CHARS = 60_000
_LABEL = re.compile(r"^([^\S\n]*)\[([^\]\n]{1,100})\]([^\S\n]*:)", re.MULTILINE)


def owner_of(identity: Identity) -> str:
    """What the owner is called in a room."""
    return _plain(identity.owner_name) or "owner"


def said(who: str, text: str) -> str:
    """A line with who spoke before it; what looks like such a beginning inside of it loses its brackets."""
    safe = _LABEL.sub(r"\1‹\2›\3", neutral(text).strip())
    return f"[{who}]: {safe}"


def note(room: Room, me: Member, owner: str) -> str:
    """Where the speaker is and with whom."""
    members = ", ".join(f"@{one.handle} ({_plain(one.name)})" for one in room.members if one.here)
    return (
        f"The room is called {_plain(room.title)!r}. The owner's lines begin with [{owner}]. These agents are in it: "
        f"{members}. You are @{me.handle}."
    )


def told(
    lines: Sequence[Line], me: Member, room: Room, *, owner: str, asked_by: str
) -> tuple[tuple[Message, ...], str]:
    """The conversation as this member remembers it, and what it is told last.

    Its own lines are its answers; what the others said between them is one message each time. Notes of the app are
    for people. The oldest lines go first where there are too many, and that is said.
    """
    handles = {one.slug: one.handle for one in room.members}
    spoken = [one for one in lines if one.role in {"user", "assistant"} and one.text.strip()]
    kept = _newest(spoken)
    blocks: list[Message] = []
    others: list[str] = []
    if left := len(spoken) - len(kept):
        others.append(f"[room]: {left} earlier lines are not shown.")
    for line in kept:
        if line.author != me.slug:
            who = (
                owner
                if line.author == "owner"
                else f"{_plain(line.name)} @{handles.get(line.author, line.author)}"
            )
            others.append(said(who, line.text))
            continue
        # A model expects an answer to follow something.
        blocks += [Message("user", "\n\n".join(others) or "[room]: …"), Message("assistant", line.text)]
        others = []
    who = owner if asked_by == "owner" else f"@{handles.get(asked_by, asked_by)}"
    others.append(f"[room]: {who} asks you, @{me.handle}. It is your turn.")
    return tuple(blocks), "\n\n".join(others)


def _newest(lines: Sequence[Line]) -> list[Line]:
    kept: list[Line] = []
    room = MOST_CHARS
    for line in reversed(lines[-MOST_LINES:]):
        room -= len(line.text)
        if kept and room < 0:
            break
        kept.append(line)
    return kept[::-1]


def _plain(name: str) -> str:
    """A name that cannot end its own brackets."""
    return " ".join(re.sub(r"[\[\]\n‹›]", " ", name).split())[:80]
