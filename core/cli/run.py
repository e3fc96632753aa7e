"""`apx run`: what was asked of the agent, and what it did."""

import click

from core.cli.output import app, as_text, dump, json_option, record, table, verb
from core.cli.words import say


@click.group(help=say("run.about"))
def run() -> None:
    pass


@run.command("list", help=say("run.list"))
@click.option("--status", multiple=True, help=say("run.status"))
@click.option("--project", help=say("run.project"))
@click.option("--channel", help=say("run.channel"))
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@json_option
@verb
async def list_(
    status: tuple[str, ...], project: str | None, channel: str | None, limit: int, as_json: bool
) -> None:
    async with app() as client:
        rows = (
            await client.get(
                "/api/runs", status=",".join(status) or None, project_id=project, channel=channel, limit=limit
            )
        )["data"]
    if as_json:
        dump(rows)
    else:
        table(rows, ("id", "started_at", "channel", "status", "target", "text"))


@run.command("show", help=say("run.show"))
@click.argument("id")
@json_option
@verb
async def show(id: str, as_json: bool) -> None:
    async with app() as client:
        one = await client.get(f"/api/runs/{id}")
    if as_json:
        dump(one)
        return
    attempts = one.pop("attempts")
    record(one)
    if attempts:
        click.echo()
        table(attempts, ("target", "class", "action", "why", "again_in_s", "seconds", "reason"))


@run.command("transcript", help=say("run.transcript"))
@click.argument("id")
@json_option
@verb
async def transcript(id: str, as_json: bool) -> None:
    async with app() as client:
        lines = (await client.get(f"/api/runs/{id}/transcript"))["data"]
    if as_json:
        dump(lines)
        return
    for line in lines:
        said = line.get("text") or as_text({k: v for k, v in line.items() if k not in {"at", "kind", "meta"}})
        click.echo(f"[{line.get('kind', '')}] {said}")


@run.command("manifest", help=say("run.manifest"))
@click.argument("id")
@json_option
@verb
async def manifest(id: str, as_json: bool) -> None:
    async with app() as client:
        dump(await client.get(f"/api/runs/{id}/manifest"))
