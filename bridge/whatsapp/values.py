"""What the driver hands out: a chat, what was read in it, and what became of a reply."""

from dataclasses import dataclass, field, replace

from bridge.whatsapp.bubbles import Bubble
from bridge.whatsapp.rows import Row
from core.errors import NotFound, Unavailable


@dataclass(slots=True)
class Chat:
    """An open chat. `number` is digits with the country, known for certain, or empty."""

    title: str
    number: str = ""
    group: bool = False
    can_write: bool = True
    row: Row | None = None
    seen: tuple[Bubble, ...] = ()  # the end of what was read: by this the chat is known again


@dataclass(frozen=True, slots=True)
class Message:
    """One message as it stood on the screen; `fresh` ones are those that had not been read before."""

    bubble: Bubble
    fresh: bool = False

    @property
    def kind(self) -> str:
        return self.bubble.kind

    @property
    def incoming(self) -> bool:
        return self.bubble.direction == "in"

    @property
    def sender(self) -> str:
        return self.bubble.sender

    @property
    def text(self) -> str:
        return self.bubble.text

    @property
    def detail(self) -> str:
        return self.bubble.detail

    @property
    def time(self) -> str:
        return self.bubble.time

    @property
    def day(self) -> str:
        return self.bubble.day

    @property
    def said(self) -> str:
        """The words of it, or what stands for them: `[voice 0:17]`, `[document: factura.pdf] caption`."""
        bubble = self.bubble
        if bubble.kind == "text":
            return bubble.text + (" […]" if bubble.cut else "")
        if bubble.kind == "unknown" and not bubble.detail:
            label = f"[unrecognised message, {bubble.time}]" if bubble.time else "[unrecognised message]"
        else:
            length = "" if bubble.seconds is None else f" {bubble.seconds // 60}:{bubble.seconds % 60:02}"
            detail = f": {bubble.detail}" if bubble.detail and bubble.kind != "deleted" else ""
            label = f"[{bubble.kind.replace('_', ' ')}{length}{detail}]"
        return f"{label} {bubble.text}".strip()


@dataclass(frozen=True, slots=True)
class Reading:
    """What one visit to a chat found, oldest first: what is new, and the messages around it that were on the way."""

    title: str
    number: str
    group: bool
    can_write: bool
    messages: tuple[Message, ...]
    complete: bool
    why: str = ""

    @property
    def fresh(self) -> tuple[Message, ...]:
        return tuple(message for message in self.messages if message.fresh)

    @property
    def fresh_count(self) -> int:
        return len(self.fresh)


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of a reply: `sent`, `rejected`, `unknown` (may be there: never repeat by itself) or `not_sent`.

    `why` is a slug: for `sent` it is empty or `pending`. `detail` says more in words. `arrived` is what came
    in between reading and sending.
    """

    state: str
    why: str = ""
    detail: str = ""
    arrived: tuple[Message, ...] = field(default=())

    def with_detail(self, words: str) -> "Sent":
        """The same, with something more to say."""
        return replace(self, detail=f"{self.detail} {words}".strip())


class RowGone(NotFound):
    """The row is not where it was: the list has moved, find it again."""

    code = "row_gone"


class WrongChat(Unavailable):
    """Another chat opened than the one that was meant. `title` is its name; the driver owes it a visit."""

    code = "wrong_chat"

    def __init__(self, wanted: str, title: str) -> None:
        super().__init__(f"The chat {title!r} opened in place of {wanted!r}; nothing was typed in it.")
        self.wanted = wanted
        self.title = title
