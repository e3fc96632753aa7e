"""`apx send` and `apx jobs`: one agent writes to another, what is being worked on, and stopping it."""

import os
import sys
from urllib.parse import quote

import click

from core.cli.output import FAILED, app, dump, json_option, table, verb
from core.cli.words import say
from core.runs.surroundings import DEPTH


@click.command("send", help=say("send.about"))
@click.argument("sender", metavar="FROM")
@click.argument("to")
@click.argument("text")
@click.option("--deliver", is_flag=True, help=say("send.deliver"))
@click.option("--project", help=say("send.project"))
@json_option
@verb
async def send(sender: str, to: str, text: str, deliver: bool, project: str | None, as_json: bool) -> None:
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    given = os.environ.get(DEPTH, "")
    depth = int(given) if given.isascii() and given.isdigit() else 0
    body = {"from": sender, "to": to, "body": text, "deliver": deliver, "depth": min(depth, 1000)}
    async with app() as client:
        path = f"/api/projects/{await client.project(project)}/send" if project else "/api/send"
        said = await client.call("POST", path, body)
    if as_json:
        dump(said)
    elif said["state"] == "left":
        click.echo(say("send.left", to=said["to"]), err=True)
    else:
        click.echo(said["text"])
        click.echo(say("send.job", id=said["job_id"], state=said["state"]), err=True)
    if said["state"] == "failed":
        sys.exit(FAILED)


@click.group("jobs", invoke_without_command=True, help=say("jobs.about"))
@click.option("--open", "only_open", is_flag=True, help=say("jobs.open"))
@click.option("--project", help=say("jobs.project"))
@click.option("--from", "sender", help=say("jobs.from"))
@click.option("--status", help=say("jobs.status"))
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@json_option
@verb
async def jobs(
    only_open: bool,
    project: str | None,
    sender: str | None,
    status: str | None,
    limit: int,
    as_json: bool,
) -> None:
    if click.get_current_context().invoked_subcommand:
        return
    asked = {"open": "true" if only_open else None, "from": sender, "status": status, "limit": limit}
    async with app() as client:
        pid = await client.project(project) if project else None
        rows = (await client.get("/api/jobs", project_id=pid, **asked))["data"]
    if as_json:
        dump(rows)
    else:
        table(rows, ("id", "status", "from", "to", "running_s", "project_id", "body", "result"))


@jobs.command("cancel", help=say("jobs.cancel"))
@click.argument("id")
@json_option
@verb
async def cancel(id: str, as_json: bool) -> None:
    async with app() as client:
        one = await client.call("POST", f"/api/jobs/{quote(id, safe='')}/cancel")
    if as_json:
        dump(one)
    else:
        click.echo(f"{one['id']}  {one['status']}")
