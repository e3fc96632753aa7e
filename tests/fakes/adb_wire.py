"""An adb server on loopback that says what a test tells it to say, and remembers what it was asked."""

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bridge.adb import Adb

Printed = tuple[bytes, bytes, int]  # stdout, stderr, exit code


def block(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return b"%04x" % len(data) + data


def okay(text: str | bytes = b"") -> bytes:
    return b"OKAY" + block(text)


def fail(text: str) -> bytes:
    return b"FAIL" + block(text)


def frame(kind: int, data: bytes) -> bytes:
    return struct.pack("<BI", kind, len(data)) + data


@dataclass
class AdbWire:
    """`raw` answers a request with exactly these bytes and hangs up; `silent` ones get no answer at all."""

    devices: str = "PHONE device product:p model:m transport_id:1\n"
    version: int = 41
    features: str = "shell_v2,cmd"
    run: Callable[[str], Printed] = lambda command: (b"", b"", 0)
    packet: int = 0  # 1: every byte travels alone
    raw: dict[str, bytes] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    greeting: bytes = b""  # sent at once, before any request: another kind of server
    asked: list[str] = field(default_factory=list)
    port: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    open: set[asyncio.StreamWriter] = field(default_factory=set)
    silence: asyncio.Event = field(default_factory=asyncio.Event)  # a silent request has arrived
    idle: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Adb]:
        self.idle.set()
        server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield Adb("127.0.0.1", self.port)
        finally:
            server.close()
            await server.wait_closed()
            for writer in self.open:
                writer.transport.abort()
            await self.closed()

    async def closed(self) -> None:
        """Waits until the last connection is closed; a leak makes this time out."""
        async with asyncio.timeout(5):
            await self.idle.wait()

    def hang_up(self) -> None:
        for writer in self.open:
            writer.transport.abort()

    @property
    def commands(self) -> list[str]:
        """What ran on the phone."""
        return [request.partition(":")[2] for request in self.asked if request.startswith(("shell", "exec"))]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open.add(writer)
        self.idle.clear()
        try:
            if self.greeting:
                await self._say(writer, self.greeting)
            while True:
                request = (await reader.readexactly(int(await reader.readexactly(4), 16))).decode()
                self.asked.append(request)
                if not await self._answer(request, reader, writer):
                    break
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            pass
        finally:
            writer.close()
            self.open.discard(writer)
            if not self.open:
                self.idle.set()

    async def _answer(self, request: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Says what belongs to the request; true when the same connection carries another one."""
        if request in self.raw:
            await self._say(writer, self.raw[request])
        elif request in self.silent:
            self.silence.set()
            await reader.read()
        elif request == "host:version":
            await self._say(writer, okay(f"{self.version:04x}"))
        elif request == "host:devices-l":
            await self._say(writer, okay(self.devices))
        elif request.startswith("host:track-devices"):
            await self._say(writer, okay(self.devices))
            telling = asyncio.create_task(self._tell_changes(writer))
            await reader.read()
            telling.cancel()
            await asyncio.wait([telling])
        elif request.endswith(":features"):
            await self._say(writer, okay(self.features))
        elif request.startswith("host:transport:"):
            await self._say(writer, b"OKAY")
            return True
        elif request.startswith("shell,v2,raw:"):
            out, err, code = self.run(request.partition(":")[2])
            frames = frame(1, out) + frame(2, err) + frame(3, bytes([code]))
            await self._say(writer, b"OKAY" + frames)
        elif request.startswith("shell:"):
            command, _, echo = request.partition(":")[2].rpartition("; echo ")
            out, err, code = self.run(command)
            await self._say(writer, b"OKAY" + out + err + echo.replace("$?", str(code)).encode() + b"\r\n")
        elif request.startswith("exec:"):
            out, err, _ = self.run(request.partition(":")[2])
            await self._say(writer, b"OKAY" + out + err)
        else:
            await self._say(writer, fail("unknown host service"))
        return False

    async def _tell_changes(self, writer: asyncio.StreamWriter) -> None:
        while True:
            await self.changed.wait()
            self.changed.clear()
            await self._say(writer, block(self.devices))

    async def _say(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        for at in range(0, len(data), self.packet or len(data) or 1):
            writer.write(data[at : at + (self.packet or len(data))])
            await writer.drain()
            if self.packet:
                await asyncio.sleep(0)  # lets the packet leave alone
