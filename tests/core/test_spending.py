"""What requests cost, the caps that come before them, and the sums that charts are drawn from."""

import asyncio
import math
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel

from core.errors import Invalid
from core.runs import history
from core.runs.prices import Price, Prices
from core.runs.spending import begins, spend
from core.runs.targets import parse
from core.runs.turn import Status
from core.store import new_id
from core.tool import Context, Effect, tool
from tests.fakes.api_home import served
from tests.fakes.house import House, house, turn
from tests.fakes.openai_server import Answer, fault

pytestmark = pytest.mark.anyio
PAID = "openai:gpt-4o"  # 2.5 and 10 dollars for a million tokens, in the table that comes along


class Nothing(BaseModel):
    pass


@tool(Effect.READ)
async def leave(args: Nothing, ctx: Context) -> str:
    """Decide."""
    return "left"


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path, **{"super_agent.model": PAID}) as built:
        await built.config.set(
            {"engines.openai.base_url": built.server.url, "engines.openai.api_key": "sk-paid-0123456789"}
        )
        built.server.default = lambda body: Answer("ready", tokens=(1000, 100))
        yield built


async def spent(here: House, micros: int, at: str) -> None:
    """A request of the past."""
    run = await history.begin(here.store, turn())
    await here.store.run(
        "insert into spend (run_id, at, target, cost_micros) values (?, ?, 'x:y', ?)", run.id, at, micros
    )


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


async def test_a_request_has_its_price_and_the_run_the_sum(here: House) -> None:
    run = await here.runner.run(turn())
    assert (run.cost_micros, run.priced) == (3500, True)
    row = await history.find(here.store, run.id)
    assert (row.cost_micros, row.priced) == (3500, 1)
    (one,) = await spend(here.store, by="model")
    assert (one.key, one.cost_micros, one.tokens_in, one.tokens_out, one.requests, one.floor) == (
        PAID, 3500, 1000, 100, 1, False,
    )  # fmt: skip


async def test_an_unknown_model_is_a_floor_and_a_local_one_is_free(here: House) -> None:
    prices = Prices()
    assert await prices.price(parse("standin:small"), 10**6, 10**6) == Price(0, False)
    assert await prices.price(parse("openai:no-such-model-at-all"), 10**6, 10**6) == Price(0, False)
    assert await prices.price(parse("ollama:qwen3"), 10**6, 10**6, free=True) == Price(0, True)
    assert (await prices.price(parse("google:gemini-2.5-flash"), 1000, 100)).known
    assert (await prices.price(parse("gemini:gemini-2.5-flash"), 1000, 100)).micros > 0
    run = await here.runner.run(turn(model="standin:small"))
    assert (run.cost_micros, run.priced) == (0, False)
    run = await here.runner.run(turn(model="practice:rules"))
    assert (run.cost_micros, run.priced) == (0, True)
    assert {one.key: one.floor for one in await spend(here.store, by="model")} == {
        "standin:small": True,
        "practice:rules": False,
    }


@pytest.mark.parametrize(
    "model",
    [
        PAID,
        "anthropic:claude-sonnet-4-5",  # dearer beyond a length
        "gemini:gemini-2.5-pro",  # the same
        "deepseek:deepseek-chat",  # other prices by the hour
        "groq:llama-3.3-70b-versatile",
    ],
)
async def test_a_model_priced_before_costs_what_the_table_says(model: str) -> None:
    import genai_prices

    target, prices = parse(model), Prices()
    provider = {"gemini": "google"}.get(target.provider, target.provider)
    for into, out in ((1000, 20), (0, 0), (7, 100_000), (250_000, 3), (1000, 20)):
        usage = genai_prices.Usage(input_tokens=into, output_tokens=out)
        table = genai_prices.calc_price(usage, model_ref=target.model, provider_id=provider).total_price
        assert await prices.price(target, into, out) == Price(math.ceil(table * 1_000_000), True)


async def test_what_counts_no_tokens_is_estimated_and_marked(here: House) -> None:
    here.server.default = lambda body: Answer("".join(f"{n:04}" for n in range(1000)), tokens=(0, 0))
    run = await here.runner.run(turn())
    assert run.cost_micros >= 10_000  # a thousand tokens of answer
    assert not run.priced


async def test_a_failed_run_keeps_what_it_cost(here: House) -> None:
    here.server.next(Answer(calls=[("nothing", {})], tokens=(1000, 100)), fault("auth"))
    run = await here.runner.run(turn(tools=(leave,)))
    assert run.status is Status.FAILED
    assert (await history.find(here.store, run.id)).cost_micros == 3500


@pytest.mark.parametrize("cap", ["run", "day", "month"])
async def test_a_cap_is_looked_at_before_the_request(here: House, cap: str) -> None:
    await here.config.set({f"budgets.{cap}_usd": 0.000001})
    run = await here.runner.run(turn())
    assert (run.status, run.error_kind) == (Status.FAILED, "budget_spent")
    assert "$0.00" in run.text
    assert here.server.requests == []
    (failure,) = [one for one in await history.steps(here.store, run.id) if one["kind"] == "failure"]
    assert (failure["class"], failure["asked"]) == ("budget_spent", False)


async def test_zero_is_a_cap_for_models_of_unknown_price_too(here: House) -> None:
    await here.config.set({"budgets.day_usd": 0})
    assert (await here.runner.run(turn(model="standin:small"))).error_kind == "budget_spent"
    assert (await here.runner.run(turn(model="practice:rules"))).status is Status.DONE


async def test_what_runs_at_once_cannot_both_take_the_last_of_a_cap(here: House) -> None:
    await here.config.set({"budgets.day_usd": 0.02})  # one request with an answer of a thousand tokens
    gate = asyncio.gather(*(here.runner.run(turn(thread=str(n))) for n in range(4)))
    assert sorted(run.status for run in await gate) == ["completed", "failed", "failed", "failed"]
    assert len(here.server.requests) == 1


@pytest.mark.parametrize("cap", ["day", "month"])
async def test_unwatched_work_stops_first(here: House, cap: str) -> None:
    await here.config.set({f"budgets.{cap}_usd": 1})
    await spent(here, 900_000, now())
    decision = turn(channel="whatsapp", sealed=True, system="Decide.", tools=(leave,))
    run = await here.runner.run(decision)
    assert run.error_kind == "budget_spent"
    assert "kept for what you ask yourself" in run.text
    assert (await here.runner.run(turn())).status is Status.DONE


async def test_yesterday_does_not_count_today(here: House) -> None:
    await here.config.set({"budgets.day_usd": 1})
    await spent(here, 5_000_000, (datetime.now(UTC) - timedelta(days=2)).isoformat(timespec="milliseconds"))
    assert (await here.runner.run(turn())).status is Status.DONE


async def test_a_runs_cap_counts_the_runs_it_asked_for(here: House) -> None:
    parent = await here.runner.run(turn())
    await here.config.set({"budgets.run_usd": 0.016})
    child = await here.runner.run(turn(thread="a"), parent=parent)
    assert child.status is Status.DONE
    grandchild = await here.runner.run(turn(thread="b"), parent=child)
    assert grandchild.error_kind == "budget_spent"
    assert (await here.runner.run(turn(thread="c"))).status is Status.DONE


def test_a_day_begins_at_the_owners_midnight() -> None:
    at = datetime(2026, 3, 1, 2, 30, tzinfo=UTC)
    assert begins("day", at, ZoneInfo("America/Montevideo")) == "2026-02-28T03:00:00.000+00:00"
    assert begins("month", at, ZoneInfo("America/Montevideo")) == "2026-02-01T03:00:00.000+00:00"
    assert begins("day", at, ZoneInfo("Asia/Kolkata")) == "2026-02-28T18:30:00.000+00:00"
    assert begins("day", at, UTC) == "2026-03-01T00:00:00.000+00:00"
    assert begins("day", at, None).endswith("+00:00")


async def test_sums_for_charts(here: House) -> None:
    for sender, channel, at in [
        ("owner", "telegram", "2026-03-01T02:59:59.000+00:00"),
        ("researcher", "a2a", "2026-03-01T03:00:00.000+00:00"),
        ("owner", "desktop", "2026-03-02T12:00:00.000+00:00"),
    ]:
        id = new_id("run")
        await here.store.run(
            "insert into runs (id, project_id, channel, sender, status, started_at)"
            " values (?, 'default', ?, ?, 'completed', '')",
            *(id, channel, sender),
        )
        await here.store.run(
            "insert into spend (run_id, at, target, cost_micros, priced) values (?, ?, ?, 10, ?)",
            *(id, at, f"m:{channel}", int(channel != "a2a")),
        )
    zone = ZoneInfo("America/Montevideo")

    async def sums(by: str, **more: Any) -> dict[str, int]:
        return {one.key: one.cost_micros for one in await spend(here.store, by=by, zone=zone, **more)}

    assert await sums("day") == {"2026-02-28": 10, "2026-03-01": 10, "2026-03-02": 10}
    assert await sums("agent") == {"": 20, "researcher": 10}
    assert await sums("channel") == {"a2a": 10, "desktop": 10, "telegram": 10}
    assert await sums("model", since=datetime(2026, 3, 1, 3, tzinfo=UTC)) == {"m:a2a": 10, "m:desktop": 10}
    assert [one.floor for one in await spend(here.store, by="agent")] == [False, True]
    with pytest.raises(Invalid, match="by day, agent, channel, model"):
        await spend(here.store, by="week")


async def test_spending_and_routing_over_http(tmp_path: Path) -> None:
    async with served(tmp_path) as there:
        await there.http.post("/api/projects/default/super-agent/chat", json={"prompt": "hi"})
        told = (await there.http.get("/api/spending?by=model")).json()
        assert [one["key"] for one in told["data"]] == ["practice:rules"]
        assert (told["total_micros"], told["floor"], told["caps"]) == (0, False, [])
        assert (await there.http.get("/api/spending?by=week")).status_code == 400
        assert (await there.http.get("/api/spending?since=yesterday")).status_code == 400
        run = (await there.http.get("/api/runs")).json()["data"][0]
        one = (await there.http.get(f"/api/runs/{run['id']}")).json()
        assert (one["answered_by"], one["requests"], one["selected_by"]) == (
            "practice:rules", 1, "super_agent.model",
        )  # fmt: skip
        route = (await there.http.get("/api/routing")).json()
        assert (route["primary"], route["local"], route["fallback"]) == ("practice:rules", True, [])
        assert route["limits"]["classes"]["auth"] == {"retries": 0, "advance": "no"}
        route = (await there.http.get("/api/routing?model=nonsense")).json()
        assert "does not name a model" in route["problem"]
        assert (await there.bare.get("/api/routing")).status_code == 401
        assert (await there.http.get("/api/routing?project_id=../etc")).status_code == 404


async def test_the_lists_changed_over_http_are_the_ones_the_router_reads(tmp_path: Path) -> None:
    async with served(tmp_path, {"super_agent": {"enabled": True, "model": "openai:gpt-4o"}}) as there:

        async def ladder() -> list[str]:
            return [one["target"] for one in (await there.http.get("/api/routing")).json()["fallback"]]

        async def change(name: str, value: Any) -> int:
            body = {"set": {f"super_agent.model_fallback.{name}": value}}
            return (await there.http.patch("/api/admin/config", json=body)).status_code

        assert await change("models", ["groq:b/x", "xai:a"]) == 200
        assert await ladder() == []
        assert await change("enabled", True) == 200
        assert await ladder() == ["groq:b/x", "xai:a"]
        assert await change("models", ["xai:a", "groq:b/x"]) == 200
        assert await ladder() == ["xai:a", "groq:b/x"]
        assert await change("models", ["bare"]) == 400
        assert await ladder() == ["xai:a", "groq:b/x"]
