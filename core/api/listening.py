"""The socket and the server on it: uvicorn on the app's own loop, without its signals and without its ticking."""

import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from core.errors import Unavailable

HEAD_S = 20.0
GRACE_S = 2.0
FLUSH_S = 1.0
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Protocol(H11Protocol):
    """HTTP/1.1 that waits only so long for a request's head: a sender of one byte now and then is cut off."""

    _timer: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, alone: asyncio.Event, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._alone = alone  # set while there is no connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._alone.clear()
        self._timer = self.loop.call_later(HEAD_S, self._too_slow)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not (self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]):
            self._unset()
        elif self._timer is None:
            self._timer = self.loop.call_later(HEAD_S, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        self._unset()
        super().connection_lost(exc)
        if not self.connections:
            self._alone.set()

    def _unset(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        self.transport.write(_TOO_SLOW)
        self.transport.close()


class Server(uvicorn.Server):
    """A server that somebody else starts and stops."""

    def __init__(self, app: Any) -> None:
        self._alone = asyncio.Event()
        self._alone.set()
        super().__init__(
            uvicorn.Config(
                app,
                http=cast(Any, partial(Protocol, alone=self._alone)),
                ws="none",
                lifespan="off",
                loop="none",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                timeout_keep_alive=75,
            )
        )
        self.up = asyncio.Event()
        self._leaving = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals belong to the program, not to one of its parts."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    async def main_loop(self) -> None:
        await self._leaving.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let what is being answered end for a moment, then cut it off; uvicorn only looks now and then."""
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        if tasks := list(self.server_state.tasks):
            _, late = await asyncio.wait(tasks, timeout=GRACE_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        try:
            async with asyncio.timeout(FLUSH_S):
                await self._alone.wait()
        except TimeoutError:
            for connection in list(self.server_state.connections):
                connection.transport.abort()

    def stop(self) -> None:
        """Take no more, finish what is being answered, end."""
        self.should_exit = True
        self._leaving.set()


def bind(host: str, port: int) -> list[socket.socket]:
    """The listening sockets: loopback always, and the configured address besides if it is another one."""
    if host in {"", "localhost", "127.0.0.1"}:
        hosts = ["127.0.0.1"]
    else:
        hosts = [host] if host in {"0.0.0.0", "::"} else ["127.0.0.1", host]
    sockets: list[socket.socket] = []
    try:
        for one in hosts:
            sockets.append(_listen(one, port))
            port = sockets[0].getsockname()[1]
    except BaseException:
        for made in sockets:
            made.close()
        raise
    return sockets


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICHOST
        )[0]
    except socket.gaierror as error:
        raise Unavailable(
            f"The setting host must be an IP address of this computer, not {host!r}."
        ) from error
    made = socket.socket(family, kind, proto)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(128)
        made.setblocking(False)
    except OSError as error:
        made.close()
        raise Unavailable(_why_not(host, port, error)) from error
    return made


def _why_not(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} is already used by {_holder(port)}. End that program, or choose another port with"
            f" `apx config set port {port + 1 if port < 65_535 else 7430} --global`."
        )
    if error.errno == errno.EACCES:
        return f"Port {port} needs rights that this program does not have. Choose one above 1023."
    return f"{host} port {port} cannot be opened: {error.strerror}."


def _holder(port: int) -> str:
    # Only needed once something is wrong.
    import psutil  # type: ignore[import-untyped]

    with suppress(psutil.Error, OSError):
        for one in psutil.net_connections("tcp"):
            if one.status == psutil.CONN_LISTEN and one.laddr.port == port and one.pid:
                return f"{psutil.Process(one.pid).name()} (process {one.pid})"
    return "another program"
