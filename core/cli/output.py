"""How commands end: an answer on stdout, a sentence on stderr, and the exit code that says which."""

import asyncio
import functools
import json
import logging
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, ParamSpec

import click

from core.cli.client import Client, connect
from core.cli.group import Programs
from core.cli.words import say
from core.errors import ApxError
from core.paths import Home

P = ParamSpec("P")
FAILED, NOT_CONFIGURED, INTERRUPTED = 1, 3, 130
json_option = click.option("--json", "as_json", is_flag=True, help=say("option.json"))


def verb(work: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Make a command's body of a coroutine function: what fails as expected is a sentence, not a traceback."""

    @functools.wraps(work)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        # Warnings of the app opened here belong to its log, not between the lines of an answer.
        logging.getLogger().addHandler(logging.NullHandler())

        async def main() -> None:
            await work(*args, **kwargs)

        try:
            asyncio.run(main())
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        except ApxError as error:
            click.echo(str(error), err=True)
            sys.exit(NOT_CONFIGURED if error.code == "not_configured" else FAILED)

    return run


def app() -> AbstractAsyncContextManager[Client]:
    """The app of this home, running or opened here."""
    context = click.get_current_context(silent=True)
    programs = context.find_object(Programs) if context else None
    return connect(Home.find(), programs.tools() if programs else ())


def as_text(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def dump(data: Any) -> None:
    """JSON for programs."""
    click.echo(json.dumps(data, ensure_ascii=False, indent=2))


def record(data: Mapping[str, Any]) -> None:
    """One thing, a field a line."""
    width = max((len(name) for name in data), default=0)
    for name, value in data.items():
        click.echo(f"{name:<{width}}  {as_text(value)}".rstrip())


def table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Many things, one a line, in columns that are as wide as what is in them."""
    lines = [[" ".join(as_text(row.get(name)).split())[:60] for name in columns] for row in rows]
    if not lines:
        click.echo(say("none"), err=True)
        return
    lines.insert(0, [name.upper() for name in columns])
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    for line in lines:
        click.echo("  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip())
