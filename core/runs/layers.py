"""What each layer of configuration says about models that stand in: the owner's own, the project's, the machine's."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from core.config import Config
from core.runs.ladder import Kind, Layer
from core.settings import LlmRouting, ModelFallback

IN_PROJECT = Path(".apx") / "config.json"
_GRANTS = {"config.json": Kind.USER, "APX_CONFIG": Kind.CUSTOM, "APX_CONFIG_CONTENT": Kind.INLINE}


def managed_file() -> Path:
    """The restrictions of whoever administers the machine."""
    if os.name == "nt":
        return Path(os.environ.get("PROGRAMDATA", r"C:\ProgramData")) / "apx" / "config.json"
    return Path("/etc/apx/config.json")


def read(config: Config, project: Path | None, managed: Path) -> list[Layer]:
    """Every layer there is. A restriction that cannot be read allows nothing: what it would forbid is not known."""
    layers = [_layer(_GRANTS[name], name, raw) for name, raw in config.layers().items()]
    if project is not None:
        layers.append(_file(Kind.PROJECT, project / IN_PROJECT))
    layers.append(_file(Kind.MANAGED, managed))
    return layers


def _file(kind: Kind, path: Path) -> Layer:
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return Layer(kind, str(path))
    except (OSError, ValueError) as error:
        return Layer(kind, str(path), broken=type(error).__name__)
    if not isinstance(raw, dict):
        return Layer(kind, str(path), broken="no object")
    return _layer(kind, str(path), raw)


def _layer(kind: Kind, where: str, raw: Mapping[str, Any]) -> Layer:
    try:
        fallback = _section(raw, "llm_routing").get("fallback")
        ordered = _section(_section(raw, "super_agent"), "model_fallback")
        given = {name: ordered[name] for name in ("enabled", "models") if name in ordered}
        listed = LlmRouting.model_validate({} if fallback is None else {"fallback": fallback})
        switched = ModelFallback.model_validate(given)
    except (ValidationError, TypeError) as error:
        # In a granting layer this value is not in force, or the configuration would not be.
        return Layer(kind, where, broken="" if kind.grants else type(error).__name__)
    return Layer(
        kind,
        where,
        fallback=None if fallback is None else listed.fallback,
        models=switched.models if "models" in given else None,
        enabled=switched.enabled if "enabled" in given else None,
    )


def _section(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = raw.get(name, {})
    if not isinstance(value, Mapping):
        raise TypeError(name)
    return value
