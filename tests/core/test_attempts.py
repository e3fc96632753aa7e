"""Whole stories of models that fail, through the real worker and the real model library, in front of a stand-in."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from core.events import EngineFailed, ModelRouted, Said
from core.runs import history
from core.runs.ledger import attempts
from core.runs.manifest import manifest
from core.runs.retry import Patience
from core.runs.turn import Run, Status
from core.tool import Context, Effect, tool
from tests.fakes.house import House, house, turn
from tests.fakes.openai_server import Answer, fault

pytestmark = pytest.mark.anyio
REAL = (sys.executable, "-m", "core.runs.llm_worker")
ran: list[str] = []


class Nothing(BaseModel):
    pass


@tool(Effect.READ)
async def look(args: Nothing, ctx: Context) -> str:
    """Look."""
    ran.append("look")
    return "found"


@tool(Effect.READ)
async def leave(args: Nothing, ctx: Context) -> str:
    """Decide."""
    return "left"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def world(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """One worker for the whole module: it takes seconds to import the library."""
    root = tmp_path_factory.mktemp("stories")
    async with house(root, command=REAL) as built:
        built.tools.add(look)
        built.runner.router.managed = root / "managed.json"
        yield built


USUAL: dict[str, Any] = {
    "super_agent.model": "standin:first",
    "llm_routing.fallback": [],
    "llm_routing.max_retries_per_turn": 32,
    "super_agent.model_fallback.enabled": False,
    "super_agent.model_fallback.models": [],
    "super_agent.routing.rules": [],
    "super_agent.quota_cooldown_min": 60,
}


@pytest.fixture
async def here(world: House) -> House:
    world.server.reset()
    world.events.clear()
    ran.clear()
    world.runner.patience = Patience(first_s=0.001)
    for table in ("cooldowns", "outbox"):
        await world.store.run(f"delete from {table}")
    await world.config.set(USUAL)
    return world


def by_model(here: House, **answers: Answer) -> None:
    """What each model answers, whenever it is asked."""
    here.server.default = lambda body: answers.get(body["model"], Answer("ready"))


def asked(here: House) -> list[str]:
    return [one.body["model"] for one in here.server.requests]


async def told(here: House, run: Run) -> list[tuple[str, str, str]]:
    rows = (await attempts(here.store, run.id))["attempts"]
    return [(one["target"].removeprefix("standin:"), one["class"], one["action"]) for one in rows]


async def test_without_a_grant_the_same_model_is_asked_six_times_and_then_it_stops(here: House) -> None:
    by_model(here, first=fault("server"))
    run = await here.runner.run(turn())
    assert (run.status, run.error_kind, run.target) == (Status.FAILED, "server", "standin:first")
    assert asked(here) == ["first"] * 6
    ledger = await attempts(here.store, run.id)
    assert (ledger["requests"], ledger["repeated"], ledger["repeats_most"]) == (6, 5, 32)
    assert (ledger["stopped_why"], ledger["answered_by"]) == ("no_grant", "")
    assert [one.get("again_in_s") for one in ledger["attempts"]] == [0.001, 0.002, 0.004, 0.008, 0.016, None]


async def test_the_next_granted_model_goes_on_and_everybody_sees_who_answered(here: House) -> None:
    await here.config.set({"llm_routing.fallback": ["standin:org/second", "standin:third"]})
    by_model(here, first=fault("overloaded"), **{"org/second": Answer("from the second")})
    run = await here.runner.run(turn())
    assert (run.text, run.target) == ("from the second", "standin:org/second")
    assert asked(here) == ["first"] * 6 + ["org/second"]
    assert [event.target for event in here.seen(ModelRouted)] == ["standin:first", "standin:org/second"]
    assert {event.target for event in here.seen(EngineFailed)} == {"standin:first"}
    row = await history.find(here.store, run.id)
    assert (row.target, row.selected_by) == ("standin:org/second", "super_agent.model")
    # the model is told who it is, not who was left
    system = here.server.requests[-1].body["messages"][0]["content"]
    assert "standin:org/second" in system
    assert "standin:first" not in system
    shown = await manifest(here.store, run.id)
    assert [one["target"] for one in shown["requests"]] == ["standin:first", "standin:org/second"]
    assert len(shown["requests"][0]["attempts"]) == 6
    notes = [line for line in await history.transcript(here.store, run.id) if line["kind"] == "note"]
    assert len(notes) == 1
    assert "standin:org/second goes on" in notes[0]["text"]


@pytest.mark.parametrize("kind", ["auth", "permission", "not_found", "invalid", "quota"])
async def test_what_another_model_would_not_mend_stops_at_once(here: House, kind: str) -> None:
    await here.config.set({"llm_routing.fallback": ["standin:second"]})
    by_model(here, first=fault(kind))
    run = await here.runner.run(turn())
    assert (run.status, run.error_kind, asked(here)) == (Status.FAILED, kind, ["first"])


async def test_seventeen_stand_ins_of_which_sixteen_fail_are_eight_at_most(here: House) -> None:
    models = [f"standin:m{n}" for n in range(17)]
    await here.config.set(
        {"super_agent.model_fallback.enabled": True, "super_agent.model_fallback.models": models}
    )
    here.server.default = lambda body: (
        Answer("the last") if body["model"] == "m16" else fault("rate_limit", retry_after=3600)
    )
    run = await here.runner.run(turn())
    assert (run.status, run.error_kind) == (Status.FAILED, "rate_limit")
    assert asked(here) == ["first", *(f"m{n}" for n in range(8))]
    assert run.text.endswith("No other model that may stand in is left.")


async def test_the_turn_has_one_budget_of_repeated_requests(here: House) -> None:
    await here.config.set(
        {
            "llm_routing.fallback": [f"standin:m{n}" for n in range(8)],
            "llm_routing.max_retries_per_turn": 12,
        }
    )
    here.server.default = lambda body: fault("server")
    run = await here.runner.run(turn())
    assert len(asked(here)) == 13
    assert "used up" in run.text
    assert (await attempts(here.store, run.id))["stopped_why"] == "budget"


async def test_a_long_wait_goes_on_at_once_or_says_so(here: House) -> None:
    by_model(here, first=fault("rate_limit", retry_after=3600))
    run = await here.runner.run(turn())
    assert (run.error_kind, asked(here)) == ("rate_limit", ["first"])
    here.server.requests.clear()
    await here.config.set({"llm_routing.fallback": ["standin:second"]})
    run = await here.runner.run(turn())
    assert (run.text, asked(here)) == ("ready", ["first", "second"])


async def test_a_stream_that_breaks_off_after_a_call_has_run_no_tool_and_runs_it_once(here: House) -> None:
    here.server.next(
        fault("cut_call", text="", calls=[("look", {})]), Answer(calls=[("look", {})]), Answer("Done.")
    )
    run = await here.runner.run(turn())
    assert (run.text, ran) == ("Done.", ["look"])
    assert await told(here, run) == [
        ("first", "network", "retry"),
        ("first", "ok", "answered"),
        ("first", "ok", "answered"),
    ]


async def test_what_was_said_is_not_said_again_by_another_model(here: House) -> None:
    await here.config.set({"llm_routing.fallback": ["standin:second"]})
    by_model(here, first=fault("cut"))
    run = await here.runner.run(turn())
    assert (run.status, asked(here)) == (Status.FAILED, ["first"])
    assert (await attempts(here.store, run.id))["stopped_why"] == "published"
    assert run.text.endswith("Part of the answer had been said already, so it was not asked again.")


async def test_a_step_after_a_tool_is_a_new_request_and_the_tool_is_not_run_again(here: House) -> None:
    await here.config.set({"llm_routing.fallback": ["standin:second"]})
    here.server.next(Answer(calls=[("look", {})]))
    by_model(here, first=fault("server"), second=Answer("Found it."))
    run = await here.runner.run(turn())
    assert (run.text, ran, run.target) == ("Found it.", ["look"], "standin:second")
    assert here.server.requests[-1].body["messages"][-1]["role"] == "tool"


async def test_empty_answers_are_asked_for_again_and_then_the_next_model_speaks(here: House) -> None:
    by_model(here, first=Answer(""))
    run = await here.runner.run(turn())
    assert (run.status, run.text) == (Status.FAILED, "The model gave no answer.")
    await here.config.set({"llm_routing.fallback": ["standin:second"]})
    run = await here.runner.run(turn())
    assert (run.text, run.target) == ("ready", "standin:second")


async def test_a_next_model_that_cannot_be_used_ends_it_and_nothing_takes_its_place(here: House) -> None:
    # By its name this address is not this machine, so the conversation is not a local one.
    far = here.server.url.replace("127.0.0.1", "0.0.0.0")
    await here.config.set(
        {
            "engines.far.base_url": far,
            "super_agent.model": "far:first",
            "llm_routing.fallback": ["custom:nowhere:x", "standin:third"],
        }
    )
    by_model(here, first=fault("server"))
    run = await here.runner.run(turn())
    assert (run.status, run.error_kind, set(asked(here))) == (Status.FAILED, "server", {"first"})
    assert "The next model is custom:nowhere:x, and it cannot be used:" in run.text
    assert run.text.endswith("Nothing else was tried.")
    assert (await attempts(here.store, run.id))["stopped_why"] == "missing"


async def test_a_local_conversation_goes_nowhere_else(here: House) -> None:
    await here.config.set(
        {
            "engines.away.base_url": "http://model.invalid/v1",
            "engines.away.api_key": "sk-away-0123456789ab",
            "llm_routing.fallback": ["away:big"],
        }
    )
    by_model(here, first=fault("server"))
    run = await here.runner.run(turn())
    assert (run.status, run.target) == (Status.FAILED, "standin:first")
    assert "a local conversation is not sent to a model elsewhere" in run.text


async def test_a_stand_in_of_the_second_list_that_does_not_listen_is_passed_over(here: House) -> None:
    await here.config.set(
        {
            "engines.dead.base_url": "http://127.0.0.1:9/v1",
            "super_agent.model_fallback.enabled": True,
            "super_agent.model_fallback.models": ["dead:x", "standin:second"],
        }
    )
    by_model(here, first=fault("rate_limit", retry_after=3600))
    run = await here.runner.run(turn())
    assert run.target == "standin:second"
    assert ("dead:x", "network", "advance") in await told(here, run)


async def test_stopping_during_a_pause_stops_everything(here: House) -> None:
    await here.config.set({"llm_routing.fallback": ["standin:second"]})
    here.runner.patience = Patience(first_s=30)
    by_model(here, first=fault("server"))
    failed = asyncio.Event()
    leave_bus = here.bus.subscribe(EngineFailed, lambda _: failed.set())
    waiting = asyncio.create_task(here.runner.run(turn()))
    await failed.wait()
    leave_bus()
    here.runner.cancel(here.runner.active()[0].id)
    run = await waiting
    assert (run.status, asked(here)) == (Status.CANCELLED, ["first"])


async def test_a_project_narrows_and_cannot_add(here: House, tmp_path: Path) -> None:
    (tmp_path / ".apx").mkdir()
    said = {"llm_routing": {"fallback": ["standin:own", "standin:third"]}}
    (tmp_path / ".apx" / "config.json").write_text(json.dumps(said))
    await here.store.run("delete from projects where id = 'narrow'")
    await here.store.run(
        "insert into projects (id, name, path, created_at) values ('narrow', 'narrow', ?, '')", str(tmp_path)
    )
    await here.config.set({"llm_routing.fallback": ["standin:second", "standin:third"]})
    by_model(here, first=fault("rate_limit", retry_after=3600))
    run = await here.runner.run(turn(project_id="narrow"))
    assert run.target == "standin:third"
    explained = await here.runner.router.explained("en", project_id="narrow")
    assert [one["target"] for one in explained["fallback"]] == ["standin:third"]
    assert explained["narrowed"][0]["target"] == "standin:second"
    assert str(tmp_path) in explained["narrowed"][0]["reason"]


async def test_the_rules_choose_and_the_record_says_who_chose(here: House) -> None:
    rules = [{"model": "standin:long", "when": {"min_prompt_chars": 20}}]
    await here.config.set({"super_agent.routing.rules": rules})
    run = await here.runner.run(turn("x" * 30))
    assert run.target == "standin:long"
    assert (await history.find(here.store, run.id)).selected_by == "super_agent.routing.rules[0]"
    (line, *_) = await history.transcript(here.store, run.id)
    assert line["meta"]["selected_by"] == "super_agent.routing.rules[0]"
    run = await here.runner.run(turn("x" * 30, model="standin:mine"))
    assert (run.target, (await history.find(here.store, run.id)).selected_by) == ("standin:mine", "turn")
    assert (await here.runner.run(turn("short"))).target == "standin:first"


async def test_a_headless_turn_without_a_model_asks_for_one(here: House) -> None:
    await here.config.set({}, unset=["super_agent.model"])
    run = await here.runner.run(turn(channel="cli"))
    assert (run.status, run.error_kind) == (Status.FAILED, "not_configured")
    assert "--model" in run.text
    assert (await here.runner.run(turn(channel="cli", model="standin:x"))).status is Status.DONE


# An account at its limit


def sealed(**changes: Any) -> Any:
    return turn(channel="whatsapp", sealed=True, system="Decide.", tools=(leave,), **changes)


async def lines(here: House) -> list[str]:
    rows = await here.store.all("select payload from outbox where channel = 'telegram' order by id")
    return [json.loads(row["payload"])["text"] for row in rows]


async def test_unwatched_work_ends_at_a_limit_and_the_owner_is_told_once(here: House) -> None:
    await here.config.set(
        {
            "super_agent.model_fallback.enabled": True,
            "super_agent.model_fallback.models": ["standin:second"],
        }
    )
    by_model(here, first=fault("quota"))
    one = await here.runner.run(sealed())
    two = await here.runner.run(sealed())
    three = await here.runner.run(turn(channel="routine"))
    assert {run.error_kind for run in (one, two, three)} == {"quota"}
    assert asked(here) == ["first"]  # the others did not even ask
    (line,) = await lines(here)
    assert line.startswith("standin:first has reached its account's limit.")
    cooling = await here.runner.quota.cooling()
    assert list(cooling) == ["standin:first"]
    assert (await attempts(here.store, two.id))["stopped_why"] == "cooling"


async def test_a_watched_turn_falls_through_and_does_not_knock_again(here: House) -> None:
    await here.config.set(
        {
            "llm_routing.fallback": ["standin:exact"],
            "super_agent.model_fallback.enabled": True,
            "super_agent.model_fallback.models": ["standin:second"],
        }
    )
    by_model(here, first=fault("quota"))
    assert (await here.runner.run(turn())).target == "standin:second"
    assert (await here.runner.run(turn())).target == "standin:second"
    assert asked(here) == ["first", "second", "second"]
    assert await lines(here) == []


async def test_a_model_the_owner_chose_falls_through_even_unwatched(here: House) -> None:
    by_model(here, mine=fault("quota"))
    run = await here.runner.run(turn(channel="routine", model="standin:mine"))
    assert run.error_kind == "quota"
    await here.store.run("delete from cooldowns")
    await here.config.set(
        {
            "super_agent.model_fallback.enabled": True,
            "super_agent.model_fallback.models": ["standin:second"],
        }
    )
    run = await here.runner.run(turn(channel="routine", model="standin:mine"))
    assert (run.status, run.target) == (Status.DONE, "standin:second")


async def test_a_watched_turn_with_nothing_to_fall_to_asks_and_ends_the_cool_down(here: House) -> None:
    by_model(here, first=fault("quota"))
    await here.runner.run(turn())
    assert list(await here.runner.quota.cooling()) == ["standin:first"]
    here.server.default = lambda body: Answer("ready")
    assert (await here.runner.run(turn())).text == "ready"
    assert await here.runner.quota.cooling() == {}


async def test_a_limit_of_this_minute_is_no_quota(here: House) -> None:
    here.server.next(fault("quota_minute", retry_after=0), Answer("ready"))
    assert (await here.runner.run(turn())).text == "ready"
    assert await here.runner.quota.cooling() == {}


async def test_too_much_at_once_is_asked_again_eight_times(here: House) -> None:
    by_model(here, first=fault("concurrency"))
    run = await here.runner.run(turn())
    assert (run.error_kind, len(asked(here))) == ("concurrency", 9)


async def test_a_provider_that_cannot_be_reached_is_not_asked_again_by_the_next_turn(here: House) -> None:
    await here.config.set({"engines.dead.base_url": "http://127.0.0.1:9/v1"})
    run = await here.runner.run(turn(model="dead:x"))
    assert len((await attempts(here.store, run.id))["attempts"]) == 6
    run = await here.runner.run(turn(model="dead:x"))
    assert len((await attempts(here.store, run.id))["attempts"]) == 1
    assert list(here.runner.circuits.opened()) == ["dead"]
    here.server.next(fault("server"), Answer("ready"))
    assert (await here.runner.run(turn())).text == "ready"  # another provider has its own circuit


async def test_a_stream_that_says_one_thing_for_ever_is_left_and_the_answer_ends_there(here: House) -> None:
    endless = "I will look at the file now. " * 6000
    here.server.next(Answer(endless), Answer("It is a poem."))
    run = await here.runner.run(turn())
    assert run.text.endswith("It is a poem.")
    assert len(run.text) < 500
    assert sum(len(one.text) for one in here.seen(Said)) < len(endless) / 2
    assert asked(here) == ["first", "first"]


async def test_a_provider_with_a_key_stands_in_for_nobody_who_was_not_asked_to(here: House) -> None:
    """Connecting a second provider makes it no fallback."""
    await here.config.set(
        {"engines.second.base_url": here.server.url, "engines.second.api_key": "sk-second-0123456789"}
    )
    by_model(here, first=fault("server"))
    run = await here.runner.run(turn())
    assert (run.status, run.target, asked(here)) == (Status.FAILED, "standin:first", ["first"] * 6)


async def test_a_same_providers_other_model_is_a_step_like_any_other(here: House) -> None:
    await here.config.set({"llm_routing.fallback": ["standin:first", "standin:second"]})
    by_model(here, first=fault("server"), second=Answer("from the second"))
    run = await here.runner.run(turn())
    assert (run.text, asked(here)) == ("from the second", ["first"] * 6 + ["second"])
