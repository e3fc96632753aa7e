"""The runner: every turn ends, every ending is recorded first, and a turn is given what belongs to it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from core.errors import Invalid, NotFound
from core.events import Event, FileDelivered, ModelRouted, RunClosed, RunStarted
from core.runs import history
from core.runs.manifest import manifest
from core.runs.turn import Attachment, Message, Run, Status
from core.tool import Context, Effect, tool
from tests.fakes.house import House, house, turn
from tests.fakes.openai_server import Answer, fault

pytestmark = pytest.mark.anyio


class Nothing(BaseModel):
    pass


@tool(Effect.READ)
async def crash(args: Nothing, ctx: Context) -> str:
    """A tool with a bug."""
    raise ZeroDivisionError("a bug")


@tool(Effect.READ)
async def picture(args: Nothing, ctx: Context) -> str:
    """Attach a picture, twice."""
    assert ctx.attach
    file = Attachment("med_1", Path("/x.png"), "x.png", "image", "image/png", 3, "look")
    await ctx.attach(file)
    await ctx.attach(file)
    return "attached"


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as built:
        yield built


async def test_a_home_that_is_not_set_up_says_what_to_set(tmp_path: Path) -> None:
    async with house(tmp_path, **{"super_agent.enabled": False, "super_agent.model": ""}) as here:
        run = await here.runner.run(turn())
        assert (run.status, run.error_kind) == (Status.FAILED, "not_configured")
        assert "apx config set --global super_agent.enabled true" in run.text
        assert 'apx config set --global super_agent.model "provider:model"' in run.text
        assert "super-agent" not in run.text
        await here.config.set({"super_agent.enabled": True})
        run = await here.runner.run(turn())
        assert "super_agent.model" in run.text
        assert "enabled" not in run.text
        assert here.server.requests == []


async def test_practice_answers_without_a_worker(tmp_path: Path) -> None:
    async with house(tmp_path, **{"super_agent.model": "practice:rules"}) as here:
        run = await here.runner.run(turn("who are you?"))
        assert run.status is Status.DONE
        assert "no model" in run.text
        assert (run.target, here.models.status) == ("practice:rules", "off")


async def test_an_ending_is_recorded_before_anybody_hears_of_it(here: House) -> None:
    stored: list[str] = []

    def look(event: Event) -> None:
        if isinstance(event, RunClosed):
            task = asyncio.ensure_future(here.store.one("select status from runs where id = ?", event.run_id))
            tasks.append(task)

    tasks: list[asyncio.Future[object]] = []
    here.bus.subscribe(Event, look)
    run = await here.runner.run(turn())
    stored = [row["status"] for row in await asyncio.gather(*tasks)]  # type: ignore[index]
    assert stored == [run.status] == ["completed"]
    assert [type(e) for e in here.events if isinstance(e, RunStarted | ModelRouted | RunClosed)] == [
        RunStarted,
        ModelRouted,
        RunClosed,
    ]


async def test_a_conversation_remembers_its_last_lines_and_only_its_own(here: House) -> None:
    await here.runner.run(turn("one"))
    await here.runner.run(turn("elsewhere", thread="telegram:1", channel="telegram"))
    await here.runner.run(turn("two"))
    told = here.server.requests[-1].body["messages"]
    assert [(m["role"], m["content"]) for m in told[1:]] == [
        ("user", "one"),
        ("assistant", "ready"),
        ("user", "two"),
    ]
    assert "On telegram:\n- owner: elsewhere" in told[0]["content"]


async def test_a_thread_of_sixty_lines_goes_along_and_a_longer_one_with_a_gap(here: House) -> None:
    for n in range(60):
        await here.store.run(
            "insert into messages (thread, channel, author, role, text, at)"
            " values ('desktop', 'desktop', 'o', 'user', ?, '')",
            str(n),
        )
    await here.runner.run(turn("now"))
    told = here.server.requests[0].body["messages"]
    assert (len(told), told[1]["content"], told[-1]["content"]) == (62, "0", "now")
    await here.runner.summaries.settled()  # its summary was no summary
    await here.runner.run(turn("again"))
    told = here.server.requests[2].body["messages"]
    assert [one["content"] for one in told[1:5]] == [
        "0",
        "1",
        "[20 earlier lines of this conversation are not shown here.]",
        "22",
    ]
    assert (len(told), told[-1]["content"]) == (45, "again")


async def test_given_history_takes_the_place_of_the_stored_one(here: House) -> None:
    await here.runner.run(turn("one"))
    await here.runner.run(turn("two", previous=(Message("user", "x"), Message("assistant", "y"))))
    assert [m["content"] for m in here.server.requests[-1].body["messages"][1:]] == ["x", "y", "two"]


async def test_a_failure_stays_in_the_thread_as_a_note_and_not_as_an_answer(here: House) -> None:
    here.server.next(fault("auth"))
    run = await here.runner.run(turn("one"))
    lines = await history.transcript(here.store, run.id)
    assert [line["kind"] for line in lines] == ["user", "failure", "note"]
    await here.runner.run(turn("two"))
    assert [m["content"] for m in here.server.requests[-1].body["messages"][1:]] == ["one", "two"]


async def test_the_name_is_the_identitys(here: House) -> None:
    await here.identity.set(agent_name="Roby", owner_name="Eva")
    run = await here.runner.run(turn())
    assert (
        "You are Roby, the personal assistant of Eva."
        in here.server.requests[0].body["messages"][0]["content"]
    )
    assert (await history.transcript(here.store, run.id))[-1]["author"] == "Roby"


async def test_the_turn_may_name_its_model_and_bad_names_are_said(here: House) -> None:
    run = await here.runner.run(turn(model="standin:other/one:free"))
    assert (run.target, here.server.requests[0].body["model"]) == ("standin:other/one:free", "other/one:free")
    row = await here.store.one("select selected_by from runs where id = ?", run.id)
    assert row is not None
    assert row["selected_by"] == "turn"
    run = await here.runner.run(turn(model="nonsense"))
    assert (run.status, run.error_kind) == (Status.FAILED, "invalid")
    run = await here.runner.run(turn(model="groq:x"))
    assert "apx model key groq" in run.text
    # Nothing of it is left going on.
    assert here.runner.active() == []
    assert [one.status for one in await history.recent(here.store, limit=2)] == [Status.FAILED] * 2


async def test_only_the_owner_is_given_the_channels_tools(here: House) -> None:
    here.tools.add(picture)
    await here.runner.run(turn())
    await here.runner.run(turn(sender="third_party"))
    await here.runner.run(turn(channel="whatsapp"))
    assert [one.tools for one in here.server.requests] == [["picture"], [], []]


async def test_a_file_joins_the_answer_once(here: House) -> None:
    here.tools.add(picture)
    here.server.next(Answer(calls=[("picture", {})]), Answer("Here it is."))
    run = await here.runner.run(turn())
    assert [file.media_id for file in run.files] == ["med_1"]
    assert [event.media_id for event in here.seen(FileDelivered)] == ["med_1"]
    assert (await history.transcript(here.store, run.id))[-1]["meta"]["files"][0]["name"] == "x.png"


async def test_cancelling_a_run_gives_it_back_as_cancelled(here: House) -> None:
    here.server.next(fault("hang"))
    waiting = asyncio.create_task(here.runner.run(turn()))
    await here.server.arrived.wait()
    (active,) = here.runner.active()
    here.runner.cancel(active.id)
    run = await waiting
    assert (run.status, run.text) == (Status.CANCELLED, "Stopped.")
    assert here.runner.active() == []
    assert (await history.find(here.store, run.id)).status is Status.CANCELLED
    with pytest.raises(NotFound):
        here.runner.cancel(run.id)


async def test_stopping_before_anything_was_asked_is_a_stop_like_any_other(here: House) -> None:
    begun = asyncio.Event()
    here.bus.subscribe(RunStarted, lambda _: begun.set())
    waiting = asyncio.create_task(here.runner.run(turn()))
    await begun.wait()
    (active,) = here.runner.active()
    here.runner.cancel(active.id)
    run = await waiting
    assert (run.status, here.server.requests, here.runner.active()) == (Status.CANCELLED, [], [])


async def test_a_cancelled_caller_is_cancelled_after_the_record(here: House) -> None:
    here.server.next(fault("hang"))
    waiting = asyncio.create_task(here.runner.run(turn()))
    await here.server.arrived.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert [row.status for row in await history.recent(here.store)] == [Status.CANCELLED]


async def test_a_turn_has_no_more_than_its_time(here: House) -> None:
    here.server.next(fault("hang"))
    run = await here.runner.run(turn(timeout_s=0.3))
    assert (run.status, run.error_kind) == (Status.FAILED, "timeout")


async def test_a_bug_is_recorded_and_not_hidden(here: House) -> None:
    here.tools.add(crash)
    here.server.next(Answer(calls=[("crash", {})]))
    with pytest.raises(ZeroDivisionError):
        await here.runner.run(turn())
    (row,) = await history.recent(here.store, status=["failed"])
    assert row.error_kind == "bug"
    assert row.text == "Something failed inside the app; the log has the details."


async def test_what_a_former_process_left_is_lost(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        run = await history.begin(here.store, turn())
    async with house(tmp_path) as here:
        assert (await history.find(here.store, run.id)).status is Status.LOST


async def test_closing_the_runner_ends_what_is_going_on(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.server.next(fault("hang"))
        waiting = asyncio.create_task(here.runner.run(turn()))
        await here.server.arrived.wait()
    run = await waiting
    assert run.status is Status.CANCELLED


async def test_a_run_knows_its_parent(here: House) -> None:
    parent: Run = await here.runner.run(turn())
    child = await here.runner.run(turn(thread="other"), parent=parent)
    assert (await history.find(here.store, child.id)).parent_id == parent.id


async def test_runs_are_filtered_by_states_and_an_unknown_state_is_refused(here: House) -> None:
    done = await here.runner.run(turn())
    here.server.next(fault("auth"))
    failed = await here.runner.run(turn())
    assert [r.id for r in await history.recent(here.store)] == [failed.id, done.id]
    assert [r.id for r in await history.recent(here.store, status=["completed", "lost"])] == [done.id]
    assert await history.recent(here.store, channel="telegram") == []
    with pytest.raises(Invalid, match="finished"):
        await history.recent(here.store, status=["completed", "finished"])


async def test_the_manifest_is_what_the_model_was_given_without_credentials(here: House) -> None:
    here.tools.add(picture)
    here.server.next(Answer(calls=[("picture", {})]), fault("server"), Answer("Here."))
    run = await here.runner.run(turn("the key is sk-live-abcdefghijklmnop"))
    told = await manifest(here.store, run.id)
    first, second = told["requests"]
    assert [len(one["messages"]) for one in (first, second)] == [2, 4]
    assert second["messages"][2:] == here.server.requests[-1].body["messages"][2:]
    assert first["tools"][0]["function"]["name"] == "picture"
    assert second["failure"]["class"] == "server"
    assert second["reply"]["text"] == "Here."
    assert "sk-live" not in str(told)
    assert "sk-standin" not in str(told)


async def test_a_long_manifest_is_cut_and_says_so(here: House) -> None:
    run = await here.runner.run(turn("word " * 2000))
    told = await manifest(here.store, run.id, max_chars=6000)
    assert told["trimmed"] == ["tool results cut at 2000 characters", "all messages cut at 1000 characters"]


async def test_a_run_that_reached_no_model_has_no_manifest(here: House) -> None:
    run = await here.runner.run(turn(model="nonsense"))
    with pytest.raises(NotFound):
        await manifest(here.store, run.id)
    with pytest.raises(NotFound):
        await manifest(here.store, "run_nothing")
