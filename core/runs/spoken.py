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
# A plan in place of an answer, as some models write one: about "the user", and what they themselves should do. Narrow
# on purpose: an answer may well be about users.
_OPENERS = (
    *(f"{begun}the user {verb} " for begun in ("", "okay, ", "ok, ", "okay, so ", "alright, ") for verb in
      ("wants", "asks", "asked", "is asking", "says", "said", "just", "has asked", "wrote", "needs")),
    "we need to respond", "we need to answer", "we need to reply", "we need to produce", "we need to write",
    "i need to respond", "i need to answer", "i need to reply", "i should respond", "i should answer", "i should reply",
)  # fmt: skip
_RESOLVES = re.compile(
    r"\b(?:i|we) (?:should|must|need to|have to|can just|could just)\b|\blet(?:'s| me)\b", re.I
)
_PLAN_CHARS = 120
# The beginning of a tag, or of quoted code, whose end has not arrived yet.
_UNFINISHED = re.compile(r"(?:</?[a-z]{0,9}|(?<!`)`{1,2}(?:[^`\n]*))\Z", re.IGNORECASE)


def without_thinking(text: str) -> str:
    """The text without a model's thinking aloud; tags that are quoted as code stay."""
    return _kept(text).strip()


def only_plans(text: str) -> bool:
    """A text that is a model's planning and no answer: nothing in it is for people."""
    return (
        len(text.strip()) >= _PLAN_CHARS
        and text.lstrip().lower().startswith(_OPENERS)
        and _RESOLVES.search(text) is not None
    )


def _may_plan(text: str) -> bool:
    begun = text.lstrip().lower()
    return begun.startswith(_OPENERS) or any(one.startswith(begun) for one in _OPENERS)


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
    """One answer as it arrives: pieces in, and to `say` only what people may see. `pieces` are all of them."""

    say: Callable[[str], None]
    pieces: list[str] = field(default_factory=list)
    _suspect: bool = False
    _plan: bool = True  # it may still turn out to be one
    _said: str = ""

    def hear(self, piece: str) -> None:
        """One more piece of the answer."""
        self.pieces.append(piece)
        if self._plan:
            whole = "".join(self.pieces)
            if _may_plan(whole):
                return
            self._plan, piece = False, whole
        if not self._suspect and "<" not in piece:
            self._tell(piece)
            return
        self._suspect = True
        whole = "".join(self.pieces)
        self._more(_kept(_UNFINISHED.sub("", whole)))

    def end(self) -> None:
        """Nothing more comes: what was held back is no tag, and a plan or none."""
        if self._plan:
            whole = "".join(self.pieces)
            if only_plans(whole):
                return
            self._suspect = True
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
