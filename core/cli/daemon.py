"""`apx daemon`: start, stop and look at the app that runs without a window."""

import asyncio
import os
import signal
import sys
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from core.cli.client import health, running
from core.cli.group import Programs
from core.cli.output import dump, json_option, record, verb
from core.cli.words import say
from core.errors import Unavailable
from core.paths import Home

PATIENCE_S = 20.0
LOOK_EVERY_S = 0.05


@click.group(help=say("daemon.about"))
def daemon() -> None:
    pass


async def _answers(home: Home) -> dict[str, Any] | None:
    found = running(home)
    said = await health(found[1]) if found else None
    return {"pid": found[0], "port": found[1], **said} if found and said else None


@daemon.command("start", help=say("daemon.start"))
@click.option("--port", type=click.IntRange(0, 65_535), help=say("daemon.port"))
@verb
async def start(port: int | None) -> None:
    home = Home.find()
    if there := await _answers(home):
        click.echo(say("daemon.already", pid=there["pid"], port=there["port"]), err=True)
        return
    programs = click.get_current_context().find_object(Programs)
    if programs is None:
        raise Unavailable(say("daemon.none"))
    home.make()
    # Nobody starts it again: it stays up when a channel does not come back.
    command = [*programs.daemon, "--stay", *(() if port is None else ("--port", str(port)))]
    pid = _spawn(command, home.logs / "daemon.err")
    loop = asyncio.get_running_loop()
    until = loop.time() + PATIENCE_S
    while _alive(pid) and loop.time() < until:
        there = await _answers(home)
        if there and there["pid"] == pid:
            click.echo(say("daemon.up", pid=there["pid"], port=there["port"]), err=True)
            return
        await asyncio.sleep(LOOK_EVERY_S)
    why = (home.logs / "daemon.err").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise Unavailable(why[-1] if why else say("daemon.slow"))


def _spawn(command: list[str], errors: Path) -> int:
    """A process that goes on without us: its own session, nothing of ours but a file for what it says at last."""
    quiet = os.O_RDONLY, 0
    said = os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600
    files = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, *quiet),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, str(errors), *said),
    ]
    return os.posix_spawn(command[0], command, os.environ, file_actions=files, setsid=True)


@daemon.command("stop", help=say("daemon.stop"))
@verb
async def stop() -> None:
    home = Home.find()
    there = await _answers(home)
    if there is None:
        raise Unavailable(say("daemon.down"))
    pid = int(there["pid"])
    os.kill(pid, signal.SIGTERM)
    loop = asyncio.get_running_loop()
    until = loop.time() + PATIENCE_S
    while loop.time() < until:
        if running(home) is None and not _alive(pid):
            click.echo(say("daemon.stopped"), err=True)
            return
        await asyncio.sleep(LOOK_EVERY_S)
    raise Unavailable(say("daemon.stays", pid=pid))


def _alive(pid: int) -> bool:
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # a child of ours stays in the table until it is asked after
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@daemon.command("status", help=say("daemon.status"))
@json_option
@verb
async def status(as_json: bool) -> None:
    there = await _answers(Home.find())
    if as_json:
        dump({"running": there is not None, **(there or {})})
    elif there:
        record(there)
    if there is None:
        if not as_json:
            click.echo(say("daemon.down"), err=True)
        sys.exit(1)


@daemon.command("logs", help=say("daemon.logs"))
@click.option(
    "-n", "--lines", type=click.IntRange(1, 100_000), default=50, show_default=True, help=say("daemon.lines")
)
def logs(lines: int) -> None:
    path = Home.find().logs / "apx.log"
    if not path.is_file():
        click.echo(say("daemon.no_log"), err=True)
        sys.exit(1)
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in deque(file, maxlen=lines):
            click.echo(line, nl=False)
