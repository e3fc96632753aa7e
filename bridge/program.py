"""Which adb program to use, and a server when nobody has started one.

A running server is used whoever started it: two of them fight over the cable. Only when none answers on this
computer is one started, and it is never ended by us.
"""

import asyncio
import importlib.util
import ipaddress
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bridge.adb import Adb
from bridge.faults import NoServer, ServerDown
from core.errors import Invalid

OLDEST = 30  # before that adb cannot pair over Wi-Fi
NAME = "adb.exe" if os.name == "nt" else "adb"
QUIET = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # Windows: no console flashes up


def server_address(host: str, port: int, env: Mapping[str, str]) -> tuple[str, int]:
    """Where the server is; adb's own variables win over the configuration, as for every adb program."""
    if socket := env.get("ADB_SERVER_SOCKET"):
        match = re.fullmatch(r"tcp:(?:(.+):)?(\d+)", socket)
        if match is None:
            raise Invalid(f"ADB_SERVER_SOCKET is {socket!r}; only tcp:HOST:PORT can be used.")
        return match[1] or "127.0.0.1", _port(match[2], "ADB_SERVER_SOCKET")
    text = env.get("ANDROID_ADB_SERVER_PORT")
    return (
        env.get("ANDROID_ADB_SERVER_ADDRESS") or host,
        _port(text, "ANDROID_ADB_SERVER_PORT") if text else port,
    )


async def find(env: Mapping[str, str] | None = None) -> Path | None:
    """The adb of the PATH when it is new enough, else the one that came with the application."""
    env = os.environ if env is None else env
    installed = shutil.which(NAME, path=env.get("PATH"))
    if installed and await _release(Path(installed)) >= OLDEST:
        return Path(installed)
    if bundled := _bundled():
        return bundled
    return Path(installed) if installed else None  # old, but a phone on a cable works


async def ensure_server(host: str, port: int, *, timeout_s: float = 20) -> None:
    """See to it that a server answers at the address; one that already runs stays as it is."""
    adb = Adb(host, port)
    try:
        await adb.version()
        return
    except NoServer:
        if not _is_this_computer(host):
            raise
    program = await find()
    if program is None:
        raise ServerDown("The program adb is not installed: install Android's platform-tools.")
    await _start(program, port, timeout_s)
    await adb.version()


async def _start(program: Path, port: int, timeout_s: float) -> None:
    # The server lives on and keeps what it inherits, so its words go to a file and never to a pipe.
    with tempfile.TemporaryFile() as said:
        process = await asyncio.create_subprocess_exec(
            program,
            "-P",
            str(port),
            "start-server",
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            creationflags=QUIET,
        )
        try:
            async with asyncio.timeout(timeout_s):
                code = await process.wait()
        except TimeoutError:
            raise ServerDown(f"adb did not start a server within {timeout_s:g} s.") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if code != 0:
            said.seek(0)
            words = " ".join(said.read(2000).decode(errors="replace").split())
            raise ServerDown(f"adb could not start a server on port {port}: {words}")


async def _release(program: Path) -> int:
    """The release of the platform tools, from the second line of `adb version`; 0 when it does not say."""
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            "version",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=QUIET,
        )
    except OSError:  # not for this machine, or not executable
        return 0
    try:
        async with asyncio.timeout(5):
            text, _ = await process.communicate()
    except TimeoutError:
        return 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return release_of(text.decode(errors="replace"))


def release_of(text: str) -> int:
    """The major release in the words of `adb version`."""
    match = re.search(r"^Version (\d+)\.", text, re.MULTILINE)
    return int(match[1]) if match else 0


def _bundled() -> Path | None:
    spec = importlib.util.find_spec("adbutils")  # looks, and imports nothing
    for folder in (spec.submodule_search_locations or []) if spec else []:
        program = Path(folder) / "binaries" / NAME
        if program.is_file():
            return program
    return None


def _is_this_computer(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _port(text: str, name: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise Invalid(f"{name} is {text!r}, which is not a port number.")
    return int(text)
