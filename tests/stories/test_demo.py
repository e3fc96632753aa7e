"""`apx demo` as a person runs it: a program that ends by itself, says the truth, and leaves nothing behind."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.fakes.daemon_process import APX, ROOT, environment

DEADLINE_S = 150.0


def begin(tmp_path: Path, *args: str) -> subprocess.Popen[str]:
    env = environment(tmp_path / "mine") | {"TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    return subprocess.Popen(
        [sys.executable, "-u", "-c", APX, "demo", *args],
        cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def nothing_is_left(tmp_path: Path, children: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(children, timeout=20)
    assert alive == []
    assert list((tmp_path / "tmp").iterdir()) == []
    assert not (tmp_path / "mine").exists()


def test_the_demo_holds(tmp_path: Path) -> None:
    process = begin(tmp_path, "--json")
    out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, err
    told = json.loads(out)
    assert told["ok"] is True
    assert all(told["checks"].values())
    assert len(told["unread"]) == 8
    (text,) = told["telegrams"]
    assert all(title in text for title in told["unread"])
    assert "WhatsApp in background: yes" in text
    assert told["typed"]
    # The bank's code is the owner's: it went to them and into no chat.
    assert "482 913" in text
    assert not any("482" in one["text"] for one in told["typed"])
    nothing_is_left(tmp_path, [])


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_demo_that_is_stopped_takes_everything_with_it(tmp_path: Path, how: signal.Signals) -> None:
    process = begin(tmp_path)
    assert process.stdout is not None
    for line in process.stdout:
        if "answers on port" in line:
            break
    children = family(process)
    assert len(children) >= 2  # the adb server and the app
    process.send_signal(how)
    _, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 130
    assert "Traceback" not in err
    nothing_is_left(tmp_path, children)
