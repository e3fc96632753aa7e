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
    """One answer as it arrives: pieces in, and to `say` only what people may see. `pieces` are all of them."""

    say: Callable[[str], None]
    pieces: list[str] = field(default_factory=list)
    _suspect: bool = False
    _said: str = ""

    def hear(self, piece: str) -> None:
        """One more piece of the answer."""
        self.pieces.append(piece)
        if not self._suspect and "<" not in piece:
            self._tell(piece)
            return
        self._suspect = True
        whole = "".join(self.pieces)
        self._more(_kept(_UNFINISHED.sub("", whole)))

    def end(self) -> None:
        """Nothing more comes: what was held back is no tag."""
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
