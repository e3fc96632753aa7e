"""The daemon as a process: one to a home, found by a file, killed without losing anything."""

import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result

from core.cli.group import Programs
from core.cli.main import group
from core.cli.words import language
from tests.fakes.daemon_process import ROOT, announced, apx, end, spawn


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "home"
    yield root
    if (root / "daemon.json").exists():  # a test that failed in the middle
        pid = json.loads((root / "daemon.json").read_text())["pid"]
        if pid != os.getpid():
            os.kill(pid, signal.SIGKILL)


def call(root: Path, method: str, path: str, **more: object) -> httpx.Response:
    here = json.loads((root / "daemon.json").read_text())
    token = (root / "owner.token").read_text().strip()
    return httpx.request(  # type: ignore[arg-type]
        method,
        f"http://127.0.0.1:{here['port']}{path}",
        headers={"authorization": f"Bearer {token}"},
        trust_env=False,
        **more,
    )


def test_it_says_where_it_answers_while_it_does(root: Path) -> None:
    daemon = spawn(root)
    here = announced(root, daemon.pid)
    assert sorted(here) == ["pid", "port", "started_at"]
    assert (root / "daemon.json").stat().st_mode & 0o777 == 0o600
    assert call(root, "GET", "/api/health").json()["status"] == "ok"
    assert end(daemon) == ""
    assert (daemon.returncode, (root / "daemon.json").exists()) == (0, False)


def test_a_second_one_says_who_holds_the_home(root: Path) -> None:
    daemon = spawn(root)
    announced(root, daemon.pid)
    second = spawn(root)
    said = second.communicate(timeout=30)[1]
    assert second.returncode == 1
    assert f"process {daemon.pid}" in said
    assert "Traceback" not in said
    assert call(root, "GET", "/api/health").status_code == 200
    end(daemon)


def test_of_many_at_once_exactly_one_wins(root: Path) -> None:
    daemons = [spawn(root) for _ in range(3)]
    here = announced(root)
    (winner,) = [daemon for daemon in daemons if daemon.pid == here["pid"]]
    for loser in daemons:
        if loser is not winner:
            said = loser.communicate(timeout=60)[1]
            assert (loser.returncode, "already in use" in said) == (1, True)
    assert winner.poll() is None
    end(winner)


def test_a_killed_one_loses_no_alert_and_keeps_its_token(root: Path) -> None:
    daemon = spawn(root)
    announced(root, daemon.pid)
    token = (root / "owner.token").read_text()
    posted = call(root, "POST", "/api/projects/0/super-agent/chat", json={"channel": "whatsapp"}).json()
    daemon.kill()
    daemon.communicate(timeout=30)
    assert (root / "daemon.json").exists()  # nobody was left to remove it
    fresh = spawn(root)
    announced(root, fresh.pid)
    (alert,) = call(root, "GET", "/api/alerts").json()["data"]
    assert alert["id"] == posted["alert_id"]
    assert (root / "owner.token").read_text() == token
    end(fresh)


def test_a_stale_file_with_a_living_process_id_stops_nobody(root: Path) -> None:
    root.mkdir()
    (root / "daemon.json").write_text(json.dumps({"pid": os.getpid(), "port": 1, "started_at": "2020"}))
    (root / "apx.lock").write_text(json.dumps({"pid": os.getpid(), "since": "2020"}))
    said = apx(root, "config", "get", "port")
    assert (said.returncode, said.stdout) == (0, "7430\n")
    daemon = spawn(root)
    announced(root, daemon.pid)
    end(daemon)
    assert daemon.returncode == 0


def test_a_busy_port_is_said_with_its_holder_and_the_way_out(root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        daemon = spawn(root, "--port", str(port))
        said = daemon.communicate(timeout=30)[1]
    assert daemon.returncode == 1
    assert f"Port {port}" in said
    assert str(os.getpid()) in said
    assert "apx config set port" in said
    assert "Traceback" not in said
    assert not (root / "daemon.json").exists()


@pytest.fixture
def command(root: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """`apx` in this process; only the daemon that it starts is another one."""
    monkeypatch.setenv("APX_HOME", str(root))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("LANG", "C")
    language.cache_clear()
    programs = Programs(tools=lambda: (), daemon=(sys.executable, "-m", "bridge.main"))
    return lambda *args: CliRunner().invoke(group, list(args), obj=programs)


def test_start_status_stop_from_the_command_line(root: Path, command: Callable[..., Result]) -> None:
    assert command("daemon", "status").exit_code == 1
    started = command("daemon", "start", "--port", "0")
    assert started.exit_code == 0, started.stderr
    status = json.loads(command("daemon", "status", "--json").stdout)
    assert (status["running"], status["status"]) == (True, "ok")
    again = command("daemon", "start")
    assert (again.exit_code, str(status["pid"]) in again.stderr) == (0, True)
    assert "is up" in command("daemon", "logs").stdout
    stopped = command("daemon", "stop")
    assert (stopped.exit_code, stopped.stderr) == (0, "It stopped.\n")
    assert command("daemon", "stop").exit_code == 1
    assert not (root / "daemon.json").exists()


def test_a_start_that_fails_says_why(command: Callable[..., Result]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = command("daemon", "start", "--port", str(taken.getsockname()[1]))
    assert (said.exit_code, "is already used by" in said.stderr) == (1, True)
