"""The menu of commands beside the input line: ours, and one for each skill. It is published when it changed.

Publishing is never waited for: a server that does not answer costs the menu and nothing else.
"""

import asyncio
import hashlib
import json
import logging
import re
from collections.abc import Iterable
from pathlib import Path

from core import skills
from core.channels.telegram_update import COMMANDS
from core.channels.telegram_wire import BotError, Line
from core.paths import Home
from core.store import Store
from core.texts import t

log = logging.getLogger(__name__)

MOST = 60  # Telegram takes a hundred, and fewer when they are long
ABOUT = 60
SHOWN = ("stop", "new", "help")


def slug(name: str) -> str:
    """The name of a skill as a command; empty when it cannot be one."""
    return re.sub(r"[^a-z0-9_]", "_", name.lower()).strip("_")[:32]


def menu(lang: str, known: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """The commands with a short line each; `known` are the skills, name and what they are for."""
    made = {name: t(f"telegram.menu.{name}", lang) for name in SHOWN}
    for name, about in known:
        if (short := slug(name)) and short not in COMMANDS:
            made.setdefault(short, " ".join(about.split()) or name)
    return [
        {"command": name, "description": text if len(text) <= ABOUT else f"{text[: ABOUT - 1]}…"}
        for name, text in list(made.items())[:MOST]
    ]


def _skills(home: Home, project: Path | None = None) -> list[tuple[str, str]]:
    return [(one.name, one.about) for one in skills.listed(home, project) if not one.problem]


async def skill_of(home: Home, text: str) -> str:
    """The skill that a message calls by its command; empty if it calls none."""
    if not text.startswith("/"):
        return ""
    word = text.split(maxsplit=1)[0][1:].partition("@")[0].lower()
    known = await asyncio.to_thread(_skills, home)
    return next((name for name, _ in known if slug(name) == word), "")


async def publish(store: Store, line: Line, bot_id: int, *, home: Home, lang: str, limit_s: float) -> bool:
    """Tell the server the commands if they are not those it was told last; whether it was asked and took them."""
    commands = menu(lang, await asyncio.to_thread(_skills, home))
    key = f"telegram.commands.{bot_id}"
    known = hashlib.sha256(json.dumps(commands).encode()).hexdigest()
    row = await store.one("select value from settings where key = ?", key)
    if row is not None and row["value"] == known:
        return False
    try:
        async with asyncio.timeout(limit_s):
            await line.call("setMyCommands", commands=commands)
    except (BotError, TimeoutError) as error:
        log.warning("The menu of commands stays as it was: %s", error or "no answer in time")
        return False
    await store.run(
        "insert into settings (key, value) values (?, ?) on conflict (key) do update set value = excluded.value",
        *(key, known),
    )
    return True
