"""`apx config` and `apx permission`: settings by their dotted names."""

import json
from collections.abc import Iterator
from typing import Any

import click

from core.cli.client import ApiFailed, Client
from core.cli.output import app, as_text, dump, json_option, record, verb
from core.cli.words import say
from core.errors import NotFound

CONFIG = "/api/admin/config"
# Until projects have settings of their own, both are the owner's.
global_option = click.option("--global", "everywhere", is_flag=True, help=say("config.global"))


@click.group(help=say("config.about"))
def config() -> None:
    pass


@config.command("show", help=say("config.show"))
@click.option("--only-set", is_flag=True, help=say("config.only_set"))
@global_option
@json_option
@verb
async def show(only_set: bool, everywhere: bool, as_json: bool) -> None:
    async with app() as client:
        answer = await client.get(CONFIG, only_set=only_set)
    if answer["problem"]:
        click.echo(answer["problem"], err=True)
    if as_json:
        dump(answer["config"])
    else:
        record(dict(_flat(answer["config"])))


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _flat(inner, f"{path}.{name}" if path else name)
    else:
        yield path, value


@config.command("get", help=say("config.get"))
@click.argument("key")
@global_option
@json_option
@verb
async def get(key: str, everywhere: bool, as_json: bool) -> None:
    async with app() as client:
        value = (await client.get(CONFIG))["config"]
    for part in key.split("."):
        if isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            raise NotFound(say("config.no_key", setting=key))
    if as_json or isinstance(value, dict | list):
        dump(value)
    else:
        click.echo(as_text(value))


@config.command("set", help=say("config.set"))
@click.argument("key")
@click.argument("value")
@global_option
@verb
async def set_(key: str, value: str, everywhere: bool) -> None:
    async with app() as client:
        await change(client, key, value)
    click.echo(say("config.changed", setting=key), err=True)


async def change(client: Client, key: str, text: str) -> None:
    """Set a key to what was typed: as JSON where that is what it takes, else as plain text."""
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    try:
        await client.call("PATCH", CONFIG, {"set": {key: value}})
    except ApiFailed as error:
        if error.status != 400 or isinstance(value, str):
            raise
        await client.call("PATCH", CONFIG, {"set": {key: text}})


@config.command("unset", help=say("config.unset"))
@click.argument("key")
@global_option
@verb
async def unset(key: str, everywhere: bool) -> None:
    async with app() as client:
        await client.call("PATCH", CONFIG, {"unset": [key]})
    click.echo(say("config.changed", setting=key), err=True)


@click.group(help=say("permission.about"))
def permission() -> None:
    pass


@permission.command("show", help=say("permission.show"))
@json_option
@verb
async def show_permission(as_json: bool) -> None:
    async with app() as client:
        agent = (await client.get(CONFIG))["config"]["super_agent"]
    mode = {"mode": agent["permission_mode"], "allowed_tools": agent["allowed_tools"]}
    if as_json:
        dump(mode)
    else:
        record(mode)
        click.echo(say(f"permission.{mode['mode']}"), err=True)


@permission.command("set", help=say("permission.set"))
@click.argument("mode", type=click.Choice(["total", "automatico", "permiso"]))
@click.option("--allow", multiple=True, help=say("permission.allow"))
@verb
async def set_permission(mode: str, allow: tuple[str, ...]) -> None:
    changes: dict[str, Any] = {"super_agent.permission_mode": mode}
    if allow:
        changes["super_agent.allowed_tools"] = list(allow)
    async with app() as client:
        await client.call("PATCH", CONFIG, {"set": changes})
    click.echo(say(f"permission.{mode}"), err=True)
