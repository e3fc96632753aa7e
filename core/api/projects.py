"""Projects over HTTP."""

from dataclasses import asdict

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from core import projects
from core.api.request import Apx, Owner, reply

router = APIRouter(prefix="/api/projects", tags=["projects"])


class NewProject(BaseModel):
    """A folder of this computer, and what to call it."""

    model_config = ConfigDict(extra="forbid")
    path: str = Field(min_length=1, max_length=4000)
    name: str = Field("", max_length=80)


@router.get("")
async def listed(app: Apx) -> Response:
    """All projects, the default one first."""
    return reply({"data": [asdict(one) for one in await projects.listed(app.store)]})


@router.post("")
async def add(new: NewProject, app: Apx, _: Owner) -> Response:
    """Remember a folder; the same folder again is the same project."""
    return reply(asdict(await projects.add(app.store, new.path, name=new.name)), 201)


@router.delete("/{pid}")
async def remove(pid: str, app: Apx, _: Owner) -> Response:
    """Forget a project; its folder is not touched."""
    return reply(asdict(await projects.remove(app.store, pid)))
