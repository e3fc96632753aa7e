"""Work between agents over HTTP: hand some over, look at what runs, stop it."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from core.api import problems
from core.api.request import Apx, Limit, Owner, project, reply
from core.app import App
from core.errors import Unavailable
from core.runs import jobs, peers
from core.runs.handover import Handover, Order
from core.runs.history import left_in

router = APIRouter(prefix="/api", tags=["jobs"])


@router.get("/jobs")
async def listed(
    app: Apx,
    open: bool = False,
    project_id: str | None = None,
    sender: Annotated[str | None, Query(alias="from")] = None,
    status: str | None = None,
    limit: Limit = 50,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> Response:
    """The latest jobs, newest first; `open` are those that run now."""
    if project_id is not None:
        project_id = await project(app, project_id)
    if sender is not None:
        sender = (await peers.sender(app.store, app.identity.now, sender, project_id)).address
    rows = await jobs.recent(
        app.store,
        open=open,
        project_id=project_id,
        sender=sender,
        status=status,
        limit=limit,
        offset=offset,
    )
    total = await jobs.count(app.store, open=open, project_id=project_id, sender=sender, status=status)
    meta = {"total": total, "open": await jobs.count(app.store, open=True), "limit": limit, "offset": offset}
    return reply({"meta": meta, "data": [one.shown() for one in rows]})


@router.get("/jobs/{job_id}")
async def one(job_id: str, app: Apx) -> Response:
    """One job."""
    return reply((await jobs.find(app.store, job_id)).shown())


@router.post("/jobs/{job_id}/cancel")
async def cancel(job_id: str, app: Apx, _: Owner) -> Response:
    """Stop a job. Whoever handed it over is woken and told that it is not done."""
    return reply((await _handover(app).cancel(job_id)).shown())


@router.get("/at-work")
async def at_work(app: Apx) -> Response:
    """The agents at work now, and below each what it has handed on."""
    return reply({"data": await jobs.at_work(app.store)})


class Letter(BaseModel):
    """A message from one agent to another. Without `deliver` it only joins their thread."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    sender: str = Field(alias="from", min_length=1, max_length=100)
    to: str = Field(min_length=1, max_length=200)
    body: str = Field(min_length=1, max_length=200_000)
    deliver: bool = False
    depth: int = Field(0, ge=0, le=1000)


@router.post("/projects/{pid}/send")
async def send(pid: str, letter: Letter, app: Apx, _: Owner) -> Response:
    """Write to an agent of a project, or to the assistant, and wait for its answer."""
    return await _send(app, await project(app, pid), letter)


@router.post("/send")
async def send_from_anywhere(letter: Letter, app: Apx, _: Owner) -> Response:
    """The same; the project is the sender's, which its name must tell."""
    return await _send(app, None, letter)


def _handover(app: App) -> Handover:
    found: Handover | None = app.services.get(Handover)
    if found is None:
        raise Unavailable("No agents can be reached from this program.")
    return found


async def _send(app: App, project_id: str | None, letter: Letter) -> Response:
    identity = app.identity.now
    sender = await peers.sender(app.store, identity, letter.sender, project_id)
    to = await peers.resolve(app.store, identity, letter.to, sender.project_id)
    name = peers.split(letter.to)[1]
    if not letter.deliver:
        thread = peers.thread(to.project_id, sender.address, to.address, name)
        await left_in(app.store, thread, "a2a", sender.address, letter.body)
        return reply({"state": "left", "from": sender.address, "to": to.address, "thread": thread}, 201)
    handed = await _handover(app).hand(
        Order(sender=sender, to=to, text=letter.body, thread=name, depth=letter.depth)
    )
    if handed.state == "refused":
        return JSONResponse(problems.body(handed.text, "limit"), 429)
    job = handed.job
    said = {"state": handed.state, "text": handed.text, "from": sender.address, "to": to.address}
    return reply(said | ({"thread": job.thread, "job_id": job.id, "status": str(job.status)} if job else {}))
