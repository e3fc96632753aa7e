"""Jobs that nobody works on any more, jobs of programs, and what the owner hears of them."""

import asyncio
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from core.errors import NotFound, Refused
from core.events import BackgroundJob, RunClosed
from core.runs import jobs
from core.runs.handover import Handover, Order
from core.runs.jobs import State
from core.runs.turn import Run
from core.tools import runtimes
from tests.core.test_jobs import ME, Team, by_whom, heard, team, told
from tests.fakes.house import house, turn
from tests.fakes.openai_server import Answer, fault

pytestmark = pytest.mark.anyio

CHAT = {"channel": "telegram", "to": "77", "thread": "telegram:77"}
PROGRAM = """#!/bin/sh
echo "$APX_DEPTH" > "$TMPDIR/depth"
case "$*" in
  *hang*) mkfifo "$TMPDIR/gate"; cat "$TMPDIR/gate" ;;
  *long*) echo begun; yes x | head -c 20000; echo; echo ended ;;
  *fail*) echo broken >&2; exit 7 ;;
esac
echo "report: done"
"""


@pytest.fixture
async def five(tmp_path: Path) -> AsyncIterator[Team]:
    async with team(tmp_path / "h") as made:
        yield made


@pytest.fixture
async def programs(five: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "claude").write_text(PROGRAM)
    (folder / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    five.here.tools.add(*runtimes.TOOLS)
    return five


async def leave(five: Team, prompt: str, channel: str = "api", **more: Any) -> Run:
    """A turn of the owner's whose model leaves a program to work."""
    args = {"runtime": "claude-code", "prompt": prompt, "background": True} | more
    five.here.server.next(Answer(calls=[("call_runtime", args)]), Answer("It is at work."))
    run = await five.here.runner.run(turn(channel=channel, can_ask=True))
    assert run.calls[0].ok, run.calls[0].result
    return run


async def the_job(five: Team) -> jobs.Job:
    (job,) = await jobs.recent(five.here.store, recipient="claude-code", limit=1)
    return job


# Programs that are left to work


async def test_a_program_left_to_work_wakes_its_asker_with_its_report(programs: Team, tmp_path: Path) -> None:
    woken = programs.woken()
    run = await leave(programs, "tidy up")
    assert "Running as job_" in run.calls[0].result
    await woken
    job = await the_job(programs)
    assert (job.kind, job.status, job.depth) == ("runtime", State.DONE, 1)
    question = told(programs)[-1]["content"]
    assert "claude-code answered what you handed over" in question
    assert "report: done" in question
    assert (tmp_path / "depth").read_text().strip() == "1"  # `apx send` of that program counts on from there


async def test_a_long_report_keeps_its_end(programs: Team) -> None:
    woken = programs.woken()
    await leave(programs, "long")
    await woken
    job = await the_job(programs)
    assert "begun" in job.result[:200]
    assert job.result.endswith("ended\nreport: done\n")
    assert len(job.result) <= jobs.MAX_RESULT


@pytest.mark.parametrize(("prompt", "status"), [("fail", State.FAILED), ("hang", State.TIMED_OUT)])
async def test_a_program_without_a_result_is_told_as_not_done(
    programs: Team, prompt: str, status: State
) -> None:
    woken = programs.woken()
    await leave(programs, prompt, timeout_s=5)
    await woken
    assert (await the_job(programs)).status is status
    assert "Do not report it as done" in told(programs)[-1]["content"]


async def test_a_program_at_work_is_not_started_twice_and_can_be_stopped(
    programs: Team, tmp_path: Path
) -> None:
    await leave(programs, "hang")
    job = await the_job(programs)
    again = await leave(programs, "how is it going?")
    assert f"already at work for you as {job.id}" in again.calls[0].result
    woken = programs.woken()
    stopped = await programs.handover.cancel(job.id)
    assert stopped.status is State.CANCELLED
    await woken
    assert "it was stopped" in told(programs)[-1]["content"]
    with pytest.raises(Refused, match="has ended already: cancelled"):
        await programs.handover.cancel(job.id)
    with pytest.raises(NotFound):
        await programs.handover.cancel("job_none")


async def test_a_program_at_work_is_corrected_on_purpose(programs: Team) -> None:
    await leave(programs, "hang")
    first = await the_job(programs)
    woken = programs.woken()
    again = await leave(programs, "tidy", followup=True)
    assert "Running as job_" in again.calls[0].result
    await woken
    assert first.id in {one.id for one in await jobs.recent(programs.here.store, open=True)}


async def test_a_program_of_a_former_process_is_lost_and_its_asker_told(
    programs: Team, tmp_path: Path
) -> None:
    await leave(programs, "hang")
    await programs.handover.reconcile()
    job = await the_job(programs)
    assert job.status is State.RUNNING  # this process works on it
    programs.handover._working.clear()
    woken = programs.woken()
    await programs.handover.reconcile()
    await woken
    assert (await jobs.find(programs.here.store, job.id)).status is State.LOST
    assert "the app was ended while it ran" in told(programs)[-1]["content"]


async def test_a_program_that_ran_when_the_app_was_closed_is_ended_and_told_after_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "claude").write_text(
        '#!/bin/sh\necho $$ > "$TMPDIR/pid"; mkfifo "$TMPDIR/gate"; cat "$TMPDIR/gate"\n'
    )
    (folder / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    async with team(tmp_path / "h") as first:
        first.here.tools.add(*runtimes.TOOLS)
        await leave(first, "hang")
        job = await the_job(first)
        while not (tmp_path / "gate").exists():  # noqa: ASYNC110 the program tells nobody that it has begun
            await asyncio.sleep(0.01)
    state = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"
    async with house(tmp_path / "h") as here:
        handover = Handover(
            store=here.store,
            bus=here.bus,
            identity=here.identity,
            tools=here.tools,
            runner=here.runner,
            outbox=here.outbox,
        )
        closed = heard(here, RunClosed, lambda event: event.channel == "a2a")
        async with handover.open():
            await closed
        assert (await jobs.find(here.store, job.id)).status is State.LOST
        assert "the app was ended while it ran" in here.server.requests[0].body["messages"][-1]["content"]


async def test_from_a_command_a_program_is_waited_for(programs: Team) -> None:
    run = await leave(programs, "tidy", channel="cli")
    assert run.calls[0].result.startswith("(Asked from a command")
    assert "report: done" in run.calls[0].result
    assert await jobs.recent(programs.here.store) == []


# Upkeep


async def test_a_job_past_its_time_by_the_clock_on_the_wall_is_ended(five: Team) -> None:
    """A computer that slept: its own clock stood still meanwhile."""
    five.here.server.default = by_whom({"Ana": fault("hang")})
    handed = await five.hand(background=True)
    await five.here.server.arrived.wait()
    past = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="milliseconds")
    await five.here.store.run("update jobs set deadline_at = ? where id = ?", past, handed.job.id)
    woken = five.woken()
    await five.handover.reconcile()
    await woken
    assert (await jobs.find(five.here.store, handed.job.id)).status is State.TIMED_OUT
    assert "it took longer than it may" in told(five)[-1]["content"]
    assert [one.run_id for one in five.here.seen(BackgroundJob) if one.phase == "end"] == [handed.job.run_id]


async def test_jobs_that_ended_a_week_ago_are_forgotten_and_no_others(five: Team) -> None:
    old, fresh, unheard = [await five.hand(to=one) for one in ("ana", "bob", "clara")]
    then = (datetime.now(UTC) - timedelta(days=8)).isoformat(timespec="milliseconds")
    store = five.here.store
    await store.run("update jobs set closed_at = ? where id != ?", then, fresh.job.id)
    await store.run("update jobs set wake = 1 where id = ?", unheard.job.id)  # its asker does not know yet
    await five.handover.reconcile()
    assert {one.id for one in await jobs.recent(store)} == {fresh.job.id, unheard.job.id}
    with pytest.raises(NotFound):
        await jobs.find(store, old.job.id)


async def test_what_a_killed_command_left_running_counts_no_more(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        await jobs.begin(
            here.store,
            project_id="default",
            sender=ME.address,
            sender_project="default",
            recipient="ana",
            thread="a2a:default:ana+super_agent",
            body="x",
            wake=True,
            waited=False,
            depth=1,
        )
    async with team(tmp_path, lasting=False) as five:
        assert await jobs.recent(five.here.store, open=True) == []
        assert five.here.server.requests == []  # who is to be woken is for the program that stays


async def test_an_agent_at_work_can_be_stopped_and_its_run_ends(five: Team) -> None:
    five.here.server.default = by_whom({"Ana": fault("hang")})
    handed = await five.hand(background=True)
    await five.here.server.arrived.wait()
    woken = five.woken()
    assert (await five.handover.cancel(handed.job.id)).status is State.CANCELLED
    await woken
    run = await five.here.store.one("select status from runs where id = ?", handed.job.run_id)
    assert run is not None
    assert run["status"] == "cancelled"
    assert "it was stopped" in told(five)[-1]["content"]


# What the owner hears


async def asked_on_telegram(five: Team, note: str | Answer, ana: str | Answer = "40 sheep.") -> Any:
    """Work handed over in a chat of the owner's, to the end of the turn that its answer woke."""
    woken = five.woken()
    five.here.server.default = by_whom({"Ana": ana, "APX": note})
    handed = await five.handover.hand(
        Order(sender=ME, to=five.peers["ana"], text="count the sheep", background=True, origin=CHAT)
    )
    await woken
    await settled(five)
    return handed


async def settled(five: Team) -> None:
    """Until all that was begun has ended."""
    while tasks := set(five.handover._tasks):
        await asyncio.wait(tasks)


async def sent(five: Team) -> list[tuple[str, str, str]]:
    rows = await five.here.store.all(
        "select channel, recipient, json_extract(payload, '$.text') as text from outbox order by id"
    )
    return [tuple(row) for row in rows]


async def test_the_chat_where_it_was_asked_gets_the_note_once(five: Team) -> None:
    handed = await asked_on_telegram(five, "Ana counted 40 sheep.")
    assert await sent(five) == [("telegram", "77", "Ana counted 40 sheep.")]
    assert "sent to the owner, once" in told(five)[-1]["content"]
    lines = await five.here.store.all("select role, text from messages where thread = 'telegram:77'")
    assert [tuple(one) for one in lines] == [("assistant", "Ana counted 40 sheep.")]
    job = await jobs.find(five.here.store, handed.job.id)
    await five.handover._wake(job)
    assert len(await sent(five)) == 1


async def test_without_a_model_the_owner_hears_in_plain_words_what_came_of_it(five: Team) -> None:
    await asked_on_telegram(five, fault("auth"))
    assert await sent(five) == [("telegram", "77", "ana has answered.\n\n40 sheep.")]


async def test_work_that_failed_is_told_as_not_done(five: Team) -> None:
    await asked_on_telegram(five, fault("auth"), ana=fault("auth"))
    assert await sent(five) == [
        ("telegram", "77", "ana did not finish: it failed. Not done: count the sheep")
    ]


async def test_an_assistant_that_wrote_by_itself_is_not_repeated(five: Team) -> None:
    from core.tools import owner

    five.here.tools.add(*owner.TOOLS)
    await five.here.config.set({"super_agent.permission_mode": "total"})

    def assistant(body: dict[str, Any]) -> Answer:
        if body["messages"][-1]["role"] == "tool":
            return Answer("Told them.")
        return Answer(calls=[("send_telegram", {"text": "40 sheep, says Ana."})])

    woken = five.woken()
    five.here.server.default = by_whom({"Ana": "40", "APX": assistant})
    await five.handover.hand(
        Order(sender=ME, to=five.peers["ana"], text="count", background=True, origin=CHAT)
    )
    await woken
    await settled(five)
    assert [one[2] for one in await sent(five)] == ["40 sheep, says Ana."]


async def test_where_nobody_asked_from_a_chat_nobody_is_written_to(five: Team) -> None:
    woken = five.woken()
    await five.hand(background=True)
    await woken
    await settled(five)
    assert await sent(five) == []
    woken = five.woken()
    # An agent that was woken speaks to nobody, wherever the owner was.
    order = Order(sender=five.peers["bob"], to=five.peers["ana"], text="x", background=True, origin=CHAT)
    await five.handover.hand(order)
    await woken
    await settled(five)
    assert await sent(five) == []


async def test_a_turn_on_telegram_says_where_its_work_reports(five: Team) -> None:
    call = ("send_to_agent", {"to": "ana", "message": "count", "background": True})
    closed = heard(five.here, RunClosed, lambda e: e.text == "Ana counted.")

    def assistant(body: dict[str, Any]) -> Answer:
        last = body["messages"][-1]
        if "answered what you handed over" in last["content"]:
            return Answer("Ana counted.")
        return Answer("On it.") if last["role"] == "tool" else Answer(calls=[call])

    five.here.server.default = by_whom({"Ana": "40", "APX": assistant})
    await five.here.runner.run(turn(channel="telegram", thread="telegram:77", origin=CHAT))
    await closed
    await settled(five)
    assert await sent(five) == [("telegram", "77", "Ana counted.")]
