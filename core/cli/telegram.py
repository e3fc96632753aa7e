"""`apx telegram`: connect a bot, see how it stands, write to the owner through it."""

import getpass
import sys
from typing import Any

import click

from core.cli.client import ApiFailed
from core.cli.output import app, dump, json_option, table, verb
from core.cli.words import say
from core.errors import Invalid, NotConfigured

CONFIG = "/api/admin/config"


@click.group(help=say("telegram.about"))
def telegram() -> None:
    pass


@telegram.command("status", help=say("telegram.status"))
@json_option
@verb
async def status(as_json: bool) -> None:
    async with app() as client:
        known = await client.get("/api/telegram/status")
    if as_json:
        dump(known)
        return
    if not known["enabled"] or not known["data"]:
        raise NotConfigured(say("telegram.off"))
    table(known["data"], ("channel", "bot", "state", "owner_user_id", "detail"))
    for row in known["data"]:
        if claim := row["claim"]:
            click.echo(
                say("telegram.claimed", who=claim["name"], user=claim["user_id"], bot=row["channel"]),
                err=True,
            )


@telegram.command("setup", help=say("telegram.setup"))
@click.option("--channel", default="default", show_default=True, help=say("telegram.channel"))
@click.option("--chat", default="", help=say("telegram.chat"))
@verb
async def setup(channel: str, chat: str) -> None:
    """The token comes from the keyboard or from stdin: an argument would stay in the shell's history."""
    token = getpass.getpass(say("telegram.token_prompt")) if sys.stdin.isatty() else sys.stdin.readline()
    if not token.strip():
        raise Invalid(say("telegram.no_token"))
    async with app() as client:
        # The entries come with their tokens as markers, and markers that come back keep them.
        entries: list[dict[str, Any]] = (await client.get(CONFIG))["config"]["telegram"]["channels"]
        entry = next((one for one in entries if one["name"] == channel), None)
        if entry is None:
            entry = {"name": channel}
            entries.append(entry)
        entry["bot_token"] = token.strip()
        if chat:
            entry["chat_id"] = chat
        await client.call("PATCH", CONFIG, {"set": {"telegram.channels": entries, "telegram.enabled": True}})
    click.echo(say("telegram.kept"), err=True)


@telegram.command("unhook", help=say("telegram.unhook"))
@click.option("--channel", default="", help=say("telegram.channel"))
@verb
async def unhook(channel: str) -> None:
    async with app() as client:
        await client.call("POST", "/api/telegram/unhook", {"channel": channel})
    click.echo(say("telegram.unhooked"), err=True)


@telegram.command("send", help=say("telegram.send"))
@click.argument("text")
@click.option("--channel", default="", help=say("telegram.channel"))
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(0, 120),
    default=15.0,
    show_default=True,
    help=say("telegram.wait"),
)
@json_option
@verb
async def send(text: str, channel: str, wait_s: float, as_json: bool) -> None:
    """What is not known to have arrived is a failure here, and stays in the outbox."""
    body = {"text": sys.stdin.read() if text == "-" else text, "channel": channel, "wait_s": wait_s}
    async with app() as client:
        receipt = await client.call("POST", "/api/telegram/send", body)
    if as_json:
        dump(receipt)
    if receipt["state"] != "delivered":
        code = "not_configured" if receipt["state"] == "not_attempted" else "unavailable"
        queued = receipt["state"] == "queued"
        sentence = say(
            "telegram.queued" if queued else "telegram.state",
            state=receipt["state"],
            reason=receipt["reason"],
        ).strip()
        raise ApiFailed(sentence, code=code, status=0)
    if not as_json:
        click.echo(say("telegram.sent"), err=True)
