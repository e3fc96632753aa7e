"""May this call run? A pure decision over every tool call, taken by the dispatcher before the tool is reached."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from core.paths import Home
from core.runs.credentials import Place, holds_credentials, real
from core.runs.shellreader import parse
from core.runs.shellrules import against_us, changes_credentials
from core.runs.shellsafe import only_looks
from core.runs.shellwords import Script
from core.runs.surroundings import surroundings
from core.settings import SuperAgent
from core.tool import Effect, Tool

__all__ = [
    "Facts",
    "Policy",
    "Rating",
    "Risk",
    "Verdict",
    "decide",
    "examine",
    "holds_credentials",
    "policy_of",
    "rated",
    "touches_credentials",
]

Mode = Literal["total", "automatico", "permiso"]

# Families whose tools write where their arguments say. The others have a place of their own to write to.
WRITERS = frozenset({"files", "shell", "code", "mcp"})
# They only steer the conversation: nothing to ask about, and nothing to rate.
STEERING = frozenset({"finish", "ask_questions", "discover_tools"})


class Verdict(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    REFUSE = "refuse"


class Risk(StrEnum):
    """How grave the model thinks this call is."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    UNKNOWN = "UNKNOWN"


# The argument that a model rates its call with, where calls are rated.
RISK = "security_risk"
_ORDER = {Risk.LOW: 1, Risk.MEDIUM: 2, Risk.HIGH: 3}


@dataclass(frozen=True, slots=True)
class Rating:
    """From which risk on the owner is asked, and whether a call without one counts as grave."""

    confirm_at: Risk = Risk.HIGH
    confirm_unknown: bool = True


@dataclass(frozen=True, slots=True)
class Policy:
    """What the owner has decided: the mode, the tools that need no question, what never runs, and who can be asked."""

    mode: Mode = "automatico"
    allowed: frozenset[str] = field(default_factory=frozenset)
    can_ask: bool = False
    rating: Rating | None = None  # None: calls are not rated
    denied: tuple[str, ...] = ()


def policy_of(settings: SuperAgent, *, can_ask: bool) -> Policy:
    """The policy of the settings in force."""
    risk = settings.security_risk
    rating = Rating(Risk(risk.confirm_at), risk.confirm_unknown) if risk.enabled else None
    return Policy(
        settings.permission_mode, frozenset(settings.allowed_tools), can_ask, rating, settings.denied_tools
    )


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one call: what it does, whether it may change credentials, why it may never run."""

    effect: Effect
    credentials: bool = False
    never: str = ""  # the key of a sentence
    pattern: str = ""
    script: Script | None = None


def decide(
    tool: Tool,
    *,
    touches_credentials: bool,
    policy: Policy,
    effect: Effect | None = None,
    risk: Risk = Risk.UNKNOWN,
) -> Verdict:
    """The strictest answer wins; a surface that cannot ask refuses instead.

    Credential files are a floor: no mode and no list, `total` included, writes them unasked. With rated calls the
    rating takes the place of the effect in `automatico`, comes on top of the list in `permiso`, and in `total` stops
    what is rated HIGH.
    """
    grave = tool.name not in STEERING and _grave(policy, risk)
    asks = touches_credentials or grave or (_by_mode(tool, effect or tool.effect, policy))
    if not asks:
        return Verdict.ALLOW
    return Verdict.ASK if policy.can_ask else Verdict.REFUSE


def rated(tool: Tool, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a tool with the required rating of its call, except where there is nothing to rate."""
    if tool.name in STEERING:
        return schema
    function = schema["function"]
    parameters = function["parameters"]
    field = {
        "type": "string",
        "enum": [Risk.LOW.value, Risk.MEDIUM.value, Risk.HIGH.value],
        "description": (
            "How grave this very call is. LOW: it only looks, or is easily undone. MEDIUM: it changes things "
            "inside the project. HIGH: it destroys, spends, installs, reaches other people or leaves the project."
        ),
    }
    parameters = parameters | {
        "properties": {**parameters.get("properties", {}), RISK: field},
        "required": [*parameters.get("required", ()), RISK],
    }
    return schema | {"function": function | {"parameters": parameters}}


def _grave(policy: Policy, risk: Risk) -> bool:
    rating = policy.rating
    if rating is None:
        return False
    if policy.mode == "total":
        return risk is Risk.HIGH
    if risk is Risk.UNKNOWN:
        return rating.confirm_unknown
    return _ORDER[risk] >= _ORDER[rating.confirm_at]


def _by_mode(tool: Tool, effect: Effect, policy: Policy) -> bool:
    if tool.name in STEERING or tool.name in policy.allowed or policy.mode == "total":
        return False
    if policy.mode == "permiso":
        return True
    return policy.rating is None and effect in {Effect.SEND, Effect.DANGER}


def examine(
    tool: Tool,
    args: Mapping[str, Any],
    place: Place,
    policy: Policy,
    environment: Mapping[str, str] | None = None,
) -> Facts:
    """Look at one call: a shell line by its commands, everything else by its arguments."""
    script = parse(_line(args)) if tool.group == "shell" else None
    pattern = _denied(tool, args, script, policy.denied)
    if script is None:
        credentials = _names_credentials(tool, args, place)
        return Facts(_effect(tool, args, place), credentials, "denied" if pattern else "", pattern)
    env = surroundings() if environment is None else dict(environment)
    effect = Effect.READ if only_looks(script, _line(args), place) else tool.effect
    never = "denied" if pattern else against_us(script, place, env, os.getpid()) or ""
    return Facts(effect, changes_credentials(script, place, env), never, pattern, script)


def _effect(tool: Tool, args: Mapping[str, Any], place: Place) -> Effect:
    """What stands in `.git` is run by git: writing there is more than writing."""
    path = args.get("path")
    writes = tool.group == "files" and tool.effect is Effect.WRITE and isinstance(path, str)
    return Effect.DANGER if writes and ".git" in real(place.cwd / str(path)).parts else tool.effect


def touches_credentials(
    tool: Tool, args: Mapping[str, Any], home: Home, *, user: Path | None = None, cwd: Path | None = None
) -> bool:
    """Whether a call of a writing tool names a file that holds credentials, in whichever argument."""
    user, cwd = user or Path.home(), cwd or Path.cwd()
    place = Place(home, user, cwd, cwd)
    if tool.group == "shell" and tool.effect is not Effect.READ:
        env = {"HOME": str(user), "APX_HOME": str(home.root)}
        return changes_credentials(parse(_line(args)), place, env)
    return _names_credentials(tool, args, place)


def _line(args: Mapping[str, Any]) -> str:
    """The shell text of a call: its command, or all of its texts where it is called otherwise."""
    command = args.get("command")
    return command if isinstance(command, str) else "\n".join(_texts(args))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def _names_credentials(tool: Tool, args: Mapping[str, Any], place: Place) -> bool:
    if tool.effect is Effect.READ or tool.group not in WRITERS:
        return False
    for text in _texts(args):
        if not text or len(text) > 4096 or "\n" in text or "\0" in text:
            continue  # a body, not a path
        plain = re.sub(r"^(\$HOME|\$\{HOME\})(?=/|$)", "~", text)
        plain = re.sub(r"^\$\{?APX_HOME\}?(?=/|$)", lambda _: str(place.home.root), plain)
        path = place.user / plain[2:] if plain.startswith("~/") else place.cwd / plain
        if holds_credentials(path, place.home, place.user):
            return True
    return False


def _denied(tool: Tool, args: Mapping[str, Any], script: Script | None, patterns: tuple[str, ...]) -> str:
    """The owner's pattern that a call falls under: a tool's name, or `name: what` for a command or an argument."""
    if not patterns:
        return ""
    texts = [tool.name]
    if script is None:
        texts += [f"{tool.name}: {text}" for text in _texts(args)]
    else:
        for command in script.commands:
            words = [one for word in command.words for one in word.values({})]
            texts.append(f"{tool.name}: {' '.join(words)}")
        texts.append(f"{tool.name}: {_line(args)}")
    return next((one for one in patterns if any(fnmatchcase(text, one) for text in texts)), "")
