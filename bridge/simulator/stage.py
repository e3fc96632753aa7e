"""Sets the stage: a simulated phone on a port, a real adb server of one's own, and the two introduced to
each other."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from bridge.simulator.adbd import Adbd
from bridge.simulator.casts import CASTS, small_town
from bridge.simulator.faults import Faults
from bridge.simulator.phone import SimPhone

STARTS_S = 15.0

__all__ = ["CASTS", "SimDevice", "adb_server", "ask", "connect", "simulated_phone", "small_town"]


class SimDevice:
    """A phone that listens; `address` is what adb connects to and calls it by."""

    def __init__(self, phone: SimPhone, adbd: Adbd) -> None:
        self.phone = phone
        self._adbd = adbd
        self.port = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def faults(self) -> Faults:
        return self.phone.faults

    async def start(self, port: int | None = None) -> None:
        """Listen, on the port it had or on another (0: any)."""
        self.port = await self._adbd.start(self.port if port is None else port)

    async def stop(self) -> None:
        """Gone from the network; the phone itself stays as it is."""
        await self._adbd.stop()

    async def drop(self, fin: bool = True) -> None:
        """Break the connections that exist: with FIN, or silently."""
        self._adbd.drop(fin=fin)
        await asyncio.sleep(0)


@asynccontextmanager
async def simulated_phone(
    *, phone: SimPhone | None = None, serial_name: str = "SIM0001", port: int = 0, latency: str = "none"
) -> AsyncIterator[SimDevice]:
    """A phone on a loopback port; `latency="real"` makes it as slow as one, "brisk" as a quick one."""
    phone = phone or small_town()
    phone.serialno = serial_name
    device = SimDevice(phone, Adbd(phone, latency=latency))
    await device.start(port)
    try:
        yield device
    finally:
        await device.stop()


@asynccontextmanager
async def adb_server(program: Path, home: Path) -> AsyncIterator[int]:
    """A real adb server on a free port, with a home of its own; it is ended by its process id."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    environment = _environment(home)
    process = await asyncio.create_subprocess_exec(
        str(program),
        "-P",
        str(port),
        "nodaemon",
        "server",
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(STARTS_S):
            await _answering(port, process)
        yield port
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(5):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


def _environment(home: Path) -> dict[str, str]:
    """Nothing of the person's own adb: no keys, no settings, no phones on its cables."""
    home.mkdir(parents=True, exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ADB", "ANDROID"))}
    own = {name: str(home) for name in ("HOME", "USERPROFILE", "TMPDIR", "ANDROID_USER_HOME")}
    quiet = {name: "0" for name in ("ADB_USB", "ADB_EMU", "ADB_MDNS", "ADB_MDNS_AUTO_CONNECT")}
    return {**kept, **own, **quiet}


async def _answering(port: int, process: asyncio.subprocess.Process) -> None:
    while process.returncode is None:
        try:
            await ask(port, "host:version")
            return
        except (ConnectionError, asyncio.IncompleteReadError):
            await asyncio.sleep(0.02)
    raise RuntimeError(f"The adb server ended with {process.returncode} before it answered.")


async def ask(port: int, request: str) -> str:
    """One `host:` question to an adb server; FAIL raises RuntimeError with its text."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"{len(request):04x}{request}".encode())
        await writer.drain()
        status = await reader.readexactly(4)
        text = (await reader.readexactly(int(await reader.readexactly(4), 16))).decode(errors="replace")
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
    if status != b"OKAY":
        raise RuntimeError(f"adb refused {request}: {text}")
    return text


async def connect(port: int, address: str) -> None:
    """`adb connect`; the server says OKAY to failures too, so its words decide."""
    said = await ask(port, f"host:connect:{address}")
    if not said.startswith(("connected to", "already connected to")):
        raise RuntimeError(said.strip())
