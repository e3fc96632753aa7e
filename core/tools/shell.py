"""Commands on the owner's computer: in the project, without our secrets, within bounds, and gone when they are done.

Whether a line may run is the gate's business; here it runs. Its whole process group ends with it, however it ends.
"""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from core import projects
from core.errors import Invalid, Unavailable
from core.runs.surroundings import DEPTH, surroundings
from core.tool import Context, Effect, tool

SHELL = "/bin/sh"
MAX_CHARS = 12_000
HEAD = 4_000
GRACE_S = 1.0
PIPES_S = 0.5


class RunShell(BaseModel):
    """Arguments of run_shell."""

    model_config = ConfigDict(extra="forbid")
    command: str = Field(description="A line for /bin/sh.", min_length=1, max_length=20_000)
    cwd: str = Field("", description="A folder of the project to begin in; empty: its top.", max_length=4096)
    timeout_s: int = Field(60, description="Seconds until it is ended.", ge=1, le=600)


class Tail:
    """The beginning and the end of a stream, whatever its length."""

    def __init__(self, limit: int = MAX_CHARS, head: int = HEAD) -> None:
        self._limit, self._head = limit * 4, head * 4  # bytes; a letter has up to four
        self._first, self._last = bytearray(), bytearray()
        self.size = 0

    def feed(self, data: bytes) -> None:
        """Take a piece of the stream."""
        self.size += len(data)
        room = self._head - len(self._first)
        self._first += data[:room]
        self._last += data[max(room, 0) :]
        del self._last[: -self._limit]

    def text(self, limit: int = MAX_CHARS, head: int = HEAD) -> str:
        """At most `limit` letters, with a line that says what is missing."""
        whole = (self._first + self._last).decode("utf-8", "replace")
        kept = len(self._first) + len(self._last)
        if kept == self.size and len(whole) <= limit:
            return whole
        first = self._first.decode("utf-8", "replace")[:head]
        last = whole[-(limit - head) :]
        return f"{first}\n[... cut: {self.size} bytes in all ...]\n{last}"


@tool(Effect.DANGER, group="shell")
async def run_shell(args: RunShell, ctx: Context) -> str:
    """Run a shell command in the project's folder and see what it prints.

    Nobody is at its keyboard. It is ended after timeout_s, together with everything it started.
    """
    if "\0" in args.command:
        raise Invalid("A command cannot hold a NUL character.")
    root = (await projects.root(ctx.store, ctx.home, ctx.turn.project_id)).resolve()
    cwd = (root / args.cwd).resolve()
    if cwd != root and root not in cwd.parents:
        raise Invalid(f"{args.cwd} is outside of the project. Commands begin in the project's folder.")
    if not cwd.is_dir():
        raise Invalid(f"There is no folder {args.cwd or root} to begin in.")
    # `apx send` of this command counts as one more hand-over of the same work.
    return await run(args.command, cwd, args.timeout_s, {DEPTH: str(ctx.turn.depth)})


async def run(command: str, cwd: Path, timeout_s: float, more: Mapping[str, str] | None = None) -> str:
    """Run one line to its end, or to the end of its time, and tell what came of it."""
    return (await ran(command, cwd, timeout_s, more)).text


@dataclass(frozen=True, slots=True)
class Ran:
    """How a line went, in words, and what it said; `code` is None where it was ended."""

    text: str
    code: int | None
    out: str
    err: str


async def ran(command: str, cwd: Path, timeout_s: float, more: Mapping[str, str] | None = None) -> Ran:
    """The same, for whoever acts on how it ended."""
    began = time.monotonic()
    out, err = Tail(), Tail()
    # Pipes of our own: the process is done when it has ended, not when the last one who holds its pipe has.
    async with _pipe(out) as to_out, _pipe(err) as to_err:
        try:
            process = await asyncio.create_subprocess_exec(
                *(SHELL, "-c", command),
                cwd=cwd,
                env=surroundings() | dict(more or {}),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=to_out.handle,
                stderr=to_err.handle,
                start_new_session=True,
            )
        except OSError as error:
            raise Unavailable(f"The shell did not start: {error.strerror}.") from error
        finally:
            to_out.ours_ends()
            to_err.ours_ends()
        ended, left = await _watched(process, [to_out, to_err], timeout_s)
    seconds = time.monotonic() - began
    lines = [ended or f"exit code {process.returncode} ({seconds:.1f} s)"]
    if left and not ended:
        lines.append("what it left in the background was ended")
    for name, stream in (("stdout", out), ("stderr", err)):
        if stream.size:
            lines.append(f"{name}:\n{stream.text()}")
    return Ran("\n".join(lines), None if ended else process.returncode, out.text(), err.text())


async def _watched(
    process: asyncio.subprocess.Process, pipes: "list[_Pipe]", timeout_s: float
) -> tuple[str, bool]:
    """Wait for the end, and make it one; how it ended if not by itself, and whether anything was left."""
    ended, left = "", False
    try:
        async with asyncio.timeout(timeout_s):
            await process.wait()
    except TimeoutError:
        ended = f"ended after {timeout_s:g} s: it had not finished, and what it had begun may be done"
    finally:
        left = await asyncio.shield(_end(process, pipes))
    return ended, left


class _Pipe:
    """The writing end for a child, and the task that reads what comes out."""

    def __init__(self, handle: int, task: asyncio.Task[None]) -> None:
        self.handle, self.task = handle, task
        self._open = True

    def ours_ends(self) -> None:
        """Close our copy of the writing end."""
        if self._open:
            self._open = False
            os.close(self.handle)


@asynccontextmanager
async def _pipe(into: Tail) -> AsyncIterator[_Pipe]:
    reading, writing = os.pipe()
    stream = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(reading, "rb", 0)
    )
    pipe = _Pipe(writing, asyncio.create_task(_drain(stream, into)))
    try:
        yield pipe
    finally:
        pipe.ours_ends()
        pipe.task.cancel()
        await asyncio.gather(pipe.task, return_exceptions=True)
        transport.close()


async def _drain(stream: asyncio.StreamReader, into: Tail) -> None:
    while data := await stream.read(65_536):
        into.feed(data)


async def _end(process: asyncio.subprocess.Process, pipes: list[_Pipe]) -> bool:
    """End what is left of the group, gently and then not, and let the pipes run dry. Whether anything was left."""
    left = _signal(process.pid, signal.SIGTERM)
    if left:
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await process.wait()
                while _signal(process.pid, 0):  # noqa: ASYNC110 a group tells nobody when it is gone
                    await asyncio.sleep(0.02)
        _signal(process.pid, signal.SIGKILL)
    await process.wait()
    # Whoever left the group may hold a pipe open for ever.
    await asyncio.wait([pipe.task for pipe in pipes], timeout=PIPES_S)
    return left


def _signal(group: int, number: int) -> bool:
    """Tell a whole process group; whether there was one."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
