"""The API proper: the routes of the core and of the parts, with every failure in one shape."""

import asyncio
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response

from core.api import (
    agents,
    approvals,
    chat,
    devices,
    docs,
    jobs,
    mcp,
    media,
    memory,
    models,
    problems,
    projects,
    rooms,
    routes,
    routing,
    runs,
    runtimes,
    sessions,
    skills,
    tasks,
    telegram,
    threads,
)
from core.api.access import Access
from core.api.feed import Feed
from core.app import App
from core.errors import ApxError

_SENTENCES = {404: "There is nothing at this address.", 405: "This address does not take that method."}
_CODES = {404: "not_found", 405: "method_not_allowed", 400: "invalid"}


def build(app: App, access: Access, feed: Feed) -> FastAPI:
    """Everything behind the guard. A part adds a router, or a function that makes one once it is needed."""
    api = FastAPI(
        title="APX",
        version=app.version,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    api.state.apx, api.state.access, api.state.feed = app, access, feed
    for module in (
        *(routes, chat, devices, runs, models, routing, projects, telegram, threads, approvals),
        *(memory, sessions, media, skills, tasks, agents, jobs, rooms, mcp, runtimes),
    ):
        api.include_router(module.router)
    for router in app.routers:
        api.include_router(router if isinstance(router, APIRouter) else router())
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

    asyncio.run(_rehearse(api))
    return api


async def _rehearse(api: FastAPI) -> None:
    """One request for nothing: FastAPI works its routes out at the first one, and an alert must not wait for that."""
    nowhere = {
        "type": "http",
        "method": "GET",
        "path": "/-",
        "raw_path": b"/-",
        "query_string": b"",
        "headers": [],
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_: Any) -> None:
        pass

    await api(
        nowhere | {"root_path": "", "scheme": "http", "http_version": "1.1", "state": {}}, receive, send
    )


async def _expected(_: Request, error: Exception) -> Response:
    assert isinstance(error, ApxError)
    status, headers, body = problems.answer(error)
    return Response(body, status, headers)


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
