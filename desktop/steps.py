"""The first steps over one open app: what is set up, and what each step changes."""

from typing import TYPE_CHECKING, Any

from core.api.doctor import examine
from desktop.guide import Facts, Guide
from desktop.settings.models import PRACTICE
from desktop.words import Words

if TYPE_CHECKING:
    from core.app import App


def facts(app: "App") -> Facts:
    """What is set up now."""
    now, identity = app.config.now, app.identity.now
    agent = now.super_agent
    return Facts(
        identity.agent_name,
        identity.owner_name,
        agent.model if agent.enabled else "",
        now.telegram.enabled and any(one.bot_token for one in now.telegram.channels),
        bool(now.phone.serial),
    )


def guide(app: "App", words: Words) -> Guide:
    """The screen, with where its changes go."""

    async def name(field: str, value: Any) -> None:
        await app.identity.set(**{field: value})

    async def practice() -> None:
        await app.config.set({"super_agent.model": PRACTICE, "super_agent.enabled": True})

    return Guide(words, facts=lambda: facts(app), name=name, practice=practice, examine=lambda: examine(app))
