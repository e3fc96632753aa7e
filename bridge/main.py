"""The two programs without a window: `apx`, the commands, and `apx-daemon`, the core and the phone bridge."""

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

import click

from core.cli.words import say
from core.errors import ApxError
from core.paths import Home

log = logging.getLogger(__name__)

CALM_S = 20.0


def apx() -> None:
    """The command line: the core's verbs and the bridge's."""
    from bridge import verbs
    from core.cli.group import Programs
    from core.cli.main import group

    verbs.add(group)
    group(prog_name="apx", obj=Programs(tools=_tools, daemon=(sys.executable, "-m", "bridge.main")))


def parts() -> Sequence[Any]:
    """The parts of the daemon and of the window, imported when they are asked for."""
    from bridge import parts

    return parts.parts()


def _tools() -> Sequence[Any]:
    # Heavy, and only for a command that opens the app itself.
    from bridge.parts import tools

    return tools()


@click.command(help=say("daemon.program"))
@click.option("--port", type=click.IntRange(0, 65_535), help=say("daemon.program_port"))
@click.option("--stay", is_flag=True, help=say("daemon.program_stay"))
def daemon(port: int | None, stay: bool) -> None:
    """The agent without its window, until it is told to stop."""
    if port is not None:
        os.environ["APX_PORT"] = str(port)
    home = Home.find()
    home.make()
    try:
        why = asyncio.run(work(home, stay=stay))
    except ApxError as error:
        log.error("%s", error)
        click.echo(str(error), err=True)
        sys.exit(1)
    if why:
        click.echo(why, err=True)
        sys.exit(os.EX_TEMPFAIL)


async def work(home: Home, *, stay: bool = False) -> str:
    """Open the app with every part that needs no window, and keep it until a signal.

    A channel that new connections cannot mend is a reason to leave, unless nobody is there to start us again. The
    reason is answered; it is empty after a signal.
    """
    from core.app import App
    from core.events import ChannelState
    from core.log import to_file

    to_file(home, "info")
    # Libraries are imported beside the loop; a shorter turn keeps the loop's answers short meanwhile.
    sys.setswitchinterval(0.0005)
    leaving = asyncio.Event()
    failed: list[str] = []

    def told(event: ChannelState) -> None:
        if event.state == "failed":
            log.error("%s: %s", event.channel, event.detail)
            if not stay:
                failed.append(event.detail)
                leaving.set()

    loop = asyncio.get_running_loop()
    for one in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(one, leaving.set)
    async with App.open(home, parts()) as app:
        app.bus.subscribe(ChannelState, told)
        logging.getLogger().setLevel(app.config.now.log_level.upper())
        log.info("The daemon of %s is up", home.root)
        # What was made at the start stays: looking through it for garbage would hold everybody up each time.
        loop.call_later(CALM_S, gc.freeze)
        await leaving.wait()
        log.info("The daemon of %s goes down", home.root)
    return failed[0] if failed else ""


if __name__ == "__main__":
    daemon()
