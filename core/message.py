"""What leaves the house, as values: messages, the parts they are sent in, and what became of them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from core.errors import Unavailable

CLOSED = frozenset({"delivered", "rejected", "unknown", "not_attempted"})
STATES = CLOSED | {"queued", "attempted"}


class Later(Unavailable):
    """The attempt had no effect: the same part may be sent again, after `after_s` or after a back-off."""

    code = "later"

    def __init__(self, sentence: str, *, after_s: float | None = None) -> None:
        super().__init__(sentence)
        self.after_s = after_s


class OutcomeUnknown(Unavailable):
    """The request went out and no answer came back: it may have had its effect."""

    code = "unknown"


@dataclass(frozen=True, slots=True)
class Button:
    """A choice under a message: `kind` finds who takes the press, `payload` is what they get.

    The channel shows the label; kind and payload never leave the house.
    """

    label: str
    kind: str
    payload: Mapping[str, str] = field(default_factory=dict)


Buttons = tuple[tuple[Button, ...], ...]


@dataclass(frozen=True, slots=True)
class File:
    """One of several files that go together, and the name it is shown under."""

    path: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What is to be said, to whom: `to` is "owner" or an address of the channel.

    The same `key` is queued once. `markup` reads the text as Markdown; without it every letter stands for
    itself, as it must where others had a hand in the text. `origin` says what it came from (round_id, run_id).
    """

    channel: str
    to: str = "owner"
    kind: str = "text"  # text, photo, document, album
    text: str = ""
    path: str = ""
    name: str = ""
    files: tuple[File, ...] = ()
    buttons: Buttons = ()
    markup: bool = False
    key: str | None = None
    origin: Mapping[str, str] = field(default_factory=dict)

    def payload(self) -> dict[str, Any]:
        """What the row keeps beside its columns."""
        return {
            "text": self.text,
            "path": self.path,
            "name": self.name,
            "files": [asdict(file) for file in self.files],
            "buttons": packed(self.buttons),
            "markup": self.markup,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One request to the channel: `text` in the channel's markup, `plain` the same words without any."""

    kind: str = "text"
    text: str = ""
    plain: str = ""
    path: str = ""
    name: str = ""
    files: tuple[File, ...] = ()
    buttons: Buttons = ()
    to: str = ""
    message_id: str = ""
    position: int = 0

    def payload(self) -> dict[str, Any]:
        """What the row keeps beside its columns."""
        return {
            "kind": self.kind,
            "text": self.text,
            "plain": self.plain,
            "path": self.path,
            "name": self.name,
            "files": [asdict(file) for file in self.files],
            "buttons": packed(self.buttons),
        }


@dataclass(frozen=True, slots=True)
class Receipt:
    """How a message stands. `receipts` are the channel's own ids, one for each delivered part."""

    id: str
    state: str
    reason: str = ""
    receipts: tuple[str, ...] = ()


def packed(buttons: Buttons) -> list[list[dict[str, Any]]]:
    """Buttons as JSON."""
    return [[asdict(button) for button in row] for row in buttons]


def unpacked(values: dict[str, Any]) -> dict[str, Any]:
    """A stored payload with its buttons and files as values again."""
    return values | {
        "buttons": tuple(tuple(Button(**one) for one in row) for row in values.get("buttons", [])),
        "files": tuple(File(**one) for one in values.get("files", [])),
    }


def whole(parts: list[tuple[str, str]]) -> tuple[str, str]:
    """State and reason of a message from those of its closed parts: the worst one speaks for all."""
    for worst in ("unknown", "rejected", "not_attempted"):
        for state, reason in parts:
            if state == worst:
                return worst, reason
    return "delivered", ""
