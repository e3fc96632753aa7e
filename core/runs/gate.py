"""May this call run? A pure decision over every tool call, taken by the dispatcher before the tool is reached."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from core.paths import Home
from core.tool import Effect, Tool

Mode = Literal["total", "automatico", "permiso"]


class Verdict(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Policy:
    """What the owner has decided: the mode, the tools that need no question, and whether a question can be put."""

    mode: Mode = "automatico"
    allowed: frozenset[str] = field(default_factory=frozenset)
    can_ask: bool = False


_ASKED = {
    "total": frozenset[Effect](),
    "automatico": frozenset({Effect.SEND, Effect.DANGER}),
    "permiso": frozenset({Effect.WRITE, Effect.SEND, Effect.DANGER}),
}


def decide(tool: Tool, *, touches_credentials: bool, policy: Policy) -> Verdict:
    """The strictest answer wins; a surface that cannot ask refuses instead.

    Credential files are a floor: no mode and no list, `total` included, writes them unasked.
    """
    asks = touches_credentials or (tool.effect in _ASKED[policy.mode] and tool.name not in policy.allowed)
    if not asks:
        return Verdict.ALLOW
    return Verdict.ASK if policy.can_ask else Verdict.REFUSE


# Families whose tools write where their arguments say. The others have a place of their own to write to.
WRITERS = frozenset({"files", "shell", "code", "mcp"})

_SECRET_NAME = re.compile(
    r"\.env(\..+)?|auth\.json|\.?credentials.*(\.json|\.toml|\.ya?ml)?|id_(rsa|dsa|ed25519|ecdsa).*|.*\.(pem|key|p12|pfx|keystore|jks)"
    r"|\.netrc|_netrc|\.npmrc|\.pypirc|\.pgpass|\.htpasswd|.*\.kdbx|owner\.token|vault\.key|service[-_]account.*\.json",
    re.IGNORECASE,
)
_SAMPLE = re.compile(r".*\.(example|sample|template|dist|pub)", re.IGNORECASE)
_SECRET_FOLDERS = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".config/gcloud",
    ".config/gh",
    ".password-store",
    ".local/share/keyrings",
)
# What a home holds besides secrets.
_OPEN_IN_HOME = frozenset({"media", "skills", "logs", "projects", "memory.md"})
_SECRET_IN_PROJECT = re.compile(r"(config|mcps)\.json.*", re.IGNORECASE)


def _within(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents


def holds_credentials(path: Path, home: Home, user: Path) -> bool:
    """Whether a file is one that keeps credentials, by its own name or by where it really is."""
    for place in {path, path.resolve()}:
        name = place.name
        if _SECRET_NAME.fullmatch(name) and not _SAMPLE.fullmatch(name):
            return True
        if any(_within(place, user / folder) for folder in _SECRET_FOLDERS):
            return True
        for root in {home.root, home.root.resolve()}:
            if not _within(place, root):
                continue
            below = place.relative_to(root).parts
            if below and below[0] not in _OPEN_IN_HOME:
                return True
            if below and below[0] == "projects" and _SECRET_IN_PROJECT.fullmatch(name):
                return True
    return False


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def _words(command: str) -> list[str]:
    """The words of a shell line that could be paths; a line that does not parse is cut at blanks."""
    spaced = re.sub(r"[;&|<>()`]", " ", command)
    try:
        words = shlex.split(spaced)
    except ValueError:
        words = re.split(r"[\s\"']+", spaced)
    return [part for word in words for part in (word, *word.split("=", 1)[1:]) if part]


def touches_credentials(
    tool: Tool, args: Mapping[str, Any], home: Home, *, user: Path | None = None, cwd: Path | None = None
) -> bool:
    """Whether a call of a writing tool names a file that holds credentials, in whichever argument."""
    if tool.effect is Effect.READ or tool.group not in WRITERS:
        return False
    user, cwd = user or Path.home(), cwd or Path.cwd()
    for text in _texts(args):
        words = _words(text) if tool.group == "shell" else [text]
        for word in words:
            if len(word) > 4096 or "\n" in word or "\0" in word:
                continue  # a body, not a path
            plain = re.sub(r"^(\$HOME|\$\{HOME\})(?=/|$)", "~", word)
            plain = re.sub(r"^\$\{?APX_HOME\}?(?=/|$)", str(home.root), plain)
            path = user / plain[2:] if plain.startswith("~/") else user if plain == "~" else cwd / plain
            # In a shell line a folder of secrets is enough: what follows a `cd` needs no path any more.
            if holds_credentials(path, home, user) or (tool.group == "shell" and path == home.root):
                return True
    return False
