"""The device end of the adb transport: what a real adb server connects to.

Messages are 24 bytes of header and a payload; each OPEN is one service, here always a shell in one of its
four forms. A write waits for the server's OKAY, as the protocol demands.
"""

import asyncio
import contextlib
import struct
from collections.abc import Callable

from bridge.simulator.commands import find, properties
from bridge.simulator.phone import SimPhone
from bridge.simulator.shell import Io, Pipe, Shell

CNXN, AUTH, OPEN, OKAY, CLSE, WRTE = (
    int.from_bytes(name, "little") for name in (b"CNXN", b"AUTH", b"OPEN", b"OKAY", b"CLSE", b"WRTE")
)
VERSION, MAX_DATA = 0x01000001, 256 * 1024
TOKEN, PUBLIC_KEY = 1, 3
# Seconds for reading the screen, for touching it, and for any other question.
PACES = {"none": (0.0, 0.0, 0.0), "brisk": (0.15, 0.05, 0.01), "real": (1.0, 0.25, 0.03)}


class Gone(Exception):
    """The connection, or the service's other end, is closed."""


class Connection:
    """One adb server, connected."""

    def __init__(
        self, phone: SimPhone, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, pace: str
    ) -> None:
        self.phone = phone
        self._reader, self._writer = reader, writer
        self._pace = pace
        self._services: dict[int, Service] = {}
        self._next_id = 1
        self.silent = False

    async def serve(self) -> None:
        """Until either side is gone."""
        try:
            while True:
                command, arg0, arg1, data = await self._read()
                if self.silent or self.phone.faults.is_set("silent"):
                    continue
                await self._on(command, arg0, arg1, data)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            for service in list(self._services.values()):
                await service.end()
            self._writer.close()
            with contextlib.suppress(ConnectionError):
                await self._writer.wait_closed()

    def drop(self, *, fin: bool) -> None:
        """The cable is pulled (FIN), or the network is simply not there any more."""
        self.silent = True
        if fin:
            self._writer.transport.abort()

    async def _read(self) -> tuple[int, int, int, bytes]:
        command, arg0, arg1, length, _, _ = struct.unpack("<6I", await self._reader.readexactly(24))
        return command, arg0, arg1, await self._reader.readexactly(length)

    async def send(self, command: int, arg0: int, arg1: int, data: bytes = b"") -> None:
        if self.silent or self.phone.faults.is_set("silent"):
            return
        check = sum(data) & 0xFFFFFFFF
        self._writer.write(
            struct.pack("<6I", command, arg0, arg1, len(data), check, command ^ 0xFFFFFFFF) + data
        )
        await self._writer.drain()

    async def _on(self, command: int, arg0: int, arg1: int, data: bytes) -> None:
        faults = self.phone.faults
        if command == CNXN:
            if faults.is_set("offline"):
                self.silent = True
            elif faults.is_set("unauthorized") or faults.is_set("authorizing"):
                await self.send(AUTH, TOKEN, 0, bytes(range(20)))
            else:
                await self._welcome()
        elif command == AUTH:
            if faults.is_set("authorizing") and arg0 == PUBLIC_KEY:
                await asyncio.sleep(faults.number("authorizing", 0.2))
                faults.clear("authorizing")
                await self._welcome()
            elif arg0 != PUBLIC_KEY:
                await self.send(AUTH, TOKEN, 0, bytes(range(20)))
        elif command == OPEN:
            await self._open(arg0, data.rstrip(b"\0").decode(errors="replace"))
        elif command == OKAY and (service := self._services.get(arg1)):
            service.ready.set()
        elif command == WRTE:
            if arg1 in self._services:
                await self.send(OKAY, arg1, arg0)  # standard input is not read
        elif command == CLSE and (service := self._services.pop(arg1, None)):
            await service.end()

    async def _welcome(self) -> None:
        features = "cmd,stat_v2" if self.phone.faults.is_set("no_shell_v2") else "shell_v2,cmd,stat_v2"
        props = properties(self.phone)
        banner = "".join(
            f"{name}={props[name]};" for name in ("ro.product.name", "ro.product.model", "ro.product.device")
        )
        await self.send(CNXN, VERSION, MAX_DATA, f"device::{banner}features={features}".encode())

    async def _open(self, remote: int, name: str) -> None:
        kind, _, line = name.partition(":")
        options = kind.split(",")
        if options[0] not in ("shell", "exec") or not line:
            await self.send(CLSE, 0, remote)  # sync:, tcp:, reverse: and interactive shells are refused
            return
        local, self._next_id = self._next_id, self._next_id + 1
        service = Service(self, local, remote, framed="v2" in options)
        self._services[local] = service
        await self.send(OKAY, local, remote)
        service.start(line, self._pace, self._services.pop)


class Stream:
    """One of a service's output streams."""

    def __init__(self, service: "Service", fd: int) -> None:
        self._service, self._fd = service, fd

    async def write(self, data: bytes) -> None:
        await self._service.write(self._fd, data)


class Service:
    """One command that runs for a server."""

    def __init__(self, connection: Connection, local: int, remote: int, *, framed: bool) -> None:
        self._connection, self._local, self._remote, self._framed = connection, local, remote, framed
        self.ready = asyncio.Event()
        self.ready.set()
        self._task: asyncio.Task[None] | None = None
        self._written = 0

    def start(self, line: str, pace: str, forget: Callable[[int, None], object]) -> None:
        self._task = asyncio.create_task(self._run(line, pace, forget))

    async def end(self) -> None:
        """The server does not want it any more."""
        task, self._task = self._task, None
        if task is not None and task is not asyncio.current_task():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self, line: str, pace: str, forget: Callable[[int, None], object]) -> None:
        phone, faults = self._connection.phone, self._connection.phone.faults
        phone.commands.append(line)
        await self._wait(line, pace)
        if faults.is_set("sleeps_again") and len(phone.commands) % int(faults.number("sleeps_again", 5)) == 0:
            phone.sleep()
        if faults.strike("reboot"):
            phone.reboot()
            self._connection.drop(fin=True)
            return
        if faults.strike("output_flood"):
            size = int(faults.number("output_flood", 5_000_000))
            for _ in range(0, size, 65536):
                await self.write(1, b"." * 65535 + b"\n")
        shell = Shell(phone, find)
        io = Io(Pipe(b""), Stream(self, 1), Stream(self, 1 if faults.is_set("stderr_mixed") else 2))
        try:
            code = await shell.run(line, io)
        except BrokenPipeError:
            code = 141
        except Gone:
            return
        if self._framed:
            lies = faults.strike("exit_code_lies")
            await self._packet(struct.pack("<BIB", 3, 1, 0 if lies else code & 0xFF))
        forget(self._local, None)
        await self._connection.send(CLSE, self._local, self._remote)

    async def _wait(self, line: str, pace: str) -> None:
        phone, faults = self._connection.phone, self._connection.phone.faults
        dump, touch, ask = PACES[pace]
        seconds = (
            dump
            if "uiautomator" in line
            else touch
            if line.startswith(("input", "am ", "screencap"))
            else ask
        )
        if faults.strike("latency"):
            seconds += faults.number("latency", 1.0)
        if faults.is_set("jitter"):
            seconds += faults.number("jitter", 0.5) * (len(phone.commands) % 5) / 4
        if seconds:
            await asyncio.sleep(seconds)

    async def write(self, fd: int, data: bytes) -> None:
        """Output of the command, through the faults of the line."""
        faults = self._connection.phone.faults
        if faults.is_set("crlf") and not data.startswith(b"\x89PNG"):
            data = data.replace(b"\n", b"\r\n")
        if data and faults.strike("invalid_utf8"):
            data = data[: len(data) // 2] + b"\xff\xfe" + data[len(data) // 2 :]
        if faults.is_set("output_cut"):
            data = data[: max(0, int(faults.number("output_cut", 65536)) - self._written)]
        limit = int(faults.number("drop_mid_output", 200)) - self._written
        if faults.is_set("drop_mid_output") and len(data) > limit and faults.strike("drop_mid_output"):
            await self._chunks(fd, data[: max(0, limit)])
            self._connection.drop(fin=True)
            raise Gone
        self._written += len(data)
        await self._chunks(fd, data)

    async def _chunks(self, fd: int, data: bytes) -> None:
        for i in range(0, len(data), 65000):
            chunk = data[i : i + 65000]
            await self._packet(struct.pack("<BI", fd, len(chunk)) + chunk if self._framed else chunk)

    async def _packet(self, data: bytes) -> None:
        await self.ready.wait()
        self.ready.clear()
        await self._connection.send(WRTE, self._local, self._remote, data)


class Adbd:
    """Listens for adb servers on a loopback port."""

    def __init__(self, phone: SimPhone, *, latency: str = "none") -> None:
        self.phone = phone
        self.latency = latency
        self._server: asyncio.Server | None = None
        self._connections: dict[Connection, asyncio.Task[None]] = {}

    async def start(self, port: int) -> int:
        """The port it listens on."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", port)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        if self._server is None:
            return
        self._server.close()
        tasks = list(self._connections.values())
        for connection in list(self._connections):
            connection.drop(fin=True)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None

    def drop(self, *, fin: bool) -> None:
        """Every connection breaks; new ones are welcome."""
        for connection in list(self._connections):
            connection.drop(fin=fin)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.phone.faults.is_set("absent"):
            writer.transport.abort()
            return
        connection = Connection(self.phone, reader, writer, pace=self.latency)
        task = asyncio.current_task()
        assert task is not None
        self._connections[connection] = task
        try:
            await connection.serve()
        except asyncio.CancelledError:
            pass  # the phone stops
        finally:
            self._connections.pop(connection, None)
