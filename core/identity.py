"""Who the assistant is and who it works for: `identity.json`, live everywhere at once."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.config import Config
from core.errors import Invalid
from core.events import Bus, ConfigChanged, IdentityChanged
from core.paths import Home, replace, set_aside
from core.texts import system_language
from core.watched import Stamp, looking, stamp

log = logging.getLogger(__name__)


class Identity(BaseModel):
    """The fields of an identity; the order is the order in which people see them."""

    model_config = ConfigDict(frozen=True, extra="ignore", str_strip_whitespace=True)

    agent_name: str = Field("APX", min_length=1, max_length=60, title="identity.agent_name")
    owner_name: str = Field("", max_length=80, title="identity.owner_name")
    personality: str = Field("", max_length=1000, title="identity.personality")
    owner_context: str = Field("", max_length=4000, title="identity.owner_context")
    language: str = Field(
        "", max_length=20, title="identity.language", pattern=r"^$|^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*$"
    )
    timezone: str = Field("", max_length=60, title="identity.timezone")


class IdentityFile:
    """The identity in force, and its file followed while the app lives."""

    def __init__(self, home: Home, bus: Bus, config: Config) -> None:
        self._path = home.identity
        self._bus = bus
        self._config = config
        self._seen: Stamp = None
        self._writing = asyncio.Lock()
        self.now = Identity()
        self._load(first=True)
        self._leave = bus.subscribe(ConfigChanged, self._config_changed)

    @property
    def icon(self) -> str:
        """The key of the blob that stands for the assistant."""
        return self._config.now.super_agent.icon or "noche"

    @property
    def language(self) -> str:
        """The language people are spoken to in: the identity's, the configuration's, else the system's."""
        return self.now.language or self._config.now.user.language or system_language()

    def _config_changed(self, event: ConfigChanged) -> None:
        if "super_agent.icon" in event.keys or "user.language" in event.keys:
            self._tell()

    def _tell(self) -> None:
        self._bus.emit(IdentityChanged(agent_name=self.now.agent_name, icon=self.icon))

    def _load(self, *, first: bool = False) -> None:
        self._seen = stamp(self._path)
        if self._seen is None:
            return
        try:
            raw = json.loads(self._path.read_text(encoding="utf-8"))
            fresh = Identity.model_validate(raw)
        except (ValueError, OSError) as error:
            # A broken name must not keep the app from starting, and the text must not be lost either.
            if first:
                log.warning(
                    "identity.json cannot be read (%s); it is now %s", error, set_aside(self._path).name
                )
                self._seen = None
            else:
                log.warning("identity.json cannot be read (%s); the identity in force stays", error)
            return
        if fresh != self.now:
            self.now = fresh
            if not first:
                self._tell()

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """Edits of the file from outside are taken while inside."""
        try:
            async with looking(self._look):
                yield
        finally:
            self._leave()

    async def _look(self) -> None:
        if stamp(self._path) != self._seen:
            self._load()

    async def set(self, **changes: Any) -> Identity:
        """Change fields; `Invalid` names the one that does not hold, and then nothing changes."""
        if unknown := set(changes) - set(Identity.model_fields):
            names = ", ".join(Identity.model_fields)
            raise Invalid(
                f"No such field: {', '.join(sorted(unknown))}. There are: {names}.",
                fields=tuple(sorted(unknown)),
            )
        async with self._writing:
            try:
                fresh = Identity.model_validate(self.now.model_dump() | changes)
            except ValidationError as error:
                first = error.errors()[0]
                name = str(first["loc"][0])
                raise Invalid(f"{name}: {first['msg']}. Nothing was changed.", fields=(name,)) from error
            replace(self._path, json.dumps(fresh.model_dump(), indent=2, ensure_ascii=False) + "\n")
            self._seen = stamp(self._path)
            if fresh != self.now:
                self.now = fresh
                self._tell()
            return fresh
