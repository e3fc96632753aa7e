"""The model in force over HTTP: what is set, what is missing, and one small question to try it."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from core.api.request import Apx, Owner, reply
from core.errors import NotConfigured

router = APIRouter(prefix="/api/models", tags=["models"])


class Try(BaseModel):
    """Which target; none means the one in force."""

    model_config = ConfigDict(extra="forbid")
    target: str | None = Field(None, max_length=300)


@router.get("")
async def status(app: Apx) -> Response:
    """The exact target in force and the providers that have a key or an address. Calls no model."""
    settings = app.config.now
    engines: list[dict[str, Any]] = [
        {"provider": name, "has_key": bool(engine.api_key), "base_url": engine.base_url}
        for name, engine in sorted(settings.engines.items())
    ]
    return reply(
        {
            "enabled": settings.super_agent.enabled,
            "model": settings.super_agent.model or settings.model,
            "small_model": settings.small_model,
            "fallback": list(settings.llm_routing.fallback),
            "engines": engines,
        }
    )


@router.post("/test")
async def test(asked: Try, app: Apx, _: Owner) -> Response:
    """Ask a model one word. The answer is the sentence that says it worked."""
    target = asked.target or app.config.now.super_agent.model or app.config.now.model
    if not target:
        raise NotConfigured("No model is set. Set one with: apx model set PROVIDER:MODEL.")
    return reply({"target": target, "text": await app.models.test(target)})
