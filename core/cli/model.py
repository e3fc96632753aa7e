"""`apx model`: which model answers, its key, and whether it does."""

import getpass
import sys
from typing import Any

import click

from core.cli.output import app, dump, json_option, table, verb
from core.cli.routing import show
from core.cli.words import say
from core.errors import Invalid

MOST = 8


@click.group(help=say("model.about"))
def model() -> None:
    pass


@model.command("status", help=say("model.status"))
@json_option
@verb
async def status(as_json: bool) -> None:
    async with app() as client:
        known = await client.get("/api/models")
        route = await client.get("/api/routing")
    if as_json:
        dump(known | {"routing": route})
        return
    if not known["model"]:
        click.echo(say("model.none"))
    else:
        click.echo(say("model.on" if known["enabled"] else "model.off", model=known["model"]))
    switched = route["model_fallback"]
    click.echo(say("model.fallback_on" if switched["enabled"] else "model.fallback_off"))
    if known["model"] or route["primary"]:
        show(route)
    if known["engines"]:
        table(known["engines"], ("provider", "has_key", "base_url"))


async def _change(changes: dict[str, Any]) -> None:
    """Change the list of models that stand in, and show what the router reads afterwards."""
    async with app() as client:
        await client.call("PATCH", "/api/admin/config", {"set": changes})
        route = await client.get("/api/routing")
    click.echo(say("model.fallback_on" if route["model_fallback"]["enabled"] else "model.fallback_off"))
    show(route)


@model.command("enable", help=say("model.enable"))
@verb
async def enable() -> None:
    await _change({"super_agent.model_fallback.enabled": True})


@model.command("disable", help=say("model.disable"))
@verb
async def disable() -> None:
    await _change({"super_agent.model_fallback.enabled": False})


@model.command("order", help=say("model.order"))
@click.argument("targets", nargs=-1, metavar="[PROVIDER:MODEL]...")
@verb
async def order(targets: tuple[str, ...]) -> None:
    """No model at all empties the list."""
    if len(set(targets)) != len(targets):
        raise click.UsageError(say("model.twice"))
    if len(targets) > MOST:
        raise click.UsageError(say("model.too_many", most=MOST))
    await _change({"super_agent.model_fallback.models": list(targets)})


@model.command("set", help=say("model.set"))
@click.argument("target", metavar="PROVIDER:MODEL")
@verb
async def set_(target: str) -> None:
    provider, _, name = target.partition(":")
    if not provider or not name:
        raise click.UsageError(say("model.shape"))
    async with app() as client:
        await client.call(
            "PATCH", "/api/admin/config", {"set": {"super_agent.model": target, "super_agent.enabled": True}}
        )
    click.echo(say("model.is", model=target), err=True)


@model.command("key", help=say("model.key"))
@click.argument("provider")
@verb
async def key(provider: str) -> None:
    """The key comes from the keyboard or from stdin: an argument would stay in the shell's history."""
    if "." in provider:
        raise Invalid(say("model.provider", provider=provider))
    secret = (
        getpass.getpass(say("model.key_prompt", provider=provider))
        if sys.stdin.isatty()
        else sys.stdin.readline()
    )
    if not secret.strip():
        raise Invalid(say("model.no_key"))
    async with app() as client:
        await client.call(
            "PATCH", "/api/admin/config", {"set": {f"engines.{provider}.api_key": secret.strip()}}
        )
    click.echo(say("model.key_kept", provider=provider), err=True)


@model.command("test", help=say("model.test"))
@click.argument("target", required=False, metavar="[PROVIDER:MODEL]")
@json_option
@verb
async def test(target: str | None, as_json: bool) -> None:
    async with app() as client:
        answer = await client.call("POST", "/api/models/test", {"target": target} if target else {})
    if as_json:
        dump(answer)
    else:
        click.echo(answer["text"])
