"""`apx memory` and `apx sessions`: what is remembered, and what was said before."""

import click

from core.cli.output import app, dump, json_option, table, verb
from core.cli.words import say

PATH = "/api/memory"
SESSIONS = "/api/sessions"


@click.group(help=say("memory.about"))
def memory() -> None:
    pass


async def _list(as_json: bool, **query: object) -> None:
    async with app() as client:
        found = await client.get(PATH, **query)
    if as_json:
        dump(found["data"])
    else:
        table(found["data"], ("id", "source", "at", "text"))
        click.echo(say("memory.notebook", path=found["notebook"]), err=True)
        by_meaning = found["embeddings"] or {}
        if by_meaning.get("model"):
            told = {name: by_meaning[name] for name in ("with_meaning", "model")}
            click.echo(say("memory.by_meaning", facts=found["facts"], **told), err=True)
            if by_meaning["problem"]:
                click.echo(say("memory.behind", problem=by_meaning["problem"]), err=True)


@memory.command("list", help=say("memory.list"))
@click.option("--project", default=None, help=say("memory.project"))
@click.option("--all", "everything", is_flag=True, help=say("memory.all"))
@json_option
@verb
async def list_(project: str | None, everything: bool, as_json: bool) -> None:
    await _list(as_json, project_id=project, forgotten=True if everything else None)


@memory.command("search", help=say("memory.search"))
@click.argument("words", nargs=-1, required=True)
@json_option
@verb
async def search(words: tuple[str, ...], as_json: bool) -> None:
    await _list(as_json, q=" ".join(words))


@memory.command("add", help=say("memory.add"))
@click.argument("text", nargs=-1, required=True)
@click.option("--project", default=None, help=say("memory.project"))
@json_option
@verb
async def add(text: tuple[str, ...], project: str | None, as_json: bool) -> None:
    body = {"text": " ".join(text)} | ({"project_id": project} if project else {})
    async with app() as client:
        fact = await client.call("POST", PATH, body)
    if as_json:
        dump(fact)
    else:
        click.echo(say("memory.added", id=fact["id"], text=fact["text"]))


@memory.command("forget", help=say("memory.forget"))
@click.argument("id", type=click.IntRange(min=1))
@json_option
@verb
async def forget(id: int, as_json: bool) -> None:
    async with app() as client:
        fact = await client.call("DELETE", f"{PATH}/{id}")
    if as_json:
        dump(fact)
    else:
        click.echo(say("memory.forgotten", text=fact["text"]))


@click.group(help=say("sessions.about"))
def sessions() -> None:
    pass


async def _sessions(as_json: bool, **query: object) -> None:
    async with app() as client:
        rows = (await client.get(SESSIONS, **query))["data"]
    if as_json:
        dump(rows)
    else:
        table(
            [row | {"text": row["snippet"] or row["opening"]} for row in rows],
            ("thread", "last_at", "lines", "text"),
        )


@sessions.command("list", help=say("sessions.list"))
@click.option("--limit", default=20, type=click.IntRange(1, 100), help=say("sessions.limit"))
@json_option
@verb
async def latest(limit: int, as_json: bool) -> None:
    await _sessions(as_json, limit=limit)


@sessions.command("search", help=say("sessions.search"))
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", default=15, type=click.IntRange(1, 100), help=say("sessions.limit"))
@json_option
@verb
async def look(words: tuple[str, ...], limit: int, as_json: bool) -> None:
    await _sessions(as_json, q=" ".join(words), limit=limit)


@sessions.command("show", help=say("sessions.show"))
@click.argument("thread")
@json_option
@verb
async def show(thread: str, as_json: bool) -> None:
    async with app() as client:
        found = await client.get(f"{SESSIONS}/{_quoted(thread)}")
    if as_json:
        dump(found)
        return
    for line in found["data"]:
        click.echo(f"[{line['at'][:16].replace('T', ' ')}] {line['author']}: {line['text']}")


def _quoted(thread: str) -> str:
    from urllib.parse import quote

    return quote(thread, safe="")
