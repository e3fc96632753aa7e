"""The only way out of the browser: a proxy on loopback that judges every address, and goes to the one it judged.

A page can name any host: in a redirect, a picture, a socket. Whatever it names is looked up here, must be public, and
is then reached at exactly the address that was judged. Anybody on this computer may use the port: it leads nowhere
that they could not go by themselves.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from urllib.parse import SplitResult, urlsplit

from core.errors import ApxError, Refused, Unavailable
from core.tools.addresses import PORTS, target
from core.tools.web import Visitor

log = logging.getLogger(__name__)

MAX_HEAD = 256 * 1024
HEAD_S = 60.0
CONNECT_S = 10.0
MAX_KEPT = 100
# They speak of one connection, and there are two.
_HOPS = frozenset(
    {
        *("connection", "keep-alive", "proxy-connection", "proxy-authorization", "proxy-authenticate"),
        *("te", "trailer", "upgrade", "expect"),
    }
)

Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Proxy:
    """Takes requests while it is open. `refused` keeps why a host was not reached, the latest last."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self._tasks: set[asyncio.Task[None]] = set()
        self.refused: dict[str, str] = {}
        self.port = 0

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Proxy"]:
        """Listen on a free port of loopback; nobody is connected any more afterwards."""
        server = await asyncio.start_server(self._take, "127.0.0.1", 0, limit=MAX_HEAD)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)
            await server.wait_closed()

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer), name="browser connection")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
            line, headers = _read(head)
            method, where, _ = line
            if method == "CONNECT":
                await self._tunnel(where, (reader, writer))
            else:
                await self._forward(method, where, headers, (reader, writer))
        except ValueError:
            await _say(writer, "400 Bad Request")
        except Refused:
            await _say(writer, "403 Forbidden")
        except Unavailable:
            await _say(writer, "502 Bad Gateway")
        except (OSError, EOFError, asyncio.LimitOverrunError):  # either end left, or never said what it wants
            pass
        finally:
            writer.close()

    async def _reached(self, parts: SplitResult) -> Pair:
        """A connection to the address that was judged; a name is not looked up a second time."""
        host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
        address = await self._visitor.pinned(host, port)
        try:
            async with asyncio.timeout(CONNECT_S):
                return await asyncio.open_connection(address, port, limit=MAX_HEAD)
        except OSError as error:  # TimeoutError is one
            raise Unavailable(f"{host} does not answer.") from error

    async def _onward(self, where: str, url: str) -> tuple[SplitResult, Pair]:
        try:
            parts = target(url)
            return parts, await self._reached(parts)
        except ApxError as error:
            host = urlsplit(url).hostname or where
            log.info("The browser did not get to %s: %s", host, error)
            self.refused.pop(host, None)
            self.refused[host] = str(error)
            while len(self.refused) > MAX_KEPT:
                del self.refused[next(iter(self.refused))]
            raise

    async def _tunnel(self, where: str, near: Pair) -> None:
        """Bytes in both directions: TLS and sockets, of which nothing is read."""
        _, far = await self._onward(where, f"https://{where}/")
        near[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await _both(near, far)

    async def _forward(self, method: str, where: str, headers: Mapping[str, str], near: Pair) -> None:
        """One plain request and its answer; the connection ends with it, so the next one is judged again."""
        asked = urlsplit(where)
        if asked.scheme != "http":
            raise ValueError(where)
        parts, far = await self._onward(where, f"http://{asked.netloc}/")
        path = (asked.path or "/") + (f"?{asked.query}" if asked.query else "")
        kept = {name: value for name, value in headers.items() if name.lower() not in _HOPS | {"host"}}
        lines = {"Host": parts.netloc} | kept | {"Connection": "close"}
        far[1].write(_written(f"{method} {path} HTTP/1.1", lines))
        await _both(near, far, answer=True)


def _read(head: bytes) -> tuple[tuple[str, str, str], dict[str, str]]:
    """The three words of the first line, and the headers; a name that comes twice keeps all of its values."""
    first, *rest = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, where, version = first.split(" ", 2)
    headers: dict[str, str] = {}
    for line in rest:
        name, colon, value = line.partition(":")
        if not colon or not name.strip() or name != name.strip():
            raise ValueError(line)
        before = headers.get(name)
        headers[name] = value.strip() if before is None else f"{before}\0{value.strip()}"
    return (method, where, version), headers


def _written(first: str, headers: Mapping[str, str]) -> bytes:
    lines = [first, *(f"{name}: {one}" for name, value in headers.items() for one in value.split("\0"))]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _both(near: Pair, far: Pair, *, answer: bool = False) -> None:
    """Carry bytes until one side has said all; an `answer` is told to be the last on its connection."""
    tasks = [
        asyncio.create_task(_carry(near[0], far[1]), name="browser to web"),
        asyncio.create_task(
            _answer(far[0], near[1]) if answer else _carry(far[0], near[1]), name="web to browser"
        ),
    ]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        far[1].close()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, EOFError, asyncio.LimitOverrunError, ValueError):
        status = "100"
        while status.startswith("1") and status != "101":
            (version, status, words), headers = _read_answer(await reader.readuntil(b"\r\n\r\n"))
        kept = {name: value for name, value in headers.items() if name.lower() not in _HOPS}
        writer.write(_written(f"{version} {status} {words}", kept | {"Connection": "close"}))
        await _carry(reader, writer)


def _read_answer(head: bytes) -> tuple[tuple[str, str, str], dict[str, str]]:
    first, _, rest = head.partition(b"\r\n")
    if first.count(b" ") < 2:  # an answer may come without words
        first += b" "
    return _read(first + b"\r\n" + rest)


async def _say(writer: asyncio.StreamWriter, status: str) -> None:
    with suppress(OSError):
        writer.write(f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()
