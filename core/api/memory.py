"""Memory over HTTP: what is known and why, one more fact of the owner's, one less."""

from dataclasses import asdict
from typing import cast

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from core.api.request import Apx, Limit, Owner, project, reply
from core.app import App
from core.errors import NotFound
from core.memory import Memory, Source
from core.memory_index import folded
from core.notebook import MAX_FACT
from core.projects import DEFAULT
from core.runs.embeddings import Embeddings

router = APIRouter(prefix="/api/memory", tags=["memory"])


class NewFact(BaseModel):
    """A sentence of the owner's; without a project it holds everywhere."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(min_length=1, max_length=MAX_FACT)
    project_id: str = Field(DEFAULT, max_length=80)


def _memory(app: App) -> Memory:
    found = app.services.get(Memory)
    if found is None:
        raise NotFound("Memory is not open here.")
    return cast(Memory, found)


@router.get("")
async def known(
    app: Apx, _: Owner, q: str = "", project_id: str = DEFAULT, forgotten: bool = False, limit: Limit = 200
) -> Response:
    """What holds in a project, newest first, each with its source; `forgotten` adds all that does no more."""
    memory = _memory(app)
    facts = await memory.known(await project(app, project_id))
    if forgotten:
        facts = await memory.everything(1000)
    found = [asdict(one) for one in facts if folded(q.strip()) in folded(one.text)][:limit]
    meanings: Embeddings | None = app.services.get(Embeddings)
    status = await meanings.status() if meanings else None
    return reply({"data": found, "facts": len(facts), "notebook": str(app.home.memory), "embeddings": status})


@router.post("")
async def remember(new: NewFact, app: Apx, _: Owner) -> Response:
    """Keep a fact as the owner's own; one that is known already is answered as it is."""
    where = await project(app, new.project_id)
    fact = await _memory(app).remember(new.text, source=Source.OWNER, channel="api", project_id=where)
    return reply(asdict(fact), 201)


@router.delete("/{fact_id}")
async def forget(fact_id: int, app: Apx, _: Owner) -> Response:
    """Let a fact count for nothing any more."""
    return reply(asdict(await _memory(app).forget(fact_id)))
