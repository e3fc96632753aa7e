"""The one place that speaks to a Bot API: what was answered, what was not, and never the token in a sentence.

Results are taken as they come and not made into the library's objects: a server that leaves a field out has
still done what it was asked.
"""

import asyncio
import json
import logging
import re
import ssl
from functools import cache
from typing import Any

import httpx
from telegram import Bot, InputFile
from telegram.error import TelegramError
from telegram.request import HTTPXRequest, RequestData

_TOKEN = re.compile(r"(?<!\d)\d{5,}:[A-Za-z0-9_-]{10,}|(?<=/bot)[^/\s\"']+(?=/)")
_NEVER_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    httpx.ProxyError,
)
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


class BotError(TelegramError):
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


def _answered(status: int, payload: bytes) -> BotError:
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


class _Request(HTTPXRequest):
    """Tells a refusal from silence, and silence before the request went out from silence after."""

    async def do_request(
        self, url: str, method: str, request_data: RequestData | None = None, *args: Any, **timeouts: Any
    ) -> tuple[int, bytes]:
        try:
            status, payload = await super().do_request(url, method, request_data, *args, **timeouts)
        except TelegramError as error:
            cause = error.__cause__
            effect = not isinstance(cause, _NEVER_SENT)
            # The cause holds the address, so it is not chained.
            raise BotError(type(cause or error).__name__, effect=effect) from None
        if status >= 300:
            raise _answered(status, payload)
        return status, payload


@cache
def _trust() -> ssl.SSLContext:
    # Reading the certificates takes tens of milliseconds, and every connection pool would do it again.
    return httpx.create_ssl_context()


def _request(connections: int, **timeouts: Any) -> _Request:
    return _Request(connections, connect_timeout=10, httpx_kwargs={"verify": _trust()}, **timeouts)


class Line(Bot):
    """One bot at one server. `call` asks any method and answers with the bare result."""

    def __init__(self, token: str, api_base: str, *, poll_s: float, slack_s: float) -> None:
        base = api_base.rstrip("/")
        # Apart, so that a poll that hangs never holds up a message.
        super().__init__(
            token,
            base_url=f"{base}/bot",
            base_file_url=f"{base}/file/bot",
            request=_request(4, read_timeout=30, write_timeout=30, media_write_timeout=60),
            get_updates_request=_request(1, read_timeout=poll_s + slack_s, write_timeout=10),
        )

    async def call(self, method: str, **values: Any) -> Any:
        """The result of a Bot API method, or `BotError`."""
        try:
            return await self._post(method, values)
        except BotError:
            raise
        except TelegramError as error:
            # It was answered with a success that cannot be read.
            raise BotError(str(error), effect=True) from None

    async def fetch(self, file_id: str, max_bytes: int) -> bytes:
        """The bytes of a file that somebody sent to the bot."""
        found = await self.call("getFile", file_id=file_id)
        path = str(found.get("file_path", "")) if isinstance(found, dict) else ""
        if not path or (isinstance(found.get("file_size"), int) and found["file_size"] > max_bytes):
            raise BotError("The server does not hand this file out.", status=400)
        url = path if path.startswith("http") else f"{self.base_file_url}/{path.lstrip('/')}"
        _, data = await self._request[1].do_request(url, "GET")
        return data

    async def hang_up(self) -> None:
        """Close the connections."""
        await asyncio.gather(*(request.shutdown() for request in self._request))


def upload(data: bytes, name: str) -> InputFile:
    """Bytes as a file of a request."""
    return InputFile(data, filename=name)
