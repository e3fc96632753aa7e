"""The door of the HTTP API: everything is refused here that must not reach a route.

It stands before routing, so a path that routing would read in some other way is still a path without a token.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from core.api.access import Access, Caller, Scope
from core.api.problems import Rejected, answer
from core.api.wake import ADDRESS, is_alert
from core.errors import ApxError, NotFound, Refused

ASGIScope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGI = Callable[[ASGIScope, Receive, Send], Awaitable[None]]
Wake = Callable[[Caller, str, dict[str, str], bytes], Awaitable[dict[str, Any]]]

MAX_BODY = 2 * 1024 * 1024
MAX_PICTURES = 16 * 1024 * 1024  # what may bring pictures, and not from a token in a phone's pocket
BODY_S = 30.0
LINGER_S = 1.0
HEALTH = "/api/health"
OPEN = {HEALTH, "/api/openapi.json", "/api/docs"}
# The device that pairs has no token yet: what it brings is the code.
PAIRING = "/api/pair/confirm"
LOOPBACK = {"127.0.0.1", "::1", "localhost"}
CHAT = ADDRESS
UPLOAD = "/api/media"
# All that a token in the pocket of a phone's automation app can reach.
BRIDGE = re.compile(r"POST /api/projects/[^/]+/super-agent/chat(/stream)?|GET /api/alerts(/[^/]+)?")
_BAD_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")


class Guard:
    """Host, origin, path, token, size and time, in that order, then the app behind it."""

    def __init__(
        self, app: ASGI, access: Access, host: Callable[[], str], alive: Callable[[], Any], wake: Wake
    ) -> None:
        self._app = app
        self._wake = wake
        self._access = access
        self._host = host
        self._alive = alive

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        try:
            headers = _headers(scope)
            self._check_origin(scope, headers)
            if _BAD_PERCENT.search(scope.get("raw_path") or b""):
                raise Rejected(400, "bad_path", "The path has a percent sign that encodes nothing.")
            await self._admit(scope, headers)
            body = await _whole(scope, headers, receive)
            if (kept := await self._alert(scope, headers, body)) is not None:
                await respond(send, 202, {"content-type": "application/json"}, json.dumps(kept).encode())
                return
        except ApxError as error:
            await _refuse(error, receive, send)
            return
        if scope["path"] == HEALTH and scope["method"] == "GET":
            # Said here, so that it is said while the routes are still being imported.
            said = json.dumps(self._alive()).encode()
            await respond(send, 200, {"content-type": "application/json"}, said)
            return
        await self._app(scope, _once_more(body, receive), send)

    async def _alert(self, scope: ASGIScope, headers: dict[str, str], body: bytes) -> dict[str, Any] | None:
        """An alert is kept here: it must not wait for the routes either."""
        caller, path = scope["state"]["caller"], scope["path"]
        if scope["method"] != "POST" or not CHAT.fullmatch(path) or not is_alert(caller, body):
            return None
        return await self._wake(caller, path, headers, body)

    def _check_origin(self, scope: ASGIScope, headers: dict[str, str]) -> None:
        """A web page that reached loopback gives itself away by its host name or its origin."""
        server = scope.get("server") or ("", None)
        # The address that the connection really came in on cannot be a rebound name.
        allowed = LOOPBACK | {self._host(), str(server[0])}
        host, _ = _split(headers.get("host", ""))
        if host not in allowed:
            raise Rejected(403, "wrong_host", "This host name is not one of this computer's.")
        if headers.get("sec-fetch-site", "") in {"cross-site", "same-site"}:
            raise Rejected(403, "wrong_origin", "Another web page may not call this API.")
        origin = headers.get("origin")
        if origin is not None:
            name, port = _split(origin.partition("://")[2])
            if name not in allowed or port != (server[1] or port):
                raise Rejected(403, "wrong_origin", "Another web page may not call this API.")

    async def _admit(self, scope: ASGIScope, headers: dict[str, str]) -> None:
        path, method = scope["path"], scope["method"]
        scope.setdefault("state", {})["caller"] = None
        if path in OPEN and method in {"GET", "HEAD"}:
            client = scope.get("client")
            if path != HEALTH and client and client[0] not in LOOPBACK:
                raise NotFound("There is nothing at this address.")
            return
        if path == PAIRING and method == "POST" and "authorization" not in headers:
            return
        caller = await self._access.caller(headers.get("authorization"))
        if caller.scope is Scope.AGENT or (
            caller.scope is Scope.BRIDGE and not BRIDGE.fullmatch(f"{method} {path}")
        ):
            raise Refused(f"A token of the kind {caller.scope} may not do this.")
        scope["state"]["caller"] = caller


def _headers(scope: ASGIScope) -> dict[str, str]:
    """Header names in small letters; a name that must be one and comes twice is refused."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        if key in found and key in {"host", "origin", "authorization", "content-length"}:
            raise Rejected(400, "bad_header", f"The header {key} came twice.")
        found[key] = value.decode("latin-1")
    return found


def _split(authority: str) -> tuple[str, int | None]:
    """Host and port; an empty host for what is no authority."""
    if not authority or set(authority) & set("/\\@?# "):
        return "", None
    try:
        parts = urlsplit(f"//{authority}")
        return parts.hostname or "", parts.port
    except ValueError:
        return "", None


async def _whole(scope: ASGIScope, headers: dict[str, str], receive: Receive) -> bytes:
    """The request's body, read to its end within bounds."""
    declared, limit = headers.get("content-length", ""), _limit(scope)
    if declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    chunks: list[bytes] = []
    size, more = 0, True
    try:
        async with asyncio.timeout(BODY_S):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Rejected(400, "cut_off", "The request ended before its body did.")
                chunks.append(message.get("body", b""))
                size += len(chunks[-1])
                if size > limit:
                    raise _too_large(limit)
                more = message.get("more_body", False)
    except TimeoutError as error:
        raise Rejected(408, "too_slow", f"The body did not arrive within {BODY_S:.0f} s.") from error
    _check_type(scope, headers, size)
    return b"".join(chunks)


def _once_more(whole: bytes, receive: Receive) -> Receive:
    """The body for the app, which receives it as if it had just come."""
    body: bytes | None = whole

    async def again() -> MutableMapping[str, Any]:
        nonlocal body
        if body is None:
            return await receive()
        said, body = body, None
        return {"type": "http.request", "body": said, "more_body": False}

    return again


def _check_type(scope: ASGIScope, headers: dict[str, str], size: int) -> None:
    """JSON, as it is: no route unpacks anything. An alert may be of any type and is kept as it came."""
    if not size or CHAT.fullmatch(scope["path"]):
        return
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" or headers.get("content-encoding", "identity") != "identity":
        raise Rejected(415, "not_json", "Send the body as application/json, not compressed.")


def _limit(scope: ASGIScope) -> int:
    """How many bytes a request may bring."""
    caller = scope["state"]["caller"]
    pictured = scope["path"] == UPLOAD or CHAT.fullmatch(scope["path"])
    return MAX_PICTURES if pictured and caller and caller.scope is not Scope.BRIDGE else MAX_BODY


def _too_large(limit: int) -> Rejected:
    return Rejected(413, "too_large", f"The body is larger than {limit // 1024 // 1024} MB.")


async def _refuse(error: ApxError, receive: Receive, send: Send) -> None:
    """Answer, and let a sender who is still talking finish for a moment so that it can hear the answer."""
    status, headers, body = answer(error)
    if status != 413:
        await respond(send, status, headers, body)
        return
    await respond(send, status, headers, body, more=True)
    try:
        async with asyncio.timeout(LINGER_S):
            while (message := await receive())["type"] == "http.request" and message.get("more_body"):
                pass
    except TimeoutError:
        pass
    await send({"type": "http.response.body", "body": b""})


async def respond(
    send: Send, status: int, headers: dict[str, str], body: bytes, *, more: bool = False
) -> None:
    """A whole response, or its first part."""
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    raw.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body, "more_body": more})
