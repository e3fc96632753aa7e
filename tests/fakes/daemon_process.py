"""The real daemon as a process of its own, and an `apx` that is called like a person calls it."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
APX = "from bridge.main import apx; apx()"
DEADLINE_S = 60.0


def environment(root: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("APX_", "LC_", "LANG"))}
    fixed = {"APX_HOME": str(root), "LANG": "C", "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    return kept | fixed | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}


def spawn(root: Path, *args: str) -> subprocess.Popen[str]:
    """A daemon of the home `root`, on a free port unless `args` say another."""
    return subprocess.Popen(
        [sys.executable, "-m", "bridge.main", *(args or ("--port", "0"))],
        cwd=ROOT, env=environment(root), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def announced(root: Path, pid: int | None = None) -> dict[str, Any]:
    """What a daemon says of itself, once it says so: another process can only be looked at."""
    until = time.monotonic() + DEADLINE_S
    while time.monotonic() < until:
        try:
            here = json.loads((root / "daemon.json").read_text())
            if pid in (None, here["pid"]):
                return dict(here)
        except (OSError, ValueError):
            pass
        time.sleep(0.02)
    raise AssertionError(f"The daemon {pid or root} did not announce itself")


def end(process: subprocess.Popen[str]) -> str:
    """Stop a daemon as a service manager does; what it wrote on stderr."""
    if process.poll() is None:
        process.terminate()
    return process.communicate(timeout=DEADLINE_S)[1]


def apx(root: Path, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """One command, to its end."""
    return subprocess.run(
        [sys.executable, "-c", APX, *args],
        cwd=ROOT, env=environment(root), input=stdin, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
