"""`apx task`: what is to be done."""

from typing import Any

import click

from core.cli.output import app, dump, json_option, table, verb
from core.cli.words import say

number = click.argument("id", type=click.IntRange(min=1))


@click.group(help=say("task.about"))
def task() -> None:
    pass


def _shown(row: dict[str, Any], as_json: bool) -> None:
    if as_json:
        dump(row)
    else:
        click.echo(
            say("task.line", id=row["id"], title=row["title"], state=say(f"task.state.{row['state']}"))
        )


@task.command("add", help=say("task.add"))
@click.argument("title", nargs=-1, required=True)
@click.option("--body", default="", help=say("task.body"))
@click.option("--due", default=None, help=say("task.due"))
@click.option("--project", default="default", show_default=True, help=say("task.project"))
@json_option
@verb
async def add(title: tuple[str, ...], body: str, due: str | None, project: str, as_json: bool) -> None:
    new = {"title": " ".join(title), "body": body, "due": due}
    async with app() as client:
        _shown(await client.call("POST", f"/api/projects/{project}/tasks", new), as_json)


@task.command("list", help=say("task.list"))
@click.option(
    "--state",
    default="open",
    show_default=True,
    type=click.Choice(["open", "done", "dropped", "all"]),
    help=say("task.which"),
)
@click.option("--project", default=None, help=say("task.project"))
@json_option
@verb
async def list_(state: str, project: str | None, as_json: bool) -> None:
    path = f"/api/projects/{project}/tasks" if project else "/api/tasks"
    async with app() as client:
        rows = (await client.get(path, state=state))["data"]
    if as_json:
        dump(rows)
    else:
        table(rows, ("id", "project_id", "state", "status", "due", "comments", "title"))


@task.command("show", help=say("task.show"))
@number
@json_option
@verb
async def show(id: int, as_json: bool) -> None:
    async with app() as client:
        row = await client.get(f"/api/tasks/{id}")
    _shown(row, as_json)
    if as_json:
        return
    for line in filter(None, (row["due"], row["body"])):
        click.echo(line)
    for one in row["thread"]:
        click.echo(f"[{one['at'][:16].replace('T', ' ')}] {one['author']}: {one['text']}")


async def _patch(id: int, changes: dict[str, Any], as_json: bool) -> None:
    async with app() as client:
        row = await client.get(f"/api/tasks/{id}")
        path = f"/api/projects/{row['project_id']}/tasks/{id}"
        _shown(await client.call("PATCH", path, changes), as_json)


@task.command("done", help=say("task.done"))
@number
@json_option
@verb
async def done(id: int, as_json: bool) -> None:
    await _patch(id, {"state": "done"}, as_json)


@task.command("drop", help=say("task.drop"))
@number
@json_option
@verb
async def drop(id: int, as_json: bool) -> None:
    await _patch(id, {"state": "dropped"}, as_json)


@task.command("reopen", help=say("task.reopen"))
@number
@json_option
@verb
async def reopen(id: int, as_json: bool) -> None:
    await _patch(id, {"state": "open"}, as_json)


@task.command("status", help=say("task.status"))
@number
@click.argument("status", type=click.Choice(["pending", "running", "in_review", "blocked"]))
@json_option
@verb
async def status(id: int, status: str, as_json: bool) -> None:
    await _patch(id, {"status": status}, as_json)


@task.command("comment", help=say("task.comment"))
@number
@click.argument("text", nargs=-1, required=True)
@json_option
@verb
async def comment(id: int, text: tuple[str, ...], as_json: bool) -> None:
    async with app() as client:
        row = await client.get(f"/api/tasks/{id}")
        path = f"/api/projects/{row['project_id']}/tasks/{id}/comments"
        said = await client.call("POST", path, {"text": " ".join(text)})
    if as_json:
        dump(said)
    else:
        click.echo(say("task.commented", id=id))
