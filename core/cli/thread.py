"""`apx thread`: what the older lines of a long conversation are told as."""

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


def _show(told: dict[str, object], as_json: bool) -> None:
    if as_json:
        dump(told)
        return
    attempts = told.pop("attempts")
    record(told)
    if isinstance(attempts, list) and attempts:
        click.echo()
        table(attempts, ("at", "state", "lines", "target", "why"))
