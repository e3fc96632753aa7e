"""`apx model`: which model answers, its key, and whether it does."""

import getpass
import sys

import click

from core.cli.output import app, dump, json_option, table, verb
from core.cli.words import say
from core.errors import Invalid


@click.group(help=say("model.about"))
def model() -> None:
    pass


@model.command("status", help=say("model.status"))
@json_option
@verb
async def status(as_json: bool) -> None:
    async with app() as client:
        known = await client.get("/api/models")
    if as_json:
        dump(known)
        return
    if not known["model"]:
        click.echo(say("model.none"))
    else:
        click.echo(say("model.on" if known["enabled"] else "model.off", model=known["model"]))
    if known["engines"]:
        table(known["engines"], ("provider", "has_key", "base_url"))


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
