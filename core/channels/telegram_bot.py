"""The library's bot on the wire: which refusals are answers, which silences had no effect.

Results are taken as they come and not made into the library's objects: a server that leaves a field out has
still done what it was asked.
"""

import asyncio
import ssl
from functools import cache
from typing import Any

import httpx
from telegram import Bot, InputFile
from telegram.error import TelegramError
from telegram.request import HTTPXRequest, RequestData

from core.channels.telegram_wire import BotError, answered

__all__ = ["BotLine", "InputFile"]

_NEVER_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    httpx.ProxyError,
)


class _Carried(TelegramError):
    """Our own error on its way through the library, which lets only its own kind pass."""

    def __init__(self, error: BotError) -> None:
        super().__init__(error.description)
        self.error = error


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
            raise _Carried(BotError(type(cause or error).__name__, effect=effect)) from None
        if status >= 300:
            raise _Carried(answered(status, payload))
        return status, payload


@cache
def _trust() -> ssl.SSLContext:
    # Reading the certificates takes tens of milliseconds, and every connection pool would do it again.
    return httpx.create_ssl_context()


def _request(connections: int, **timeouts: Any) -> _Request:
    return _Request(connections, connect_timeout=10, httpx_kwargs={"verify": _trust()}, **timeouts)


class BotLine(Bot):
    """One bot at one server. `call` asks any method and answers with the bare result."""

    def __init__(self, token: str, api_base: str, *, poll_s: float, slack_s: float, answer_s: float) -> None:
        base = api_base.rstrip("/")
        # Apart, so that a poll that hangs never holds up a message.
        super().__init__(
            token,
            base_url=f"{base}/bot",
            base_file_url=f"{base}/file/bot",
            request=_request(4, read_timeout=answer_s, write_timeout=30, media_write_timeout=60),
            get_updates_request=_request(1, read_timeout=poll_s + slack_s, write_timeout=10),
        )

    async def call(self, method: str, **values: Any) -> Any:
        """The result of a Bot API method, or `BotError`."""
        try:
            return await self._post(method, values)
        except _Carried as carried:
            raise carried.error from None
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
        try:
            _, data = await self._request[1].do_request(url, "GET")
        except _Carried as carried:
            raise carried.error from None
        return data

    async def hang_up(self) -> None:
        """Close the connections."""
        await asyncio.gather(*(request.shutdown() for request in self._request))
