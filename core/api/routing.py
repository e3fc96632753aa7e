"""Routing and spending over HTTP: where a request would go and why, and what the requests have cost."""

from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from core.api.request import Apx, project, reply
from core.errors import Invalid
from core.runs.spending import spend

router = APIRouter(tags=["models"])
DAYS = 30


@router.get("/api/routing")
async def routing(
    app: Apx, model: Annotated[str | None, Query(max_length=300)] = None, project_id: str = "default"
) -> Response:
    """The exact primary, what may stand in for it, what was narrowed away and by whom. Calls no model."""
    wanted = await project(app, project_id)
    return reply(await app.runner.router.explained(app.identity.language, model=model, project_id=wanted))


@router.get("/api/spending")
async def spending(app: Apx, by: str = "day", since: str | None = None) -> Response:
    """What was spent by day, agent, channel or model; `since` is a day, and thirty days ago when it is missing."""
    zone = app.runner.spending.zone
    today = datetime.now(UTC).astimezone(zone).date()
    begin = _day(since) if since else today - timedelta(days=DAYS - 1)
    midnight = datetime(begin.year, begin.month, begin.day, tzinfo=zone)
    rows = await spend(app.store, by=by, since=midnight.astimezone() if zone is None else midnight, zone=zone)
    caps: list[dict[str, Any]] = [asdict(one) for one in await app.runner.spending.caps()]
    budgets = app.config.now.budgets.model_dump()
    return reply(
        {
            "by": by,
            "since": begin.isoformat(),
            "today": today.isoformat(),
            "timezone": str(zone) if zone else "",
            "data": [asdict(row) for row in rows],
            "total_micros": sum(row.cost_micros for row in rows),
            "floor": any(row.floor for row in rows),
            "budgets": budgets,
            "caps": caps,
        }
    )


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise Invalid(f"{text[:40]!r} is not a day. Write it as 2026-01-31.", fields=("since",)) from error
