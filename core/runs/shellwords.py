"""What a shell line is made of: commands, their words, where their output goes. `shellreader.parse` makes them.

What cannot be known without running the line (a substitution, a variable that nobody set here) stays `UNKNOWN`.
"""

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

UNKNOWN = "\ue000"  # stands for text that only running the line would tell
Kind = Literal["text", "quoted", "glob", "var", "tilde", "unknown"]
Variables = Mapping[str, tuple[str, ...]]

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_RANGE = re.compile(r"\{[^{}]*\.\.[^{}]*\}")
MAX_VALUES = 64


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a word; `text` is a variable's name where the kind is "var"."""

    kind: Kind
    text: str
    split: bool = True  # an expansion outside of quotes: blanks in it make more words


@dataclass(frozen=True, slots=True)
class Word:
    """One word before expansion."""

    pieces: tuple[Piece, ...]

    @property
    def literal(self) -> str | None:
        """The word itself, if nothing in it has to be expanded."""
        if any(one.kind not in {"text", "quoted"} for one in self.pieces):
            return None
        return "".join(one.text for one in self.pieces)

    @property
    def globs(self) -> bool:
        """File names take this word's place."""
        return any(one.kind == "glob" for one in self.pieces)

    @property
    def bare(self) -> bool:
        """Nothing of it was quoted, so it can be a reserved word."""
        return all(one.kind == "text" for one in self.pieces)

    def values(self, known: Variables) -> list[str]:
        """All that the word may become, words split at blanks; `UNKNOWN` stands in what cannot be told."""
        choices: list[tuple[str, ...]] = []
        for one in self.pieces:
            if one.kind == "var":
                choices.append(known.get(one.text, (UNKNOWN,)))
            elif one.kind == "tilde":
                choices.append(known.get("HOME", (UNKNOWN,)))
            else:
                choices.append((UNKNOWN if one.kind == "unknown" else one.text,))
        found: list[str] = []
        split = any(one.kind == "var" and one.split for one in self.pieces)
        for parts in itertools.islice(itertools.product(*choices), MAX_VALUES):
            whole = "".join(parts)
            for text in _braced(whole) if self.braces else (whole,):
                found += text.split() if split else [text]
        return found

    @property
    def braces(self) -> bool:
        """Some shells make several words of it."""
        text = "".join(one.text for one in self.pieces if one.kind == "text")
        return bool(_BRACES.search(text) or _RANGE.search(text))


def _braced(text: str) -> list[str]:
    done: list[str] = []
    todo = [text]
    while todo and len(done) + len(todo) <= MAX_VALUES:
        one = todo.pop()
        if found := _BRACES.search(one):
            todo += [one[: found.start()] + part + one[found.end() :] for part in found[1].split(",")]
        else:
            done.append(one)
    return [*done, *todo]


@dataclass(frozen=True, slots=True)
class Redirect:
    """Where input comes from or output goes to; `body` is the text of a here-document."""

    op: str
    target: Word
    body: str = ""

    @property
    def writes(self) -> bool:
        """A file is opened for writing, or made."""
        if self.op in {">&", "<&"}:
            plain = self.target.literal
            return self.op == ">&" and not (plain is not None and re.fullmatch(r"\d+-?|-", plain))
        return self.op in {">", ">>", ">|", "<>", "&>", "&>>"}


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command. `before` is the operator in front of it; `nested` ones run inside another's word or shell."""

    words: tuple[Word, ...]
    assigns: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    before: str = ""
    nested: bool = False

    @property
    def loop(self) -> tuple[str, tuple[Word, ...]] | None:
        """Name and values of a `for`."""
        plain = [word.literal for word in self.words[:3]]
        if len(plain) == 3 and plain[0] == "for" and plain[2] == "in" and plain[1]:
            return plain[1], self.words[3:]
        return None


@dataclass(frozen=True, slots=True)
class Script:
    """All the commands of a line in the order of the text, and what is odd about it.

    Oddities: substitution, expansion, assignment, background, compound, heredoc, output, brace, function,
    continuation, incomplete.
    """

    commands: tuple[Command, ...]
    oddities: frozenset[str]
