"""`apx demo`: the product shown and checked at once."""

import sys

import click

from core.cli.output import FAILED, dump, json_option, verb
from core.cli.words import language, say


@click.command("demo", help=say("demo.help"))
@click.option("--window", is_flag=True, help=say("demo.window"))
@json_option
@verb
async def demo(window: bool, as_json: bool) -> None:
    # A simulated phone is a lot to import for `--help`.
    from bridge.demo import whole
    from bridge.demo_show import Show
    from bridge.demo_show import as_json as told

    show = Show(language(), quiet=as_json)
    show.begin()
    facts = await whole(show, window=window)
    if as_json:
        dump(told(facts))
    if not facts.ok:
        sys.exit(FAILED)
