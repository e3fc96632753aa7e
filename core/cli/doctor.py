"""`apx doctor`: what is wrong here, and what to do about it."""

import sys
from dataclasses import asdict
from typing import Any

import click

from core.cli.output import app, dump, json_option, verb
from core.cli.words import language, say
from core.errors import ApxError
from core.paths import Home

MARKS = {"ok": "✓", "warn": "!", "fail": "✗"}


@click.command(help=say("doctor.about"))
@click.option("--fix", is_flag=True, help=say("doctor.fix"))
@json_option
@verb
async def doctor(fix: bool, as_json: bool) -> None:
    from core.api.doctor import files

    home = Home.find()
    found: list[dict[str, Any]] = [asdict(one) for one in files(home, language(), fix=fix)]
    if fix:
        home.make()
    try:
        async with app() as client:
            found += (await client.get("/api/doctor"))["data"]
    except ApxError as error:
        found.append({"name": "app", "level": "fail", "text": str(error), "remedy": "", "fixed": False})
    if as_json:
        dump(found)
    else:
        for one in found:
            click.echo(f"{MARKS[one['level']]} {one['text']}")
            if one["remedy"]:
                click.echo(f"    {one['remedy']}")
    if any(one["level"] == "fail" for one in found):
        sys.exit(1)
