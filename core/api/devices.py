"""Tokens over HTTP: the owner's is rotated, a device's is paired, listed and revoked."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from core.api import pairing
from core.api.access import Access, Scope, Unauthorized
from core.api.request import Apx, Owner, project, reply
from core.errors import Invalid

router = APIRouter(tags=["devices"])


def _access(request: Request) -> Access:
    access: Access = request.app.state.access
    return access


class PairInit(BaseModel):
    """What the new token may do, and for which project."""

    model_config = ConfigDict(extra="forbid")
    scope: str = "client"
    project_id: str = "default"
    label: str = Field("", max_length=64)


class PairConfirm(BaseModel):
    """What a device brings."""

    model_config = ConfigDict(extra="ignore")
    pairing_id: str = Field("", max_length=100)
    code: str = Field("", max_length=100)
    label: str = Field("", max_length=64)


@router.post("/api/pair/init")
async def begin(asked: PairInit, app: Apx, _: Owner) -> Response:
    """A code for one device, good for five minutes."""
    if asked.scope not in set(Scope):
        raise Invalid("scope: client or bridge.", fields=("scope",))
    project_id = await project(app, asked.project_id)
    return reply(
        await pairing.begin(app.store, scope=Scope(asked.scope), project_id=project_id, label=asked.label)
    )


@router.post("/api/pair/confirm")
async def confirm(request: Request, app: Apx) -> Response:
    """Exchange the code for a token. The code is the credential here, so a body without one is a 401."""
    try:
        brought = PairConfirm.model_validate_json(await request.body() or b"{}")
    except ValueError as error:
        raise Unauthorized("A code is needed. The owner gets one with: apx token pair.") from error
    return reply(
        await pairing.confirm(
            app.store,
            _access(request),
            pairing_id=brought.pairing_id,
            code=brought.code,
            label=brought.label,
        )
    )


@router.get("/api/pair/list")
async def listed(request: Request, _: Owner) -> Response:
    """Every device that holds a token."""
    clients: list[dict[str, Any]] = [*await _access(request).clients()]
    return reply({"data": clients})


@router.delete("/api/pair/{client_id}")
async def revoke(client_id: str, request: Request, _: Owner) -> Response:
    """Close a device's token; what it holds open ends at once."""
    await _access(request).revoke(client_id)
    return reply({"id": client_id, "revoked": True})


@router.post("/api/token/rotate")
async def rotate(request: Request, _: Owner) -> Response:
    """A new owner's token, kept in its file; the old one ends at once, with its streams."""
    await _access(request).rotate()
    return reply({"rotated": True})
