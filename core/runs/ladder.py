"""Which models may stand in for which: what was granted, minus what any restriction takes away. Pure.

Only the owner's own configuration grants: the file, the one named by APX_CONFIG, or APX_CONFIG_CONTENT. Every
other layer narrows, whatever it says and in whatever order it is read; nobody but the owner adds or reorders.
"""

import ipaddress
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from urllib.parse import urlsplit

from core.runs.routing import LLM_ROUTING, MODEL_FALLBACK
from core.runs.targets import PRACTICE, Target

MOST = 8
LOCAL = frozenset({PRACTICE, "ollama", "ollama_chat", "lm_studio", "llamafile", "llama_cpp", "localai"})


class Kind(IntEnum):
    """Where a layer comes from. A higher granting layer speaks instead of a lower one; the others restrict."""

    USER = 1
    CUSTOM = 2
    INLINE = 3
    REMOTE = 4
    PROJECT = 5
    MANAGED = 6

    @property
    def grants(self) -> bool:
        return self <= Kind.INLINE


@dataclass(frozen=True, slots=True)
class Layer:
    """What one layer says of the lists; None where it says nothing. A restriction that is `broken` allows nothing."""

    kind: Kind
    where: str
    fallback: tuple[str, ...] | None = None
    models: tuple[str, ...] | None = None
    enabled: bool | None = None
    broken: str = ""

    @property
    def allowed(self) -> frozenset[str] | None:
        if self.broken:
            return frozenset()
        if self.fallback is None and self.models is None:
            return None
        return frozenset({*(self.fallback or ()), *(self.models or ())})


@dataclass(frozen=True, slots=True)
class Rung:
    """A target that may stand in, the list it stands in, and who granted it."""

    target: str
    via: str
    granted_by: str


@dataclass(frozen=True, slots=True)
class Removed:
    """A granted target that is not in force. `why`: project, remote, managed, local, primary, twice, beyond."""

    target: str
    via: str
    granted_by: str
    why: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class Ladder:
    rungs: tuple[Rung, ...] = ()
    removed: tuple[Removed, ...] = ()

    @property
    def why_none(self) -> str:
        """Why there is no next target, once the last rung is used up."""
        if self.rungs:
            return "no_more"
        taken = {one.why for one in self.removed} - {"primary", "twice"}
        return "local" if "local" in taken else "narrowed" if taken else "no_grant"


def build(
    layers: Iterable[Layer],
    primary: str,
    *,
    private: Callable[[str], bool],
    here: Callable[[str], bool],
) -> Ladder:
    """The ladder of a primary. `private` targets never give way to one that does not run `here`."""
    ordered = sorted(layers, key=lambda layer: (layer.kind, layer.where))
    restrictions = [layer for layer in ordered if not layer.kind.grants]
    rungs: list[Rung] = []
    removed: list[Removed] = []
    for one in _granted([layer for layer in ordered if layer.kind.grants]):
        why, by = _taken(one, restrictions)
        if not why and one.target == primary:
            why = "primary"
        elif not why and private(primary) and not here(one.target):
            why = "local"
        elif not why and any(one.target == rung.target for rung in rungs):
            why = "twice"
        elif not why and len(rungs) == MOST:
            why = "beyond"
        if why:
            removed.append(Removed(one.target, one.via, one.granted_by, why, by))
        else:
            rungs.append(one)
    return Ladder(tuple(rungs), tuple(removed))


def _granted(layers: list[Layer]) -> Iterator[Rung]:
    """Each list as the highest layer that names it says it."""
    for layer in reversed(layers):
        if layer.fallback is not None:
            yield from (Rung(target, LLM_ROUTING, layer.where) for target in layer.fallback)
            break
    enabled = next((layer.enabled for layer in reversed(layers) if layer.enabled is not None), False)
    for layer in reversed(layers):
        if enabled and layer.models is not None:
            yield from (Rung(target, MODEL_FALLBACK, layer.where) for target in layer.models)
            break


def _taken(one: Rung, restrictions: list[Layer]) -> tuple[str, str]:
    for layer in restrictions:
        off = one.via == MODEL_FALLBACK and layer.enabled is False
        if off or (layer.allowed is not None and one.target not in layer.allowed):
            return layer.kind.name.lower(), f"{layer.where} ({layer.broken})" if layer.broken else layer.where
    return "", ""


def loopback(url: str) -> bool:
    """Whether an address is this machine, by its exact host: a name that merely begins like one is not."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if parts.scheme not in {"http", "https"}:
        return False
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def runs_here(target: Target, base_url: str) -> bool:
    """Whether a request to this target stays on this machine."""
    if target.provider == PRACTICE:
        return True
    if target.model.endswith(("-cloud", ":cloud")):
        return False  # a local program that passes them on
    return loopback(base_url) if base_url else target.provider in LOCAL


def is_private(target: Target, base_url: str) -> bool:
    """Whether choosing this target says that the conversation stays local, wherever its server stands."""
    return target.provider in LOCAL or runs_here(target, base_url)
