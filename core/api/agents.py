"""The agents of projects over HTTP."""

from dataclasses import asdict

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from core import agents
from core.api.request import Apx, Owner, project, reply

router = APIRouter(prefix="/api", tags=["agents"])


class NewAgent(BaseModel):
    """An agent's data; slug and icon are found where they are left out."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1, max_length=80)
    slug: str = Field("", max_length=48)
    instructions: str = Field("", max_length=agents.MAX_INSTRUCTIONS)
    model: str = Field("", max_length=300)
    icon: str = Field("", max_length=40)


@router.get("/agents")
async def everywhere(app: Apx) -> Response:
    """The agents of all projects."""
    return reply({"data": [asdict(one) for one in await agents.listed(app.store)]})


@router.get("/projects/{pid}/agents")
async def listed(pid: str, app: Apx) -> Response:
    """The agents of a project."""
    found = await agents.listed(app.store, await project(app, pid))
    return reply({"data": [asdict(one) for one in found]})


@router.post("/projects/{pid}/agents")
async def add(pid: str, new: NewAgent, app: Apx, _: Owner) -> Response:
    """A new agent; its icon is one that nobody of the project wears."""
    values = new.model_dump()
    made = await agents.add(app.store, await project(app, pid), taken=(app.identity.icon,), **values)
    return reply(asdict(made), 201)


@router.get("/projects/{pid}/agents/{slug}")
async def one(pid: str, slug: str, app: Apx) -> Response:
    """One agent."""
    return reply(asdict(await agents.find(app.store, await project(app, pid), slug)))


@router.delete("/projects/{pid}/agents/{slug}")
async def remove(pid: str, slug: str, app: Apx, _: Owner) -> Response:
    """Forget an agent; what it did stays to be read."""
    return reply(asdict(await agents.remove(app.store, await project(app, pid), slug)))
