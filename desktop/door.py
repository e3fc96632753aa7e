"""What the desktop asks of the phone's side, as callables: this package knows no bridge."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from desktop.phone import Attached, Known
from desktop.questions import Answer
from desktop.watching import State


@dataclass(frozen=True, slots=True)
class Door:
    """How the phone is, which phones there are, what is on the screen, where answers go, whether it is listened to."""

    state: Callable[[], Awaitable[Known]]
    attached: Callable[[], Awaitable[Sequence[Attached]]]
    picture: Callable[[], Awaitable[bytes]]
    answer: Answer
    watching: State
