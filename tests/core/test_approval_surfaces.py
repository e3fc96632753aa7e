"""The same question on Telegram, over HTTP and on the command line; answered in one place, it is over in all."""

import asyncio
import os
import pty
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from core.channels.approvals import approvals
from core.cli import approvals as at_terminal
from core.cli.main import group
from core.runs.approvals import Approvals
from core.runs.dispatch import Approval
from core.store import new_id
from tests.core.telegram_kit import Desk, talking
from tests.fakes.api_home import Served, served

pytestmark = pytest.mark.anyio


def approval(**changes: Any) -> Approval:
    values: dict[str, Any] = {
        "id": new_id("apr"),
        "run_id": "run_1",
        "channel": "telegram",
        "thread": "t",
        "tool": "run_shell",
        "args": {"command": "make"},
        "summary": "make",
        "shown": "make <all>\u27e8U+200B\u27e9 *now*",
        "cwd": "/work",
        "why": "Because.",
        "warnings": ("look twice",),
        "grant": "g",
    }
    return Approval(**values | changes)


@asynccontextmanager
async def asking(path: Path, **more: Any) -> AsyncIterator[tuple[Desk, Approvals]]:
    async with talking(path, real_runner=True) as desk, approvals(desk.app, **more):
        yield desk, desk.app.services[Approvals]


async def test_a_question_from_telegram_goes_there_whole_and_is_answered_there(tmp_path: Path) -> None:
    async with asking(tmp_path / "h") as (desk, asked):
        task = asyncio.create_task(asked.request(approval()))
        await desk.api.until(lambda: desk.api.sent)
        (sent,) = desk.api.sent
        assert sent.text == (
            "APX asks to use run_shell:\n\nmake <all>⟨U+200B⟩ *now*\n\nCareful: look twice\n\nIn /work\n\nBecause."
        )
        assert [one.label for one in sent.buttons] == ["Allow once", "Always in this project", "No"]
        assert await desk.api.press(sent.buttons[0]) == "Allowed once."
        assert await task is True
        await desk.api.until(lambda: not desk.api.sent[0].buttons)


async def test_a_long_command_is_sent_to_its_end(tmp_path: Path) -> None:
    async with asking(tmp_path / "h") as (desk, asked):
        task = asyncio.create_task(asked.request(approval(shown="echo " + "word " * 2000 + "END")))
        await desk.api.until(lambda: desk.api.sent and desk.api.sent[-1].buttons)
        assert "END" in desk.api.sent[-1].text
        await asked.decide((await asked.open_ones())[0].id, "deny", "desktop")
        assert await task is False


async def test_an_answer_elsewhere_takes_the_buttons_away(tmp_path: Path) -> None:
    async with asking(tmp_path / "h") as (desk, asked):
        task = asyncio.create_task(asked.request(approval()))
        await desk.api.until(lambda: desk.api.sent)
        button = desk.api.sent[0].buttons[0]
        (one,) = await asked.open_ones()
        await asked.decide(one.id, "deny", "desktop")
        assert await task is False
        await desk.api.until(lambda: not desk.api.sent[0].buttons)
        assert "denied already (desktop)" in await desk.api.press(button)


async def test_pressing_after_a_restart_says_so_and_runs_nothing(tmp_path: Path) -> None:
    async with asking(tmp_path / "h") as (desk, asked):
        task = asyncio.create_task(asked.request(approval()))
        await desk.api.until(lambda: desk.api.sent)
        button = desk.api.sent[0].buttons[0]
        # What a restart does to the question, while the run that asked is gone.
        async with Approvals(desk.app.store, desk.app.bus).open():
            pass
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert "restarted" in await desk.api.press(button)


async def test_one_of_another_surface_comes_to_telegram_when_nobody_answers(tmp_path: Path) -> None:
    async with asking(tmp_path / "h", unanswered_s=0.05) as (desk, asked):
        task = asyncio.create_task(asked.request(approval(channel="desktop", grant="")))
        await desk.api.until(lambda: desk.api.sent)
        assert [one.label for one in desk.api.sent[0].buttons] == ["Allow once", "No"]
        assert await desk.api.press(desk.api.sent[0].buttons[1]) == "Denied. It does not run."
        assert await task is False


async def test_one_that_is_answered_at_the_window_never_comes_to_telegram(tmp_path: Path) -> None:
    async with asking(tmp_path / "h", unanswered_s=30) as (desk, asked):
        task = asyncio.create_task(asked.request(approval(channel="desktop")))
        while not (ones := await asked.open_ones()):  # noqa: ASYNC110
            await asyncio.sleep(0)
        await asked.decide(ones[0].id, "approve", "desktop")
        assert await task is True
        assert desk.api.sent == []


async def test_the_part_leaves_nothing_behind(tmp_path: Path) -> None:
    async with talking(tmp_path / "h", real_runner=True) as desk:
        async with approvals(desk.app):
            assert desk.app.runner.ask is not None
        assert desk.app.runner.ask is None
        assert Approvals not in desk.app.services


# HTTP


async def open_one(here: Served, **changes: Any) -> tuple[str, asyncio.Task[bool]]:
    asked = here.app.services[Approvals]
    one = approval(channel="web", **changes)
    task = asyncio.create_task(asked.request(one))
    while not await asked.open_ones():  # noqa: ASYNC110
        await asyncio.sleep(0)
    return one.id, task


async def test_over_http(tmp_path: Path) -> None:
    async with served(tmp_path, parts=[approvals]) as here:
        id, task = await open_one(here)
        (row,) = (await here.http.get("/api/approvals")).json()["data"]
        assert (row["id"], row["choices"]) == (id, ["approve", "always", "deny"])
        assert (await here.http.get(f"/api/approvals/{id}")).json()["shown"].startswith("make")
        assert (await here.http.post(f"/api/approvals/{id}", json={"decision": "maybe"})).status_code == 422
        done = await here.http.post(
            f"/api/approvals/{id}", json={"decision": "approve", "note": "ok", "via": "web"}
        )
        assert (done.status_code, done.json()["state"], done.json()["decided_by"]) == (200, "approved", "web")
        assert await task is True
        again = await here.http.post(f"/api/approvals/{id}", json={"decision": "deny"})
        assert (again.status_code, again.json()["code"]) == (403, "refused")
        assert (await here.http.get("/api/approvals")).json()["data"] == []
        assert len((await here.http.get("/api/approvals", params={"state": "all"})).json()["data"]) == 1
        assert (await here.http.get("/api/approvals/none")).status_code == 404


async def test_what_was_allowed_for_good_is_seen_and_taken_back(tmp_path: Path) -> None:
    async with served(tmp_path, parts=[approvals]) as here:
        asked = here.app.services[Approvals]
        id, task = await open_one(here)
        await here.http.post(f"/api/approvals/{id}", json={"decision": "always"})
        assert await task is True
        (row,) = (await here.http.get("/api/approvals/grants")).json()["data"]
        assert (row["id"], row["tool"], row["whole_tool"]) == (id, "run_shell", False)
        assert row["shown"].startswith("make")
        _, headers = await here.paired("client")
        for method, path in (("GET", "grants"), ("DELETE", f"grants/{id}")):
            answer = await here.bare.request(method, f"/api/approvals/{path}", headers=headers)
            assert answer.status_code == 403
        gone = await here.http.delete(f"/api/approvals/grants/{id}")
        assert gone.json()["revoked"]["tool"] == "run_shell"
        assert (await here.http.delete(f"/api/approvals/grants/{id}")).status_code == 404
        again, task = await open_one(here)
        await asked.decide(again, "deny", "desktop")
        assert await task is False


async def test_only_the_owners_token_answers(tmp_path: Path) -> None:
    async with served(tmp_path, parts=[approvals]) as here:
        id, task = await open_one(here)
        for scope in ("client", "bridge"):
            _, headers = await here.paired(scope)
            assert (await here.bare.get("/api/approvals", headers=headers)).status_code == 403
            answer = await here.bare.post(
                f"/api/approvals/{id}", headers=headers, json={"decision": "approve"}
            )
            assert answer.status_code == 403
        await here.app.services[Approvals].decide(id, "deny", "desktop")
        assert await task is False


async def test_without_the_part_there_is_nothing_to_answer(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        assert (await here.http.get("/api/approvals")).status_code == 404


# The command line


class Terminal:
    """A client of the API as `apx exec` uses it."""

    def __init__(self, here: Served) -> None:
        self._here = here

    async def get(self, path: str, **query: Any) -> Any:
        return (await self._here.http.get(path)).json()

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        return (await self._here.http.request(method, path, json=body)).json()


@pytest.mark.parametrize(
    ("typed", "grant", "yes", "decision"),
    [
        ("y\n", "g", True, "approve"),
        ("\n", "g", False, "deny"),
        ("a\n", "g", True, "always"),
        ("a\n", "", False, "deny"),
    ],
)
async def test_the_terminal_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, grant: str, yes: bool, decision: str
) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        async with served(tmp_path, parts=[approvals]) as here:
            id, task = await open_one(here, grant=grant)
            terminal = at_terminal.AtTerminal(Terminal(here))  # type: ignore[arg-type]
            terminal.frame({"type": "approval_requested", "approval_id": id})
            os.write(ours, typed.encode())
            assert await task is yes
            assert (await here.app.services[Approvals].find(id)).decision == decision
            await terminal.aclose()
    os.close(ours)


async def test_an_answer_elsewhere_ends_the_question_at_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        async with served(tmp_path, parts=[approvals]) as here:
            id, task = await open_one(here)
            terminal = at_terminal.AtTerminal(Terminal(here))  # type: ignore[arg-type]
            terminal.frame({"type": "approval_requested", "approval_id": id})
            await here.app.services[Approvals].decide(id, "approve", "telegram")
            assert await task is True
            terminal.frame({"type": "approval_decided", "approval_id": id})
            await terminal.aclose()
    os.close(ours)
    assert "elsewhere" in capsys.readouterr().err or "otro lado" in capsys.readouterr().err


async def test_frames_and_who_may_be_asked(tmp_path: Path) -> None:
    from core.api.access import Caller, Scope
    from core.api.chat import Chat, _turn

    who = Caller(Scope.OWNER, "owner")
    may = {
        channel: _turn(Chat(prompt="x", channel=channel), who, "default").can_ask
        for channel in ("api", "cli", "desktop", "web", "telegram")
    }
    assert may == {"api": False, "cli": False, "desktop": True, "web": True, "telegram": True}
    assert _turn(Chat(prompt="x", channel="cli", canAsk=True), who, "default").can_ask
    assert not _turn(Chat(prompt="x", channel="api", canAsk=True), who, "default").can_ask


def test_a_question_on_the_terminal_cannot_drive_it() -> None:
    row = {"shown": "a\x1b[2Jb\nc", "warnings": ["w"], "cwd": "/x", "why": ""}
    assert at_terminal.question(row).startswith("a·[2Jb\nc\n! w\n")


def test_the_verbs_without_the_app_running(monkeypatch: pytest.MonkeyPatch) -> None:
    from core.cli.group import Programs

    programs = Programs(tools=lambda: [approvals], daemon=("false",))
    listed = CliRunner().invoke(group, ["approvals", "list", "--json"], obj=programs)
    assert (listed.exit_code, listed.stdout.strip()) == (0, "[]")
    for verb in ("approve", "deny"):
        assert CliRunner().invoke(group, ["approvals", verb, "none"], obj=programs).exit_code == 1
    assert CliRunner().invoke(group, ["approvals", "list", "--all"], obj=programs).exit_code == 0
    granted = CliRunner().invoke(group, ["approvals", "grants", "--json"], obj=programs)
    assert (granted.exit_code, granted.stdout.strip()) == (0, "[]")
    revoked = CliRunner().invoke(group, ["approvals", "revoke", "none"], obj=programs)
    assert (revoked.exit_code, "none" in revoked.stderr) == (1, True)
