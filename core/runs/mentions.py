"""Whom a line in a room speaks to: pure, so that every way of naming somebody is a row in a test."""

import re
import unicodedata
from collections.abc import Mapping, Sequence

from core.rooms import ASSISTANT, Member
from core.runs.peers import ALIASES

_AT = re.compile(r"(?<![\w.@/-])@(?=\w)")
# A name ends where no letter, digit or joined word goes on: "@ana's" and "@ana." speak to Ana, "@ana-b" does not.
_END = re.compile(r"(?![\w]|-\w)")


def folded(text: str) -> str:
    """Without case, accents and odd widths; white space counts as one space."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return re.sub(r"[^\S\n]+", " ", "".join(one for one in apart if not unicodedata.combining(one)))


def mentioned(text: str, members: Sequence[Member]) -> list[Member]:
    """The members that a text names with @, each once, in the order in which they are named first.

    A slug or a whole name is one member's; a single word of a name is every member's who bears it.
    """
    exact, words = _names(members)
    names = sorted({*exact, *words}, key=len, reverse=True)
    plain, found = folded(text), dict[str, Member]()
    for at in _AT.finditer(plain):
        name = next(
            (
                one
                for one in names
                if plain.startswith(one, at.end()) and _END.match(plain, at.end() + len(one))
            ),
            None,
        )
        if name is not None:
            for one in [exact[name]] if name in exact else words[name]:
                found.setdefault(one.slug, one)
    return list(found.values())


def _names(members: Sequence[Member]) -> tuple[Mapping[str, Member], Mapping[str, list[Member]]]:
    exact: dict[str, Member] = {}
    words: dict[str, list[Member]] = {}
    for one in sorted(members, key=lambda one: one.slug == ASSISTANT):
        exact.setdefault(folded(one.slug), one)
        if one.slug == ASSISTANT:
            for alias in (one.handle, *sorted(ALIASES)):
                exact.setdefault(alias, one)
    for one in members:
        name = folded(one.name).strip()
        exact.setdefault(name, one)
        for word in re.findall(r"\w+", name):
            words.setdefault(word, []).append(one)
    return {name: one for name, one in exact.items() if name}, words
