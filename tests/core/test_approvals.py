"""Approvals: on disk before anybody hears of them, answered once, bound to what was shown."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.errors import Invalid, NotFound, Refused
from core.events import ApprovalDecided, ApprovalRequested, CredentialsChanged
from core.runs import history
from core.runs.approvals import Approvals
from core.runs.dispatch import Approval
from core.runs.turn import Status
from core.store import Store
from core.tools import files, shell
from tests.fakes.house import House, house, turn
from tests.fakes.openai_server import Answer

pytestmark = pytest.mark.anyio


@pytest.fixture
async def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[House]:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    (tmp_path / "user").mkdir()
    async with house(tmp_path) as built:
        built.tools.add(shell.run_shell, files.write_file)
        yield built


@pytest.fixture
def asked(here: House) -> Approvals:
    asked = Approvals(here.store, here.bus)
    here.runner.ask = asked.request
    return asked


def approval(id: str = "apr_1", **changes: object) -> Approval:
    values: dict[str, object] = {
        "id": id,
        "run_id": "run_1",
        "channel": "desktop",
        "thread": "desktop",
        "tool": "run_shell",
        "args": {"command": "make"},
        "summary": "make",
        "grant": "g",
    }
    return Approval(**values | changes)  # type: ignore[arg-type]


async def begun(asked: Approvals, one: Approval) -> asyncio.Task[bool]:
    task = asyncio.create_task(asked.request(one))
    while not await asked.open_ones():  # noqa: ASYNC110 each look is a round trip to the database
        await asyncio.sleep(0)
    return task


@pytest.mark.parametrize(
    ("decision", "yes", "state"), [("approve", True, "approved"), ("deny", False, "denied")]
)
async def test_an_answer_reaches_who_asked(
    here: House, asked: Approvals, decision: str, yes: bool, state: str
) -> None:
    task = await begun(asked, approval())
    (one,) = await asked.open_ones()
    assert (one.tool, one.args, one.choices, one.state) == (
        "run_shell",
        {"command": "make"},
        ("approve", "always", "deny"),
        "open",
    )
    decided = await asked.decide(one.id, decision, "desktop", "because")
    assert (decided.state, decided.decided_by, decided.note) == (state, "desktop", "because")
    assert await task is yes
    assert [event.approval_id for event in here.seen(ApprovalRequested)] == ["apr_1"]
    assert [event.decision for event in here.seen(ApprovalDecided)] == [decision]
    assert await asked.open_ones() == []


async def test_the_first_answer_wins_and_the_second_is_told(here: House, asked: Approvals) -> None:
    task = await begun(asked, approval())
    results = await asyncio.gather(
        asked.decide("apr_1", "deny", "telegram"),
        asked.decide("apr_1", "approve", "cli"),
        return_exceptions=True,
    )
    assert await task is False
    assert isinstance(results[1], Refused)
    assert "denied already (telegram)" in str(results[1])
    assert len(here.seen(ApprovalDecided)) == 1


async def test_fifty_presses_are_one_decision(here: House, asked: Approvals) -> None:
    task = await begun(asked, approval())
    results = await asyncio.gather(
        *(asked.decide("apr_1", "approve", "telegram") for _ in range(50)), return_exceptions=True
    )
    assert sum(not isinstance(one, Exception) for one in results) == 1
    assert await task is True


async def test_always_is_for_this_call_in_this_project(here: House, asked: Approvals) -> None:
    task = await begun(asked, approval())
    await asked.decide("apr_1", "always", "desktop")
    assert await task is True
    assert await asked.request(approval("apr_2")) is True
    assert (await asked.find("apr_2")).decided_by == "grant"
    for other in (
        approval("apr_3", grant="other"),
        approval("apr_4", project_id="other"),
        approval("apr_5", tool="x"),
    ):
        waiting = await begun(asked, other)
        await asked.decide(other.id, "deny", "desktop")
        assert await waiting is False
    assert [(one["tool"], one["project_id"]) for one in await asked.grants()] == [("run_shell", "default")]
    (granted,) = await asked.grants()
    assert (await asked.revoke(granted["id"]))["shown"]
    with pytest.raises(NotFound):
        await asked.revoke(granted["id"])
    waiting = await begun(asked, approval("apr_6"))
    await asked.decide("apr_6", "deny", "desktop")
    assert await waiting is False


async def test_always_is_not_to_be_had_for_everything(asked: Approvals) -> None:
    task = await begun(asked, approval(grant=""))
    (one,) = await asked.open_ones()
    assert one.choices == ("approve", "deny")
    with pytest.raises(Invalid):
        await asked.decide("apr_1", "always", "desktop")
    with pytest.raises(Invalid):
        await asked.decide("apr_1", "maybe", "desktop")
    with pytest.raises(NotFound):
        await asked.decide("apr_9", "deny", "desktop")
    await asked.decide("apr_1", "deny", "desktop")
    assert await task is False


async def test_silence_is_a_no(here: House) -> None:
    asked = Approvals(here.store, here.bus, expires_s=0.05)
    assert await asked.request(approval()) is False
    assert [event.decision for event in here.seen(ApprovalDecided)] == ["expired"]
    with pytest.raises(Refused, match="in time"):
        await asked.decide("apr_1", "approve", "telegram")


async def test_an_answer_after_the_time_is_too_late_though_nobody_closed_the_row(here: House) -> None:
    asked = Approvals(here.store, here.bus)
    task = await begun(asked, approval())
    await here.store.run("update approvals set expires_at = '2020-01-01T00:00:00.000+00:00'")
    with pytest.raises(Refused, match="in time"):
        await asked.decide("apr_1", "approve", "telegram")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_stopped_run_asks_no_more(here: House, asked: Approvals) -> None:
    task = await begun(asked, approval())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    one = await asked.find("apr_1")
    assert (one.state, one.note) == ("expired", "stopped")
    assert "was stopped" in asked.sentence(one)


async def test_a_restart_keeps_the_question_and_says_that_it_is_over(tmp_path: Path, here: House) -> None:
    before = Approvals(here.store, here.bus)
    task = await begun(before, approval())
    async with Store.open(here.home.db) as again:
        fresh = Approvals(again, here.bus)
        async with fresh.open():
            assert await fresh.open_ones() == []
            with pytest.raises(Refused, match="restarted"):
                await fresh.decide("apr_1", "approve", "telegram")
            assert (await fresh.recent())[0].state == "expired"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


# Through a run


async def wait_open(asked: Approvals) -> str:
    while not (ones := await asked.open_ones()):  # noqa: ASYNC110
        await asyncio.sleep(0)
    return ones[0].id


def calling(here: House, name: str, **args: object) -> None:
    here.server.next(Answer(calls=[(name, dict(args))]), Answer("Done."))


async def test_a_command_runs_after_the_yes_and_the_whole_of_it_was_shown(
    here: House, asked: Approvals
) -> None:
    command = "printf hi > out.txt; " + "true; " * 100 + 'r""m -f gone\u200b'
    calling(here, "run_shell", command=command)
    work = asyncio.create_task(here.runner.run(turn(can_ask=True)))
    one = await asked.find(await wait_open(asked))
    assert command.replace("\u200b", "⟨U+200B⟩") in one.shown
    assert '["rm", "-f", "gone⟨U+200B⟩"]' in one.shown
    assert any("not what they look like" in text for text in one.warnings)
    assert (one.choices, one.agent) == (("approve", "deny"), "APX")
    await asked.decide(one.id, "approve", "desktop")
    run = await work
    assert "exit code 0" in run.calls[0].result
    assert (here.home.projects / "default" / "files" / "out.txt").read_text() == "hi"


async def test_looking_needs_no_yes(here: House, asked: Approvals) -> None:
    calling(here, "run_shell", command="ls -la")
    run = await here.runner.run(turn())
    assert "exit code 0" in run.calls[0].result


@pytest.mark.parametrize(
    "command",
    [
        "python3 -c 'print(1)'",
        "sh -c ls",
        "./x.sh",
        "env make",
        "find . -exec ls {} +",
        "make",
        "git push",
        "X=1 touch a",
    ],
)
async def test_always_is_never_offered_for_what_runs_programs(
    here: House, asked: Approvals, command: str
) -> None:
    calling(here, "run_shell", command=command)
    work = asyncio.create_task(here.runner.run(turn(can_ask=True)))
    one = await asked.find(await wait_open(asked))
    assert one.choices == ("approve", "deny")
    await asked.decide(one.id, "deny", "desktop")
    assert "said no" in (await work).calls[0].result


async def test_always_is_offered_for_a_plain_command_and_holds_for_it_alone(
    here: House, asked: Approvals
) -> None:
    calling(here, "run_shell", command="touch a")
    work = asyncio.create_task(here.runner.run(turn(can_ask=True)))
    await asked.decide(await wait_open(asked), "always", "desktop")
    await work
    calling(here, "run_shell", command="touch a")
    assert (await here.runner.run(turn(can_ask=True))).calls[0].ok
    calling(here, "run_shell", command="touch b")
    work = asyncio.create_task(here.runner.run(turn(can_ask=True)))
    await asked.decide(await wait_open(asked), "deny", "desktop")
    assert not (await work).calls[0].ok


@pytest.mark.parametrize("command", ["sh build.sh", "./build.sh", "python3 build.sh", "make"])
async def test_a_script_that_changed_after_the_question_does_not_run(
    here: House, asked: Approvals, command: str
) -> None:
    files_ = here.home.projects / "default" / "files"
    files_.mkdir(parents=True)
    name = "Makefile" if command == "make" else "build.sh"
    (files_ / name).write_text("touch good\n")
    calling(here, "run_shell", command=command)
    work = asyncio.create_task(here.runner.run(turn(can_ask=True)))
    id = await wait_open(asked)
    assert any(name in text for text in (await asked.find(id)).warnings)
    (files_ / name).write_text("touch bad\n")
    await asked.decide(id, "approve", "desktop")
    run = await work
    assert "changed meanwhile" in run.calls[0].result
    assert [path.name for path in files_.iterdir()] == [name]


async def test_a_path_that_leads_elsewhere_after_the_question_is_not_written(
    here: House, asked: Approvals
) -> None:
    await here.config.set({"super_agent.permission_mode": "permiso"})
    files_ = here.home.projects / "default" / "files"
    (files_ / "a").mkdir(parents=True)
    (files_ / "b").mkdir()
    calling(here, "write_file", path="l/x.txt", content="x")
    (files_ / "l").symlink_to(files_ / "a")
    work = asyncio.create_task(here.runner.run(turn(can_ask=True)))
    id = await wait_open(asked)
    (files_ / "l").unlink()
    (files_ / "l").symlink_to(files_ / "b")
    await asked.decide(id, "approve", "desktop")
    assert "changed meanwhile" in (await work).calls[0].result


@pytest.mark.parametrize("mode", ["total", "automatico", "permiso"])
@pytest.mark.parametrize("can_ask", [True, False])
async def test_credentials_ask_in_every_mode(here: House, asked: Approvals, mode: str, can_ask: bool) -> None:
    await here.config.set(
        {"super_agent.permission_mode": mode, "super_agent.allowed_tools": ["run_shell", "write_file"]}
    )
    for name, args in (
        ("write_file", {"path": ".env", "content": "A=1"}),
        ("run_shell", {"command": "echo A=1 > .env"}),
    ):
        calling(here, name, **args)
        work = asyncio.create_task(here.runner.run(turn(can_ask=can_ask)))
        if can_ask:
            one = await asked.find(await wait_open(asked))
            assert one.choices == ("approve", "deny")
            await asked.decide(one.id, "deny", "desktop")
        run = await work
        assert not run.calls[0].ok
        assert not (here.home.projects / "default" / "files" / ".env").exists()


async def test_what_nobody_saw_coming_is_said_and_recorded(here: House) -> None:
    await here.config.set({"super_agent.permission_mode": "total"})
    script = here.home.projects / "default" / "files" / "x.py"
    script.parent.mkdir(parents=True)
    script.write_text("import pathlib\npathlib.Path(chr(46) + 'env').write_text('A=1')\n")
    calling(here, "run_shell", command="python3 x.py")
    run = await here.runner.run(turn())
    assert "ATTENTION: files that keep credentials changed" in run.calls[0].result
    (event,) = here.seen(CredentialsChanged)
    assert (event.paths, event.expected) == ((str(script.with_name(".env")),), False)
    notes = [step for step in await history.steps(here.store, run.id) if "credentials_changed" in step]
    assert len(notes) == 1


# Inline risk

RISKY = {"super_agent.security_risk.enabled": True}


@pytest.mark.parametrize(
    ("mode", "risk", "settings", "asks"),
    [
        ("automatico", "LOW", {}, False),
        ("automatico", "MEDIUM", {}, False),
        ("automatico", "HIGH", {}, True),
        ("automatico", None, {}, True),
        ("automatico", "nonsense", {}, True),
        ("automatico", None, {"confirm_unknown": False}, False),
        ("automatico", "MEDIUM", {"confirm_at": "MEDIUM"}, True),
        ("automatico", "LOW", {"confirm_at": "LOW"}, True),
        ("permiso", "LOW", {}, True),
        ("permiso", "HIGH", {"allowed": True}, True),
        ("permiso", "LOW", {"allowed": True}, False),
        ("total", "HIGH", {}, True),
        ("total", "MEDIUM", {"confirm_at": "LOW"}, False),
        ("total", None, {}, False),
    ],
)
async def test_risk_composes_with_the_mode(
    here: House, mode: str, risk: str | None, settings: dict[str, object], asks: bool
) -> None:
    changes = {
        f"super_agent.security_risk.{name}": value for name, value in settings.items() if name != "allowed"
    }
    allowed = ["run_shell"] if settings.get("allowed") else []
    await here.config.set(
        RISKY | changes | {"super_agent.permission_mode": mode, "super_agent.allowed_tools": allowed}
    )
    args = {"command": "touch a"} | ({"security_risk": risk} if risk else {})
    calling(here, "run_shell", **args)
    run = await here.runner.run(turn(can_ask=True))
    assert bool(here.asked) is asks
    assert run.calls[0].ok
    assert "security_risk" not in run.calls[0].args
    (schema,) = [
        one for one in here.server.requests[0].body["tools"] if one["function"]["name"] == "run_shell"
    ]
    assert "security_risk" in schema["function"]["parameters"]["required"]


async def test_without_it_no_schema_has_the_field_and_a_stray_one_does_no_harm(here: House) -> None:
    calling(here, "run_shell", command="ls", security_risk="LOW")
    run = await here.runner.run(turn())
    assert run.calls[0].ok
    assert "security_risk" not in str(here.server.requests[0].body["tools"])
    assert run.status is Status.DONE
