"""Skills over HTTP: the list, one, and what is wrong with those that cannot be used."""

import asyncio
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from core import projects, skills
from core.api.request import Apx, Owner, project, reply
from core.projects import DEFAULT
from core.skills import Skill

router = APIRouter(prefix="/api/skills", tags=["skills"])


def _shown(skill: Skill) -> dict[str, Any]:
    return {
        "name": skill.name,
        "about": skill.about,
        "scope": skill.scope,
        "folder": str(skill.folder),
        "tools": list(skill.tools),
        "problem": skill.problem,
    }


@router.get("")
async def listed(app: Apx, _: Owner, project_id: str = DEFAULT) -> Response:
    """Every skill that counts in a project, by name."""
    root = await projects.root(app.store, app.home, await project(app, project_id))
    return reply({"data": [_shown(one) for one in await asyncio.to_thread(skills.listed, app.home, root)]})


@router.get("/{name}")
async def one(name: str, app: Apx, _: Owner, project_id: str = DEFAULT) -> Response:
    """One skill with its instructions and the names of its files."""
    root = await projects.root(app.store, app.home, await project(app, project_id))
    skill = await asyncio.to_thread(skills.find, app.home, root, name)
    text = "" if skill.problem else await asyncio.to_thread(skills.read, skill)
    files = [] if skill.problem else await asyncio.to_thread(skills.files, skill)
    return reply(_shown(skill) | {"text": text, "files": files})
