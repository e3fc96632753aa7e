"""`apx runtimes`: the coding assistants that are on this computer."""

import click

from core.cli.output import app, dump, json_option, table, verb
from core.cli.words import say


@click.command(help=say("runtimes.about"))
@click.option("--versions", is_flag=True, help=say("runtimes.versions"))
@json_option
@verb
async def runtimes(versions: bool, as_json: bool) -> None:
    async with app() as client:
        rows = (await client.get("/api/runtimes", versions=versions or None))["data"]
    if as_json:
        dump(rows)
        return
    there = [row for row in rows if row["found"]]
    table(there, ("name", "version", "path") if versions else ("name", "path"))
    if missing := [row["name"] for row in rows if not row["found"]]:
        click.echo(say("runtimes.missing", names=", ".join(missing)), err=True)
