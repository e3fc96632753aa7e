"""What went wrong, as HTTP says it: one shape, whoever raised it."""

import json
from typing import Any

from core.api.access import TooManyAttempts, Unauthorized
from core.errors import (
    AlreadyRunning,
    ApxError,
    Invalid,
    NotConfigured,
    NotFound,
    PhoneUnreachable,
    Refused,
    Unavailable,
)


class Rejected(ApxError):
    """The request itself is not acceptable; `status` says in which way."""

    def __init__(self, status: int, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.code = code


# The first class that fits decides: a subclass stands before its base.
_STATUS: tuple[tuple[type[ApxError], int], ...] = (
    (Unauthorized, 401),
    (TooManyAttempts, 429),
    (Invalid, 400),
    (NotFound, 404),
    (NotConfigured, 409),
    (Refused, 403),
    (AlreadyRunning, 409),
    (PhoneUnreachable, 409),
    (Unavailable, 503),
)


def status_of(error: ApxError) -> int:
    """The HTTP status of an expected failure."""
    if isinstance(error, Rejected):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def body(sentence: str, code: str, fields: Any = ()) -> dict[str, Any]:
    """The one shape of a failure."""
    return {"error": sentence, "code": code, "fields": list(fields)}


def answer(error: ApxError) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an expected failure; the guard answers before there is any framework."""
    headers = {"content-type": "application/json"}
    if isinstance(error, Unauthorized):
        headers["www-authenticate"] = "Bearer"
    if isinstance(error, TooManyAttempts):
        headers["retry-after"] = str(error.retry_after_s)
    said = body(str(error), error.code, getattr(error, "fields", ()))
    return status_of(error), headers, json.dumps(said, ensure_ascii=False).encode()
