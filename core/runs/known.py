"""What a run is told beside its conversation: what memory has for the question, and the skills there are."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core import skills
from core.identity import Identity
from core.memory_broker import Broker, Recalled
from core.paths import Home
from core.runs.shelf import Shelf
from core.runs.turn import Message, Run, Turn

MAX_SKILLS = 30


@dataclass(frozen=True, slots=True)
class Known:
    """Both are empty for a turn without tools, a sealed one, and one of somebody else's."""

    memory: str = ""
    skills: tuple[str, ...] = ()
    recalled: Mapping[str, object] | None = None  # how memory was looked up, where there is more than one way


async def known(
    turn: Turn,
    shelf: Shelf,
    *,
    services: Mapping[type, Any],
    identity: Identity,
    home: Home,
    root: Path,
    before: Sequence[Message],
    run: Run | None = None,
) -> Known:
    """Looked up once for each run, before its first question."""
    if turn.sealed or turn.sender != "owner" or not shelf.offered:
        return Known()
    broker: Broker | None = services.get(Broker)
    found = Recalled()
    if broker is not None:
        owner = identity.owner_name or "the owner"
        found = await broker.recalled(turn, owner=owner, shown=[one.text for one in before], run=run)
    names: tuple[str, ...] = ()
    if "load_skill" in shelf.offered:
        listed = await asyncio.to_thread(skills.listed, home, root)
        names = tuple(one.name for one in listed if not one.problem)[:MAX_SKILLS]
    return Known(found.block, names, found.record)
