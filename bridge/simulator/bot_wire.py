"""Just enough HTTP/1.1 for a Bot API: requests with forms and files, and answers that can go wrong on purpose."""

import asyncio
import json
import re
import urllib.parse
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

MAX_BODY = 64 * 1024 * 1024


class Drop(Exception):
    """Close the connection without an answer."""


@dataclass(slots=True)
class Request:
    """One request: the path, the parameters of query and body, the uploaded files by field."""

    path: str
    params: dict[str, str] = field(default_factory=dict)
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Response:
    """One answer; `body` is JSON unless it is bytes."""

    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)


Answer = Callable[[Request], Awaitable[Response]]
Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def _multipart(kind: str, body: bytes, request: Request) -> None:
    boundary = kind.partition("boundary=")[2].split(";")[0].strip('"')
    for part in (b"\r\n" + body).split(f"\r\n--{boundary}".encode())[1:-1]:
        head, _, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        words = dict(re.findall(r'[;\s](name|filename)="([^"]*)"', head.decode()))
        if "filename" in words:
            request.files[words["name"]] = (urllib.parse.unquote(words["filename"]), content)
        else:
            request.params[words["name"]] = content.decode()


async def read(reader: asyncio.StreamReader) -> Request | None:
    """The next request of a connection; None at its end."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    line, *rest = head.decode("latin-1").split("\r\n")
    headers = {key.strip().lower(): value.strip() for key, _, value in (one.partition(":") for one in rest)}
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while size := int((await reader.readline()).split(b";")[0], 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
    else:
        body = await reader.readexactly(min(int(headers.get("content-length", "0")), MAX_BODY))
    path, _, query = line.split(" ")[1].partition("?")
    request = Request(urllib.parse.unquote(path), dict(urllib.parse.parse_qsl(query)))
    kind = headers.get("content-type", "")
    if kind.startswith("multipart/"):
        _multipart(kind, body, request)
    elif kind.startswith("application/json"):
        for key, value in json.loads(body or b"{}").items():
            request.params[key] = value if isinstance(value, str) else json.dumps(value)
    else:
        request.params |= dict(urllib.parse.parse_qsl(body.decode(), keep_blank_values=True))
    return request


def written(response: Response) -> bytes:
    """An answer as bytes."""
    raw = isinstance(response.body, bytes)
    body = response.body if raw else json.dumps(response.body, ensure_ascii=False).encode()
    headers = {
        "Content-Type": "application/octet-stream" if raw else "application/json",
        "Content-Length": str(len(body)),
        **response.headers,
    }
    lines = [f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}"]
    lines += [f"{key}: {value}" for key, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


class _Protocol(asyncio.StreamReaderProtocol):
    """Knows when the other end has hung up, without reading ahead."""

    def __init__(self, reader: asyncio.StreamReader, connected: Connected) -> None:
        super().__init__(reader, connected)
        self.gone = asyncio.Event()

    def eof_received(self) -> bool | None:
        self.gone.set()
        return super().eof_received()

    def connection_lost(self, error: Exception | None) -> None:
        self.gone.set()
        super().connection_lost(error)


class Server:
    """A listening socket on loopback whose connections end with it."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    async def start(self, port: int = 0) -> None:
        """Listen; port 0 takes a free one."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Protocol(asyncio.StreamReader(limit=1 << 20), self._connected), "127.0.0.1", port
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close the socket and whatever hangs on it."""
        if self._server:
            self._server.close()
            for task in tuple(self._connections):
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)
            await self._server.wait_closed()
            self._server = None

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task:
            self._connections.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while request := await read(reader):
                    writer.write(written(await self._unless_gone(writer, request)))
                    await writer.drain()
        except (Drop, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            if task:
                self._connections.discard(task)
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _unless_gone(self, writer: asyncio.StreamWriter, request: Request) -> Response:
        """The answer, unless the client hangs up first: then nobody waits any longer."""
        answer = asyncio.ensure_future(self._answer(request))
        protocol = writer.transport.get_protocol()
        assert isinstance(protocol, _Protocol)
        gone = asyncio.ensure_future(protocol.gone.wait())
        try:
            await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise Drop
            return answer.result()
        finally:
            for task in (answer, gone):
                task.cancel()
            await asyncio.gather(answer, gone, return_exceptions=True)
