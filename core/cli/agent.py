"""`apx agent`: the agents of a project."""

from pathlib import Path
from urllib.parse import quote

import click

from core.cli.output import app, dump, json_option, record, table, verb
from core.cli.words import say
from core.errors import Invalid

project_option = click.option("--project", default="default", show_default=True, help=say("agent.project"))


@click.group(help=say("agent.about"))
def agent() -> None:
    pass


@agent.command("list", help=say("agent.list"))
@click.option("--project", help=say("agent.project"))
@json_option
@verb
async def list_(project: str | None, as_json: bool) -> None:
    async with app() as client:
        path = f"/api/projects/{await client.project(project)}/agents" if project else "/api/agents"
        rows = (await client.get(path))["data"]
    if as_json:
        dump(rows)
    else:
        table(rows, ("slug", "name", "project_id", "model", "icon"))


@agent.command("add", help=say("agent.add"))
@click.argument("name")
@click.option("--slug", default="", help=say("agent.slug"))
@click.option("--instructions", default="", help=say("agent.instructions"))
@click.option("--instructions-file", type=click.Path(dir_okay=False, path_type=Path), help=say("agent.file"))
@click.option("--model", default="", help=say("agent.model"))
@click.option("--icon", default="", help=say("agent.icon"))
@project_option
@json_option
@verb
async def add(
    name: str,
    slug: str,
    instructions: str,
    instructions_file: Path | None,
    model: str,
    icon: str,
    project: str,
    as_json: bool,
) -> None:
    if instructions_file is not None:
        try:
            instructions = instructions_file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Invalid(say("agent.unreadable", path=instructions_file)) from error
    body = {"name": name, "slug": slug, "instructions": instructions, "model": model, "icon": icon}
    async with app() as client:
        made = await client.call("POST", f"/api/projects/{await client.project(project)}/agents", body)
    if as_json:
        dump(made)
    else:
        record(made)


@agent.command("show", help=say("agent.show"))
@click.argument("slug")
@project_option
@json_option
@verb
async def show(slug: str, project: str, as_json: bool) -> None:
    async with app() as client:
        one = await client.get(f"/api/projects/{await client.project(project)}/agents/{quote(slug, safe='')}")
    if as_json:
        dump(one)
    else:
        record(one)


@agent.command("remove", help=say("agent.remove"))
@click.argument("slug")
@project_option
@verb
async def remove(slug: str, project: str) -> None:
    async with app() as client:
        gone = await client.call(
            "DELETE", f"/api/projects/{await client.project(project)}/agents/{quote(slug, safe='')}"
        )
    click.echo(say("agent.removed", name=gone["name"]), err=True)
