"""`apx-desktop`: the window first, then the core and the phone on the same loop, and one way out.

Nothing that is slow to import is imported before the window is painted.
"""

import argparse
import asyncio
import importlib
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from qasync import QEventLoop

from core.errors import ApxError
from core.paths import Home
from desktop import instance, look
from desktop.collecting import Collector
from desktop.stage import Stage
from desktop.words import Words

if TYPE_CHECKING:
    from core.app import App
    from desktop.door import Door

T = TypeVar("T")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the desktop until it is left; a home that already has a window shows that one instead."""
    options = _options(arguments)
    home = Home(Path(options.home).expanduser().absolute()) if options.home else Home.find()
    QGuiApplication.setHighDpiScaleFactorRoundingPolicy(Qt.HighDpiScaleFactorRoundingPolicy.PassThrough)
    app = QApplication(sys.argv[:1])
    sys.setswitchinterval(0.0005)  # what is imported beside the loop leaves it room to paint
    app.setApplicationName("apx")
    app.setDesktopFileName("apx")
    app.setQuitOnLastWindowClosed(False)  # closing the window leaves the mascot
    if instance.ask_to_show(home):
        return 0
    collector = Collector()
    collector.open()
    with asyncio.Runner(loop_factory=lambda: QEventLoop(app)) as runner:
        runner.run(live(app, home, hidden=options.hidden, page=options.page))
    collector.close()
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="apx-desktop", description="The window, the mascot and the agent.")
    parser.add_argument("--hidden", action="store_true", help="start with the mascot and the tray only")
    parser.add_argument("--home", help="another home than ~/.apx (or APX_HOME)")
    parser.add_argument("--page", choices=("chat", "rounds", "phone", "settings"), default="chat")
    return parser.parse_args(arguments)


async def live(app: QApplication, home: Home, *, hidden: bool = False, page: str = "chat") -> None:
    """Paint, open the core, wait until somebody leaves, close the core, and only then the window."""
    leaving = asyncio.Event()
    stage = Stage(app, home, look.read(home), leaving.set)
    with _signals(leaving):
        if not hidden:
            await _painted(stage)
        stage.furnish(hidden=hidden)
        stage.window.open(page)
        bell = instance.Doorbell(home)
        bell.rung.connect(stage.window.bring)
        bell.open()
        try:
            while not leaving.is_set():
                await _session(home, stage, leaving)
        finally:
            bell.close()
            stage.close()


async def _painted(stage: Stage) -> None:
    painted = asyncio.Event()
    stage.window.painted.connect(painted.set)
    stage.window.show()
    with suppress(TimeoutError):  # a window that nobody can see is never painted
        await asyncio.wait_for(painted.wait(), 2)
    if os.environ.get("APX_BENCH"):
        print(f"first paint: {_age_ms():.0f} ms since process start", file=sys.stderr, flush=True)  # noqa: T201


async def _session(home: Home, stage: Stage, leaving: asyncio.Event) -> None:
    """The core from its opening to its end; a failure to open is shown, and tried again when asked."""
    again = asyncio.Event()
    stage.window.retried.connect(again.set)
    try:
        async with _opened(home) as app:
            from desktop import wiring

            async with wiring.joined(app, stage, _door(app, stage.words)):
                await leaving.wait()
    except (ApxError, OSError) as error:
        stage.fail(str(error))
        await _first(again, leaving)
        stage.recover()
    finally:
        stage.window.retried.disconnect(again.set)


@asynccontextmanager
async def _opened(home: Home) -> AsyncIterator["App"]:
    # In a thread, so that the window answers while a second of imports goes by.
    names = ("core.app", "core.log", "bridge.parts")
    core, log, bridge = await asyncio.to_thread(lambda: [importlib.import_module(name) for name in names])
    home.make()
    log.to_file(home, "info")
    async with core.App.open(home, bridge.parts()) as app:
        yield app


def _door(app: "App", words: Words) -> "Door":
    """The phone's side of this app, as the callables that the screens ask."""
    from bridge.handset import Handset
    from bridge.owner_questions import Questions
    from bridge.watcher import Watcher
    from core.errors import Unavailable
    from desktop.door import Door
    from desktop.phone import Attached, Known

    def found(kind: type[T]) -> T:
        service = app.services.get(kind)
        if service is None:
            raise Unavailable(words("phone.none_here"))
        return cast("T", service)

    async def state() -> Known:
        handset = found(Handset)
        state, condition, detail = await handset.look()
        return Known(
            state, serial=handset.target.serial, detail=detail or (str(condition) if condition else "")
        )

    async def attached() -> list[Attached]:
        handset = found(Handset)
        devices = await handset.devices()
        return [
            Attached(one.serial, name_of(one.properties), one.state, one.serial == handset.target.serial)
            for one in devices
        ]

    async def picture() -> bytes:
        phone = await found(Handset).phone()
        await phone.present()
        return (await phone.screenshot()).data

    async def answer(question_id: str, choice: str, text: str) -> None:
        await found(Questions).answer(question_id, choice, text=text, by="desktop")

    def watching() -> tuple[str, str]:
        watcher = app.services.get(Watcher)
        return (watcher.state, watcher.why) if watcher is not None else ("off", "")

    return Door(state, attached, picture, answer, watching)


def name_of(properties: Mapping[str, str]) -> str:
    """A phone's model as its maker writes it, without the underscores of adb."""
    return properties.get("model", "").replace("_", " ")


async def _first(*events: asyncio.Event) -> None:
    """Until one of them is set."""
    tasks = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _signals:
    """Ctrl-C and a polite kill leave like the menu does: with the core closed."""

    def __init__(self, leaving: asyncio.Event) -> None:
        self._leaving = leaving

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._leaving.set)

    def __exit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _age_ms() -> float:
    """Milliseconds since this process was started, where the system says so; else since Python's clock."""
    with suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return (time.clock_gettime(time.CLOCK_BOOTTIME) - started) * 1000
    return time.process_time() * 1000


if __name__ == "__main__":
    sys.exit(main())
