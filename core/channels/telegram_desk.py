"""What the settings, the CLI and the window ask of Telegram: how each bot stands, a test, an owner."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from core.channels import telegram_people
from core.channels.telegram import Telegram
from core.channels.telegram_wire import BotError
from core.errors import NotConfigured, NotFound, Unavailable
from core.message import Message, Receipt
from core.texts import t

if TYPE_CHECKING:
    from core.app import App


async def send_test(app: "App", channel: str = "", *, timeout_s: float = 15.0) -> Receipt:
    """Write to the owner through one bot (the first one by default) and say what became of it."""
    text = t("telegram.test", app.identity.language, name=app.identity.now.agent_name)
    name = f"telegram:{channel}" if channel else "telegram"
    whole: Telegram | None = app.services.get(Telegram)
    if channel and (whole is None or channel not in whole.connections):
        raise NotConfigured(t("telegram.no_channel", app.identity.language, channel=channel))
    return await app.outbox.wait(await app.outbox.post(Message(channel=name, text=text)), timeout_s)


async def status(app: "App") -> list[dict[str, Any]]:
    """Each configured bot: is it connected, who owns it, who would like to."""
    whole: Telegram | None = app.services.get(Telegram)
    rows = []
    for channel in whole.channels() if whole else app.config.now.telegram.channels:
        connection = whole.connections.get(channel.name) if whole else None
        claim = await telegram_people.claim_of(app.store, channel.name)
        waiting = claim if claim and claim.state == "open" else None
        rows.append(
            {
                "channel": channel.name,
                "state": connection.poller.state if connection else "off",
                "detail": connection.poller.detail if connection else "",
                "bot": connection.poller.username if connection else "",
                "answered_at": connection.poller.answered_at if connection else None,
                "age_s": _age_s(connection.poller.answered_at) if connection else None,
                "reads_groups": connection.poller.reads_groups if connection else None,
                "owner_user_id": telegram_people.owner_id(channel),
                "claim": {"user_id": waiting.user_id, "name": waiting.name} if waiting else None,
            }
        )
    return rows


def _age_s(answered_at: str | None) -> float | None:
    """How long ago the server last answered a poll: progress, where a connection alone is none."""
    if answered_at is None:
        return None
    return round((datetime.now(UTC) - datetime.fromisoformat(answered_at)).total_seconds(), 1)


async def unhook(app: "App", channel: str = "") -> None:
    """Take a bot back from the web address that gets its messages; what waits there comes here."""
    lang = app.identity.language
    whole: Telegram | None = app.services.get(Telegram)
    name = channel or next(iter(whole.connections if whole else ()), "default")
    if whole is None or name not in whole.connections:
        raise NotConfigured(t("telegram.no_channel", lang, channel=name))
    try:
        await whole.connections[name].line.call("deleteWebhook", drop_pending_updates=False)
    except BotError as error:
        raise Unavailable(t("telegram.unreachable", lang, why=error.description)) from None


async def confirm_claim(app: "App", channel: str, user_id: int, accept: bool) -> None:
    """The owner's answer, given in the app, to whoever wrote to a bot without an owner."""
    lang, claim = app.identity.language, await telegram_people.claim_of(app.store, channel)
    owned = any(
        telegram_people.owner_id(one) is not None
        for one in app.config.now.telegram.channels
        if one.name == channel
    )
    if owned or claim is None or claim.state != "open" or claim.user_id != user_id:
        raise NotFound(t("telegram.no_claim", lang))
    if accept:
        await app.config.set(_owned(app, channel, claim))
        await telegram_people.keep_claim(app.store, channel, None)
    else:
        declined = telegram_people.Claim(claim.user_id, claim.name, claim.chat_id, "declined", claim.at)
        await telegram_people.keep_claim(app.store, channel, declined)
    text = t("telegram.accepted" if accept else "telegram.declined", lang, name=app.identity.now.agent_name)
    await app.outbox.post(Message(channel=f"telegram:{channel}", to=claim.chat_id, text=text))


def _owned(app: "App", channel: str, claim: telegram_people.Claim) -> dict[str, Any]:
    entries = app.config.raw().get("telegram", {}).get("channels", [])
    place = next((n for n, entry in enumerate(entries) if entry.get("name", "default") == channel), None)
    if place is None:
        # The token is in the environment, so the file has no entry yet.
        fresh = {"name": channel, "owner_user_id": claim.user_id, "chat_id": claim.chat_id}
        return {"telegram.channels": [*entries, fresh]}
    where = f"telegram.channels.{place}"
    return {f"{where}.owner_user_id": claim.user_id, f"{where}.chat_id": claim.chat_id}
