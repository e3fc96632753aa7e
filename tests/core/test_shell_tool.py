"""Commands run within bounds, without our secrets, and leave nothing behind."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from core.runs.surroundings import surroundings
from core.runs.turn import Run, Status
from core.tools import shell
from core.tools.shell import Tail, run
from tests.fakes.house import house, turn
from tests.fakes.openai_server import Answer

pytestmark = pytest.mark.anyio


async def test_it_tells_how_it_went(tmp_path: Path) -> None:
    said = await run("echo out; echo err >&2; exit 3", tmp_path, 10)
    assert said.startswith("exit code 3 (")
    assert "stdout:\nout\n" in said
    assert "stderr:\nerr\n" in said


async def test_nobody_is_at_the_keyboard(tmp_path: Path) -> None:
    assert "exit code 1" in await run("read x", tmp_path, 10)


async def test_secrets_of_ours_do_not_reach_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_API_KEY",
        "TELEGRAM_BOT_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "SSH_AUTH_SOCK",
        "LD_PRELOAD",
    ):
        monkeypatch.setenv(name, "hunter2hunter2")
    monkeypatch.setenv("APX_HOME", "/somewhere")
    said = await run("env", tmp_path, 10)
    assert "hunter2" not in said
    assert "APX_HOME=/somewhere" in said


def test_a_project_does_not_name_the_programs() -> None:
    assert surroundings({"PATH": ".:/usr/bin::bin"})["PATH"] == "/usr/bin"
    assert surroundings({})["PATH"].startswith("/usr/local/bin")
    assert surroundings({})["HOME"]


async def test_too_long_ends_the_whole_group(tmp_path: Path) -> None:
    began = time.monotonic()
    said = await run("sleep 300 & echo $! > child; sleep 300", tmp_path, 0.5)
    assert said.startswith("ended after 0.5 s: it had not finished, and what it had begun may be done")
    assert time.monotonic() - began < 30
    assert gone(int((tmp_path / "child").read_text()))


async def test_what_ignores_the_signal_is_ended_too(tmp_path: Path) -> None:
    said = await run("trap '' TERM; echo $$ > me; while :; do sleep 0.1; done", tmp_path, 0.5)
    assert said.startswith("ended after")
    assert gone(int((tmp_path / "me").read_text()))


async def test_what_stays_in_the_background_is_ended_and_said(tmp_path: Path) -> None:
    said = await run("sleep 300 & echo $! > child; echo done", tmp_path, 20)
    assert "exit code 0" in said
    assert "left in the background was ended" in said
    assert gone(int((tmp_path / "child").read_text()))


async def test_cancelling_ends_it(tmp_path: Path) -> None:
    task = asyncio.create_task(run("echo $$ > me; sleep 300", tmp_path, 100))
    while not (tmp_path / "me").exists() or not (tmp_path / "me").read_text().strip():  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gone(int((tmp_path / "me").read_text()))


def gone(pid: int) -> bool:
    """No such process, or only its name in the table until its parent looks."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in {"Z", "X"}


async def test_much_output_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    said = await run("echo first; yes x | head -c 3000000; echo; echo last", tmp_path, 30)
    assert "first" in said
    assert said.rstrip().endswith("last")
    assert "[... cut: 3" in said
    assert len(said) < 12_500


def test_the_tail_counts_letters_and_not_bytes() -> None:
    tail = Tail()
    tail.feed("ñ".encode() * 12_000)
    assert tail.text() == "ñ" * 12_000
    tail.feed(b"\xff")
    assert len(tail.text()) < 12_100


async def test_a_shell_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "SHELL", str(tmp_path / "none"))
    with pytest.raises(shell.Unavailable, match="did not start"):
        await run("ls", tmp_path, 5)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"command": "pwd", "cwd": ".."}, "outside of the project"),
        ({"command": "pwd", "cwd": "/"}, "outside of the project"),
        ({"command": "pwd", "cwd": "none"}, "no folder none"),
        ({"command": "pwd", "cwd": "link"}, "outside of the project"),
        ({"command": "echo \0"}, "NUL"),
        ({"command": "pwd", "timeout_s": 601}, "less than or equal to 600"),
        ({"command": "pwd", "cwd": "sub"}, "files/sub"),
        ({"command": "apx daemon stop"}, "would stop or restart the app"),
        ({"command": f"kill {os.getpid()}"}, "would stop or restart the app"),
        ({"command": "apx approvals approve x"}, "Only the owner answers"),
        ({"command": "rm -rf x"}, "Your own rule run_shell: rm *"),
    ],
)
async def test_where_it_may_run(tmp_path: Path, args: dict[str, object], said: str) -> None:
    settings = {"super_agent.permission_mode": "total", "super_agent.denied_tools": ["run_shell: rm *"]}
    async with house(tmp_path, **settings) as here:
        here.tools.add(shell.run_shell)
        top = here.home.projects / "default" / "files"
        (top / "sub").mkdir(parents=True)
        (top / "link").symlink_to("/tmp")
        here.server.next(Answer(calls=[("run_shell", args)]), Answer("Done."))
        done: Run = await here.runner.run(turn())
        assert done.status is Status.DONE
        assert said in done.calls[0].result
