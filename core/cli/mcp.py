"""`apx mcp`: the servers whose tools the assistant may use, and a call by hand."""

import json
import sys
from typing import Any

import click

from core.cli.output import FAILED, app, dump, json_option, table, verb
from core.cli.words import say
from core.errors import Invalid

PATH = "/api/mcp"


@click.group(help=say("mcp.about"))
def mcp() -> None:
    pass


@mcp.command("list", help=say("mcp.list"))
@json_option
@verb
async def list_(as_json: bool) -> None:
    async with app() as client:
        rows = (await client.get(PATH))["data"]
    if as_json:
        dump(rows)
    else:
        for row in rows:
            row["where"] = row["url"] or " ".join([row["command"], *row["args"]])
        table(rows, ("name", "kind", "state", "where", "problem"))


@mcp.command("add", help=say("mcp.add"))
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--url", default="", help=say("mcp.url"))
@click.option("--env", multiple=True, metavar="NAME=VALUE", help=say("mcp.env"))
@click.option("--header", multiple=True, metavar="NAME=VALUE", help=say("mcp.header"))
@click.option("--timeout", "timeout_s", type=float, default=60.0, show_default=True, help=say("mcp.timeout"))
@click.option("--off", is_flag=True, help=say("mcp.off"))
@click.option("--replace", is_flag=True, help=say("mcp.replace"))
@json_option
@verb
async def add(
    name: str,
    command: tuple[str, ...],
    url: str,
    env: tuple[str, ...],
    header: tuple[str, ...],
    timeout_s: float,
    off: bool,
    replace: bool,
    as_json: bool,
) -> None:
    body: dict[str, Any] = {
        "name": name,
        "command": command[0] if command else "",
        "args": list(command[1:]),
        "url": url,
        "env": _pairs(env),
        "headers": _pairs(header),
        "timeout_s": timeout_s,
        "enabled": not off,
        "replace": replace,
    }
    async with app() as client:
        added = await client.call("POST", PATH, body)
    if as_json:
        dump(added)
    else:
        click.echo(say("mcp.added", name=name), err=True)


def _pairs(given: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE, or NAME= alone to be asked for the value, so that no secret stays in the shell's history."""
    pairs: dict[str, str] = {}
    for one in given:
        name, sign, value = one.partition("=")
        if not sign or not name:
            raise Invalid(say("mcp.not_a_pair", text=one[:60]))
        pairs[name] = value or click.prompt(name, hide_input=True, err=True)
    return pairs


@mcp.command("on", help=say("mcp.on_help"))
@click.argument("name")
@verb
async def on(name: str) -> None:
    await _switch(name, on=True)


@mcp.command("off", help=say("mcp.off_help"))
@click.argument("name")
@verb
async def off(name: str) -> None:
    await _switch(name, on=False)


async def _switch(name: str, *, on: bool) -> None:
    async with app() as client:
        await client.call("PATCH", f"{PATH}/{name}", {"enabled": on})
    click.echo(say("mcp.switched_on" if on else "mcp.switched_off", name=name), err=True)


@mcp.command("remove", help=say("mcp.remove"))
@click.argument("name")
@verb
async def remove(name: str) -> None:
    async with app() as client:
        await client.call("DELETE", f"{PATH}/{name}")
    click.echo(say("mcp.removed", name=name), err=True)


@mcp.command("tools", help=say("mcp.tools"))
@click.argument("name")
@json_option
@verb
async def tools(name: str, as_json: bool) -> None:
    async with app() as client:
        rows = (await client.get(f"{PATH}/{name}/tools"))["data"]
    if as_json:
        dump(rows)
    else:
        for row in rows:
            row["effect"] = say("mcp.reads" if row["reads"] else "mcp.acts")
        table(rows, ("name", "effect", "about"))


@mcp.command("check", help=say("mcp.check"))
@click.argument("name")
@json_option
@verb
async def check(name: str, as_json: bool) -> None:
    async with app() as client:
        told = await client.call("POST", f"{PATH}/{name}/check")
    if as_json:
        dump(told)
    else:
        click.echo(say("mcp.answers", name=name, n=told["tools"]) if told["ok"] else told["problem"])
    if not told["ok"]:
        sys.exit(FAILED)


@mcp.command("call", help=say("mcp.call"))
@click.argument("name")
@click.argument("tool")
@click.argument("args", default="{}")
@click.option("--yes", is_flag=True, help=say("mcp.yes"))
@json_option
@verb
async def call(name: str, tool: str, args: str, yes: bool, as_json: bool) -> None:
    try:
        given = json.loads(args)
    except ValueError as error:
        raise Invalid(say("mcp.not_json")) from error
    if not isinstance(given, dict):
        raise Invalid(say("mcp.not_json"))
    async with app() as client:
        told = await client.call("POST", f"{PATH}/{name}/call", {"tool": tool, "args": given, "yes": yes})
    if as_json:
        dump(told)
    else:
        click.echo(told["result"])
    if not told["ok"]:
        sys.exit(FAILED)
