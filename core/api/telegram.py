"""The Telegram channel over HTTP: how the bots stand, a message to try them, and who becomes their owner."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from core.api.request import Apx, Owner, reply
from core.channels import telegram, telegram_desk
from core.message import Message, Receipt

router = APIRouter(prefix="/api/telegram", tags=["telegram"])
WAIT_S = 15.0


class Test(BaseModel):
    """Which bot; none means the first."""

    model_config = ConfigDict(extra="forbid")
    channel: str = Field("", max_length=60)


class Send(BaseModel):
    """A text for the owner; a key sends it once however often it is asked."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(min_length=1, max_length=100_000)
    channel: str = Field("", max_length=60)
    key: str | None = Field(None, max_length=200)
    wait_s: float = Field(WAIT_S, ge=0, le=120)


class Claim(BaseModel):
    """The owner's answer to whoever wrote to a bot that has no owner."""

    model_config = ConfigDict(extra="forbid")
    channel: str = Field("default", max_length=60)
    user_id: int
    accept: bool


def _shown(receipt: Receipt) -> dict[str, Any]:
    return {
        "id": receipt.id, "state": receipt.state, "reason": receipt.reason, "receipts": list(receipt.receipts),
    }  # fmt: skip


@router.get("/status")
async def status(app: Apx) -> Response:
    """Each configured bot: is it connected, who owns it, who would like to."""
    return reply({"enabled": app.config.now.telegram.enabled, "data": await telegram_desk.status(app)})


@router.post("/test")
async def test(asked: Test, app: Apx, _: Owner) -> Response:
    """Write to the owner, and say what became of it."""
    return reply(_shown(await telegram_desk.send_test(app, asked.channel)))


@router.post("/send")
async def send(asked: Send, app: Apx, _: Owner) -> Response:
    """Send the owner a text through the outbox, and say what is known of it after a moment."""
    name = f"telegram:{asked.channel}" if asked.channel else "telegram"
    message_id = await app.outbox.post(Message(channel=name, text=asked.text, key=asked.key))
    # Without the channel nobody sends now: it is queued, and goes out when the app runs.
    wait_s = asked.wait_s if telegram.Telegram in app.services else 0.0
    receipt = await app.outbox.wait(message_id, wait_s)
    return reply(_shown(receipt))


@router.post("/unhook")
async def unhook(asked: Test, app: Apx, _: Owner) -> Response:
    """Take a bot back from the web address that gets its messages."""
    await telegram_desk.unhook(app, asked.channel)
    return reply({"data": await telegram_desk.status(app)})


@router.post("/claim")
async def claim(answer: Claim, app: Apx, _: Owner) -> Response:
    """Make somebody the owner of a bot, or do not."""
    await telegram_desk.confirm_claim(app, answer.channel, answer.user_id, answer.accept)
    return reply({"data": await telegram_desk.status(app)})
