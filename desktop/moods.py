"""How a face says what the agent is doing: the pose at each place of a mood's cycle, and when cycles run.

A cycle goes from 0 to 1 and back to where it began; 0 is the pose of a still picture. No drawing happens here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from math import cos, pi, sin
from typing import Final


class Mood(StrEnum):
    """How the agent is doing, as far as a face can say it."""

    IDLE = "idle"
    THINKING = "thinking"
    WORKING = "working"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    ASLEEP = "asleep"


@dataclass(frozen=True, slots=True)
class Pose:
    """A moment of a mood: how the body stands and what the eyes do."""

    eyes: str = "bar"  # or smile, flat, closed
    open: float = 1.0  # height of the bars
    look: tuple[float, float] = (0.0, 0.0)
    squash: float = 0.0  # how much lower the body is; never taller than drawn, so the click mask holds
    tilt: float = 0.0  # degrees


def dip(phase: float) -> float:
    """0 at both ends of the cycle, 1 in its middle, without a corner."""
    return (1 - cos(2 * pi * phase)) / 2


def _idle(phase: float) -> Pose:
    return Pose(open=1 - 0.92 * dip(phase))


def _thinking(phase: float) -> Pose:
    return Pose(
        open=0.88, look=(4.0 * cos(2 * pi * phase), -5.0 - 1.0 * dip(2 * phase)), squash=0.018 * dip(phase)
    )


def _working(phase: float) -> Pose:
    x, y = orbit(phase)
    return Pose(open=0.58, look=((x - 60) * 0.06, (y - 62) * 0.05 + 1), squash=0.025 * dip(2 * phase))


def _waiting(phase: float) -> Pose:
    return Pose(open=1.2, squash=0.05 * dip(2 * phase), tilt=2.5 * sin(2 * pi * phase) * dip(phase))


def _done(phase: float) -> Pose:
    return Pose(eyes="smile", squash=0.09 * dip(2 * phase) * (1 - phase))


def _failed(phase: float) -> Pose:
    return Pose(eyes="flat", look=(5 * sin(4 * pi * phase) * (1 - phase), 2), squash=0.03)


def _asleep(phase: float) -> Pose:
    return Pose(eyes="closed", look=(0, 4), squash=0.02 + 0.03 * dip(phase))


POSES: Final[dict[Mood, Callable[[float], Pose]]] = {
    Mood.IDLE: _idle,
    Mood.THINKING: _thinking,
    Mood.WORKING: _working,
    Mood.WAITING: _waiting,
    Mood.DONE: _done,
    Mood.FAILED: _failed,
    Mood.ASLEEP: _asleep,
}


def orbit(phase: float) -> tuple[float, float]:
    """Where the dot of the working mood is; it starts at the lower right."""
    turn = 2 * pi * phase + pi / 5
    return 60 + 51 * cos(turn), 64 + 45 * sin(turn)


@dataclass(frozen=True, slots=True)
class Motion:
    """How long a mood's cycle takes, and how long it rests before the next: None means only once."""

    cycle_ms: int
    rest_ms: tuple[int, int] | None = None

    @property
    def endless(self) -> bool:
        return self.rest_ms == (0, 0)


MOTIONS: Final = {
    Mood.IDLE: Motion(240, (3200, 7600)),  # a blink
    Mood.THINKING: Motion(2600, (0, 0)),
    Mood.WORKING: Motion(2200, (0, 0)),
    Mood.WAITING: Motion(1100, (2600, 4200)),
    Mood.DONE: Motion(900),
    Mood.FAILED: Motion(700),
    Mood.ASLEEP: Motion(3200, (5000, 9000)),  # a breath
}
