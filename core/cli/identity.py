"""`apx identity`: who the assistant is and whom it works for."""

import asyncio
import sys

import click

from core.cli.output import app, dump, json_option, verb
from core.cli.words import say

FIELDS = ("agent_name", "owner_name", "personality", "owner_context", "language", "timezone")


@click.group(help=say("identity.about"))
def identity() -> None:
    pass


@identity.command("show", help=say("identity.show"))
@json_option
@verb
async def show(as_json: bool) -> None:
    async with app() as client:
        known = await client.get("/api/identity")
    if as_json:
        dump(known)
        return
    labels = {name: say(f"identity.{name}") for name in (*FIELDS, "icon")}
    width = max(map(len, labels.values()))
    for name, label in labels.items():
        click.echo(f"{label:<{width}} : {known[name]}".rstrip())


@identity.command("set", help=say("identity.set"))
@click.argument("field", type=click.Choice([*FIELDS, "icon"]))
@click.argument("value")
@verb
async def set_(field: str, value: str) -> None:
    async with app() as client:
        await client.call("PATCH", "/api/identity", {field: value})
    click.echo(say("identity.changed", field=say(f"identity.{field}")), err=True)


@identity.command("wizard", help=say("identity.wizard"))
@verb
async def wizard() -> None:
    async with app() as client:
        known = await client.get("/api/identity")
        changes: dict[str, str] = {}
        for field in FIELDS:
            value = await asyncio.to_thread(_ask, say(f"identity.{field}"), known[field])
            if value != known[field]:
                changes[field] = value
        if changes:
            await client.call("PATCH", "/api/identity", changes)
    click.echo(say("identity.done" if changes else "identity.same"), err=True)


def _ask(label: str, known: str) -> str:
    """Enter keeps what is known; a dash empties it."""
    click.echo(f"{label}{f' [{known}]' if known else ''}: ", nl=False, err=True)
    answer = sys.stdin.readline().strip()
    return known if not answer else "" if answer == "-" else answer
