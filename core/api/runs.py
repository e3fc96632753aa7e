"""Runs over HTTP: the list, one, what was said in it, what its model was given."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from core.api.request import Apx, Limit, project, reply
from core.runs import history, ledger
from core.runs.manifest import manifest

router = APIRouter(prefix="/api/runs", tags=["runs"])


@router.get("")
async def recent(
    app: Apx,
    status: Annotated[list[str] | None, Query()] = None,
    project_id: str | None = None,
    channel: str | None = None,
    limit: Limit = 50,
) -> Response:
    """The latest runs, newest first; `status` may come more than once or as a list with commas."""
    wanted = [one.strip() for part in status or () for one in part.split(",") if one.strip()]
    if project_id is not None:
        project_id = await project(app, project_id)
    rows = await history.recent(app.store, status=wanted, project_id=project_id, channel=channel, limit=limit)
    return reply({"data": [asdict(row) for row in rows]})


@router.get("/{run_id}")
async def one(run_id: str, app: Apx) -> Response:
    """One run, with every attempt at a model that it took."""
    row = await history.find(app.store, run_id)
    return reply(asdict(row) | await ledger.attempts(app.store, run_id))


@router.get("/{run_id}/transcript")
async def transcript(run_id: str, app: Apx) -> Response:
    """What was said and done in a run, in order, by its id."""
    return reply({"run_id": run_id, "data": await history.transcript(app.store, run_id)})


@router.get("/{run_id}/manifest")
async def given(run_id: str, app: Apx) -> Response:
    """What the model of a run was given, as it was sent; 404 when the run reached none."""
    return reply(await manifest(app.store, run_id))


@router.post("/{run_id}/cancel")
async def cancel(run_id: str, app: Apx) -> Response:
    """Stop a run that goes on."""
    app.runner.cancel(run_id)
    return reply({"run_id": run_id, "cancelled": True}, 202)
