"""What can go wrong between a bot and Telegram, as values to script."""

from dataclasses import dataclass, field
from typing import Any


class Rejected(Exception):
    """What the real one would answer: a status, a sentence, parameters."""

    def __init__(self, status: int, description: str, **parameters: Any) -> None:
        super().__init__(description)
        self.status, self.description, self.parameters = status, description, parameters


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with one request. `after` faults happen when the effect is done already."""

    status: int = 0
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    hang: bool = False
    drop: bool = False
    after: bool = False
    body: bytes | None = None


def fine() -> Fault:
    """Nothing goes wrong: for the requests before the one that fails."""
    return Fault()


def limited(retry_after: int | None = None) -> Fault:
    """429, with or without the time to wait."""
    parameters = {} if retry_after is None else {"retry_after": retry_after}
    return Fault(429, "Too Many Requests", parameters)


def hang() -> Fault:
    """The request is taken and never answered."""
    return Fault(hang=True)


def dropped() -> Fault:
    """The message is accepted, the connection closed before the answer."""
    return Fault(drop=True, after=True)


def conflict() -> Fault:
    """Another poller uses the token."""
    return Fault(409, "Conflict: terminated by other getUpdates request")


def failing(status: int = 500) -> Fault:
    """The server says that it failed, and did nothing."""
    return Fault(status, "Internal Server Error")


def gateway(status: int = 502) -> Fault:
    """A proxy answers instead of the server, and nobody knows what the server did."""
    return Fault(status, body=b"<html>Bad Gateway</html>", after=True)


def cannot_parse() -> Fault:
    """The formatting is not understood."""
    return Fault(400, "Bad Request: can't parse entities: Unsupported start tag")


def unauthorized() -> Fault:
    """The token is not valid."""
    return Fault(401, "Unauthorized")
