"""`apx approvals`: what waits for the owner's yes, and the answer; and how `apx exec` asks on its own terminal."""

import asyncio
import os
import sys
from contextlib import suppress
from typing import Any

import click

from core.cli.client import ApiFailed, Client
from core.cli.output import app, dump, json_option, table, verb
from core.cli.words import say

PATH = "/api/approvals"


@click.group(help=say("approvals.about"))
def approvals() -> None:
    pass


@approvals.command("list", help=say("approvals.list"))
@click.option("--all", "everything", is_flag=True, help=say("approvals.all"))
@json_option
@verb
async def list_(everything: bool, as_json: bool) -> None:
    async with app() as client:
        rows = (await client.get(PATH, state="all" if everything else "open"))["data"]
    if as_json:
        dump(rows)
    elif everything:
        table(rows, ("id", "asked_at", "channel", "tool", "state", "decided_by", "shown"))
    else:
        for row in rows:
            click.echo(f"{row['id']}\n{question(row)}\n")
        if not rows:
            click.echo(say("none"), err=True)


@approvals.command("approve", help=say("approvals.approve"))
@click.argument("id")
@click.option("--always", is_flag=True, help=say("approvals.always"))
@verb
async def approve(id: str, always: bool) -> None:
    await _decide(id, "always" if always else "approve", "")


@approvals.command("deny", help=say("approvals.deny"))
@click.argument("id")
@click.option("--note", default="", help=say("approvals.note"))
@verb
async def deny(id: str, note: str) -> None:
    await _decide(id, "deny", note)


@approvals.command("grants", help=say("approvals.grants"))
@json_option
@verb
async def grants(as_json: bool) -> None:
    async with app() as client:
        rows = (await client.get(f"{PATH}/grants"))["data"]
    if as_json:
        dump(rows)
    else:
        table(rows, ("id", "project_id", "tool", "granted_by", "granted_at", "shown"))


@approvals.command("revoke", help=say("approvals.revoke"))
@click.argument("id")
@verb
async def revoke(id: str) -> None:
    async with app() as client:
        gone = (await client.call("DELETE", f"{PATH}/grants/{id}"))["revoked"]
    click.echo(say("approvals.revoked", tool=gone["tool"], project=gone["project_id"]), err=True)


async def _decide(id: str, decision: str, note: str) -> None:
    async with app() as client:
        await client.call("POST", f"{PATH}/{id}", {"decision": decision, "note": note, "via": "cli"})
    click.echo(say(f"approvals.done.{decision}"), err=True)


def question(row: dict[str, Any]) -> str:
    """All of what would run, and what is worth knowing about it."""
    lines = [
        row["shown"],
        *(f"! {one}" for one in row["warnings"]),
        say("approvals.where", cwd=row["cwd"]) if row["cwd"] else "",
        row["why"],
    ]
    text = "\n".join(line for line in lines if line)
    # `shown` holds no control signs but these two.
    return "".join(one if one.isprintable() or one in "\n\t" else "·" for one in text)


def attached() -> bool:
    """Somebody sits at this terminal and can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class AtTerminal:
    """Asks the questions of one run on the terminal, while its answer streams; an answer from elsewhere wins."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def frame(self, frame: dict[str, Any]) -> None:
        """A frame of the stream: a question begins, or has been answered."""
        id = frame["approval_id"]
        if frame["type"] == "approval_requested":
            self._tasks[id] = asyncio.create_task(self._ask(id))
        elif (task := self._tasks.pop(id, None)) and not task.done():
            task.cancel()
            click.echo(say("approvals.elsewhere"), err=True)

    async def aclose(self) -> None:
        """No question outlives its run."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _ask(self, id: str) -> None:
        row = await self._client.get(f"{PATH}/{id}")
        keys = {"y": "approve", "s": "approve", "n": "deny", "": "deny"}
        keys |= {"a": "always", "t": "always"} if "always" in row["choices"] else {}
        ask = say("approvals.ask_always" if "always" in row["choices"] else "approvals.ask")
        click.echo(
            f"\n{say('approvals.wants', tool=row['tool'])}\n{question(row)}\n{ask} ", err=True, nl=False
        )
        answer = keys.get((await _line()).strip().lower()[:1], "deny")
        with suppress(ApiFailed):  # answered elsewhere at the same moment: the stream says so
            await self._client.call("POST", f"{PATH}/{id}", {"decision": answer, "via": "cli"})


async def _line() -> str:
    """A line of the terminal, waited for without a thread that would keep the program alive."""
    loop, ready, file = asyncio.get_running_loop(), asyncio.Event(), sys.stdin.fileno()
    loop.add_reader(file, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(file)
    return os.read(file, 4096).decode("utf-8", "replace")
