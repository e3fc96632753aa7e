"""Permissions that wait for the owner, as the screens ask them: read from the core, answered once."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from desktop.questions import Question
from desktop.words import Words

if TYPE_CHECKING:
    from core.runs.approvals import Pending

CHOICES = ("approve", "always", "deny")  # as the core names them; a round's questions have other answers


def question(one: "Pending", words: Words, agent: str) -> Question:
    """The card of one permission: who asks for it and from where, and all of what would run."""
    return Question(
        id=one.id,
        kind="permission",
        who=title(one.tool, words),
        text=one.why,
        draft=one.shown or one.summary,
        asker=origin(one, words, agent),
        warnings=one.warnings,
        choices=one.choices,
        expires_at=datetime.fromisoformat(one.expires_at),
    )


def title(tool: str, words: Words) -> str:
    """What is asked for, as people say it."""
    return words.known(f"tool.name.{tool}", "") or words("card.allow.what", tool=tool.replace("_", " "))


def origin(one: "Pending", words: Words, agent: str) -> str:
    """Who asks, on which channel, in which project and folder."""
    facts = [one.agent or agent, words.known(f"channel.{one.channel}", one.channel)]
    if one.project_id != "default":
        facts.append(words("card.project", project=one.project_id))
    if one.cwd:
        facts.append(words("card.folder", path=one.cwd))
    return " · ".join(facts)


def ending(one: "Pending", sentence: str, words: Words) -> tuple[str, str]:
    """How it was decided elsewhere, and in which tone the card says so."""
    if one.state not in {"approved", "denied"}:
        return sentence, ""
    where = words.known(f"channel.{one.decided_by}", one.decided_by)
    return words(f"card.ended.{one.state}", where=where), "accent" if one.state == "approved" else "danger"


def command(args: Mapping[str, Any]) -> str:
    """Arguments as people read them: a single text as itself, more of them by name."""
    if len(args) == 1 and isinstance(only := next(iter(args.values())), str):
        return only
    return "\n".join(
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in args.items()
    )
