"""What a run is told beside its conversation: what memory has for the question, and the skills there are."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core import skills
from core.identity import Identity
from core.memory_broker import Broker
from core.paths import Home
from core.runs.shelf import Shelf
from core.runs.turn import Message, Turn

MAX_SKILLS = 30


@dataclass(frozen=True, slots=True)
class Known:
    """Both are empty for a turn without tools, a sealed one, and one of somebody else's."""

    memory: str = ""
    skills: tuple[str, ...] = ()


async def known(
    turn: Turn,
    shelf: Shelf,
    *,
    services: Mapping[type, Any],
    identity: Identity,
    home: Home,
    root: Path,
    before: Sequence[Message],
) -> Known:
    """Looked up once for each run, before its first question."""
    if turn.sealed or turn.sender != "owner" or not shelf.offered:
        return Known()
    broker: Broker | None = services.get(Broker)
    memory = ""
    if broker is not None:
        owner = identity.owner_name or "the owner"
        memory = await broker(turn, owner=owner, shown=[one.text for one in before])
    names: tuple[str, ...] = ()
    if "load_skill" in shelf.offered:
        found = await asyncio.to_thread(skills.listed, home, root)
        names = tuple(one.name for one in found if not one.problem)[:MAX_SKILLS]
    return Known(memory, names)
