"""Threads over HTTP: what they are called, how long one has grown, and what its older lines are told as."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from core.api.request import Apx, Limit, Owner, reply
from core.runs import summaries, titles

router = APIRouter(prefix="/api/threads", tags=["threads"])


class Thread(BaseModel):
    """A thread by its name, such as desktop or telegram:123."""

    model_config = ConfigDict(extra="forbid")
    thread: str = Field(min_length=1, max_length=300)


class Title(Thread):
    """What the owner calls it."""

    title: str = Field(min_length=1, max_length=300)


@router.get("")
async def listed(
    app: Apx,
    _: Owner,
    channel: Annotated[list[str] | None, Query()] = None,
    limit: Limit = 50,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> Response:
    """The conversations, the last one that was spoken in first."""
    lang = app.identity.language
    rows = await titles.listed(app.store, lang, channels=channel or (), limit=limit, offset=offset)
    return reply({"data": [asdict(one) for one in rows]})


@router.patch("")
async def rename(asked: Title, app: Apx, _: Owner) -> Response:
    """Call a conversation something; no model changes that afterwards."""
    title = await titles.rename(app.store, app.bus, asked.thread, asked.title)
    return reply({"thread": asked.thread, "title": title})


@router.get("/summary")
async def summary(thread: str, app: Apx) -> Response:
    """The summary in force of a thread, and every attempt at one. The lines themselves always stay."""
    return reply(await summaries.shown(app.store, thread))


@router.post("/compact")
async def compact(asked: Thread, app: Apx) -> Response:
    """Sum up the older lines of a thread now; `why` says why there is no new summary."""
    return reply(await app.runner.summaries.now(asked.thread))
