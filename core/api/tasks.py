"""Tasks over HTTP, below the project they belong to; `/api/tasks` shows those of all."""

from dataclasses import asdict
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from core import tasks
from core.api.request import Apx, Limit, Owner, project, reply

router = APIRouter(prefix="/api", tags=["tasks"])
Which = Literal["open", "done", "dropped", "all"]


class NewTask(BaseModel):
    """What is to be done."""

    model_config = ConfigDict(extra="forbid")
    title: str = Field(min_length=1, max_length=tasks.MAX_TITLE)
    body: str = Field("", max_length=tasks.MAX_BODY)
    due: str | None = Field(None, max_length=40)


class Changes(BaseModel):
    """Only what is given changes; `due` null takes the date away."""

    model_config = ConfigDict(extra="forbid")
    title: str | None = Field(None, max_length=tasks.MAX_TITLE)
    body: str | None = Field(None, max_length=tasks.MAX_BODY)
    state: Literal["open", "done", "dropped"] | None = None
    status: Literal["pending", "running", "in_review", "blocked"] | None = None
    due: str | None = Field(None, max_length=40)


class NewComment(BaseModel):
    """A line for a task's thread."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(min_length=1, max_length=tasks.MAX_COMMENT)


@router.get("/tasks")
async def everywhere(app: Apx, _: Owner, state: Which = "open", limit: Limit = 200) -> Response:
    """The tasks of every project, what is due first on top."""
    found = await tasks.listed(app.store, state=None if state == "all" else state, limit=limit)
    return reply({"data": [asdict(one) for one in found]})


@router.get("/projects/{pid}/tasks")
async def listed(pid: str, app: Apx, _: Owner, state: Which = "open", limit: Limit = 200) -> Response:
    """The tasks of one project."""
    wanted = None if state == "all" else state
    found = await tasks.listed(app.store, project_id=await project(app, pid), state=wanted, limit=limit)
    return reply({"data": [asdict(one) for one in found]})


@router.post("/projects/{pid}/tasks")
async def create(pid: str, new: NewTask, app: Apx, _: Owner) -> Response:
    """A new task."""
    where = await project(app, pid)
    task = await tasks.create(
        app.store, app.bus, project_id=where, title=new.title, body=new.body, due=new.due
    )
    return reply(asdict(task), 201)


@router.get("/projects/{pid}/tasks/{task_id}")
async def one(pid: str, task_id: int, app: Apx, _: Owner) -> Response:
    """One task with its thread."""
    return reply(await tasks.whole(app.store, task_id, await project(app, pid)))


@router.get("/tasks/{task_id}")
async def anywhere(task_id: int, app: Apx, _: Owner) -> Response:
    """One task with its thread, whatever its project."""
    return reply(await tasks.whole(app.store, task_id))


@router.patch("/projects/{pid}/tasks/{task_id}")
async def update(pid: str, task_id: int, changes: Changes, app: Apx, _: Owner) -> Response:
    """Change fields of a task: all of them or none."""
    wanted = {
        name: value
        for name, value in changes.model_dump(exclude_unset=True).items()
        if value is not None or name == "due"
    }
    task = await tasks.update(app.store, app.bus, task_id, wanted, project_id=await project(app, pid))
    return reply(asdict(task))


@router.post("/projects/{pid}/tasks/{task_id}/comments")
async def comment(pid: str, task_id: int, new: NewComment, app: Apx, _: Owner) -> Response:
    """Add a line to a task's thread."""
    where = await project(app, pid)
    return reply(asdict(await tasks.comment(app.store, app.bus, task_id, new.text, project_id=where)), 201)
