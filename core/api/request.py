"""What routes are given: the app, who is calling, and the project that a path names."""

import re
from typing import Annotated, Any, cast

from fastapi import Depends, Query, Request
from starlette.responses import JSONResponse

from core.api import wake
from core.api.access import Caller, Scope
from core.api.feed import Feed
from core.app import App

_PROJECT = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)


def the_app(request: Request) -> App:
    """The living app."""
    return cast(App, request.app.state.apx)


def the_feed(request: Request) -> Feed:
    """The record of the last events."""
    return cast(Feed, request.app.state.feed)


def the_caller(request: Request) -> Caller:
    """Who the guard let in."""
    return cast(Caller, request.state.caller)


def the_owner(request: Request) -> Caller:
    """Who the guard let in, and it is the owner."""
    caller = the_caller(request)
    caller.needs(Scope.OWNER)
    return caller


Apx = Annotated[App, Depends(the_app)]
Events = Annotated[Feed, Depends(the_feed)]
Who = Annotated[Caller, Depends(the_caller)]
Owner = Annotated[Caller, Depends(the_owner)]
Limit = Annotated[int, Query(ge=1, le=1000)]


async def project(app: App, named: str, caller: Caller | None = None) -> str:
    """The id of a project that exists and is the caller's; anything else is not found, and never a path."""
    return await wake.project(app.store, named, caller)


def reply(data: Any, status: int = 200) -> JSONResponse:
    """A JSON answer as it is, without a model to build and check first."""
    return JSONResponse(data, status)
