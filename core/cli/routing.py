"""`apx debug routing` and `apx spending`: where a request would go and why, and what the requests have cost."""

from typing import Any

import click

from core.cli.output import app, dump, json_option, table, verb
from core.cli.words import say


@click.group(help=say("debug.about"))
def debug() -> None:
    pass


@debug.command("routing", help=say("debug.routing"))
@click.option("--model", metavar="PROVIDER:MODEL", help=say("debug.model"))
@click.option("--project", help=say("run.project"))
@json_option
@verb
async def routing(model: str | None, project: str | None, as_json: bool) -> None:
    async with app() as client:
        told = await client.get("/api/routing", model=model, project_id=project)
    if as_json:
        dump(told)
    else:
        show(told)


def show(told: dict[str, Any]) -> None:
    """The route as lines: the window shows the same."""
    if told["problem"]:
        click.echo(told["problem"])
    if told["primary"]:
        local = f" ({say('routing.local')})" if told.get("local") else ""
        click.echo(say("routing.primary", model=told["primary"], by=told["selected_by"]) + local)
    if told["fallback"]:
        for number, one in enumerate(told["fallback"], 1):
            line = say(
                "routing.rung", n=number, model=one["target"], list=one["via"], layer=one["granted_by"]
            )
            click.echo(line + (f" ({say('routing.cooling')})" if one["cooling"] else ""))
    else:
        click.echo(say("routing.no_rungs"))
    for one in told["narrowed"]:
        click.echo(say("routing.removed", model=one["target"], why=one["reason"]))
    second = told["auxiliary"]
    click.echo(say("routing.auxiliary", model=second["problem"] or second["model"] or "-"))
    show_classifier(told["classifier"])
    for number, rule in enumerate(told["rules"]):
        when = ", ".join(f"{name}={value}" for name, value in rule["when"].items()) or say("routing.always")
        click.echo(say("routing.rule", n=number, model=rule["model"], when=when))
    for name, model in told["pins"].items():
        if model:
            click.echo(say("routing.pin", name=name, model=model))
    limits = told["limits"]
    click.echo(
        say(
            "routing.limits",
            same=limits["same_target_retries"],
            concurrency=limits["concurrency_retries"],
            turn=limits["retries_per_turn"],
        )
    )
    for one in told["cooling"]:
        click.echo(say("routing.cools", model=one["target"], until=one["until"], why=one["why"]))
    for name, seconds in told["circuits"].items():
        click.echo(say("routing.circuit", provider=name, seconds=seconds))


def show_classifier(told: dict[str, Any]) -> None:
    """Who weighs a question, and where each level would go."""
    if not told["enabled"]:
        click.echo(say("routing.classifier_off"))
        return
    click.echo(say("routing.classifier", model=told["model"] or "-", seconds=f"{told['limit_s']:g}"))
    if told["problem"]:
        click.echo(f"  {told['problem']}")
    for level, one in told["levels"].items():
        click.echo(say(f"routing.level.{one['why']}", level=level, model=one["target"] or "-"))


@click.command("spending", help=say("spending.about"))
@click.option(
    "--by", type=click.Choice(["day", "agent", "channel", "model"]), default="day", show_default=True
)
@click.option("--since", metavar="YYYY-MM-DD", help=say("spending.since"))
@json_option
@verb
async def spending(by: str, since: str | None, as_json: bool) -> None:
    async with app() as client:
        told = await client.get("/api/spending", by=by, since=since)
    if as_json:
        dump(told)
        return
    rows = [
        {by: one["key"] or say("spending.main"), "usd": money(one["cost_micros"], one["floor"])}
        | {name: one[name] for name in ("requests", "tokens_in", "tokens_out")}
        for one in told["data"]
    ]
    table(rows, (by, "usd", "requests", "tokens_in", "tokens_out"))
    click.echo(say("spending.total", total=money(told["total_micros"], told["floor"]), since=told["since"]))
    for cap in told["caps"]:
        spent = money(cap["spent_micros"], False)
        click.echo(
            say("spending.cap", name=cap["name"], limit=money(cap["limit_micros"], False), spent=spent)
        )


def money(micros: int, floor: bool) -> str:
    """US dollars; "≥" says that something in it has no known price."""
    return f"{'≥ ' if floor else ''}{micros / 1_000_000:.4f}"
