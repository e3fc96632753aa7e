"""The HTTP API as a part of the app: built once, bound to its port, announced when it answers."""

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response

from core.api import approvals, chat, devices, docs, models, problems, projects, routes, runs
from core.api.access import Access
from core.api.feed import Feed
from core.api.guard import Guard
from core.api.listening import Server, bind
from core.app import App
from core.errors import ApxError, Unavailable
from core.paths import Home, replace

log = logging.getLogger(__name__)

_SENTENCES = {404: "There is nothing at this address.", 405: "This address does not take that method."}
_CODES = {404: "not_found", 405: "method_not_allowed", 400: "invalid"}


def build(app: App, access: Access, feed: Feed) -> Guard:
    """The whole API behind its guard."""
    api = FastAPI(
        title="APX",
        version=app.version,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    api.state.apx, api.state.access, api.state.feed = app, access, feed
    for module in (routes, chat, devices, runs, models, projects, approvals):
        api.include_router(module.router)
    for router in app.routers:
        api.include_router(router)
    api.add_exception_handler(ApxError, _expected)
    api.add_exception_handler(RequestValidationError, _unreadable)
    api.add_exception_handler(HTTPException, _unknown)
    api.add_exception_handler(500, _broken)

    @api.get("/api/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return JSONResponse(api.openapi())

    @api.get("/api/docs", include_in_schema=False)
    async def page() -> Response:
        return HTMLResponse(docs.page(api.openapi()), headers=docs.HEADERS)

    return Guard(api, access, lambda: app.config.now.host)


async def _expected(_: Request, error: Exception) -> Response:
    assert isinstance(error, ApxError)
    return problems.answer(error)


async def _unreadable(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    fields = [".".join(str(part) for part in one["loc"][1:]) for one in error.errors()]
    first = error.errors()[0]
    broken = first["type"] == "json_invalid"
    sentence = "The body is not valid JSON." if broken else f"{fields[0] or 'body'}: {first['msg']}."
    return JSONResponse(problems.body(sentence, "invalid", fields), 400 if broken else 422)


async def _unknown(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentence = _SENTENCES.get(error.status_code, str(error.detail))
    code = _CODES.get(error.status_code, "failed")
    return JSONResponse(problems.body(sentence, code), error.status_code, headers=dict(error.headers or {}))


async def _broken(_: Request, error: Exception) -> Response:
    # Starlette raises it again after this answer, and uvicorn logs the traceback.
    return JSONResponse(problems.body("Something failed inside; the log says what.", "failed"), 500)


@asynccontextmanager
async def serve(app: App) -> AsyncIterator[None]:
    """Answer on the configured port until the block is left; `daemon.json` says where."""
    async with answering(app, app.config.now.host, app.config.now.port) as port:
        announce(app.home, port)
        log.info("The API answers on port %d", port)
        try:
            yield
        finally:
            retract(app.home)


@asynccontextmanager
async def answering(app: App, host: str, port: int) -> AsyncIterator[int]:
    """The API on a port, which is the one that is yielded; nobody is told where."""
    sockets = bind(host, port)
    feed = Feed(app.bus)
    server = Server(build(app, Access(app.home, app.store), feed))
    task = asyncio.create_task(server.serve(sockets=sockets), name="http")
    try:
        up = asyncio.create_task(server.up.wait())
        await asyncio.wait({up, task}, return_when=asyncio.FIRST_COMPLETED)
        up.cancel()
        if task.done():
            task.result()
            raise Unavailable(f"The API did not start on port {port}.")
        yield sockets[0].getsockname()[1]
    finally:
        feed.close()
        server.stop()
        await task


def announce(home: Home, port: int) -> None:
    """Say which process answers on which port."""
    here: dict[str, Any] = {"pid": os.getpid(), "port": port}
    here["started_at"] = datetime.now(UTC).isoformat(timespec="milliseconds")
    replace(home.daemon, json.dumps(here) + "\n")


def retract(home: Home) -> None:
    """Take the announcement back, if it is ours."""
    with suppress(OSError, ValueError, KeyError):
        if json.loads(home.daemon.read_text(encoding="utf-8"))["pid"] == os.getpid():
            home.daemon.unlink()
