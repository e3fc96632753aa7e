"""When the same model is asked again: passing failures only, and only while nothing has been said. Pure."""

from dataclasses import dataclass

from core.errors import ModelUnavailable
from core.runs.failures import RETRYABLE

LONGEST_S = 30.0


@dataclass(frozen=True, slots=True)
class Patience:
    """`retries` after the first attempt (`concurrency` of them where too much was asked at once).

    `total_s` bounds one answer: all attempts at all targets, and the pauses between.
    """

    retries: int = 5
    total_s: float = 180.0
    concurrency: int = 8
    first_s: float = 0.5


SEALED = Patience(retries=1, total_s=60.0, concurrency=1)


def pause(
    error: ModelUnavailable, tried: int, *, published: bool, spent_s: float, patience: Patience
) -> float | None:
    """Seconds to wait before asking again, or None to give up. `tried` counts the attempts already made."""
    limit = patience.concurrency if error.kind == "concurrency" else patience.retries
    if published or error.kind not in RETRYABLE or tried > limit:
        return None
    # A provider that counts what runs at once needs longer, and its hints are for one request, not for all.
    first_s = patience.first_s * (4 if error.kind == "concurrency" else 1)
    wait = min(first_s * 2 ** (tried - 1), LONGEST_S)
    if error.retry_after_s is not None:
        wait = max(wait, error.retry_after_s)
    return wait if spent_s + wait < patience.total_s else None
