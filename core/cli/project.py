"""`apx project`: the folders that are the owner's projects."""

from pathlib import Path

import click

from core.cli.output import app, dump, json_option, record, table, verb
from core.cli.words import say


@click.group(help=say("project.about"))
def project() -> None:
    pass


@project.command("add", help=say("project.add"))
@click.argument("folder", default=".")
@click.option("--name", default="", help=say("project.name"))
@json_option
@verb
async def add(folder: str, name: str, as_json: bool) -> None:
    path = str(Path(folder).expanduser().absolute())
    async with app() as client:
        made = await client.call("POST", "/api/projects", {"path": path, "name": name})
    if as_json:
        dump(made)
    else:
        record(made)


@project.command("list", help=say("project.list"))
@json_option
@verb
async def list_(as_json: bool) -> None:
    async with app() as client:
        rows = (await client.get("/api/projects"))["data"]
    if as_json:
        dump(rows)
    else:
        table(rows, ("id", "name", "path"))


@project.command("remove", help=say("project.remove"))
@click.argument("id")
@verb
async def remove(id: str) -> None:
    async with app() as client:
        gone = await client.call("DELETE", f"/api/projects/{id}")
    click.echo(say("project.removed", name=gone["name"]), err=True)
