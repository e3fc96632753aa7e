"""What people are shown of a model's words: its thinking aloud is taken out, once, for every surface.

Tags that are quoted as code stay: there they are what is talked about.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

_NAMES = "think|thinking|thought|reasoning"
_PARTS = re.compile(
    rf"(```.*?(?:```|\Z)|`[^`\n]*`|</?(?:{_NAMES})>)",
    re.DOTALL | re.IGNORECASE,
)
_OPEN = re.compile(rf"<(?:{_NAMES})>", re.IGNORECASE)
_CLOSE = re.compile(rf"</(?:{_NAMES})>", re.IGNORECASE)
# The beginning of a tag, or of quoted code, whose end has not arrived yet.
_UNFINISHED = re.compile(r"(?:</?[a-z]{0,9}|(?<!`)`{1,2}(?:[^`\n]*))\Z", re.IGNORECASE)


# How a model begins that plans aloud without a tag. Nobody here is "the user": the owner has a name.
_FIRST = ("", "okay, ", "ok, ", "alright, ", "hmm, ", "okay, so ", "okay. ")
_VERBS = ("is asking", "asks", "asked", "says", "said", "wants", "just", "sent", "has")
_THEN = (
    *(f"the user {verb}" for verb in _VERBS),
    *(f"we {must} {does}" for must in ("need to", "should") for does in ("respond", "reply", "answer")),
    *(f"i {must} {does}" for must in ("need to", "should") for does in ("respond", "reply", "answer")),
)
_OPENINGS = tuple(first + then for first in _FIRST for then in _THEN)
_PLANS = re.compile(r"\b(?:i|we)(?:'ll| will| should| need to| must)\b|\blet(?: me|'s)\b", re.IGNORECASE)
LEAST = 120


def opens_a_plan(text: str, *, so_far: bool = False) -> bool:
    """It begins as planning does; `so_far` also counts what may still become such a beginning."""
    plain = text.lstrip().casefold().replace("\u2019", "'")
    return any(plain.startswith(one) or (so_far and one.startswith(plain)) for one in _OPENINGS)


def is_planning(text: str) -> bool:
    """All of a text is a model's plan for an answer, and not one: long, begun like that, and about what it will do."""
    return len(text.strip()) >= LEAST and opens_a_plan(text) and len(_PLANS.findall(text)) >= 2


def without_thinking(text: str) -> str:
    """The text without a model's thinking aloud; tags that are quoted as code stay."""
    return _kept(text).strip()


def _kept(text: str) -> str:
    kept: list[str] = []
    depth = 0
    for part in _PARTS.split(text):
        if _OPEN.fullmatch(part):
            depth += 1
        elif _CLOSE.fullmatch(part):
            # A closing tag alone: everything before it was thinking.
            kept = kept if depth else []
            depth = max(depth - 1, 0)
        elif not depth:
            kept.append(part)
    return "".join(kept)


@dataclass(slots=True)
class Speech:
    """One answer as it arrives: pieces in, and to `say` only what people may see. `pieces` are all of them.

    What begins like a plan is held back to its end: only then it is known whether it is one.
    """

    say: Callable[[str], None]
    pieces: list[str] = field(default_factory=list)
    _suspect: bool = False
    _held: bool = True
    _said: str = ""

    def hear(self, piece: str) -> None:
        """One more piece of the answer."""
        self.pieces.append(piece)
        if self._held:
            whole = "".join(self.pieces)
            if opens_a_plan(whole, so_far=True):
                return
            self._held, piece = False, whole
        if not self._suspect and "<" not in piece:
            self._tell(piece)
            return
        self._suspect = True
        whole = "".join(self.pieces)
        self._more(_kept(_UNFINISHED.sub("", whole)))

    def end(self) -> None:
        """Nothing more comes: what was held back is no tag and no plan."""
        if self._held and not is_planning("".join(self.pieces)):
            self._held, self._suspect = False, True
        if self._suspect:
            self._more(_kept("".join(self.pieces)))

    def _more(self, visible: str) -> None:
        if not self._said[:1].isspace():
            visible = visible.lstrip()
        if visible.startswith(self._said):
            self._tell(visible[len(self._said) :])

    def _tell(self, piece: str) -> None:
        if piece:
            self._said += piece
            self.say(piece)
