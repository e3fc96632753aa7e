"""How many steps a turn has. A step is one answer of the model; the last one is kept for a closing message."""

from dataclasses import dataclass

from core.settings import SuperAgent

DEFAULTS = {"telegram": 1000, "web": 1000, "routine": 1000, "group": 50, "a2a": 20, "cli": 40, "whatsapp": 3}
OTHERS = 40


def steps(channel: str, settings: SuperAgent, asked: int | None = None) -> int:
    """The steps of a turn: what it asks for, else the channel's setting (0 means the default).

    A turn may ask for less than its channel allows, never for more.
    """
    limit = getattr(settings, f"{channel}_max_iters", 0) or DEFAULTS.get(channel, OTHERS)
    return max(1, min(asked, limit)) if asked is not None else int(limit)


def portion(left: int, waiting: int, further: int) -> int:
    """What the next speaker of a room may spend of the steps that are left for the owner's line.

    Two steps (one to act, one to close) stay for each reply that may still be drawn in, up to half of what is left;
    the rest is divided evenly among those that wait now, two at least. What one leaves over is there for the next.
    """
    kept = min(2 * further, left // 2)
    return min(left, max(2, (left - kept) // max(1, waiting)))


@dataclass(slots=True)
class Budget:
    """What is left of a turn's steps."""

    steps: int
    used: int = 0

    @property
    def left(self) -> int:
        return self.steps - self.used

    @property
    def spent(self) -> bool:
        return self.left <= 0

    @property
    def closing(self) -> bool:
        """The step about to be taken is the last one: no tools, only the closing message."""
        return self.left == 1

    def spend(self) -> None:
        self.used += 1
