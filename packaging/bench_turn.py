"""Measures what a turn costs beside its model: the model here answers at once, everything else is real.

Each turn has three tool calls and one answer, with the ten durable writes that belong to them and two of the
judge; once with the core alone, and once with every part of the program, its tools and its memory. The same number of
bare commits on the same disk is measured beside it, because on a busy one they are most of it; and the processor's
time, which does not depend on what else runs here. What a turn leaves to be done behind it, its thread's summary, has
ended before the next one begins: nobody writes again in the same millisecond. The processor's time counts it.
"""

import asyncio
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from bridge.parts import parts
from core.app import App, Part
from core.paths import Home
from core.runs.compaction import HEADINGS
from core.runs.request import Reply, Request, ToolCall
from core.runs.turn import Status, Turn
from core.tool import Context, Effect, tool

TURNS, WARM_UP = 200, 20


class Nothing(BaseModel):
    pass


@tool(Effect.READ)
async def look(args: Nothing, ctx: Context) -> str:
    """Look."""
    return "found"


class Instant:
    """Models that take no time: a call first, then words."""

    async def complete(self, request: Request, say: Callable[[str], None] | None = None) -> Reply:
        if request.purpose == "compact":
            return Reply("\n".join(f"{heading}\n- It was looked for." for heading in HEADINGS), [], 1000, 60)
        if request.messages[-1]["role"] == "tool":
            if say:
                say("It is there.")
            return Reply("It is there.", [], 1000, 20, "stop")
        return Reply("", [ToolCall("", "look", "{}")] * 3, 1000, 20, "tool_calls")

    async def configured(self, target: str, lang: str = "") -> None:
        """It is."""

    async def aclose(self) -> None:
        """Nothing to close."""


def p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


async def _turns(root: Path, parts: Sequence[Part] = ()) -> tuple[list[float], float, float]:
    home = Home(root / ("apx" if not parts else "whole"))
    async with App.open(home, parts) as app:
        await app.config.set(
            {
                "super_agent.enabled": True,
                "super_agent.model": "openai:gpt-4o",
                "engines.openai.api_key": "none",
                "llm_routing.fallback": ["openai:gpt-4o-mini", "groq:llama-3.3-70b-versatile"],
                "budgets.day_usd": 1_000_000,
            }
        )
        real: Any = app.runner
        object.__setattr__(real.desk, "models", Instant())
        app.tools.add(look)
        writes = 0
        store: Any = app.store

        def counting(given: Callable[..., Any]) -> Callable[..., Any]:
            def counted(*args: Any) -> Any:
                nonlocal writes
                writes += 1
                return given(*args)

            return counted

        for name in ("transaction", "run", "together"):
            setattr(store, name, counting(getattr(store, name)))
        times: list[float] = []
        cpu = 0.0
        for number in range(TURNS + WARM_UP):
            if number == WARM_UP:
                writes, cpu = 0, time.process_time()
            started = time.perf_counter()
            run = await app.runner.run(Turn(text="look", channel="cli", thread="bench", sender="owner"))
            spent = (time.perf_counter() - started) * 1000
            assert run.status is Status.DONE, run.text
            await app.runner.summaries.settled()
            if number >= WARM_UP:
                times.append(spent)
        return times, writes / TURNS, (time.process_time() - cpu) * 1000 / TURNS


def _commits(root: Path, writes: int) -> list[float]:
    """The same number of commits, each a row, by nobody but the database."""
    db = sqlite3.connect(root / "bare.db", isolation_level=None)
    db.execute("pragma journal_mode = wal")
    db.execute("pragma synchronous = full")
    db.execute("create table t (x)")
    times = []
    for _ in range(TURNS):
        started = time.perf_counter()
        for _ in range(writes):
            db.execute("begin immediate")
            db.execute("insert into t values ('x')")
            db.execute("commit")
        times.append((time.perf_counter() - started) * 1000)
    db.close()
    return times


def measure() -> dict[str, float]:
    """Milliseconds of a turn beyond its model, its durable writes, and the same writes bare."""
    sys.setswitchinterval(0.0005)  # as the programs themselves do
    with tempfile.TemporaryDirectory(prefix="apx-bench-") as folder:
        times, writes, cpu = asyncio.run(_turns(Path(folder)))
        whole, _, whole_cpu = asyncio.run(_turns(Path(folder), parts()[:-1]))  # all but the HTTP API
        bare = _commits(Path(folder), round(writes))
    return {
        "median_ms": statistics.median(times),
        "p95_ms": p95(times),
        "cpu_ms": cpu,
        "writes": writes,
        "whole_median_ms": statistics.median(whole),
        "whole_p95_ms": p95(whole),
        "whole_cpu_ms": whole_cpu,
        "bare_median_ms": statistics.median(bare),
        "bare_p95_ms": p95(bare),
    }


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name:16} {value:8.2f}")
