"""The configuration in force: defaults, then `config.json`, then what the environment lays over it.

A file that does not hold is named with key and line, and what was in force stays. The file is followed while
the app lives; a change is one `ConfigChanged` with the keys that differ.
"""

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from core.config_lines import lines
from core.errors import Invalid
from core.events import Bus, ConfigChanged, ConfigRejected
from core.paths import Home, replace
from core.settings import Settings
from core.vault import PREFIX, Vault
from core.watched import Stamp, looking, stamp

log = logging.getLogger(__name__)
SECRET_KEYS = ("api_key", "bot_token")
SECRET_MAPS = ("env", "headers")  # every value in them is a secret
MARKER = "••••"


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Dictionaries leaf by leaf; a list replaces the list below it."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = (
            _merge(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
        )
    return merged


def _parse(text: str, where: str) -> dict[str, Any]:
    try:
        raw = json.loads(text)
    except json.JSONDecodeError as error:
        raise Invalid(
            f"{where} line {error.lineno}: {error.msg}. The last good configuration stays."
        ) from error
    if not isinstance(raw, dict):
        raise Invalid(f"{where} line 1: an object {{...}} is expected. The last good configuration stays.")
    return raw


def _explain(error: ValidationError, text: str, where: str) -> Invalid:
    """One sentence for the first thing that is wrong, with its line where the file has one."""
    places = lines(text)
    sentences, fields = [], []
    for one in error.errors():
        path = tuple(part for part in one["loc"] if isinstance(part, str | int))
        key = ".".join(map(str, path))
        line = next((places[path[:n]] for n in range(len(path), 0, -1) if path[:n] in places), None)
        what = (
            "this key does not exist"
            if one["type"] == "extra_forbidden"
            else one["msg"].removeprefix("Value error, ")
        )
        sentences.append(f"{where}{f' line {line}' if line else ''}: {key}: {what}")
        fields.append(key)
    more = f" (and {len(sentences) - 1} more)" if len(sentences) > 1 else ""
    return Invalid(f"{sentences[0]}{more}. The last good configuration stays.", fields=tuple(fields))


def _laid_over(env: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """What each variable lays over the file, the lowest first."""
    laid: dict[str, dict[str, Any]] = {}
    for name in ("APX_CONFIG", "APX_CONFIG_CONTENT"):
        if value := env.get(name):
            text = Path(value).expanduser().read_text(encoding="utf-8") if name == "APX_CONFIG" else value
            laid[name] = _parse(text, name)
    return laid


def _environment(env: Mapping[str, str], laid: Mapping[str, Any] | None = None) -> dict[str, Any]:
    over: dict[str, Any] = {}
    for layer in (_laid_over(env) if laid is None else laid).values():
        over = _merge(over, layer)
    if port := env.get("APX_PORT"):
        if not port.isdigit():
            raise Invalid(f"APX_PORT must be a number, not {port!r}.")
        over["port"] = int(port)
    return over


def _differences(old: Any, new: Any, path: str = "") -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        keys = sorted({*old, *new})
        return [
            d
            for key in keys
            for d in _differences(old.get(key), new.get(key), f"{path}.{key}" if path else key)
        ]
    return [] if old == new else [path]


class Config:
    """What is in force (`now`), how it is changed (`set`), and why the file is not it (`problem`)."""

    def __init__(self, home: Home, bus: Bus, vault: Vault | None = None) -> None:
        self._path = home.config
        self._bus = bus
        self._vault = vault
        self._raw: dict[str, Any] = {}
        self._laid: dict[str, dict[str, Any]] = {}
        self._seen: Stamp = None
        self._writing = asyncio.Lock()
        self.now = Settings()
        self.problem: str | None = None
        self._load(first=True)

    def _load(self, *, first: bool = False) -> None:
        self._seen = stamp(self._path)
        try:
            text = self._path.read_text(encoding="utf-8") if self._seen else "{}"
            raw = _parse(text or "{}", self._path.name)
            self._adopt(raw, text)
        except (Invalid, UnicodeDecodeError, OSError) as error:
            self.problem = str(error)
            log.warning("%s", error)
            if not first:
                self._bus.emit(ConfigRejected(why=self.problem))
            else:
                with suppress(Invalid, ValidationError):
                    self.now = Settings.model_validate(_environment(os.environ))

    def _adopt(self, raw: dict[str, Any], text: str) -> None:
        laid = _laid_over(os.environ)
        try:
            fresh = Settings.model_validate(_merge(raw, _environment(os.environ, laid)))
        except ValidationError as error:
            raise _explain(error, text, self._path.name) from error
        keys = _differences(self.now.model_dump(), fresh.model_dump())
        self._raw, self._laid, self.now, self.problem = raw, laid, fresh, None
        if keys:
            self._bus.emit(ConfigChanged(keys=tuple(keys)))

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """Edits of the file from outside are taken while inside."""
        async with looking(self._look):
            yield

    async def _look(self) -> None:
        if stamp(self._path) != self._seen:
            async with self._writing:
                self._load()

    async def set(self, changes: Mapping[str, Any], *, unset: tuple[str, ...] | list[str] = ()) -> None:
        """Change dotted keys in the file and in force, all or nothing; `Invalid` names the key that is wrong."""
        async with self._writing:
            if stamp(self._path) != self._seen:
                self._load()
            if self.problem:
                raise Invalid(f"Nothing was changed: {self.problem}")
            raw = json.loads(json.dumps(self._raw))
            for key in unset:
                _remove(raw, key)
            for key, value in changes.items():
                _place(raw, key, value, self._raw)
            text = json.dumps(raw, indent=2, ensure_ascii=False) + "\n"
            before = self.now
            try:
                Settings.model_validate(_merge(raw, _environment(os.environ)))
            except ValidationError as error:
                problem = _explain(error, "", "The change")
                sentence = str(problem).replace(
                    " The last good configuration stays.", " Nothing was changed."
                )
                raise Invalid(sentence, fields=problem.fields) from error
            replace(self._path, text)
            self._seen = stamp(self._path)
            self.now = before
            self._adopt(raw, text)

    def raw(self) -> dict[str, Any]:
        """What the file says, as it says it (secrets included: never show it to anybody)."""
        return json.loads(json.dumps(self._raw))  # type: ignore[no-any-return]

    def layers(self) -> dict[str, dict[str, Any]]:
        """What is in force, layer by layer, the lowest first (secrets included: never show it to anybody)."""
        return {"config.json": self._raw, **self._laid}

    def shown(self, *, effective: bool = True) -> dict[str, Any]:
        """The configuration with every secret replaced by a marker."""
        return _masked(self.now.model_dump(mode="json") if effective else self.raw())  # type: ignore[no-any-return]

    async def secret(self, value: str) -> str:
        """The plain secret behind a configuration value: `vault:NAME` is opened, anything else is itself."""
        if not value.startswith(PREFIX):
            return value
        name = value.removeprefix(PREFIX)
        plain = await self._vault.reveal(name) if self._vault else None
        if plain is None:
            raise Invalid(f"The vault holds no secret named {name}. Store it again.")
        return plain


def marker(secret: str) -> str:
    """How a secret is shown: its last characters at most, and nothing of a short one."""
    if not secret or secret.startswith(PREFIX):
        return secret and MARKER
    return MARKER + (secret[-4:] if len(secret) >= 12 else "")


def key_below(key: str, name: str) -> str:
    """The key that decides whether what stands at `name` below `key` is a secret."""
    return SECRET_KEYS[0] if key in SECRET_MAPS else name


def _masked(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _masked(inner, key_below(key, name)) for name, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner, key) for inner in value]
    return marker(value) if key in SECRET_KEYS and isinstance(value, str) else value


def _split(key: str) -> list[str]:
    parts = key.split(".")
    if not all(parts):
        raise Invalid(f"{key!r} is not the name of a setting.")
    return parts


def _place(raw: dict[str, Any], key: str, value: Any, old: dict[str, Any]) -> None:
    """Put a value at a dotted key; a secret's marker that comes back keeps what is there."""
    parts = _split(key)
    below: Any = raw
    for part in parts[:-1]:
        if isinstance(below, list) and part.isdigit() and int(part) < len(below):
            below = below[int(part)]
        elif isinstance(below, dict):
            below = below.setdefault(part, {})
        else:
            raise Invalid(f"{key}: {part} is not a section.", fields=(key,))
    kept = _kept(value, _at(old, parts), parts[-1])
    if isinstance(below, list) and parts[-1].isdigit() and int(parts[-1]) < len(below):
        below[int(parts[-1])] = kept
    elif isinstance(below, dict):
        below[parts[-1]] = kept
    else:
        raise Invalid(f"{key}: there is no such place.", fields=(key,))


def _kept(value: Any, old: Any, key: str) -> Any:
    if key in SECRET_KEYS and isinstance(value, str) and value.startswith(MARKER):
        return old if isinstance(old, str) else ""
    if isinstance(value, dict):
        return {
            name: _kept(inner, old.get(name) if isinstance(old, dict) else None, key_below(key, name))
            for name, inner in value.items()
        }
    if isinstance(value, list):
        # Items are matched by name, so that a reordered list does not swap its secrets.
        named = (
            {item.get("name"): item for item in old if isinstance(item, dict)}
            if isinstance(old, list)
            else {}
        )
        return [
            _kept(item, named.get(item.get("name")) if isinstance(item, dict) else None, key)
            for item in value
        ]
    return value


def _at(raw: Any, parts: list[str]) -> Any:
    for part in parts:
        if isinstance(raw, list) and part.isdigit() and int(part) < len(raw):
            raw = raw[int(part)]
        elif isinstance(raw, dict):
            raw = raw.get(part)
        else:
            return None
    return raw


def _remove(raw: dict[str, Any], key: str) -> None:
    parts = _split(key)
    below = _at(raw, parts[:-1])
    if isinstance(below, dict):
        below.pop(parts[-1], None)
