"""Coding assistants: found on PATH, given a task, ended in time. The programs are stand-ins."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from core.cli.main import group
from core.errors import NotFound, Unavailable
from core.runs.turn import Turn
from core.tool import Context
from core.tools.runtimes import RUNTIMES, CallRuntime, call_runtime, command, find, found
from tests.fakes.api_home import served
from tests.fakes.house import House, house

STAND_IN = """#!/bin/sh
if [ "$1" = --version ]; then echo "1.2.3 (stand-in)"; exit 0; fi
printf '%s\\n' "$PWD" "$@" > "$TMPDIR/seen"
env > "$TMPDIR/env"
case "$*" in
  *hang*) sleep 300 & echo $! > "$TMPDIR/child"; wait ;;
  *long*) yes x | head -c 200000 ;;
  *fail*) echo broken >&2; exit 7 ;;
esac
echo "report: done"
"""


@pytest.fixture
def bin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ours")
    for program in ("claude", "codex"):
        (folder / program).write_text(STAND_IN)
        (folder / program).chmod(0o755)
    return folder


def context(here: House) -> Context:
    turn = Turn(text="x", channel="api", thread="t", sender="owner")
    return Context(here.store, here.bus, here.home, here.config, here.identity, here.outbox, turn, "run_1")


async def ask(here: House, **args: object) -> str:
    return await call_runtime.run(CallRuntime.model_validate(args), context(here))


@pytest.mark.anyio
async def test_a_task_is_given_and_its_report_comes_back(bin: Path, tmp_path: Path) -> None:
    async with house(tmp_path / "h") as here:
        said = await ask(here, runtime="claude-code", prompt="say $HOME; `id` \"quoted\" 'x'\nand more")
        assert said.startswith("claude-code: exit code 0")
        assert "report: done" in said
        folder, *words = (tmp_path / "seen").read_text().splitlines()
        assert folder == str(here.home.projects / "default" / "files")
        assert words == ["-p", "say $HOME; `id` \"quoted\" 'x'", "and more"]
        assert "sk-ours" not in (tmp_path / "env").read_text()
        assert "exit code 7" in await ask(here, runtime="codex", prompt="fail")
        long = await ask(here, runtime="codex", prompt="long")
        assert "[... cut: 200" in long
        assert len(long) < 13_000


@pytest.mark.anyio
async def test_its_time_ends_it_with_everything_it_began(bin: Path, tmp_path: Path) -> None:
    async with house(tmp_path / "h") as here:
        args = CallRuntime(runtime="codex", prompt="hang").model_copy(update={"timeout_s": 0.5})
        said = await call_runtime.run(args, context(here))
        assert "ended after 0.5 s" in said
    child = int((tmp_path / "child").read_text())
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.anyio
async def test_what_is_not_there_is_said_with_its_remedy(bin: Path, tmp_path: Path) -> None:
    async with house(tmp_path / "h") as here:
        with pytest.raises(Unavailable, match=r"npm install -g opencode-ai\. Installed: claude-code, codex"):
            await ask(here, runtime="opencode", prompt="x")
        with pytest.raises(NotFound, match="There are: claude-code"):
            await ask(here, runtime="nothing", prompt="x")
        with pytest.raises(NotFound, match="no project other"):
            await ask(here, runtime="codex", prompt="x", project="other")


def test_a_task_is_never_an_option(bin: Path) -> None:
    for one in RUNTIMES:
        words = command(one, "/bin/x", "--dangerously-skip-everything")
        assert "--dangerously-skip-everything" not in words
        assert words.count(" --dangerously-skip-everything") == 1


def test_a_project_cannot_name_the_programs(bin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bin)
    monkeypatch.setenv("PATH", f".{os.pathsep}/nowhere")
    assert [one.name for one, path in found() if path] == []
    assert find("claude") is find("claude-code")


@pytest.mark.anyio
async def test_the_api_and_the_doctor_know_them(bin: Path, tmp_path: Path) -> None:
    async with served(tmp_path / "h") as api:
        rows = (await api.http.get("/api/runtimes", params={"versions": True})).json()["data"]
        by_name = {row["name"]: row for row in rows}
        assert by_name["codex"]["version"] == "1.2.3 (stand-in)"
        assert (by_name["aider"]["found"], by_name["aider"]["version"]) == (False, "")
        checks = (await api.http.get("/api/doctor")).json()["data"]
        line = next(one for one in checks if one["name"] == "runtimes")
        assert "claude-code, codex" in line["text"]
        _, client = await api.paired("client")
        assert (await api.bare.get("/api/runtimes", headers=client)).status_code == 403


def test_apx_runtimes(bin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APX_HOME", str(tmp_path / "apx"))
    answer = CliRunner().invoke(group, ["runtimes", "--json"])
    assert [row["name"] for row in json.loads(answer.stdout) if row["found"]] == ["claude-code", "codex"]
    assert "codex" in CliRunner().invoke(group, ["runtimes", "--versions"]).stdout
