"""What is said over the wire to a Bot API, without the library that says it: `telegram_bot` is imported when a
bot is connected, because it takes longer to import than the rest of the start.

What was answered, what was not, and never the token in a sentence.
"""

import json
import logging
import re
from typing import Any, Protocol

_TOKEN = re.compile(r"(?<!\d)\d{5,}:[A-Za-z0-9_-]{10,}|(?<=/bot)[^/\s\"']+(?=/)")
LOGGERS = ("httpx", "httpcore.connection", "httpcore.http11", "telegram.Bot", "telegram.request.BaseRequest")


def redacted(text: object, token: str = "") -> str:
    """A text without any bot token in it."""
    words = str(text)
    return _TOKEN.sub("[token]", words.replace(token, "[token]") if token else words)


class _NoTokens(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redacted(record.getMessage()), ()
        return True


_FILTER = _NoTokens()


def guard_logs() -> None:
    """The libraries log addresses, and a bot's address holds its token."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_FILTER)


class BotError(Exception):
    """A request that did not work. `status` 0: no answer came; `effect` False: it certainly did nothing."""

    def __init__(
        self,
        description: str,
        *,
        status: int = 0,
        effect: bool = False,
        retry_after_s: float | None = None,
        moved_to: int | None = None,
    ) -> None:
        super().__init__(redacted(description))
        self.description = redacted(description)
        self.status, self.effect = status, effect
        self.retry_after_s: float | None = retry_after_s
        self.moved_to = moved_to


def answered(status: int, payload: bytes) -> BotError:
    try:
        body = json.loads(payload)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        # Somebody between us and the server answered; only 503 says that nobody was asked.
        return BotError(
            f"The server answered {status}.", status=status, effect=status >= 500 and status != 503
        )
    parameters = body.get("parameters")
    parameters = parameters if isinstance(parameters, dict) else {}
    wait = parameters.get("retry_after", body.get("retry_after"))
    return BotError(
        str(body.get("description") or f"The server answered {status}."),
        status=status,
        retry_after_s=float(wait) if isinstance(wait, int | float) and wait > 0 else None,
        moved_to=parameters.get("migrate_to_chat_id"),
    )


class Line(Protocol):
    """One bot at one server. `call` asks any method and answers with the bare result, or raises `BotError`."""

    async def call(self, method: str, **values: Any) -> Any:
        """The result of a Bot API method."""

    async def fetch(self, file_id: str, max_bytes: int) -> bytes:
        """The bytes of a file that somebody sent to the bot."""

    async def hang_up(self) -> None:
        """Close the connections."""


def connected(token: str, api_base: str, *, poll_s: float, slack_s: float, answer_s: float = 30.0) -> Line:
    """A bot's line; an answer is waited for `answer_s`. The first one imports the library."""
    from core.channels.telegram_bot import BotLine

    return BotLine(token, api_base, poll_s=poll_s, slack_s=slack_s, answer_s=answer_s)


def upload(data: bytes, name: str) -> Any:
    """Bytes as a file of a request."""
    from core.channels.telegram_bot import InputFile

    return InputFile(data, filename=name)
