"""When the same model is asked again: passing failures only, and only while nothing has been said. Pure."""

from dataclasses import dataclass

from core.errors import ModelUnavailable
from core.runs.failures import RETRYABLE

FIRST_S = 0.5
LONGEST_S = 30.0


@dataclass(frozen=True, slots=True)
class Patience:
    """`retries` after the first attempt, `total_s` for all of them and the pauses between."""

    retries: int = 5
    total_s: float = 180.0


SEALED = Patience(retries=1, total_s=60.0)


def pause(
    error: ModelUnavailable, tried: int, *, published: bool, spent_s: float, patience: Patience
) -> float | None:
    """Seconds to wait before asking again, or None to give up. `tried` counts the attempts already made."""
    if published or error.kind not in RETRYABLE or tried > patience.retries:
        return None
    wait = min(FIRST_S * 2 ** (tried - 1), LONGEST_S)
    if error.retry_after_s is not None:
        wait = max(wait, error.retry_after_s)
    return wait if spent_s + wait < patience.total_s else None
