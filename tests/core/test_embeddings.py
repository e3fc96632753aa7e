"""Facts are found by their meaning where that is configured; words are always enough, and nobody waits."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from core.errors import Invalid
from core.memory import Memory, Source
from core.memory_broker import BEGIN, Broker
from core.memory_index import Index
from core.memory_vectors import Vectors, likeness, packed, signs
from core.runs import history
from core.runs.embeddings import Embeddings
from core.runs.manifest import manifest
from core.runs.spending import spend
from core.runs.turn import Status
from core.store import Store
from core.tool import Context, Effect, tool
from core.tools.knowledge import knowledge
from tests.fakes.house import WORKER, House, house, turn
from tests.fakes.openai_server import Answer, fault

MODEL = "standin:meanings"
SENSES = (("dog", "puppy", "rex"), ("car", "vehicle", "garage"), ("tea", "drink"))


class Nothing(BaseModel):
    pass


@tool(Effect.READ)
async def idle(args: Nothing, ctx: Context) -> str:
    """Something to have at hand."""
    return ""


def meaning(text: str) -> Sequence[float]:
    """What a text is about, as far as three subjects go."""
    about = [float(sum(word in text.casefold() for word in sense)) for sense in SENSES]
    return about if any(about) else [-1.0, -1.0, -1.0]


@asynccontextmanager
async def knowing(
    root: Path, command: Sequence[str] = WORKER, patience_s: float = 60.0
) -> AsyncIterator[House]:
    async with house(root, command=command, **{"memory.embeddings": MODEL}) as here:
        here.server.meaning = meaning
        async with knowledge(here):  # type: ignore[arg-type]
            here.tools.add(idle)
            # How fast this machine is today is not the question.
            found = here.services
            patient = {"patience_s": patience_s, "meaning": found[Embeddings].meaning}
            found[Broker] = Broker(found[Memory], found[Index], here.store, **patient)
            yield here


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[House]:
    async with knowing(tmp_path) as built:
        yield built


async def keep(here: House, text: str, source: Source = Source.OWNER, run_id: str | None = None) -> int:
    fact = await here.services[Memory].remember(text, source=source, sender="Ana", run_id=run_id)
    await here.services[Embeddings].catch_up()
    return int(fact.id)


async def asked(here: House, text: str) -> tuple[str, dict[str, Any]]:
    """What a question was told beside the owner's rules, and how that was found."""
    run = await here.runner.run(turn(text))
    assert run.status is Status.DONE, run.text
    system = here.server.requests[-1].body["messages"][0]["content"]
    told = (await manifest(here.store, run.id)).get("memory", {})
    return (system.split(BEGIN)[1] if BEGIN in system else ""), told


# Vectors by themselves


def test_a_vector_is_kept_at_length_one_and_its_signs_are_one_number() -> None:
    assert likeness(packed([3, 4]), packed([6, 8])) == pytest.approx(1)
    assert likeness(packed([1, 0]), packed([0, 1])) == pytest.approx(0)
    assert likeness(packed([1, 0]), packed([-1, 0])) == pytest.approx(-1)
    assert likeness(packed([1, 0]), packed([1, 0, 0])) == 0  # of another model: not comparable
    assert signs(packed([1, -1, 1, -2])) == 0b0101
    for broken in ([], [0.0, 0.0], [float("nan")], [float("inf")]):
        with pytest.raises(Invalid):
            packed(broken)


@pytest.mark.anyio
async def test_the_closest_of_many_are_found_and_what_is_far_is_not(tmp_path: Path) -> None:
    async with Store.open(tmp_path / "apx.db") as store:
        for n in range(200):
            await store.run("insert into facts (id, text, source, at) values (?, 'x', 'owner', '')", n + 1)
        vectors = Vectors(store)
        # The signs alone tell these apart from the one that is asked for.
        spread = {n + 1: [1.0 if n >> bit & 1 else -1.0 for bit in range(8)] for n in range(200)}
        await vectors.keep("m", spread.items())
        found = await vectors.nearest("m", spread[107], limit=3)
        assert found[0] == (107, pytest.approx(1))
        assert all(alike >= 0.75 for _, alike in found)
        assert await vectors.nearest("another", spread[107], limit=3) == []
        await store.run("update facts set forgotten_at = 'now' where id = 107")
        assert [one.id for one in await vectors.missing("m")] == []
        assert 107 not in dict(await vectors.nearest("m", spread[107], limit=3))


# In a turn


@pytest.mark.anyio
async def test_a_fact_without_a_word_in_common_is_found_by_its_meaning(here: House) -> None:
    dog = await keep(here, "Rex gets two meals a day.", Source.THIRD_PARTY)
    await keep(here, "The garage closes at eight.", Source.THIRD_PARTY)
    block, told = await asked(here, "When should I feed my puppy?")
    assert "somebody else" in block  # whose words it is stays with it
    assert '"Rex gets two meals a day."' in block
    assert "garage" not in block
    assert told == {
        "at": told["at"],
        "found_by": "meaning and words",
        "why": "",
        "target": MODEL,
        "facts": [dog],
    }


@pytest.mark.anyio
async def test_vectors_are_made_when_facts_are_written_and_are_paid_like_any_request(here: House) -> None:
    await keep(here, "Tea is at five.")
    await keep(here, "The car is blue.")
    assert [one.body["input"] for one in here.server.embedded] == [["Tea is at five."], ["The car is blue."]]
    rows = await history.recent(here.store, channel="memory")
    assert [(row.status, row.target) for row in rows] == [(Status.DONE, MODEL)] * 2
    (one,) = await spend(here.store, by="channel")
    assert (one.key, one.requests, one.tokens_in) == ("memory", 2, 6)
    status = await here.services[Embeddings].status()
    assert status == {"model": MODEL, "with_meaning": 2, "problem": ""}


@pytest.mark.anyio
@pytest.mark.parametrize(("kind", "why"), [("auth", "auth"), ("server", "server"), ("quota", "quota")])
async def test_a_failing_model_leaves_the_words_and_the_record_says_so(
    here: House, kind: str, why: str
) -> None:
    await keep(here, "Rex gets two meals a day.", Source.THIRD_PARTY)
    await here.services[Index].catch_up(here.store)
    here.server.embeds = lambda body: fault(kind)
    block, told = await asked(here, "How many meals does Rex get?")
    assert "Rex gets two meals" in block
    assert (told["found_by"], told["why"]) == ("words", why)
    later = await keep(here, "The car is blue.")
    assert (await here.services[Embeddings].status())["problem"]
    here.server.embeds = lambda body: Answer()
    await here.services[Embeddings].catch_up()  # nothing is lost by it
    assert (await here.services[Embeddings].status())["problem"] == ""
    _, told = await asked(here, "Where is my vehicle?")
    assert told["facts"] == [later]


@pytest.mark.anyio
async def test_a_question_does_not_wait_for_its_meaning(tmp_path: Path) -> None:
    async with knowing(tmp_path, patience_s=0.15) as here:
        here.server.embeds = lambda body: fault("hang")
        _, told = await asked(here, "How many meals does Rex get?")
        assert (told["found_by"], told["why"]) == ("words", "slow")


@pytest.mark.anyio
async def test_without_a_model_nothing_is_asked_and_nothing_is_recorded(here: House) -> None:
    await here.config.set({"memory.embeddings": ""})
    await keep(here, "Rex gets two meals a day.")
    _, told = await asked(here, "When should I feed my puppy?")
    assert (told, here.server.embedded) == ({}, [])


@pytest.mark.anyio
async def test_another_model_makes_its_own_vectors(here: House) -> None:
    await keep(here, "Rex gets two meals a day.")
    await here.config.set({"memory.embeddings": "standin:others"})
    await here.services[Embeddings].catch_up()
    assert [one.body["model"] for one in here.server.embedded] == ["meanings", "others"]
    rows = await here.store.all("select model from fact_vectors")
    assert [row["model"] for row in rows] == ["standin:others"]


@pytest.mark.anyio
async def test_what_is_local_is_not_sent_to_a_model_elsewhere(here: House) -> None:
    await here.config.set(
        {"memory.embeddings": "standin:meanings-cloud", "super_agent.model": "standin:small"}
    )
    run = await here.runner.run(turn("hello"))
    await keep(here, "Rex gets two meals a day.", run_id=run.id)
    await keep(here, "Written by hand.")  # the owner's model is local, so this stays, too
    _, told = await asked(here, "When should I feed my puppy?")
    assert (told["found_by"], told["why"]) == ("words", "local")
    assert here.server.embedded == []


@pytest.mark.anyio
async def test_a_cap_that_is_reached_leaves_the_words(here: House) -> None:
    await here.config.set({"budgets.day_usd": 0, "super_agent.model": "practice:rules"})
    await keep(here, "Rex gets two meals a day.")
    assert here.server.embedded == []
    assert "0.00" in str((await here.services[Embeddings].status())["problem"])


@pytest.mark.anyio
async def test_through_the_real_worker(tmp_path: Path) -> None:
    real = (sys.executable, "-m", "core.runs.llm_worker")
    async with asyncio.timeout(120), knowing(tmp_path, real) as here:
        dog = await keep(here, "Rex gets two meals a day.", Source.FILE)
        await keep(here, "The garage closes at eight.", Source.FILE)
        block, told = await asked(here, "When should I feed my puppy?")
        assert (told["found_by"], told["facts"]) == ("meaning and words", [dog])
        assert "(a file, " in block
        here.server.embeds = lambda body: fault("auth")
        _, told = await asked(here, "When should I feed my puppy?")
        assert told["why"] == "auth"
        assert "sk-standin" not in json.dumps(told)
