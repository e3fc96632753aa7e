"""Postures of contacts over HTTP: devices of the owner may see them, the owner's own token changes them."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from bridge import postures
from bridge.quiet import quiet
from core.api.access import Scope
from core.api.request import Apx, Owner, Who, reply
from core.app import App
from core.settings import Contact, Posture

router = APIRouter(prefix="/api/whatsapp/contacts", tags=["whatsapp"])
KEY = "whatsapp.contacts"


class Rule(BaseModel):
    """A contact's posture. A note that is not sent stays as it was."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field("", max_length=200)
    number: str = Field("", max_length=40)
    posture: Posture
    note: str | None = Field(None, max_length=1000)


@router.get("")
async def contacts(app: Apx, who: Who) -> Response:
    """The rules of single contacts, what holds for everybody else, and whether it is quiet now."""
    who.needs(Scope.OWNER, Scope.CLIENT)
    settings = app.config.now.whatsapp
    return reply(
        {
            "data": [one.model_dump() for one in settings.contacts],
            "default": settings.posture,
            "read": settings.read,
            "quiet_hours": settings.quiet_hours,
            "quiet_now": quiet(app),
        }
    )


@router.post("")
async def put(rule: Rule, app: Apx, _: Owner) -> Response:
    """Set the posture of a contact, found by number, else by name."""
    kept = app.config.now.whatsapp.contacts
    at = postures.found(kept, rule.name, rule.number)
    note = rule.note if rule.note is not None else kept[at].note if at is not None else ""
    contact = Contact(name=rule.name.strip(), number=rule.number.strip(), posture=rule.posture, note=note)
    changed, new = postures.put(kept, contact)
    await _keep(app, changed)
    stored = changed[-1 if at is None else at].model_dump()
    return reply(stored | {"new": new}, 201 if new else 200)


@router.delete("")
async def remove(app: Apx, _: Owner, name: str = "", number: str = "") -> Response:
    """Take a rule away: what holds for everybody else then holds for this contact."""
    left, gone = postures.without(app.config.now.whatsapp.contacts, name, number)
    await _keep(app, left)
    return reply({"removed": gone.model_dump()})


async def _keep(app: App, contacts: list[Contact]) -> None:
    rows: list[dict[str, Any]] = [one.model_dump() for one in contacts]
    await app.config.set({KEY: rows})
