"""Talking to the adb server, one connection per call.

pure-python-adb gives the connection and nothing else: its own calls read short, count their timeout per read,
leak the socket of whatever fails and know neither exit codes nor streams. So every read here is exact, one
deadline covers a whole call, and whatever happens the socket is closed.
"""

import asyncio
import re
import secrets
import struct
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from ppadb.connection_async import ConnectionAsync

from bridge.faults import NoServer, ServerDown, ServiceMissing, ShellFailed, TimedOut, meaning
from core.errors import Invalid, PhoneUnreachable

STDOUT, STDERR, EXIT = 1, 2, 3  # frame kinds of shell v2
MAX_TEXT = 32_000_000
STATES = (
    "no permissions|unauthorized|authorizing|connecting|bootloader|detached|recovery|sideload|offline|rescue"
    "|device|host"
)


@dataclass(frozen=True, slots=True)
class Device:
    """A line of the device list. `state` is `device` when it can be used."""

    serial: str
    state: str
    properties: dict[str, str]


@dataclass(frozen=True, slots=True)
class Shell:
    """What a command printed. `code` is its exit status; many Android programs exit 0 whatever happened."""

    stdout: str
    stderr: str
    code: int


class Adb:
    """A client of the adb server at `host:port`. It keeps no connection, so there is nothing to close."""

    def __init__(self, host: str = "127.0.0.1", port: int = 5037) -> None:
        self.host = host
        self.port = port
        self.server_version: int | None = None  # as last seen; a change means that another adb took over
        self._framed: dict[str, bool] = {}  # serial -> the phone speaks shell v2

    async def version(self, *, timeout_s: float = 3) -> int:
        """The protocol version of the server; the cheapest way to learn whether one is there."""
        text = await self._ask("host:version", timeout_s=timeout_s)
        try:
            self.server_version = int(text, 16)
        except ValueError:
            raise ServerDown(f"{self._place} answers, but it is not an adb server.") from None
        return self.server_version

    async def devices(self, *, timeout_s: float = 3) -> list[Device]:
        """Every phone that the server lists, in whatever state."""
        return parse_devices(await self._ask("host:devices-l", timeout_s=timeout_s))

    async def track(self) -> AsyncGenerator[list[Device], None]:
        """The device list now and after each change, over one long connection.

        Ends with an error when the server goes away or is replaced.
        """
        await self.version()
        try:
            connection = await self._dial("host:track-devices-l", timeout_s=3)
        except ServiceMissing:
            connection = await self._dial("host:track-devices", timeout_s=3)
        try:
            while True:
                yield parse_devices(await _block(connection))
        except (EOFError, ConnectionError):
            raise await self._cut(None) from None
        finally:
            await _hang_up(connection)

    async def connect(self, address: str, *, timeout_s: float = 8) -> None:
        """Attach a phone over the network. The server answers OKAY to a failure too: its words decide."""
        said = await self._ask(f"host:connect:{_address(address)}", timeout_s=timeout_s)
        if "authenticate" in said:
            raise meaning("unauthorized " + said, serial=address)
        if not re.match(r"(already )?connected to", said):
            raise PhoneUnreachable(
                "absent", f"No phone answers at {address} (adb: {' '.join(said.split())})."
            )

    async def disconnect(self, address: str) -> None:
        """Forget a phone of the network; one that is not there is forgotten already."""
        try:
            await self._ask(f"host:disconnect:{_address(address)}", timeout_s=3)
        except ServerDown:
            raise
        except PhoneUnreachable as error:
            if error.state == "timeout":
                raise

    async def pair(self, address: str, code: str, *, timeout_s: float = 20) -> str:
        """Exchange keys with a phone that shows a pairing code; answers the name it will appear under."""
        if not re.fullmatch(r"[!-~]{4,64}", code) or ":" in code:
            raise Invalid("That is not a pairing code: it is the six digits on the phone's screen.")
        said = await self._ask(f"host:pair:{code}:{_address(address)}", timeout_s=timeout_s)
        if not said.startswith("Successfully paired"):
            raise PhoneUnreachable(
                "unauthorized", f"The phone did not accept the code (adb: {' '.join(said.split())})."
            )
        name = re.search(r"guid=([^\]\s]+)", said)
        return name[1] if name else said.strip()

    async def shell(self, serial: str, command: str, *, timeout_s: float = 5) -> Shell:
        """Run a command to its end; the time is for all of it, from connection to exit code."""
        async with self._deadline(timeout_s, serial) as sent:
            if await self._speaks_frames(serial):
                try:
                    return await self._framed_shell(serial, command, sent)
                except ServiceMissing:
                    pass  # it says shell_v2 and refuses it, or it is going away, which the next try tells
            return await self._plain_shell(serial, command, sent)

    async def exec_out(
        self, serial: str, command: str, *, timeout_s: float = 20, max_bytes: int = 40_000_000
    ) -> bytes:
        """The bytes that a command prints, untouched by any terminal."""
        async with (
            self._deadline(timeout_s, serial) as sent,
            self._service(serial, f"exec:{command}", sent) as connection,
        ):
            return await _rest(connection, max_bytes)

    async def lines(self, serial: str, command: str) -> AsyncGenerator[str, None]:
        """The lines of a command that does not end (logcat), as they come; `aclose` ends it."""
        async with self._deadline(5, serial):
            framed = await self._speaks_frames(serial)
        connection = await self._dial(
            f"shell{',v2,raw' if framed else ''}:{command}", serial=serial, timeout_s=5
        )
        pending = b""
        try:
            async for chunk in _frames(connection) if framed else _chunks(connection):
                *whole, pending = (pending + chunk).split(b"\n")
                for line in whole:
                    yield line.rstrip(b"\r").decode(errors="replace")
                if len(pending) > 1_000_000:
                    pending = b""  # no line is that long: it is rubbish, and it must not fill the memory
            if pending:
                yield pending.decode(errors="replace")
        except (EOFError, ConnectionError):
            raise await self._cut(serial) from None
        finally:
            await _hang_up(connection)

    async def reverse(self, serial: str, remote: str, local: str) -> None:
        """Let the phone reach our `local` at its own `remote` (both `tcp:PORT`) until it disconnects."""
        async with (
            self._deadline(5, serial) as sent,
            self._service(serial, f"reverse:forward:{remote};{local}", sent) as connection,
        ):
            await self._status(connection, serial)

    @property
    def _place(self) -> str:
        return f"{self.host}:{self.port}"

    async def _ask(self, request: str, *, timeout_s: float) -> str:
        async with self._deadline(timeout_s, None) as sent, self._connection() as connection:
            await _send(connection, request)
            sent.set()
            try:
                await self._status(connection, None)
                return await _block(connection)
            except EOFError:
                raise ServerDown(f"{self._place} hung up without an answer: is it an adb server?") from None

    async def _dial(self, request: str, *, timeout_s: float, serial: str | None = None) -> ConnectionAsync:
        """A connection for a stream: the caller hangs up."""
        async with self._deadline(timeout_s, serial) as sent:
            connection = ConnectionAsync(self.host, self.port)
            try:
                await self._open(connection)
                await self._start(connection, serial, request, sent)
            except (EOFError, ConnectionError):
                await _hang_up(connection)
                raise await self._cut(serial) from None
            except BaseException:
                await _hang_up(connection)
                raise
            return connection

    @asynccontextmanager
    async def _deadline(self, timeout_s: float, serial: str | None) -> AsyncIterator[asyncio.Event]:
        """The time for everything inside; the event tells whether the request had left."""
        sent = asyncio.Event()
        try:
            async with asyncio.timeout(timeout_s):
                yield sent
        except TimeoutError:
            who = f"The phone {serial}" if serial else f"The adb server at {self._place}"
            raise TimedOut(
                f"{who} did not answer within {timeout_s:g} s.", maybe_done=sent.is_set()
            ) from None

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[ConnectionAsync]:
        connection = ConnectionAsync(self.host, self.port)
        try:
            await self._open(connection)
            yield connection
        except ConnectionError as error:
            raise ServerDown(f"The adb server at {self._place} went away: {error}.") from error
        finally:
            await _hang_up(connection)

    async def _open(self, connection: ConnectionAsync) -> None:
        try:
            await connection.connect()
        except RuntimeError as error:  # ppadb's name for every OSError here
            raise NoServer(f"No adb server answers at {self._place}.") from error

    @asynccontextmanager
    async def _service(
        self, serial: str, request: str, sent: asyncio.Event
    ) -> AsyncIterator[ConnectionAsync]:
        async with self._connection() as connection:
            try:
                await self._start(connection, serial, request, sent)
                yield connection
            except (EOFError, ConnectionError):
                raise await self._cut(serial) from None

    async def _start(
        self, connection: ConnectionAsync, serial: str | None, request: str, sent: asyncio.Event
    ) -> None:
        if serial is not None:
            await _send(connection, f"host:transport:{serial}")
            await self._status(connection, serial)
        sent.set()
        await _send(connection, request)
        await self._status(connection, serial)

    async def _status(self, connection: ConnectionAsync, serial: str | None) -> None:
        status = await connection.reader.readexactly(4)
        if status == b"OKAY":
            return
        if status == b"FAIL":
            error = meaning(await _block(connection), serial=serial)
            if serial is not None:
                self._framed.pop(serial, None)  # what comes back may be another Android
            raise error
        other = "a web server" if status == b"HTTP" else "another program"
        raise ServerDown(f"On {self._place} there is {other}, not an adb server.")

    async def _cut(self, serial: str | None) -> PhoneUnreachable:
        """Why a stream broke: the server went, was replaced, or the phone dropped out."""
        before = self.server_version
        try:
            now = await self.version(timeout_s=2)
        except PhoneUnreachable:
            return ServerDown(f"The adb server at {self._place} went away in the middle.")
        if before is not None and now != before:
            return ServerDown(
                f"Another adb program replaced the server at {self._place} (version {before}, now {now})."
            )
        if serial is None:
            return ServerDown(f"The adb server at {self._place} was restarted.")
        self._framed.pop(serial, None)
        return PhoneUnreachable("offline", f"The connection to the phone {serial} broke in the middle.")

    async def _speaks_frames(self, serial: str) -> bool:
        if serial not in self._framed:
            async with self._connection() as connection:
                await _send(connection, f"host-serial:{serial}:features")
                try:
                    await self._status(connection, serial)
                    self._framed[serial] = "shell_v2" in (await _block(connection)).split(",")
                except ServiceMissing:
                    self._framed[serial] = False
                except (EOFError, ConnectionError):
                    raise await self._cut(serial) from None
        return self._framed[serial]

    async def _framed_shell(self, serial: str, command: str, sent: asyncio.Event) -> Shell:
        parts = {STDOUT: bytearray(), STDERR: bytearray()}
        async with self._service(serial, f"shell,v2,raw:{command}", sent) as connection:
            while True:
                kind, body = await _frame(connection)
                if kind == EXIT:
                    return Shell(_text(parts[STDOUT]), _text(parts[STDERR]), body[0] if body else -1)
                if kind in parts:
                    parts[kind] += body
                if len(parts[STDOUT]) + len(parts[STDERR]) > MAX_TEXT:
                    raise ShellFailed(command, -1, f"more than {MAX_TEXT} bytes")

    async def _plain_shell(self, serial: str, command: str, sent: asyncio.Event) -> Shell:
        """The protocol has no exit codes here: the shell prints its own behind a mark no output can know."""
        mark = f"exit-{secrets.token_hex(8)}="
        async with self._service(serial, f"shell:{command}; echo {mark}$?", sent) as connection:
            text = _text(await _rest(connection, MAX_TEXT))
            stdout, found, code = text.rpartition(mark)
            if not found or not code.strip().isdigit():
                raise EOFError
            return Shell(stdout, "", int(code))


def parse_devices(text: str) -> list[Device]:
    """The device list; serials and `no permissions (...)` hold spaces, columns are tabs or spaces."""
    devices = []
    for line in text.splitlines():
        columns = re.match(rf"(?P<serial>\S.*?)\s+(?P<state>{STATES})\b(?P<rest>.*)$", line.strip())
        if columns:
            pairs = (word.partition(":") for word in columns["rest"].split() if re.match(r"[a-z_]+:.", word))
            devices.append(
                Device(columns["serial"], columns["state"], {key: value for key, _, value in pairs})
            )
        elif words := line.split():  # a state that is newer than this list
            devices.append(Device(words[0], words[1] if len(words) > 1 else "unknown", {}))
    return devices


def _address(address: str) -> str:
    if not re.fullmatch(r"[\w.\-\[\]:%]+", address):
        raise Invalid(f"{address!r} is not an address like 192.168.1.20:5555.")
    return address


def _text(data: bytes | bytearray) -> str:
    return data.decode(errors="replace").replace("\r\n", "\n")


async def _send(connection: ConnectionAsync, request: str) -> None:
    body = request.encode()
    if len(body) > 0xFFFF:
        raise Invalid("That command is too long for adb.")
    await connection.write(b"%04x" % len(body) + body)


async def _block(connection: ConnectionAsync) -> str:
    """Four hex digits and as many bytes of text."""
    digits: bytes = await connection.reader.readexactly(4)
    try:
        length = int(digits, 16)
    except ValueError:
        raise ServerDown("The adb server's answer makes no sense: is it another program?") from None
    body: bytes = await connection.reader.readexactly(length)
    return body.decode(errors="replace")


async def _frame(connection: ConnectionAsync) -> tuple[int, bytes]:
    kind, length = struct.unpack("<BI", await connection.reader.readexactly(5))
    if length > MAX_TEXT:
        raise EOFError
    return kind, await connection.reader.readexactly(length)


async def _frames(connection: ConnectionAsync) -> AsyncIterator[bytes]:
    while True:
        kind, body = await _frame(connection)
        if kind == STDOUT:
            yield body
        elif kind == EXIT:
            return


async def _chunks(connection: ConnectionAsync) -> AsyncIterator[bytes]:
    while chunk := await connection.reader.read(65536):
        yield chunk
    raise EOFError


async def _rest(connection: ConnectionAsync, max_bytes: int) -> bytes:
    data = bytearray()
    while chunk := await connection.reader.read(65536):
        data += chunk
        if len(data) > max_bytes:
            raise ShellFailed("output", -1, f"more than {max_bytes} bytes")
    return bytes(data)


async def _hang_up(connection: ConnectionAsync) -> None:
    """Close at once: a peer that stopped reading must not be waited for."""
    if connection.writer is not None:
        connection.writer.transport.abort()
        await connection.close()
