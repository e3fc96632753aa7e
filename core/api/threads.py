"""Threads over HTTP: how long one has grown, what its older lines are told as, and a new summary of them."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from core.api.request import Apx, reply
from core.runs import summaries

router = APIRouter(prefix="/api/threads", tags=["threads"])


class Thread(BaseModel):
    """A thread by its name, such as desktop or telegram:123."""

    model_config = ConfigDict(extra="forbid")
    thread: str = Field(min_length=1, max_length=300)


@router.get("/summary")
async def summary(thread: str, app: Apx) -> Response:
    """The summary in force of a thread, and every attempt at one. The lines themselves always stay."""
    return reply(await summaries.shown(app.store, thread))


@router.post("/compact")
async def compact(asked: Thread, app: Apx) -> Response:
    """Sum up the older lines of a thread now; `why` says why there is no new summary."""
    return reply(await app.runner.summaries.now(asked.thread))
