"""The library's bot on the wire: which refusals are answers, which silences had no effect.

Results are taken as they come and not made into the library's objects: a server that leaves a field out has
still done what it was asked.
"""

import asyncio
import ssl
import urllib.request
from functools import cache
from typing import Any

import httpx
from telegram import Bot, InputFile, InputMediaDocument, InputMediaPhoto
from telegram.error import TelegramError
from telegram.request import HTTPXRequest, RequestData

from core.channels.telegram_wire import BotError, Route, answered

__all__ = ["BotLine", "InputFile", "InputMediaDocument", "InputMediaPhoto"]

IDLE_S = 15.0  # shorter than what proxies allow: a connection is closed by us, and none is left half open

_NEVER_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    httpx.ProxyError,
)

PROXIES = frozenset({"http", "https", "all"})


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


class EitherWay(httpx.AsyncBaseTransport):
    """Any way that the host offers, or IPv4 alone when no connection came about; what worked is tried first next time.

    Only what was never sent is sent the other way.
    """

    def __init__(self, route: Route, connections: int) -> None:
        self._route = route
        limits = httpx.Limits(
            max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=IDLE_S
        )
        self._any = httpx.AsyncHTTPTransport(verify=_trust(), limits=limits)
        self._ipv4 = httpx.AsyncHTTPTransport(verify=_trust(), limits=limits, local_address="0.0.0.0")

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        ways = (self._ipv4, self._any) if self._route.ipv4 else (self._any, self._ipv4)
        try:
            return await ways[0].handle_async_request(request)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            try:
                response = await ways[1].handle_async_request(request)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                raise error from None
        self._route.ipv4 = ways[1] is self._ipv4
        return response

    async def aclose(self) -> None:
        await self._any.aclose()
        await self._ipv4.aclose()


def _request(route: Route, connections: int, **timeouts: Any) -> _Request:
    # Behind a proxy it is the proxy that looks for the way.
    with_proxy: dict[str, Any] = {"verify": _trust()}
    by_ourselves: dict[str, Any] = {"transport": EitherWay(route, connections)}
    chosen = with_proxy if PROXIES & urllib.request.getproxies().keys() else by_ourselves
    return _Request(connections, connect_timeout=10, httpx_kwargs=chosen, **timeouts)


class BotLine(Bot):
    """One bot at one server. `call` asks any method and answers with the bare result."""

    def __init__(
        self, token: str, api_base: str, *, poll_s: float, slack_s: float, answer_s: float, route: Route
    ) -> None:
        base = api_base.rstrip("/")
        # Apart, so that a poll that hangs never holds up a message.
        super().__init__(
            token,
            base_url=f"{base}/bot",
            base_file_url=f"{base}/file/bot",
            request=_request(route, 4, read_timeout=answer_s, write_timeout=30, media_write_timeout=60),
            get_updates_request=_request(route, 1, read_timeout=poll_s + slack_s, write_timeout=10),
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
