"""What is said over the wire to a Bot API, without the library that says it: `telegram_bot` is imported when a
bot is connected, because it takes longer to import than the rest of the start.

What was answered, what was not, and never the token in a sentence.
"""

import json
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

log = logging.getLogger(__name__)

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


@dataclass(slots=True)
class Route:
    """Which way leads to the server; shared by the connections of a bot, so that what one learns serves all."""

    ipv4: bool = False


class Line(Protocol):
    """One bot at one server. `call` asks any method and answers with the bare result, or raises `BotError`."""

    async def call(self, method: str, **values: Any) -> Any:
        """The result of a Bot API method."""

    async def fetch(self, file_id: str, max_bytes: int) -> bytes:
        """The bytes of a file that somebody sent to the bot."""

    async def hang_up(self) -> None:
        """Close the connections."""


def connected(
    token: str,
    api_base: str,
    *,
    poll_s: float,
    slack_s: float,
    answer_s: float = 30.0,
    route: Route | None = None,
) -> Line:
    """A bot's line; an answer is waited for `answer_s`. The first one imports the library."""
    from core.channels.telegram_bot import BotLine

    return BotLine(token, api_base, poll_s=poll_s, slack_s=slack_s, answer_s=answer_s, route=route or Route())


def upload(data: bytes, name: str) -> Any:
    """Bytes as a file of a request."""
    from core.channels.telegram_bot import InputFile

    return InputFile(data, filename=name)


def album(
    kind: str, files: Sequence[tuple[bytes, str]], caption: str = "", parse_mode: str | None = None
) -> list[Any]:
    """Files that arrive as one message; only the first one has the caption, which then is that of all."""
    from core.channels.telegram_bot import InputMediaDocument, InputMediaPhoto

    made = InputMediaPhoto if kind == "photo" else InputMediaDocument
    return [
        made(data, filename=name, caption=caption or None, parse_mode=parse_mode)
        if place == 0
        else made(data, filename=name)
        for place, (data, name) in enumerate(files)
    ]


def place(address: str) -> dict[str, Any]:
    """Where a request goes: a chat, or one topic of it as "CHAT/TOPIC"."""
    chat, _, topic = address.partition("/")
    return {"chat_id": chat, **({"message_thread_id": int(topic)} if topic else {})}


async def courtesy(line: Line, method: str, **values: Any) -> bool:
    """Ask for something that nobody depends on; whether it was done."""
    try:
        await line.call(method, **values)
    except BotError as error:
        log.warning("%s was not taken: %s", method, error)
        return False
    return True
