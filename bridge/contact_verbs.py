"""`apx whatsapp`: what may be done in whose chats."""

from typing import Any, get_args

import click

from core.cli.output import app, dump, json_option, table, verb
from core.cli.words import say
from core.settings import Posture

PATH = "/api/whatsapp/contacts"


@click.group(help=say("whatsapp.about"))
def whatsapp() -> None:
    pass


@whatsapp.command("contacts", help=say("whatsapp.contacts"))
@json_option
@verb
async def contacts(as_json: bool) -> None:
    async with app() as client:
        told = await client.get(PATH)
    if as_json:
        dump(told)
        return
    table(told["data"], ("name", "number", "posture", "note"))
    click.echo(say("whatsapp.default", posture=told["default"]), err=True)
    if told["quiet_hours"]:
        now = say("whatsapp.quiet_now") if told["quiet_now"] else ""
        click.echo(f"{say('whatsapp.quiet', hours=told['quiet_hours'])} {now}".rstrip(), err=True)


@whatsapp.command("set", help=say("whatsapp.set"))
@click.argument("contact")
@click.argument("posture", type=click.Choice(get_args(Posture)))
@click.option("--number", default="", help=say("whatsapp.number"))
@click.option("--note", help=say("whatsapp.note"))
@json_option
@verb
async def set_(contact: str, posture: str, number: str, note: str | None, as_json: bool) -> None:
    body = {**_who(contact, number), "posture": posture, "note": note}
    async with app() as client:
        kept = await client.call("POST", PATH, body)
    if as_json:
        dump(kept)
    else:
        who = kept["name"] or kept["number"]
        click.echo(say("whatsapp.kept", who=who, posture=kept["posture"]), err=True)


@whatsapp.command("unset", help=say("whatsapp.unset"))
@click.argument("contact")
@verb
async def unset(contact: str) -> None:
    async with app() as client:
        gone = (await client.call("DELETE", PATH, **_who(contact, "")))["removed"]
    click.echo(say("whatsapp.gone", who=gone["name"] or gone["number"]), err=True)


def _who(contact: str, number: str) -> dict[str, Any]:
    """A name, or a number where there is nothing but one."""
    bare = contact.strip()
    plain = all(char.isdigit() or char in "+ -()." for char in bare) and any(map(str.isdigit, bare))
    return {"name": "", "number": bare} if plain and not number else {"name": bare, "number": number}
