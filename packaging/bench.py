"""Measures whole programs as a person meets them: from the start of the process to the first answer or paint.

Every figure is the median of several fresh processes, beside a bare interpreter measured in the same run, so
that a slow or busy machine shows in the ratio and not only in the milliseconds.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent
SETTLE_S = 12.0  # what is imported once the start has calmed down is in memory by then
GIVE_UP_S = 30.0
HEAVY = re.compile(r"site-packages/(tiktoken|tokenizers|litellm)/")


def environment(home: Path) -> dict[str, str]:
    # A fresh install has its compiled files after the first start; what keeps them from being written is not ours.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {
        **kept,
        "APX_HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "QT_QPA_PLATFORM": os.environ.get("QT_QPA_PLATFORM")
        or ("xcb" if os.environ.get("DISPLAY") else "offscreen"),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
    }


@contextmanager
def home() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="apx-bench-"))
    (path / "config.json").write_text(json.dumps({"port": 0, "phone": {"serial": ""}}))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def running(command: list[str], home: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command, env=environment(home), cwd=ROOT, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(15)
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stderr:
            process.stderr.close()


def weight(pid: int) -> tuple[float, bool]:
    """Resident megabytes of a process, and whether a model library was loaded into it."""
    process = psutil.Process(pid)
    heavy = any(HEAVY.search(one.path) for one in process.memory_maps())
    return process.memory_info().rss / 1e6, heavy


def first_answer(home: Path, started: float) -> float:
    """Milliseconds from the start of the process to the first 200 of the health page."""
    while time.monotonic() - started < GIVE_UP_S:
        with suppress(OSError, ValueError, KeyError, urllib.error.URLError):
            port = json.loads((home / "daemon.json").read_text())["port"]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/health", timeout=1) as answer:
                if answer.status == 200:
                    return (time.monotonic() - started) * 1000
        time.sleep(0.004)
    raise SystemExit("The daemon did not answer in time.")


def daemon() -> tuple[float, float, bool]:
    with home() as where:
        started = time.monotonic()
        with running([sys.executable, "-m", "bridge.main"], where) as process:
            ms = first_answer(where, started)
            time.sleep(SETTLE_S)
            return (ms, *weight(process.pid))


def desktop() -> tuple[float, float, bool]:
    with home() as where:
        os.environ["APX_BENCH"] = "1"
        with running([sys.executable, "-m", "desktop.main"], where) as process:
            assert process.stderr is not None
            for line in process.stderr:
                if found := re.search(r"first paint: ([\d.]+) ms", line):
                    time.sleep(SETTLE_S)
                    return (float(found[1]), *weight(process.pid))
    raise SystemExit("The window did not paint.")


def bare() -> tuple[float, float, bool]:
    with home() as where:
        started = time.monotonic()
        code = "import asyncio, sqlite3, sys; print('up', file=sys.stderr, flush=True); sys.stdin.read()"
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env=environment(where),
            text=True,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stderr is not None
        process.stderr.readline()
        ms = (time.monotonic() - started) * 1000
        mb, heavy = weight(process.pid)
        process.communicate()
        return ms, mb, heavy


def medians(measure: Callable[[], tuple[float, float, bool]], runs: int) -> tuple[float, float, bool]:
    measure()  # once for the page cache
    rows = [measure() for _ in range(runs)]
    return (
        statistics.median(row[0] for row in rows),
        statistics.median(row[1] for row in rows),
        any(row[2] for row in rows),
    )


def apart(code: str) -> Any:
    """What a piece of code prints as JSON, in a process of its own: this one stays without the product."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "packaging")])
    with home() as where:
        given = {**environment(where), "PYTHONPATH": paths}
        done = subprocess.run(
            [sys.executable, "-c", f"import json, {code.partition('.')[0]}; print(json.dumps({code}))"],
            env=given,
            cwd=ROOT,
            text=True,
            check=True,
            stdout=subprocess.PIPE,
        )
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", choices=("start", "turn", "hang"), help="one of the three parts")
    asked = parser.parse_args()
    told: dict[str, Any] = {}
    if asked.only in (None, "start"):
        told |= starts(asked.runs, quiet=asked.json)
    if asked.only in (None, "turn"):
        told["turn beside its model"] = turn = apart("bench_turn.measure()")
        if not asked.json:
            told_turn(turn)
    if asked.only in (None, "hang"):
        for name in ("apx-daemon", "apx-desktop"):
            told[f"{name}, a provider hangs"] = hang = apart(f"bench_hang.measure({name!r})")
            if not asked.json:
                told_hang(name, hang)
    if asked.json:
        print(json.dumps(told))


def starts(runs: int, *, quiet: bool) -> dict[str, Any]:
    """How long each program takes to be there, and what it weighs then."""
    measured = {
        "bare interpreter": medians(bare, runs),
        "apx-daemon, first HTTP 200": medians(daemon, runs),
        "apx-desktop, first paint": medians(desktop, runs),
    }
    if quiet:
        return {name: {"ms": ms, "mb": mb, "litellm": heavy} for name, (ms, mb, heavy) in measured.items()}
    base_ms, base_mb, _ = measured["bare interpreter"]
    print(f"medians of {runs} fresh processes\n")
    print(f"{'':30} {'start':>9} {'ratio':>7} {'idle memory':>13} {'ratio':>7}  litellm loaded")
    for name, (ms, mb, heavy) in measured.items():
        print(
            f"{name:30} {ms:6.0f} ms {ms / base_ms:6.1f}x {mb:10.0f} MB {mb / base_mb:6.1f}x  "
            f"{'yes' if heavy else 'no'}"
        )
    return {}


def told_turn(turn: dict[str, float]) -> None:
    print(f"\na turn beside its model, {turn['writes']:.0f} durable writes, milliseconds:")
    print(f"median {turn['median_ms']:.1f}, p95 {turn['p95_ms']:.1f}, processor {turn['cpu_ms']:.1f}")
    print(
        f"with every part and tool: median {turn['whole_median_ms']:.1f}, p95 {turn['whole_p95_ms']:.1f}, "
        f"processor {turn['whole_cpu_ms']:.1f}"
    )
    print(f"the bare writes alone: median {turn['bare_median_ms']:.1f}, p95 {turn['bare_p95_ms']:.1f}")
    base_ms = statistics.median(bare()[0] for _ in range(5))
    print(f"median beside a bare interpreter's start of {base_ms:.0f} ms: {turn['median_ms'] / base_ms:.2f}x")


def told_hang(name: str, kinds: dict[str, dict[str, dict[str, float]]]) -> None:
    """Each time as p50 / p95 / max; the last column is what the hanging adds."""
    print(f"\n{name} while questions hang at their provider; milliseconds, p50 / p95 / max")
    print(f"{'':18} {'worker loads':>24} {'nothing hangs':>24} {'meanwhile':>24} {'p95 more':>9}")
    for kind, phases in kinds.items():
        cells = [
            "{p50:.1f} / {p95:.1f} / {max:.1f}".format(**phases[phase]) if phase in phases else ""
            for phase in ("loading", "before", "meanwhile")
        ]
        more = phases["meanwhile"]["p95"] - phases["before"]["p95"]
        print(f"{kind:18} {cells[0]:>24} {cells[1]:>24} {cells[2]:>24} {more:9.1f}")


if __name__ == "__main__":
    main()
