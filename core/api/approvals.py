"""Approvals over HTTP: what waits for the owner's yes, and the answer. Only the owner's own token answers."""

from dataclasses import asdict
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from core.api.request import Apx, Limit, Owner, reply
from core.app import App
from core.errors import NotFound
from core.runs.approvals import Approvals

router = APIRouter(prefix="/api/approvals", tags=["approvals"])


class Answer(BaseModel):
    """`always` means: this call, in this project, from now on; not every question offers it."""

    model_config = ConfigDict(extra="forbid")
    decision: Literal["approve", "always", "deny"]
    note: str = Field("", max_length=2000)
    via: Literal["api", "cli", "web", "desktop"] = "api"


def _asked(app: App) -> Approvals:
    asked: Approvals | None = app.services.get(Approvals)
    if asked is None:
        raise NotFound("Nothing asks for approval here.")
    return asked


@router.get("")
async def waiting(app: Apx, _: Owner, state: Literal["open", "all"] = "open", limit: Limit = 50) -> Response:
    """What waits for an answer, the oldest first; with `state=all` the latest ones, newest first."""
    asked = _asked(app)
    found = await asked.open_ones() if state == "open" else await asked.recent(limit)
    return reply({"data": [asdict(one) for one in found]})


@router.get("/grants")
async def grants(app: Apx, _: Owner) -> Response:
    """What is allowed for good: exactly which call, in which project."""
    return reply({"data": await _asked(app).grants()})


@router.delete("/grants/{approval_id}")
async def revoke(approval_id: str, app: Apx, _: Owner) -> Response:
    """Take one of them back: the next such call is asked about again."""
    return reply({"revoked": await _asked(app).revoke(approval_id)})


@router.get("/{approval_id}")
async def one(approval_id: str, app: Apx, _: Owner) -> Response:
    """One approval, with everything that would run."""
    return reply(asdict(await _asked(app).find(approval_id)))


@router.post("/{approval_id}")
async def decide(approval_id: str, answer: Answer, app: Apx, _: Owner) -> Response:
    """Answer. The first answer counts: a later one is refused with how it was decided."""
    return reply(
        asdict(await _asked(app).decide(approval_id, answer.decision, answer.via, answer.note.strip()))
    )
