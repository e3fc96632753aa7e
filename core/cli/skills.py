"""`apx skills`: the know-how there is, and what is in it."""

import click

from core.cli.output import app, dump, json_option, table, verb
from core.cli.words import say

PATH = "/api/skills"


@click.group(help=say("skills.about"))
def skills() -> None:
    pass


@skills.command("list", help=say("skills.list"))
@click.option("--project", default=None, help=say("skills.project"))
@json_option
@verb
async def list_(project: str | None, as_json: bool) -> None:
    async with app() as client:
        rows = (await client.get(PATH, project_id=project))["data"]
    if as_json:
        dump(rows)
    else:
        table([row | {"about": row["problem"] or row["about"]} for row in rows], ("name", "scope", "about"))


@skills.command("show", help=say("skills.show"))
@click.argument("name")
@click.option("--project", default=None, help=say("skills.project"))
@json_option
@verb
async def show(name: str, project: str | None, as_json: bool) -> None:
    from urllib.parse import quote

    async with app() as client:
        skill = await client.get(f"{PATH}/{quote(name, safe='')}", project_id=project)
    if as_json:
        dump(skill)
        return
    click.echo(skill["problem"] or skill["text"].rstrip())
    if skill["files"]:
        click.echo("\n" + say("skills.files", files=", ".join(skill["files"])), err=True)
