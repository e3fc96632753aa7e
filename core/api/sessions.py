"""Conversations over HTTP: the latest, those in which something was said, and one."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from core import sessions
from core.api.request import Apx, Owner, reply
from core.errors import NotFound
from core.memory_index import Index

router = APIRouter(prefix="/api/sessions", tags=["sessions"])


@router.get("")
async def found(
    app: Apx,
    _: Owner,
    q: Annotated[str, Query(max_length=400)] = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 50,
) -> Response:
    """Conversations in which the words of `q` were said; without it the latest."""
    if not q.strip():
        return reply({"data": [asdict(one) for one in await sessions.recent(app.store, limit)]})
    index: Index | None = app.services.get(Index)
    if index is None:
        raise NotFound("Memory is not open here.")
    return reply({"data": [asdict(one) for one in await sessions.search(app.store, index, q, limit)]})


@router.get("/{thread:path}")
async def one(thread: str, app: Apx, _: Owner) -> Response:
    """The end of a conversation, oldest line first."""
    return reply(
        {"thread": thread, "data": [asdict(line) for line in await sessions.shown(app.store, thread)]}
    )
