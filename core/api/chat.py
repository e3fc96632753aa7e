"""One address for everybody who talks to the agent: a phone's alert, a question, a question answered in pieces."""

import asyncio
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import JSONResponse, Response, StreamingResponse

from core import agents, projects
from core.api import problems
from core.api.access import Caller
from core.api.frames import FAILURES, KEEPALIVE_S, Frames, result, streamed
from core.api.request import Apx, Who, project, reply
from core.api.wake import data_of
from core.app import App
from core.errors import Invalid
from core.runs import peers, pictures
from core.runs.pictures import Picture
from core.runs.turn import Attachment, Message, Run, Turn

router = APIRouter(tags=["chat"])

# What a caller may say it is: each of these has at most the tools of "api".
CHANNELS = ("api", "cli", "desktop", "web", "telegram", "code", "web_code")
# Where somebody sees a question of the agent; a terminal says for itself whether anybody sits at it.
WATCHED = frozenset({"desktop", "web", "telegram", "web_code"})

# What the caller or the owner can change; the rest is a model or a service that does not answer: 503.
_FAILED = {"not_configured": 409, "cancelled": 409, "budget_spent": 409, "invalid": 400, "not_found": 404}
_FAILED |= {"refused": 403, "bug": 500}


class Line(BaseModel):
    """One earlier line; other roles than these two cannot be brought in."""

    model_config = ConfigDict(extra="ignore")
    role: str = Field(pattern="^(user|assistant)$")
    text: str = Field("", max_length=200_000)
    content: str = Field("", max_length=200_000)


class Attached(BaseModel):
    """A picture that comes along: its bytes as Base64, or the id of one that was uploaded before."""

    model_config = ConfigDict(extra="ignore")
    name: str = Field("", max_length=500)
    data: str = ""
    media_id: str = Field("", max_length=100)


class Chat(BaseModel):
    """A question. Keys that are not here are ignored: a body cannot give itself rights."""

    model_config = ConfigDict(extra="ignore")
    prompt: str = Field(min_length=1, max_length=500_000)
    channel: str = "api"
    channelMeta: dict[str, Any] = Field(default_factory=dict)
    contextNote: str = Field("", max_length=50_000)
    previousMessages: list[Line] = Field(default_factory=list, max_length=500)
    model: str | None = Field(None, max_length=300)
    maxIters: int | None = Field(None, ge=1, le=10_000)
    maxTokens: int | None = Field(None, ge=1, le=10_000_000)
    completionContract: bool = False
    canAsk: bool = False
    agent: str = Field("", max_length=100)
    attachments: list[Attached] = Field(default_factory=list, max_length=100)


_BODY = {"requestBody": {"content": {"application/json": {"schema": Chat.model_json_schema()}}}}
# Alerts come to the same address; the door keeps them (core/api/wake.py), and this header is theirs.
Key = Annotated[str | None, Header(alias="idempotency-key")]


@router.post("/api/projects/{pid}/super-agent/chat", openapi_extra=_BODY)
async def chat(pid: str, request: Request, app: Apx, who: Who, key: Key = None) -> Response:
    """Ask and wait for the answer; on channel whatsapp, wake the agent up (202)."""
    project_id = await project(app, pid, who)
    turn = await _asked(app, data_of(await request.body()), who, project_id)
    run = await app.runner.run(turn)
    if run.status in FAILURES:
        return JSONResponse(*_failure(run))
    return reply(result(app, run))


@router.post("/api/projects/{pid}/super-agent/chat/stream", openapi_extra=_BODY)
async def chat_stream(pid: str, request: Request, app: Apx, who: Who, key: Key = None) -> Response:
    """Ask and get the answer as it is made: one JSON frame a line."""
    project_id = await project(app, pid, who)
    turn = await _asked(app, data_of(await request.body()), who, project_id)
    lines = streamed(request.app.state.access, who, Frames(app, turn), keepalive_s=KEEPALIVE_S)
    return StreamingResponse(lines, media_type="application/x-ndjson")


def _asks(data: Any) -> Chat:
    if not isinstance(data, dict):
        raise Invalid("The body must be a JSON object with a prompt.", fields=("prompt",))
    try:
        asked = Chat.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        fields = tuple(".".join(map(str, one["loc"])) for one in error.errors())
        raise Invalid(f"{fields[0]}: {first['msg']}.", fields=fields) from error
    return asked


def _turn(asked: Chat, who: Caller, project_id: str) -> Turn:
    if asked.channel not in CHANNELS:
        raise Invalid(
            f"There is no channel {asked.channel[:40]!r} here; there are {', '.join(CHANNELS)} and whatsapp.",
            fields=("channel",),
        )
    thread = str(asked.channelMeta.get("thread") or "")[:200]
    return Turn(
        text=asked.prompt,
        channel=asked.channel,
        thread=f"{asked.channel}:{thread or who.client_id}",
        sender="owner",
        project_id=project_id,
        model=asked.model or None,
        max_iters=asked.maxIters,
        max_tokens=asked.maxTokens,
        context_note=asked.contextNote,
        previous=tuple(Message(line.role, line.text or line.content) for line in asked.previousMessages),
        meta=asked.channelMeta,
        contract=asked.completionContract,
        can_ask=asked.channel in WATCHED or (asked.channel == "cli" and asked.canAsk),
    )


async def _asked(app: App, data: Any, who: Caller, project_id: str) -> Turn:
    """The turn of a request; where it names an agent of the project, that one answers, in a thread of its own."""
    asked = _asks(data)
    turn = _turn(asked, who, project_id)
    turn = replace(turn, attachments=await _pictures(app, asked.attachments))
    if not asked.agent:
        return turn
    agent = await agents.find(app.store, project_id, asked.agent)
    named = await projects.find(app.store, project_id)
    return replace(
        turn,
        thread=f"{turn.thread}:{agent.slug}",
        answerer=agent.slug,
        role=peers.role(agent, app.identity.now, project=named.name, language=app.identity.language),
        model=turn.model or agent.model or None,
    )


async def _pictures(app: App, attached: list[Attached]) -> tuple[Attachment, ...]:
    """The pictures of a question. All of them are checked before one is kept."""
    lang = app.identity.language
    pictures.few_enough(len(attached), lang)
    known = await pictures.kept(app.store, app.home, [one.media_id for one in attached if one.media_id], lang)

    def check() -> list[Picture]:
        brought = [one for one in attached if not one.media_id]
        return [
            pictures.checked(one.name, pictures.decoded(one.data, one.name, lang), lang) for one in brought
        ]

    kept = [await pictures.keep(app.store, app.home, one) for one in await asyncio.to_thread(check)]
    left, mine = iter(known), iter(kept)
    return tuple(next(left) if one.media_id else next(mine) for one in attached)


def _failure(run: Run) -> tuple[dict[str, Any], int]:
    """A run that failed, in the shape of every failure; what the owner has to set is 409."""
    kind = run.error_kind or run.status.value
    return problems.body(run.text, kind) | {"run_id": run.id}, _FAILED.get(kind, 503)
