"""The owner's MCP servers: started when they are needed, ended when nobody has asked for a while, never trusted.

What a server says of itself and of its tools is data. The SDK is imported in a thread at the first use, so that a
home without servers pays nothing for them.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from core.config import Config
from core.errors import ApxError, Invalid, NotFound, Refused, Unavailable
from core.events import Bus, ConfigChanged
from core.settings import McpServer

log = logging.getLogger(__name__)

IDLE_S = 300.0
START_S = 30.0
MAX_TOOLS = 500
PAGES = 50
HIDDEN = "••••"


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool of a server. `reads` is the server's own word that it changes nothing."""

    name: str
    about: str
    schema: dict[str, Any]
    reads: bool


class Line:
    """One living connection. Its task enters and leaves the SDK's client; whoever calls only uses it."""

    def __init__(self, spec: McpServer, config: Config) -> None:
        self.spec = spec
        self.over = asyncio.Event()
        self.busy = 0
        self.offers: tuple[Offer, ...] = ()
        self.timer: asyncio.TimerHandle | None = None
        self.secrets: list[str] = []
        self.complaint: Callable[[], str] = lambda: ""
        self.client: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._config = config
        self.task = asyncio.create_task(self._live(), name=f"mcp {spec.name}")

    async def _live(self) -> None:
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(await self._reached(stack))
            self.client.set_result(client)
            await self.over.wait()

    async def _reached(self, stack: AsyncExitStack) -> Any:
        """The SDK's client over the transport of this server, not entered yet."""
        spec = self.spec
        env = {name: await self._secret(value) for name, value in spec.env.items()}
        headers = {name: await self._secret(value) for name, value in spec.headers.items()}
        args = [await self._config.secret(value) for value in spec.args]
        await asyncio.to_thread(_learn)
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client
        from mcp_types import Implementation

        if spec.url:
            from httpx2 import AsyncClient

            http = await stack.enter_async_context(AsyncClient(headers=headers, timeout=spec.timeout_s))
            transport: Any = streamable_http_client(spec.url, http_client=http)
        else:
            from core.mcp_pipe import Complaints, pipe

            complaints = Complaints()
            self.complaint = lambda: complaints.last
            transport = pipe(spec.command, args, env, complaints=complaints, ended=self.over.set)
        return Client(transport, client_info=Implementation(name="apx", version="1"), cache=None)

    async def _secret(self, value: str) -> str:
        plain = await self._config.secret(value)
        # A place is no secret, and answers that are about it would not be understood without it.
        parts = {part for part in (plain, *plain.split()) if not part.startswith(("/", "~", "."))}
        self.secrets += [part for part in parts if len(part) >= 6]
        return plain

    def covered(self, text: str) -> str:
        """A text of the server without the secrets that it was given."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return text

    async def work(self, doing: Coroutine[Any, Any, Any], limit_s: float, what: str) -> Any:
        """One exchange with the server, within its time. Whatever the SDK raises becomes a sentence of ours."""
        task = asyncio.ensure_future(doing)
        try:
            await asyncio.wait({task, self.task}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
            if not task.done() and self.task.done():
                await asyncio.wait({task}, timeout=0.2)  # the SDK tells it as soon as it knows
        finally:
            late = not task.done()
            if late:
                task.cancel()
                await asyncio.wait({task})
        name = self.spec.name
        if late and not self.task.done():
            self.over.set()
            raise Unavailable(
                f"{name} did not answer within {limit_s:g} s ({what}); what it had begun may be done. It was ended."
            )
        if late or task.cancelled():
            raise Unavailable(f"{name} ended while it worked ({what}); what it had begun may be done.")
        if (error := task.exception()) is not None:
            raise self.failed(error, what) from error
        return task.result()

    def failed(self, error: BaseException, what: str) -> ApxError:
        """What went wrong with this server, in one sentence."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, ApxError):
            return error
        code = getattr(error, "code", None)
        if self.spec.url or code == _CLOSED:
            self.over.set()  # the next use begins anew
        if isinstance(error, FileNotFoundError | PermissionError):
            return Unavailable(f"{self.spec.name}: the program {self.spec.command} cannot be started here.")
        log.info("MCP server %s: %s failed", self.spec.name, what, exc_info=error)
        said = self.complaint() if code in (_CLOSED, None) else ""
        why = " ".join((f"{error or type(error).__name__}" + (f" ({said})" if said else "")).split())
        ended = "; what it had begun may be done" if code == _CLOSED and what.startswith("call") else ""
        return Unavailable(self.covered(f"{self.spec.name}: {what} failed: {why[:500]}{ended}."))


_CLOSED = -32000


def _learn() -> None:
    """Import the SDK, which takes a second or two."""
    import mcp  # noqa: F401

    # It logs each stray line of a server with a traceback.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)


class McpServers:
    """The servers of the settings, and the connections to those that are in use."""

    def __init__(self, config: Config, bus: Bus, *, idle_s: float = IDLE_S, start_s: float = START_S) -> None:
        self._config = config
        self._bus = bus
        self._idle_s, self._start_s = idle_s, start_s
        self._lines: dict[str, Line] = {}
        self._gone: set[asyncio.Task[None]] = set()
        self._starting: dict[str, asyncio.Lock] = {}
        self.problems: dict[str, str] = {}

    @asynccontextmanager
    async def open(self) -> AsyncIterator["McpServers"]:
        """Servers may be used while inside; afterwards none of them runs."""
        leave = self._bus.subscribe(ConfigChanged, self._changed)
        try:
            yield self
        finally:
            leave()
            for name in list(self._lines):
                self._drop(name)
            if self._gone:
                await asyncio.wait(self._gone)

    def _changed(self, event: ConfigChanged) -> None:
        if any(key.startswith("mcp") for key in event.keys):
            for name, line in list(self._lines.items()):
                if line.spec not in self._config.now.mcp.servers:
                    self._drop(name)
            self.problems.clear()

    def listed(self) -> list[McpServer]:
        """Those of the settings, in their order."""
        return list(self._config.now.mcp.servers)

    def running(self, name: str) -> bool:
        """Whether there is a connection now."""
        line = self._lines.get(name)
        return line is not None and not line.over.is_set() and not line.task.done()

    def find(self, name: str) -> McpServer:
        """A declared server."""
        for spec in self.listed():
            if spec.name == name:
                return spec
        names = ", ".join(one.name for one in self.listed()) or "none"
        raise NotFound(f"There is no MCP server {name[:60]}. There are: {names}.")

    async def tools(self, name: str) -> tuple[Offer, ...]:
        """What a server offers; it is started for that."""
        async with self._line(name) as line:
            return line.offers

    async def offer(self, name: str, tool: str) -> Offer:
        """One tool of a server."""
        offers = await self.tools(name)
        for one in offers:
            if one.name == tool:
                return one
        names = ", ".join(one.name for one in offers[:40]) or "none"
        raise NotFound(f"{name} has no tool {tool[:80]}. It has: {names}.")

    async def call(self, name: str, tool: str, args: dict[str, Any]) -> str:
        """The text of a tool's answer, without our secrets; a call whose end is not known is never repeated."""
        async with self._line(name) as line:
            client = line.client.result()
            result = await line.work(
                client.call_tool(tool, args), line.spec.timeout_s, f"call of {tool[:80]}"
            )
            text = line.covered(_rendered(result))
        if result.is_error:
            raise Unavailable(f"{name}: {tool} failed: {text or 'it did not say why'}")
        return text

    async def restart(self, name: str) -> None:
        """End a server; the next use starts it again."""
        self._drop(self.find(name).name)

    @asynccontextmanager
    async def _line(self, name: str) -> AsyncIterator[Line]:
        spec = self.find(name)
        if not spec.enabled:
            raise Refused(f"The MCP server {name} is switched off.")
        async with self._starting.setdefault(name, asyncio.Lock()):
            line = self._lines.get(name)
            if line is None or line.over.is_set() or line.task.done() or line.spec != spec:
                self._drop(name)
                line = await self._started(spec)
        line.busy += 1
        if line.timer is not None:
            line.timer.cancel()
        try:
            yield line
        finally:
            line.busy -= 1
            if not line.busy:
                line.timer = asyncio.get_running_loop().call_later(self._idle_s, line.over.set)

    async def _started(self, spec: McpServer) -> Line:
        line = self._lines[spec.name] = Line(spec, self._config)
        try:
            await asyncio.wait(
                {line.task, line.client}, timeout=self._start_s, return_when=asyncio.FIRST_COMPLETED
            )
            if line.task.done() and (error := line.task.exception()) is not None:
                raise line.failed(error, "start") from error
            if not line.client.done():
                raise Unavailable(f"{spec.name} did not answer within {self._start_s:g} s. It was ended.")
            listing = _offers(line.client.result())
            line.offers = await line.work(listing, self._start_s, "list of its tools")
        except BaseException as error:
            if isinstance(error, ApxError):
                self.problems[spec.name] = str(error)
            self._drop(spec.name)
            raise
        self.problems.pop(spec.name, None)
        return line

    def _drop(self, name: str) -> None:
        """Let a connection end by itself, soon; `open` waits for those that are still at it."""
        line = self._lines.pop(name, None)
        if line is None:
            return
        if line.timer is not None:
            line.timer.cancel()
        line.over.set()
        if not line.client.done():
            line.client.cancel()
            line.task.cancel()
        self._gone.add(line.task)
        line.task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._gone.discard(task)
        with suppress(asyncio.CancelledError):
            if (error := task.exception()) is not None:
                log.info("An MCP server ended badly: %r", error)


async def _offers(client: Any) -> tuple[Offer, ...]:
    found: list[Offer] = []
    cursor: str | None = None
    for _ in range(PAGES):
        page = await client.list_tools(cursor=cursor)
        for one in page.tools[: MAX_TOOLS - len(found)]:
            reads = bool(one.annotations and one.annotations.read_only_hint)
            found.append(Offer(one.name, one.description or "", one.input_schema, reads))
        cursor = page.next_cursor
        if not cursor or len(found) >= MAX_TOOLS:
            break
    return tuple(found)


def _rendered(result: Any) -> str:
    """The answer as text; what is no text is named."""
    parts: list[str] = []
    for block in result.content:
        if block.type == "text":
            parts.append(block.text)
        elif block.type in ("image", "audio"):
            parts.append(f"[{block.type} {block.mime_type}, {len(block.data) * 3 // 4} bytes]")
        elif block.type == "resource":
            parts.append(getattr(block.resource, "text", None) or f"[resource {block.resource.uri}]")
        else:
            parts.append(f"[{block.type} {getattr(block, 'uri', '')}]")
    if not parts and result.structured_content is not None:
        parts.append(json.dumps(result.structured_content, ensure_ascii=False))
    return "\n".join(parts)


def declared(raw: dict[str, Any]) -> McpServer:
    """A server from what somebody typed; `Invalid` says what is wrong with it."""
    from pydantic import ValidationError

    try:
        return McpServer.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "server"
        raise Invalid(f"{field}: {first['msg'].removeprefix('Value error, ')}.", fields=(field,)) from error
