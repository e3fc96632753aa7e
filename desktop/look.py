"""How the window looks before the core is open: read in a few milliseconds, so that nothing flickers afterwards.

The core reads the same files again and properly; what is broken here is only a default for a moment.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.paths import Home
from core.texts import system_language
from desktop.theme import Mode


@dataclass(frozen=True, slots=True)
class Look:
    """The few facts that the first picture needs."""

    name: str = "APX"
    icon: str = "noche"
    lang: str = "en"
    mode: Mode = "system"
    mascot: bool = True


def read(home: Home) -> Look:
    """The look that the home's files ask for."""
    config, identity = _json(home.config), _json(home.identity)
    agent, desktop, user = (_part(config, name) for name in ("super_agent", "desktop", "user"))
    mode = desktop.get("theme")
    return Look(
        name=str(identity.get("agent_name") or "APX"),
        icon=str(agent.get("icon") or "noche"),
        lang=str(identity.get("language") or user.get("language") or system_language()),
        mode=mode if mode in {"light", "dark"} else "system",
        mascot=desktop.get("mascot") is not False,
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _part(config: dict[str, Any], name: str) -> dict[str, Any]:
    part = config.get(name)
    return part if isinstance(part, dict) else {}
