"""A program that speaks MCP over its pipes, as the SDK takes a transport.

The SDK brings one of its own. This one bounds a line, lets noise on stdout pass, keeps what the program complained
about, gives it nothing of our environment but the usual, and ends its whole process group however it ends.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

MAX_LINE = 8 * 1024 * 1024
KEPT_BYTES = 2000
GRACE_S = 1.5
_USUAL = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR")


class Complaints:
    """The last of what a program wrote to its stderr."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def feed(self, data: bytes) -> None:
        """Take a piece of the stream."""
        self._kept += data
        del self._kept[:-KEPT_BYTES]

    @property
    def last(self) -> str:
        """Its last line with something in it."""
        lines = [line.strip() for line in self._kept.decode("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1][:300] if lines else ""


@asynccontextmanager
async def pipe(
    command: str,
    args: Sequence[str],
    env: Mapping[str, str],
    *,
    complaints: Complaints,
    ended: Callable[[], None],
) -> AsyncIterator[Any]:
    """The two streams of a fresh process, which lives as long as the block; `ended` is called when it stops talking."""
    process = await asyncio.create_subprocess_exec(
        *(command, *args),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=_surroundings() | dict(env),
        limit=MAX_LINE,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    told, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    given, taken = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_listen(process.stdout, told, ended), name="mcp stdout"),
        asyncio.create_task(_speak(process.stdin, taken, told), name="mcp stdin"),
        asyncio.create_task(_complaining(process.stderr, complaints), name="mcp stderr"),
    ]
    try:
        yield heard, given
    finally:
        await asyncio.shield(_end(process, tasks))
        for stream in (told, heard, given, taken):
            stream.close()


def _surroundings() -> dict[str, str]:
    path = [one for one in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(one).is_absolute()]
    usual = {name: os.environ[name] for name in _USUAL if name in os.environ}
    return usual | {"PATH": os.pathsep.join(path), "TERM": "dumb", "NO_COLOR": "1"}


async def _listen(stdout: asyncio.StreamReader, told: Any, ended: Callable[[], None]) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        while line := await _line(stdout):
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                continue  # a greeting, a log line: programs print
            await told.send(SessionMessage(message))
    told.close()
    ended()


async def _line(stdout: asyncio.StreamReader) -> bytes:
    try:
        return await stdout.readline()
    except (ValueError, ConnectionError):  # longer than a line may be, or gone
        return b""


async def _speak(stdin: asyncio.StreamWriter, taken: Any, told: Any) -> None:
    try:
        async for one in taken:
            stdin.write(one.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await stdin.drain()
    except (ConnectionError, anyio.ClosedResourceError):
        told.close()  # whoever waits for an answer hears that none will come


async def _complaining(stderr: asyncio.StreamReader, complaints: Complaints) -> None:
    with suppress(ConnectionError):
        while data := await stderr.read(65_536):
            complaints.feed(data)


async def _end(process: asyncio.subprocess.Process, tasks: list[asyncio.Task[None]]) -> None:
    """Close its stdin, ask its group to go, make it go; what is left of its output is not waited for."""
    assert process.stdin is not None
    tasks[1].cancel()
    process.stdin.close()
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None and not _signal(process.pid, number):
            break
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                while process.returncode is None or (number is not None and _signal(process.pid, 0)):  # noqa: ASYNC110 a group tells nobody
                    await asyncio.sleep(0.01)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    # A descendant that left the group may hold a pipe for ever; nothing public closes our end of it.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


def _signal(group: int, number: int) -> bool:
    """Tell a whole process group; whether there was one."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
