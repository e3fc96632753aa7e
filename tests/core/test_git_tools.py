"""Looking at a repository: what it shows, and that nothing in it runs or leads out."""

import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core import projects
from core.errors import Invalid, NotFound, Refused, Unavailable
from core.runs.turn import Turn
from core.tool import Context
from core.tools import git
from tests.fakes.house import House, house

pytestmark = pytest.mark.anyio
BY_NAME = {one.name: one for one in git.TOOLS}
WHO = {f"GIT_{who}_{what}": "m@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path / "h") as built:
        yield built


@pytest.fixture
async def repository(here: House, tmp_path: Path) -> Path:
    top = tmp_path / "work"
    top.mkdir()
    run(top, "init", "-q", "-b", "main")
    (top / "a.txt").write_text("one\n")
    (top / ".env").write_text("KEY=first-secret\n")
    (top / "sub").mkdir()
    (top / "sub" / "b.txt").write_text("b\n")
    run(top, "add", "-A")
    run(top, "commit", "-qm", "First light")
    (top / "a.txt").write_text("two\n")
    (top / ".env").write_text("KEY=second-secret\n")
    await projects.add(here.store, str(top))
    return top


def run(top: Path, *words: str) -> None:
    env = os.environ | WHO | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *words], cwd=top, env=env, check=True, capture_output=True)


async def look(here: House, name: str, /, project: str = "work", **args: object) -> str:
    turn = Turn(text="x", channel="code", thread="t", sender="owner", project_id=project)
    ctx = Context(here.store, here.bus, here.home, here.config, here.identity, here.outbox, turn, "run_1")
    tool = BY_NAME[name]
    return await tool.run(tool.args.model_validate(args), ctx)


async def test_what_changed_and_what_was_committed(here: House, repository: Path) -> None:
    assert (await look(here, "git_status")).splitlines() == ["## main", " M a.txt"]
    assert "-one\n+two" in await look(here, "git_diff")
    assert await look(here, "git_diff", staged=True) == "Nothing."
    assert "+two" in await look(here, "git_diff", since="main")
    assert (await look(here, "git_log")).endswith("m@example.org: First light")
    assert "+one" in await look(here, "git_show")
    assert await look(here, "git_log", path="sub/b.txt", limit=1) != "Nothing."
    assert await look(here, "git_diff", path="sub") == "Nothing."


async def test_files_that_keep_credentials_are_not_shown_in_any_version(
    here: House, repository: Path
) -> None:
    for said in (await look(here, "git_diff"), await look(here, "git_show"), await look(here, "git_status")):
        assert "secret" not in said
        assert ".env" not in said
    with pytest.raises(Refused):
        await look(here, "git_diff", path=".env")
    with pytest.raises(Refused):
        await look(here, "git_diff", path="../h/apx/config.json")
    blob = subprocess.run(
        ["git", "rev-parse", "HEAD:.env"], cwd=repository, capture_output=True, text=True, check=True
    ).stdout.strip()
    with pytest.raises(Invalid):
        await look(here, "git_show", commit=blob)
    for named in ("HEAD:.env", "--output=/tmp/x", "-n1", "a..b", "", "x y", ":/First", "HEAD^{/x}"):
        with pytest.raises(Invalid):
            await look(here, "git_show", commit=named)


async def test_nothing_that_a_repository_names_is_run(here: House, repository: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    (repository / ".gitattributes").write_text("*.txt filter=x diff=x\n")
    for name in (
        *("core.fsmonitor", "core.pager", "diff.external", "filter.x.clean", "filter.x.smudge"),
        *("filter.x.process", "diff.x.textconv", "diff.x.command", "gpg.program", "core.sshCommand"),
    ):
        run(repository, "config", name, str(trap))
    run(repository, "config", "filter.x.required", "true")
    run(repository, "config", "log.showSignature", "true")
    run(repository, "config", "format.pretty", "%G?")
    run(repository, "config", "core.worktree", str(here.home.root))
    (repository / "a.txt").write_text("three\n")
    assert "+three" in await look(here, "git_diff")
    for name in BY_NAME:
        assert str(here.home.root) not in await look(here, name)
    assert not (tmp_path / "sprung").exists()
    run(repository, "config", "filter.a=b.clean", str(trap))
    with pytest.raises(Unavailable, match="cannot be switched off"):
        await look(here, "git_status")
    assert not (tmp_path / "sprung").exists()


async def test_a_program_is_not_missed_among_many_settings(
    here: House, repository: Path, tmp_path: Path
) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    (repository / ".gitattributes").write_text("*.txt filter=x\n")
    settings = repository / ".git" / "config"
    branches = "".join(f'[branch "a-branch-with-a-long-name-{n}"]\n\tremote = origin\n' for n in range(2000))
    half = len(branches) // 2
    at = branches.index("[branch", half)
    one = f'[filter "x"]\n\tclean = {trap}\n'
    settings.write_text(settings.read_text() + branches[:at] + one + branches[at:])
    (repository / "a.txt").write_text("three\n")
    assert "+three" in await look(here, "git_diff")
    filters = "".join(f'[filter "a-filter-with-a-long-name-{n}"]\n\tclean = {trap}\n' for n in range(2000))
    settings.write_text(settings.read_text() + filters)
    with pytest.raises(Unavailable, match="cannot be switched off"):
        await look(here, "git_status")
    assert not (tmp_path / "sprung").exists()


async def test_a_folder_that_is_none_is_said_to_be_none(here: House, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no git repository"):
        await look(here, "git_status", project="default")
