"""`apx thread` and `apx threads`: what conversations are called, and what the older lines of a long one are told as."""

import click

from core.cli.output import app, dump, json_option, record, table, verb
from core.cli.words import say


@click.group(help=say("thread.about"))
def thread() -> None:
    pass


@thread.command("summary", help=say("thread.summary"))
@click.argument("name")
@json_option
@verb
async def summary(name: str, as_json: bool) -> None:
    async with app() as client:
        _show(await client.get("/api/threads/summary", thread=name), as_json)


@thread.command("compact", help=say("thread.compact"))
@click.argument("name")
@json_option
@verb
async def compact(name: str, as_json: bool) -> None:
    async with app() as client:
        _show(await client.call("POST", "/api/threads/compact", {"thread": name}), as_json)


@click.command("list", help=say("thread.list"))
@click.option("--channel", multiple=True, help=say("run.channel"))
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@json_option
@verb
async def threads(channel: tuple[str, ...], limit: int, as_json: bool) -> None:
    async with app() as client:
        rows = (await client.get("/api/threads", channel=list(channel) or None, limit=limit))["data"]
    if as_json:
        dump(rows)
    else:
        table(rows, ("thread", "title", "channel", "lines", "last_at"))


thread.add_command(threads)


@thread.command("rename", help=say("thread.rename"))
@click.argument("name")
@click.argument("title")
@json_option
@verb
async def rename(name: str, title: str, as_json: bool) -> None:
    async with app() as client:
        told = await client.call("PATCH", "/api/threads", {"thread": name, "title": title})
    if as_json:
        dump(told)
    else:
        click.echo(told["title"])


def _show(told: dict[str, object], as_json: bool) -> None:
    if as_json:
        dump(told)
        return
    attempts = told.pop("attempts")
    record(told)
    if isinstance(attempts, list) and attempts:
        click.echo()
        table(attempts, ("at", "state", "lines", "target", "why"))
