"""The small MCP server on HTTP, in this process, behind a door that wants a header; it remembers what it was sent."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from tests.fakes.mcp_program import server


@dataclass
class Served:
    url: str
    headers: list[str] = field(default_factory=list)


@asynccontextmanager
async def mcp_http(token: str = "") -> AsyncIterator[Served]:
    """Serve until the block is left; without the token nothing is answered but 401."""
    inner = server.streamable_http_app()
    told = Served("")

    async def door(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"").decode()
            told.headers.append(given)
            if token and given != f"Bearer {token}":
                await send({"type": "http.response.start", "status": 401, "headers": []})
                await send({"type": "http.response.body", "body": b"no"})
                return
        await inner(scope, receive, send)

    config = uvicorn.Config(door, host="127.0.0.1", port=0, log_config=None, timeout_graceful_shutdown=1)
    running = uvicorn.Server(config)
    task = asyncio.create_task(running.serve(), name="mcp over http")
    while not running.started:  # noqa: ASYNC110 uvicorn tells nobody
        await asyncio.sleep(0.01)
    told.url = f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}/mcp"
    try:
        yield told
    finally:
        running.should_exit = True
        await task
