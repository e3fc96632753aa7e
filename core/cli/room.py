"""`apx room`: rooms in which several agents answer."""

from contextlib import aclosing
from typing import Any
from urllib.parse import quote

import click

from core.cli.approvals import AtTerminal, attached
from core.cli.ask import read, show
from core.cli.client import ApiFailed, Client
from core.cli.output import app, dump, json_option, record, table, verb
from core.cli.words import say

project_option = click.option("--project", default="default", show_default=True, help=say("room.project"))


@click.group(help=say("room.about"))
def room() -> None:
    pass


async def _path(client: Client, project: str, named: str = "") -> str:
    path = f"/api/projects/{await client.project(project)}/groups"
    return f"{path}/{quote(named, safe='')}" if named else path


def _shown(one: dict[str, Any], as_json: bool) -> None:
    if as_json:
        dump(one)
    else:
        record(
            {name: one[name] for name in ("id", "title", "project_id", "lines")} | {"members": _names(one)}
        )


def _names(one: dict[str, Any]) -> str:
    return ", ".join(member["handle"] for member in one["members"])


@room.command("list", help=say("room.list"))
@click.option("--project", help=say("room.project"))
@json_option
@verb
async def list_(project: str | None, as_json: bool) -> None:
    async with app() as client:
        path = await _path(client, project) if project else "/api/groups"
        rows = (await client.get(path))["data"]
    if as_json:
        dump(rows)
    else:
        table(
            [row | {"members": _names(row)} for row in rows],
            ("id", "title", "members", "lines", "last_at", "last"),
        )


@room.command("create", help=say("room.create"))
@click.argument("title")
@click.argument("members", nargs=-1)
@project_option
@json_option
@verb
async def create(title: str, members: tuple[str, ...], project: str, as_json: bool) -> None:
    async with app() as client:
        body = {"title": title, "participants": list(members)}
        _shown(await client.call("POST", await _path(client, project), body), as_json)


@room.command("show", help=say("room.show"))
@click.argument("name")
@project_option
@json_option
@verb
async def show_(name: str, project: str, as_json: bool) -> None:
    async with app() as client:
        one = await client.get(await _path(client, project, name))
    if as_json:
        dump(one)
        return
    _shown(one, as_json=False)
    for line in one["said"]:
        click.echo()
        click.echo(_line(say("room.you") if line["author"] == "owner" else line["name"], line["text"]))


@room.command("add", help=say("room.add"))
@click.argument("name")
@click.argument("member")
@project_option
@json_option
@verb
async def add(name: str, member: str, project: str, as_json: bool) -> None:
    async with app() as client:
        path = f"{await _path(client, project, name)}/participants"
        _shown(await client.call("POST", path, {"slug": member}), as_json)


@room.command("remove", help=say("room.remove"))
@click.argument("name")
@click.argument("member")
@project_option
@json_option
@verb
async def remove(name: str, member: str, project: str, as_json: bool) -> None:
    async with app() as client:
        path = f"{await _path(client, project, name)}/participants/{quote(member, safe='')}"
        _shown(await client.call("DELETE", path), as_json)


@room.command("truncate", help=say("room.truncate"))
@click.argument("name")
@click.argument("keep", type=click.IntRange(min=0))
@project_option
@verb
async def truncate(name: str, keep: int, project: str) -> None:
    async with app() as client:
        path = f"{await _path(client, project, name)}/truncate"
        done = await client.call("POST", path, {"keep_visible": keep})
    click.echo(say("room.truncated", n=done["removed"]), err=True)


@room.command("delete", help=say("room.delete"))
@click.argument("name")
@project_option
@verb
async def delete(name: str, project: str) -> None:
    async with app() as client:
        gone = await client.call("DELETE", await _path(client, project, name))
    click.echo(say("room.deleted", title=gone["title"], thread=gone["thread"]), err=True)


@room.command("stop", help=say("room.stop"))
@click.argument("name")
@project_option
@verb
async def stop(name: str, project: str) -> None:
    async with app() as client:
        pid = await client.project(project)
        done = await client.call(
            "POST", f"/api/projects/{pid}/turns/abort", {"channel": "group", "thread_id": name}
        )
    click.echo(say("room.stopped" if done["aborted"] else "room.idle"), err=True)


@room.command("say", help=say("room.say"))
@click.argument("name")
@click.argument("text", nargs=-1)
@click.option("--again", is_flag=True, help=say("room.again"))
@project_option
@json_option
@verb
async def say_(name: str, text: tuple[str, ...], again: bool, project: str, as_json: bool) -> None:
    body: dict[str, Any] = {"rerun": True} if again else {"prompt": read(" ".join(text))}
    body |= {"canAsk": True} if attached() else {}
    ended: dict[str, Any] | None = None
    spoken: list[dict[str, Any]] = []
    async with app() as client:
        path = f"{await _path(client, project, name)}/message/stream"
        async with aclosing(AtTerminal(client)) as terminal:
            async for frame in client.frames(path, body):
                kind = frame["type"]
                if kind == "error":
                    raise ApiFailed(frame["error"], code=frame["code"], status=0)
                if kind.startswith("approval_"):
                    terminal.frame(frame)
                elif kind == "speaker_final":
                    spoken.append(frame)
                    if not as_json:
                        _spoke(frame)
                elif kind == "done":
                    ended = frame
                else:
                    show(frame, frame.get("slug", ""))
    if ended is None:
        raise ApiFailed(say("broke_off"), code="unavailable", status=0)
    if as_json:
        dump(
            {name: ended[name] for name in ("room_id", "line_id", "state", "replies", "note")}
            | {"said": spoken}
        )
    elif ended["note"]:
        click.echo(ended["note"], err=True)


def _spoke(frame: dict[str, Any]) -> None:
    """An answer goes to stdout; why there is none does not."""
    click.echo(_line(frame["name"], frame["text"]) + "\n", err=frame["status"] == "failed")


def _line(who: str, text: str) -> str:
    return f"{who}: {text}"
