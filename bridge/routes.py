"""Rounds, questions and the phone over HTTP: for the owner and their devices, never for a phone's bridge."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from bridge import view
from bridge.handset import Handset
from bridge.owner_questions import Questions
from bridge.presence import is_address
from bridge.watcher import Watcher
from core import alerts
from core.api.access import Caller, Scope
from core.api.problems import Rejected
from core.api.request import Apx, Limit, Who, project, reply
from core.app import App
from core.errors import Invalid, NotConfigured, NotFound, Refused, Unavailable


def a_person(who: Who) -> Caller:
    """The caller, who is the owner or one of their devices: a bridge may wake the agent and read nothing."""
    who.needs(Scope.OWNER, Scope.CLIENT)
    return who


Person = Annotated[Caller, Depends(a_person)]
Reveal = Annotated[bool, Query(description="Show codes; the owner's token only.")]
Key = Annotated[str | None, Header(alias="idempotency-key")]
router = APIRouter(dependencies=[Depends(a_person)])


class Body(BaseModel):
    """A body in which nothing is ignored."""

    model_config = ConfigDict(extra="forbid")


class Start(Body):
    project_id: str = "default"


class Answer(Body):
    answer: Literal["send", "write", "leave"]
    text: str = Field("", max_length=4000)


class Use(Body):
    serial: str = Field(max_length=200)
    package: Literal["com.whatsapp", "com.whatsapp.w4b"] | None = None
    user: int | None = Field(None, ge=0, le=9999)


class Address(Body):
    address: str = Field(min_length=1, max_length=200)


class Pair(Address):
    code: str = Field(min_length=1, max_length=64)


def the_handset(app: Apx) -> Handset:
    """The owner's phone."""
    found: Handset | None = app.services.get(Handset)
    if found is None:
        raise Unavailable("This program does not look after a phone.")
    return found


def the_questions(app: Apx) -> Questions:
    """What waits for the owner."""
    found: Questions | None = app.services.get(Questions)
    if found is None:
        raise Unavailable("This program does not look after a phone.")
    return found


Hand = Annotated[Handset, Depends(the_handset)]
Open = Annotated[Questions, Depends(the_questions)]


@router.get("/api/rounds", tags=["rounds"])
async def list_rounds(app: Apx, limit: Limit = 50) -> Response:
    """The latest rounds, newest first, with what came of them in numbers."""
    return reply({"data": await view.rounds(app.store, limit)})


@router.get("/api/rounds/{round_id}", tags=["rounds"])
async def one_round(round_id: str, app: Apx, who: Person, reveal: Reveal = False) -> Response:
    """A round to be replayed: its alerts, chats, decisions, outcomes, steps and report; codes are covered."""
    if reveal:
        who.needs(Scope.OWNER)
    found = await view.whole(app.store, round_id, reveal=reveal)
    if found is None:
        raise NotFound("There is no such round.")
    return reply(found)


@router.post("/api/rounds", tags=["rounds"])
async def start_round(app: Apx, who: Person, body: Start | None = None, key: Key = None) -> Response:
    """Go and look now; the round follows within seconds (202)."""
    project_id = await project(app, (body or Start()).project_id, who)
    can_walk(app)
    accepted = await alerts.accept(
        app.store,
        app.bus,
        project_id=project_id,
        body=b"",
        idempotency_key=key,
        source="owner",
        client_id=who.client_id,
    )
    return reply(
        {"alert_id": accepted.alert_id, "status": accepted.status, "round_id": accepted.round_id}, 202
    )


def can_walk(app: App) -> None:
    """Refuse what would wait for ever: rounds that are off, and an app that walks none."""
    from bridge.rounds import Rounds

    if not app.config.now.whatsapp.enabled:
        raise NotConfigured(
            "Rounds are switched off. Switch them on with `apx config set whatsapp.enabled true --global`."
        )
    if Rounds not in app.services:
        raise Unavailable("No app is running that could walk a round. Start it with `apx daemon start`.")


@router.get("/api/questions", tags=["questions"])
async def list_questions(open_ones: Open, who: Person, reveal: Reveal = False) -> Response:
    """What waits for the owner, oldest first; codes are covered."""
    if reveal:
        who.needs(Scope.OWNER)
    return reply({"data": [view.question(row, reveal=reveal) for row in await open_ones.open_ones()]})


@router.post("/api/questions/{question_id}", tags=["questions"])
async def answer(question_id: str, body: Answer, questions: Open, who: Person) -> Response:
    """Answer a question: send its draft, write something else, or leave it. The first answer wins."""
    try:
        await questions.answer(question_id, body.answer, text=body.text, by=who.client_id)
    except Refused as error:
        raise Rejected(409, "already_answered", str(error)) from error
    goes_out = body.answer != "leave"
    return reply({"question_id": question_id, "answer": body.answer}, 202 if goes_out else 200)


@router.get("/api/phone", tags=["phone"])
async def phone(app: Apx, handset: Hand) -> Response:
    """How the phone is, and which ones are attached."""
    return reply(await view.phone(handset, app.services.get(Watcher), app.identity.language))


@router.post("/api/phone/use", tags=["phone"])
async def use(body: Use, app: Apx, handset: Hand) -> Response:
    """Pin the phone that is used from here on; an empty serial pins none."""
    serial = body.serial.strip()
    if serial:
        attached = [device.serial for device in await handset.devices()]
        if serial not in attached:
            there = ", ".join(attached) or "none"
            raise NotFound(f"The phone {serial[:80]} is not connected. Connected now: {there}.")
    changes: dict[str, Any] = {"phone.serial": serial}
    for name in ("package", "user"):
        if (value := getattr(body, name)) is not None:
            changes[f"phone.{name}"] = value
    await app.config.set(changes)
    return reply(await view.phone(handset, app.services.get(Watcher), app.identity.language))


@router.post("/api/phone/connect", tags=["phone"])
async def connect(body: Address, handset: Hand) -> Response:
    """Attach a phone of the network whose wireless debugging is on; it is not pinned by this."""
    address = _address(body.address)
    adb = await handset.adb()
    await adb.connect(address)
    state = next((one.state for one in await adb.devices() if one.serial == address), "")
    return reply({"serial": address, "state": state, "pinned": handset.target.serial == address})


@router.post("/api/phone/pair", tags=["phone"])
async def pair(body: Pair, handset: Hand) -> Response:
    """Exchange keys with a phone that shows a pairing code; afterwards it can be connected."""
    name = await (await handset.adb()).pair(_address(body.address), body.code.strip().replace(" ", ""))
    return reply({"paired": True, "name": name})


@router.get(
    "/api/phone/screenshot",
    tags=["phone"],
    openapi_extra={"responses": {"200": {"content": {"image/png": {}}}}},
)
async def screenshot(handset: Hand) -> Response:
    """What the phone's screen shows now, as a PNG."""
    pinned = await handset.phone()
    await pinned.present()
    picture = await pinned.screenshot()
    headers = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
    return Response(picture.data, media_type="image/png", headers=headers)


def _address(text: str) -> str:
    address = text.strip()
    if not is_address(address):
        raise Invalid(
            "That is not an address: it is written like 192.168.1.20:37099, as the phone shows it.",
            fields=("address",),
        )
    return address
