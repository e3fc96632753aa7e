"""Measures what everybody else notices of a provider that hangs: another conversation, the API, and the window.

Whole programs with the real model worker, against a stand-in for a provider that answers one model at once and
never the other. What is measured is the same work before and meanwhile; the difference is what the hanging costs.
"""

import asyncio
import json
import os
import statistics
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.fakes.openai_server import Answer, OpenAIServer, fault

ROUNDS = 40
HANGING = 3
TICK_MS = 5
SLOW, FAST = "standin:slow", "standin:fast"
PROGRAMS = {
    "apx-daemon": ("-m", "bridge.main"),
    "apx-desktop": ("-c", "import bench_hang; bench_hang.window()"),
}

Times = dict[str, list[float]]


def spread(values: list[float]) -> dict[str, float]:
    """What a list of milliseconds comes to."""
    ordered = sorted(values) or [0.0]
    return {
        "p50": statistics.median(ordered),
        "p95": ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))],
        "max": ordered[-1],
    }


# In the window's own process


def window() -> None:
    """The desktop with one more timer on its loop: a line on stdin, and it tells how late that one was."""
    from PySide6.QtCore import Qt, QTimer
    from PySide6.QtWidgets import QApplication
    from qasync import QEventLoop

    from core.paths import Home
    from desktop.collecting import Collector
    from desktop.main import live

    app = QApplication(sys.argv[:1])
    sys.setswitchinterval(0.0005)  # this and the collector as the program itself has them
    collector = Collector()
    collector.open()
    app.setQuitOnLastWindowClosed(False)
    late: list[float] = []
    before = time.perf_counter()

    def tick() -> None:
        nonlocal before
        now = time.perf_counter()
        late.append((now - before) * 1000 - TICK_MS)
        before = now

    def tell() -> None:
        for _ in sys.stdin:
            told, late[:] = list(late), []
            print(json.dumps(told), flush=True)

    timer = QTimer(interval=TICK_MS, timerType=Qt.TimerType.PreciseTimer, timeout=tick)
    timer.start()
    threading.Thread(target=tell, daemon=True).start()
    with asyncio.Runner(loop_factory=lambda: QEventLoop(app)) as runner:
        runner.run(live(app, Home.find()))


# In the measuring process


class Program:
    """A daemon or a window that answers over HTTP."""

    def __init__(self, process: asyncio.subprocess.Process, http: httpx.AsyncClient) -> None:
        self._process, self._http = process, http

    async def get(self, path: str) -> None:
        (await self._http.get(path)).raise_for_status()

    async def ask(self, model: str, thread: str) -> None:
        """One turn, to its end."""
        body = {"prompt": "hello", "model": model, "channelMeta": {"thread": thread}}
        (await self._http.post("/api/projects/default/super-agent/chat", json=body)).raise_for_status()

    async def late(self) -> list[float]:
        """How late each tick of the window's loop was since the last time."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(b"\n")
        return list(json.loads(await self._process.stdout.readline()))


@asynccontextmanager
async def started(name: str, home: Path, environment: dict[str, str]) -> AsyncIterator[Program]:
    """The program with its routes made, before any model was asked."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *PROGRAMS[name],
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=16 * 1024 * 1024,
    )
    try:
        async with asyncio.timeout(60):
            while not (home / "daemon.json").exists():  # noqa: ASYNC110  another process can only be looked at
                await asyncio.sleep(0.05)
        port = json.loads((home / "daemon.json").read_text())["port"]
        token = (home / "owner.token").read_text().strip()
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}",
            headers={"authorization": f"Bearer {token}"},
            timeout=120,
            trust_env=False,
            verify=False,
        ) as http:
            program = Program(process, http)
            await program.get("/api/runs")
            yield program
    finally:
        process.terminate()
        await process.wait()


async def timed(work: Callable[[], Awaitable[None]]) -> float:
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1000


async def noticed(
    program: Program, *, window: bool, turns: bool, until: asyncio.Event | None = None
) -> Times:
    """What the API, another conversation and the window's loop took, again and again."""
    times: Times = {"GET /api/health": [], "GET /api/runs": []}
    if turns:
        times["another turn"] = []
    if window:
        await program.late()
    while len(times["GET /api/health"]) < ROUNDS if until is None else not until.is_set():
        times["GET /api/health"].append(await timed(lambda: program.get("/api/health")))
        times["GET /api/runs"].append(await timed(lambda: program.get("/api/runs")))
        if turns:
            times["another turn"].append(await timed(lambda: program.ask(FAST, "other")))
    if window:
        times["the window's loop"] = await program.late()
    return times


async def program(name: str, home: Path, environment: dict[str, str]) -> dict[str, Times]:
    """One program: while its worker loads for a question that will hang, before that hangs, and while it does."""
    window = name == "apx-desktop"
    async with OpenAIServer() as server:
        server.default = lambda body: fault("hang") if body["model"] == "slow" else Answer("ready")
        settings: dict[str, Any] = {
            "port": 0,
            "super_agent": {"enabled": True, "model": FAST},
            "engines": {"standin": {"base_url": server.url, "api_key": "sk-standin-0123456789"}},
        }
        (home / "config.json").write_text(json.dumps(settings))
        async with started(name, home, environment) as running, asyncio.TaskGroup() as group:
            hanging = [group.create_task(_refused(running.ask(SLOW, "first")))]
            loading = await noticed(running, window=window, turns=False, until=server.arrived)
            hanging[0].cancel()
            for _ in range(3):
                await running.ask(FAST, "other")
            before = await noticed(running, window=window, turns=True)
            hanging += [group.create_task(_refused(running.ask(SLOW, f"hangs{n}"))) for n in range(HANGING)]
            asked = len(server.requests)
            async with asyncio.timeout(60):
                while sum(one.body["model"] == "slow" for one in server.requests[asked:]) < HANGING:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            meanwhile = await noticed(running, window=window, turns=True)
            for task in hanging:
                task.cancel()
    return {"loading": loading, "before": before, "meanwhile": meanwhile}


async def _refused(asking: Awaitable[None]) -> None:
    """A question whose end nobody waits for."""
    try:
        await asking
    except httpx.HTTPError:
        return


def measure(name: str) -> dict[str, dict[str, dict[str, float]]]:
    """The spread of every time, by what it is and by phase. `APX_HOME` is an empty folder."""
    times = asyncio.run(program(name, Path(os.environ["APX_HOME"]), dict(os.environ)))
    kinds = times["before"]
    return {
        kind: {phase: spread(found[kind]) for phase, found in times.items() if kind in found}
        for kind in kinds
    }
