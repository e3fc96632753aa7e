"""The phone's shell: runs what `grammar` parsed, with real pipes, so that a stream can be filtered while it
lasts."""

import asyncio
import fnmatch
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from bridge.simulator.grammar import (
    Command,
    Compound,
    Pipeline,
    Redirect,
    Sequence,
    Simple,
    Syntax,
    Word,
    parse,
)
from bridge.simulator.phone import SimPhone

BLANK = " \t\n"


class Exit(Exception):
    """`exit N`."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Out(Protocol):
    """Where output goes."""

    async def write(self, data: bytes) -> None: ...


class Buffer:
    """Output that is kept."""

    def __init__(self) -> None:
        self.data = bytearray()

    async def write(self, data: bytes) -> None:
        self.data += data


class Nowhere:
    async def write(self, data: bytes) -> None:
        """/dev/null."""


class Pipe:
    """Between two commands; writing to one that nobody reads any more breaks."""

    def __init__(self, data: bytes | None = None) -> None:
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._rest = b""
        self._ended = False
        self.closed = False
        if data is not None:
            if data:
                self._queue.put_nowait(data)
            self.end()

    async def write(self, data: bytes) -> None:
        if self.closed:
            raise BrokenPipeError
        await self._queue.put(data)
        await asyncio.sleep(0)

    def end(self) -> None:
        self._queue.put_nowait(None)

    async def line(self) -> bytes | None:
        """The next line with its end, or None."""
        while b"\n" not in self._rest and not self._ended:
            more = await self._queue.get()
            self._ended = more is None
            self._rest += more or b""
        if not self._rest:
            return None
        head, sign, self._rest = self._rest.partition(b"\n")
        return head + sign

    async def read(self) -> bytes:
        """All that is left."""
        while not self._ended:
            more = await self._queue.get()
            self._ended = more is None
            self._rest += more or b""
        data, self._rest = self._rest, b""
        return data


@dataclass(slots=True)
class Io:
    """What a command reads and writes."""

    stdin: Pipe
    out: Out
    err: Out

    async def say(self, text: str) -> None:
        await self.out.write(text.encode())

    async def complain(self, text: str) -> None:
        await self.err.write(text.encode())


Program = Callable[[SimPhone, list[str], Io], Awaitable[int]]


class Shell:
    """One shell process on the phone."""

    def __init__(self, phone: SimPhone, find: Callable[[str], Program | None]) -> None:
        self._phone = phone
        self._find = find
        self._vars: dict[str, str] = {
            "HOME": "/",
            "USER": "shell",
            "PATH": "/system/bin",
            "EXTERNAL_STORAGE": "/sdcard",
        }
        self._status = 0

    async def run(self, line: str, io: Io) -> int:
        """Run a line; its exit code."""
        try:
            return await self._sequence(parse(line), io)
        except Syntax as error:
            await io.complain(f"/system/bin/sh: {error}\n")
            return 1
        except Exit as leaving:
            return leaving.code

    async def _sequence(self, sequence: Sequence, io: Io) -> int:
        for op, pipeline in sequence.items:
            if (op == "&&" and self._status != 0) or (op == "||" and self._status == 0):
                continue
            self._status = await self._pipeline(pipeline, io)
        return self._status

    async def _pipeline(self, pipeline: Pipeline, io: Io) -> int:
        if len(pipeline.commands) == 1:
            code = await self._command(pipeline.commands[0], io)
        else:
            code = await self._piped(pipeline.commands, io)
        return int(code == 0) if pipeline.negated else code

    async def _piped(self, commands: list[Command], io: Io) -> int:
        stdin = io.stdin
        tasks: list[asyncio.Task[int]] = []
        try:
            for i, command in enumerate(commands):
                pipe = Pipe() if i < len(commands) - 1 else None
                stage = Io(stdin, pipe or io.out, io.err)
                tasks.append(asyncio.create_task(self._stage(command, stage, stdin if i else None, pipe)))
                stdin = pipe or stdin
            return (await asyncio.gather(*tasks))[-1]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _stage(self, command: Command, io: Io, reads: Pipe | None, writes: Pipe | None) -> int:
        child = Shell(self._phone, self._find)
        child._vars, child._status = dict(self._vars), self._status
        try:
            return await child._command(command, io)
        except BrokenPipeError:
            return 141
        except Exit as leaving:
            return leaving.code
        finally:
            if writes is not None:
                writes.end()
            if reads is not None:
                reads.closed = True

    async def _command(self, command: Command, io: Io) -> int:
        io, files = await self._redirected(command.redirects, io)
        if files is None:
            return 1
        try:
            if isinstance(command, Compound):
                return await self._compound(command, io)
            return await self._simple(command, io)
        finally:
            for path, buffer, append in files:
                self._phone.files[path] = (self._phone.files.get(path, b"") if append else b"") + bytes(
                    buffer.data
                )

    async def _compound(self, command: Compound, io: Io) -> int:
        blocks = command.blocks
        if command.kind == "subshell":
            return await self._stage(Compound("group", blocks, []), io, None, None)
        if command.kind == "group":
            return await self._sequence(blocks[0], io)
        if command.kind == "if":
            for condition, then in zip(blocks[::2], blocks[1::2], strict=False):
                if await self._sequence(condition, io) == 0:
                    return await self._sequence(then, io)
            return await self._sequence(blocks[-1], io) if len(blocks) % 2 else 0
        code = 0
        if command.kind == "for":
            for value in [field for word in command.words for field in await self._expand(word)]:
                self._vars[command.name] = value
                code = await self._sequence(blocks[0], io)
            return code
        while (await self._sequence(blocks[0], io) == 0) == (command.kind == "while"):
            code = await self._sequence(blocks[1], io)
            await asyncio.sleep(0)
        return code

    async def _simple(self, command: Simple, io: Io) -> int:
        args = [field for word in command.words for field in await self._expand(word)]
        for name, word in command.assigns:
            self._vars[name] = "".join(await self._pieces(word))
        if not args:
            return (
                self._status if any(p.kind == "command" for _, w in command.assigns for p in w.parts) else 0
            )
        name = args[0].rpartition("/")[2]
        if name == "exit":
            raise Exit(int(args[1]) if args[1:] and args[1].isdigit() else self._status)
        if name in ("cd", "set", "export", "trap", "umask"):
            for word_ in args[1:] if name == "export" else ():
                key, _, value = word_.partition("=")
                self._vars[key] = value
            return 0
        if name in ("sh", "eval"):
            line = (
                " ".join(args[1:]) if name == "eval" else args[2] if args[1:2] == ["-c"] and args[2:] else ""
            )
            return (
                await Shell(self._phone, self._find).run(line, io)
                if name == "sh"
                else await self.run(line, io)
            )
        faults = self._phone.faults
        if faults.text("permission_denied") == name and faults.strike("permission_denied"):
            await io.complain(f"/system/bin/sh: {args[0]}: can't execute: Permission denied\n")
            return 126
        if (faults.is_set("never_ends") and faults.text("never_ends", name) == name) and faults.strike(
            "never_ends"
        ):
            await asyncio.get_running_loop().create_future()
        missing = faults.text("command_not_found") == name and faults.strike("command_not_found")
        program = None if missing else self._find(name)
        if program is None:
            await io.complain(f"/system/bin/sh: {args[0]}: inaccessible or not found\n")
            return 127
        return await program(self._phone, args, io)

    async def _redirected(
        self, redirects: list[Redirect], io: Io
    ) -> tuple[Io, list[tuple[str, Buffer, bool]] | None]:
        io = Io(io.stdin, io.out, io.err)
        files: list[tuple[str, Buffer, bool]] = []
        for redirect in redirects:
            target = "".join(await self._expand(redirect.target))
            if redirect.op == "<":
                if target not in self._phone.files and target != "/dev/null":
                    await io.complain(f"/system/bin/sh: can't open {target}: No such file or directory\n")
                    return io, None
                io.stdin = Pipe(self._phone.files.get(target, b""))
                continue
            if redirect.op in (">&", "<&"):
                out: Out = io.out if target == "1" else io.err
            elif target == "/dev/null":
                out = Nowhere()
            elif target in ("/dev/tty", "/dev/stdout"):
                out = io.out
            elif not target.startswith(("/sdcard", "/data/local/tmp", "/storage", "/mnt/sdcard")):
                await io.complain(f"/system/bin/sh: can't create {target}: Read-only file system\n")
                return io, None
            else:
                out = Buffer()
                files.append((target, out, redirect.op == ">>"))
            if redirect.fd in (1, -1):
                io.out = out
            if redirect.fd in (2, -1):
                io.err = out
        return io, files

    async def _pieces(self, word: Word) -> list[str]:
        out = []
        for i, part in enumerate(word.parts):
            if part.kind == "text":
                home = i == 0 and not part.quoted and (part.value == "~" or part.value.startswith("~/"))
                out.append(self._vars["HOME"] + part.value[1:] if home else part.value)
            elif part.kind == "var":
                out.append(self._value(part.value))
            else:
                buffer = Buffer()
                self._status = await self.run(part.value, Io(Pipe(b""), buffer, Nowhere()))
                out.append(buffer.data.decode(errors="replace").rstrip("\n"))
        return out

    def _value(self, name: str) -> str:
        name, _, default = name.partition(":-")
        if name == "?":
            return str(self._status)
        if name == "$":
            return "4242"
        if name.startswith("#") and len(name) > 1:
            return str(len(self._vars.get(name[1:], "")))
        return self._vars.get(name, "") or default

    async def _expand(self, word: Word) -> list[str]:
        """The word's fields: unquoted expansions are split at blanks, patterns match files."""
        fields: list[str] = []
        current, started, pattern = "", False, False
        for part, value in zip(word.parts, await self._pieces(word), strict=True):
            if part.kind == "text" or part.quoted:
                started = started or part.quoted or bool(value)
                current += value
                pattern = pattern or (not part.quoted and any(c in value for c in "*?["))
                continue
            if value[:1] in tuple(BLANK) and current:
                fields.append(current)
                current = ""
            pieces = value.split()
            for piece in pieces[:-1]:
                fields.append(current + piece)
                current = ""
            current += pieces[-1] if pieces else ""
            started = started or bool(pieces)
            if pieces and value[-1:] in tuple(BLANK):
                fields.append(current)
                current, started = "", False
        if current or started:
            fields.append(current)
        if pattern and len(fields) == 1:
            found = sorted(path for path in self._phone.files if fnmatch.fnmatchcase(path, fields[0]))
            return found or fields
        return fields
