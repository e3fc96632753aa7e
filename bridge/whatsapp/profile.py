"""Which id is which on WhatsApp's screens, as data: a rename in a new version changes no code."""

import json
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from bridge.screen import Node, Tree
from core.errors import Invalid

LANGUAGES = ("en", "es", "pt", "de", "fr", "it")
NEEDED = (
    *("list", "row", "row_title", "row_stamp", "row_preview", "row_badge", "archive_header", "new_chat"),
    *("bottom_nav", "chat_title", "composer", "send", "main", "text", "time", "status", "sender", "day"),
    "unread_divider",
)


def version_numbers(version: str) -> tuple[int, ...]:
    """`2.26.38.73` as numbers that compare."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


class Candidate(BaseModel):
    """An id that an element has, or had, in some versions."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, frozen=True)

    id: str = Field(min_length=1, pattern=r"^[\w./:]+$")
    since: str = Field("", alias="from")
    until: str = Field("", alias="to")

    def fits(self, version: str) -> bool:
        """Whether a version may have it; an unknown version may have everything."""
        here = version_numbers(version)
        if not here:
            return True
        until = version_numbers(self.until)
        return (not self.since or version_numbers(self.since) <= here) and (
            not until or here[: len(until)] <= until
        )


class Profile(BaseModel):
    """Ordered candidates for each element, kinds of message by row, and words where no id exists."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, frozen=True)

    name: str
    format: Annotated[int, Field(ge=1, le=1)]
    since: str = Field(alias="from")
    until: str = Field(alias="to")
    evidence: str = ""
    packages: tuple[str, ...]
    elements: dict[str, tuple[Candidate, ...]]
    row_kinds: dict[str, str]
    words: dict[str, dict[str, str]]

    @field_validator("elements", mode="before")
    @classmethod
    def _short_form(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        return {
            name: [{"id": one} if isinstance(one, str) else one for one in ids]
            if isinstance(ids, list)
            else ids
            for name, ids in value.items()
        }

    @model_validator(mode="after")
    def _whole(self) -> "Profile":
        if missing := [name for name in NEEDED if not self.elements.get(name)]:
            raise ValueError(f"no ids for {', '.join(missing)}")
        for key, by_language in self.words.items():
            if strange := set(by_language) - set(LANGUAGES):
                raise ValueError(f"words.{key} has unknown languages: {', '.join(sorted(strange))}")
            for language, pattern in by_language.items():
                try:
                    re.compile(pattern)
                except re.error as error:
                    raise ValueError(f"words.{key}.{language} is no pattern: {error}") from error
        return self

    def for_version(self, version: str) -> "Profile":
        """The profile with the candidates that this version may have."""
        elements = {name: tuple(c for c in ids if c.fits(version)) for name, ids in self.elements.items()}
        return self.model_copy(update={"elements": elements})

    def knows(self, version: str) -> bool:
        """Whether the version lies within what the profile was made for."""
        here = version_numbers(version)
        return not here or version_numbers(self.since) <= here <= version_numbers(self.until)

    def ids(self, element: str) -> tuple[str, ...]:
        """The ids an element may have, the likeliest first."""
        return tuple(candidate.id for candidate in self.elements.get(element, ()))

    def find(self, where: Node | Tree, element: str) -> Node | None:
        """The first node of the likeliest id that is there."""
        return next((node for id in self.ids(element) if (node := where.find(id)) is not None), None)

    def all(self, where: Node | Tree, element: str) -> list[Node]:
        """All nodes of the likeliest id that is there."""
        return next((nodes for id in self.ids(element) if (nodes := where.all(id))), [])

    def has(self, where: Node | Tree, *elements: str) -> bool:
        """Whether every one of the elements is there."""
        return all(self.find(where, element) is not None for element in elements)

    def is_a(self, node: Node, element: str) -> bool:
        """Whether this node is that element."""
        return any(one == (node.full_id if "/" in one else node.id) for one in self.ids(element))

    def says(self, key: str, text: str) -> bool:
        """Whether the whole text is what some language says for `key`."""
        return bool(
            _pattern("|".join(f"(?:{p})" for p in self.words.get(key, {}).values())).fullmatch(text.strip())
        )

    def mentions(self, key: str, text: str) -> re.Match[str] | None:
        """What some language says for `key`, somewhere in the text."""
        for pattern in self.words.get(key, {}).values():
            if match := _pattern(pattern).search(text):
                return match
        return None


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern or r"(?!)", re.IGNORECASE)


def load_profile(path: Path | None = None) -> Profile:
    """The profile that ships with the product, or another file; a damaged one is refused with the reason."""
    name = str(path) if path else "bridge/profiles/whatsapp.json"
    try:
        text = path.read_text("utf-8") if path else _shipped()
        return Profile.model_validate(json.loads(text))
    except OSError as error:
        raise Invalid(f"The screen profile {name} cannot be read: {error.strerror}.") from error
    except json.JSONDecodeError as error:
        raise Invalid(f"The screen profile {name} is not JSON (line {error.lineno}).") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise Invalid(f"The screen profile {name} is wrong at {place}: {first['msg']}.") from error


def _shipped() -> str:
    return resources.files("bridge").joinpath("profiles", "whatsapp.json").read_text("utf-8")
