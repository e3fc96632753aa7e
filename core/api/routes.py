"""The short routes: is it alive, what was received, who it is, how it looks, what happens."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response, StreamingResponse

from core import alerts, icons
from core.api import doctor
from core.api.access import Scope
from core.api.request import Apx, Events, Limit, Owner, Who, project, reply
from core.api.server import alive
from core.api.stow import set_config
from core.errors import Invalid

router = APIRouter()


@router.get("/api/health", tags=["daemon"])
async def health(app: Apx) -> Response:
    """Whether the app answers; needs no token. The guard says it before any route does."""
    return reply(alive(app))


@router.get("/api/alerts", tags=["alerts"])
async def list_alerts(
    app: Apx, who: Who, state: str | None = None, project_id: str | None = None, limit: Limit = 50
) -> Response:
    """The latest alerts, newest first; a bridge sees those it posted."""
    if project_id is not None:
        project_id = await project(app, project_id, who)
    rows = await alerts.recent(
        app.store, project_id=project_id, client_id=_only(who), state=state, limit=limit
    )
    return reply({"data": [_shown(one) for one in rows]})


@router.get("/api/alerts/{alert_id}", tags=["alerts"])
async def one_alert(alert_id: str, app: Apx, who: Who) -> Response:
    """One alert as it came."""
    return reply(_shown(await alerts.find(app.store, alert_id, client_id=_only(who))))


def _only(who: Who) -> str | None:
    return who.client_id if who.scope is Scope.BRIDGE else None


def _shown(alert: alerts.Alert) -> dict[str, Any]:
    return {name: getattr(alert, name) for name in alerts.Alert.__slots__}


class IdentityChange(BaseModel):
    """What may change; what is not sent stays."""

    model_config = ConfigDict(extra="forbid")
    agent_name: str | None = None
    owner_name: str | None = None
    personality: str | None = None
    owner_context: str | None = None
    language: str | None = None
    timezone: str | None = None
    icon: str | None = None


@router.get("/api/identity", tags=["identity"])
async def show_identity(app: Apx) -> Response:
    """Who the assistant is and whom it works for."""
    return reply(app.identity.now.model_dump() | {"icon": app.identity.icon})


@router.patch("/api/identity", tags=["identity"])
async def change_identity(change: IdentityChange, app: Apx) -> Response:
    """Change fields of the identity; every surface has it at once."""
    fields = change.model_dump(exclude_none=True)
    icon = fields.pop("icon", None)
    if icon is not None:
        if icon not in icons.ICONS:
            raise Invalid(
                f"There is no icon {icon[:40]!r}; there are {', '.join(icons.ICONS)}.", fields=("icon",)
            )
        await app.config.set({"super_agent.icon": icon})
    if fields:
        await app.identity.set(**fields)
    return await show_identity(app)


@router.get("/api/icons", tags=["identity"])
async def list_icons(app: Apx) -> Response:
    """The blobs to choose from."""
    lang = app.identity.language
    listed = [{"key": key, "label": icons.label(key, lang)} for key in icons.ICONS]
    return reply({"data": listed, "current": app.identity.icon})


@router.get("/api/doctor", tags=["daemon"])
async def examined(app: Apx, _: Owner) -> Response:
    """What is wrong with the living app, each with its remedy."""
    return reply({"data": [asdict(one) for one in await doctor.examine(app)]})


class ConfigChange(BaseModel):
    """Dotted keys with their new values, and those that go back to their defaults."""

    model_config = ConfigDict(extra="forbid")
    set: dict[str, Any] = Field(default_factory=dict)
    unset: list[str] = Field(default_factory=list)


@router.get("/api/admin/config", tags=["configuration"])
async def show_config(app: Apx, _: Owner, only_set: bool = False) -> Response:
    """The configuration in force, secrets as a marker; `only_set` is what the file says."""
    return reply({"config": app.config.shown(effective=not only_set), "problem": app.config.problem})


@router.patch("/api/admin/config", tags=["configuration"])
async def change_config(change: ConfigChange, app: Apx, _: Owner) -> Response:
    """Change settings, all or none. A secret's marker that comes back keeps what is there."""
    await set_config(app, change.set, change.unset)
    return reply({"config": app.config.shown(), "problem": app.config.problem})


@router.get(
    "/api/events",
    tags=["events"],
    openapi_extra={"responses": {"200": {"content": {"text/event-stream": {}}}}},
)
async def events(
    request: Request, feed: Events, who: Who, last_event_id: Annotated[str, Header()] = ""
) -> Response:
    """What happens, as server-sent events; `Last-Event-ID` resumes."""

    async def frames() -> Any:
        with request.app.state.access.stream(who) as gone:
            async for frame in feed.follow(last_event_id, gone):
                yield frame

    return StreamingResponse(frames(), media_type="text/event-stream", headers={"cache-control": "no-store"})
