"""`apx round`: start one, list them, and see again what one of them did."""

import asyncio
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import click

from bridge.report import sentence
from core.cli.client import Client, health, running
from core.cli.output import app, dump, json_option, table, verb
from core.cli.words import language, say
from core.errors import NotFound, Unavailable
from core.paths import Home
from core.texts import t


@click.group(help=say("round.about"))
def round() -> None:
    pass


@round.command("start", help=say("round.start"))
@click.option("--wait", is_flag=True, help=say("round.wait"))
@json_option
@verb
async def start(wait: bool, as_json: bool) -> None:
    found = running(Home.find())
    if not (found and await health(found[1])):
        raise Unavailable(say("daemon.down"))
    async with app() as client:
        accepted = await client.call("POST", "/api/rounds")
        if wait:
            accepted = await _over(client, accepted["alert_id"])
    if as_json:
        dump(accepted)
    elif wait:
        _show(accepted)
    else:
        click.echo(say(f"round.{accepted['status']}"), err=True)


async def _over(client: Client, alert_id: str) -> dict[str, Any]:
    """The round that took the alert, when it is closed."""
    while True:
        alert = await client.get(f"/api/alerts/{alert_id}")
        if alert["state"] in ("worked", "relayed"):
            found: dict[str, Any] = await client.get(f"/api/rounds/{alert['round_id']}")
            return found
        await asyncio.sleep(0.3)


@round.command("list", help=say("round.list"))
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@json_option
@verb
async def list_(limit: int, as_json: bool) -> None:
    async with app() as client:
        rows = (await client.get("/api/rounds", limit=limit))["data"]
    if as_json:
        dump(rows)
    else:
        columns = ("id", "started_at", "state", "phone_state", "conversations", "sent", "waiting", "report")
        table(rows, columns)


async def _found(client: Client, id: str, *, reveal: bool = False) -> dict[str, Any]:
    if id == "last":
        rows = (await client.get("/api/rounds", limit=1))["data"]
        if not rows:
            raise NotFound(say("round.none"))
        id = rows[0]["id"]
    found: dict[str, Any] = await client.get(f"/api/rounds/{id}", reveal=reveal or None)
    return found


@round.command("show", help=say("round.show"))
@click.argument("id", default="last")
@click.option("--reveal", is_flag=True, help=say("round.reveal"))
@json_option
@verb
async def show(id: str, reveal: bool, as_json: bool) -> None:
    async with app() as client:
        found = await _found(client, id, reveal=reveal)
    if as_json:
        dump(found)
    else:
        _show(found)


def _show(found: dict[str, Any]) -> None:
    took = _seconds(found["started_at"], found["closed_at"])
    click.echo(f"{found['id']} · {_clock(found['started_at'])} · {found['state']} · {took}")
    report = found["report"]
    if report:
        click.echo(say("round.report", state=report["state"]))
        click.echo()
        click.echo(report["text"])
    else:
        click.echo(say("round.nothing"))


@round.command("replay", help=say("round.replay"))
@click.argument("id", default="last")
@click.option("--reveal", is_flag=True, help=say("round.reveal"))
@json_option
@verb
async def replay(id: str, reveal: bool, as_json: bool) -> None:
    async with app() as client:
        found = await _found(client, id, reveal=reveal)
    if as_json:
        dump(found)
        return
    for line in replayed(found, language()):
        click.echo(line)


def replayed(found: dict[str, Any], lang: str) -> Iterator[str]:
    """A round again, step by step: what rang, what was on the screen, what was decided and why, what was done."""
    began = found["started_at"]
    yield f"{found['id']} · {_clock(began)} · {found['state']} · {_seconds(began, found['closed_at'])}"
    if found.get("replay_ended_at"):  # a round from before replays ended has no such field
        yield t("replay.ended", lang)
    for alert in found["alerts"]:
        yield f"{_since(began, alert['received_at'])}  {t('replay.alert', lang, source=alert['source'])}"
    for step in found["steps"]:
        more = {name: value for name, value in step.items() if name not in ("at", "name", "ms")}
        told = " · ".join(f"{name} {value}" for name, value in more.items() if value not in ("", None))
        yield f"{_since(began, step['at'])}  {step['name']} ({step['ms'] / 1000:.1f} s) {told}".rstrip()
    for chat in found["conversations"]:
        yield ""
        yield f"{chat['title']} [{chat['kind']}, {chat['posture']}]"
        for line in chat["messages"]:
            who = line["sender"] or ("→" if line["direction"] == "out" else "←")
            new = "*" if line["fresh"] and line["direction"] != "out" else " "
            kind = "" if line["kind"] == "text" else f"[{line['kind']}] "
            yield f"  {new} {line['at_text'] or '--:--':>8}  {who} {kind}{line['text']}"
        yield f"    {_decision(chat, lang)}"
    yield ""
    yield t(f"report.background.{_known(found['in_background'])}", lang)


def _decision(chat: dict[str, Any], lang: str) -> str:
    parts = [t(f"watch.decided.{chat['decision'] or 'none'}", lang)]
    if chat["reason"]:
        parts.append(sentence(chat["reason"], lang))
    parts += [f"{name}: {value}" for name, value in chat["args"].items() if value]
    if chat["outcome"]:
        why = f" ({sentence(chat['outcome_why'], lang)})" if chat["outcome_why"] else ""
        parts.append(t(f"watch.outcome.{chat['outcome']}", lang) + why)
    if run := chat["run"]:
        took = _seconds(run["started_at"], run["closed_at"])
        parts.append(f"{run['target']}, {run['tokens_in']} + {run['tokens_out']} tok, {took}")
    return " · ".join(parts)


def _known(value: bool | None) -> str:
    return "unknown" if value is None else "yes" if value else "no"


def _clock(at: str) -> str:
    return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M:%S}"


def _since(began: str, at: str) -> str:
    return f"{(datetime.fromisoformat(at) - datetime.fromisoformat(began)).total_seconds():+7.1f} s"


def _seconds(began: str, ended: str | None) -> str:
    if ended is None:
        return "…"
    return f"{(datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds():.1f} s"
