"""Agents as data, and who is meant by a name."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core import agents, icons, projects
from core.errors import Invalid, NotFound, Refused
from core.identity import Identity
from core.runs import peers
from core.store import Store

pytestmark = pytest.mark.anyio
NUBE = Identity(agent_name="Nubé")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with Store.open(tmp_path / "apx.db") as opened:
        (tmp_path / "shop").mkdir()
        await projects.add(opened, str(tmp_path / "shop"))
        yield opened


async def test_an_agent_gets_a_slug_and_a_face_that_nobody_of_its_project_wears(store: Store) -> None:
    first = await agents.add(store, "default", name="Análisis de  Cripto", taken=("noche",))
    second = await agents.add(store, "default", name="Other", taken=("noche",))
    assert (first.slug, first.name) == ("analisis-de-cripto", "Análisis de Cripto")
    assert len({first.icon, second.icon, "noche"}) == 3
    for n in range(len(icons.ICONS)):
        one = await agents.add(store, "default", name=f"n{n}", taken=("noche",))
        assert one.icon != "noche"
    assert [one.slug for one in await agents.listed(store, "shop")] == []


async def test_what_cannot_be_an_agent_is_told_in_a_sentence(store: Store) -> None:
    await agents.add(store, "default", name="Ana")
    with pytest.raises(Refused, match="has an agent 'ana' already"):
        await agents.add(store, "default", name="Ana")
    await agents.add(store, "shop", name="Ana")
    for bad in ({"name": " "}, {"name": "x", "slug": "super_agent"}, {"name": "x", "icon": "nope"}):
        with pytest.raises(Invalid):
            await agents.add(store, "default", **bad)
    with pytest.raises(NotFound, match="apx agent list"):
        await agents.remove(store, "default", "bob")
    assert (await agents.remove(store, "default", "ANA")).slug == "ana"


async def test_a_project_that_only_has_agents_can_be_forgotten_with_them(store: Store) -> None:
    await agents.add(store, "shop", name="Ana")
    await projects.remove(store, "shop")
    assert await agents.listed(store) == []


@pytest.mark.parametrize(
    "named", ["apx", "APX", "super-agent", "superagent", "default", "nube", "NUBÉ", "nube:x"]
)
async def test_every_alias_is_one_peer(store: Store, named: str) -> None:
    found = await peers.resolve(store, NUBE, named, "shop")
    assert (found.address, found.agent) == ("super_agent", None)
    assert (await peers.sender(store, NUBE, named, None)).address == "super_agent"


async def test_a_real_agent_wins_over_an_alias_in_its_own_project_only(store: Store) -> None:
    await agents.add(store, "shop", name="Nube")
    await agents.add(store, "shop", name="Helper", slug="apx")
    for named in ("nube", "apx"):
        assert (await peers.resolve(store, NUBE, named, "shop")).address == named
        assert (await peers.resolve(store, NUBE, named, "default")).address == "super_agent"


async def test_slug_comes_before_name_and_other_projects_last(store: Store) -> None:
    await agents.add(store, "default", name="Ana", slug="one")
    await agents.add(store, "default", name="Bob", slug="ana")
    await agents.add(store, "shop", name="Clara")
    await agents.add(store, "shop", name="One", slug="one")
    found = [await peers.resolve(store, NUBE, named, "default") for named in ("ANA", "bob", "Clará", "one")]
    assert [(one.address, one.project_id) for one in found] == [
        ("ana", "default"),
        ("ana", "default"),
        ("clara", "shop"),
        ("one", "default"),
    ]
    with pytest.raises(NotFound, match=r"nobody called 'zoe'.*ana, clara, one"):
        await peers.resolve(store, NUBE, "zoe", "default")


async def test_a_sender_of_several_projects_needs_one(store: Store) -> None:
    await agents.add(store, "default", name="Ana")
    await agents.add(store, "shop", name="Ana")
    with pytest.raises(Invalid, match="--project"):
        await peers.sender(store, NUBE, "ana", None)
    assert (await peers.sender(store, NUBE, "Ana", "shop")).project_id == "shop"
    unknown = await peers.sender(store, NUBE, "cron", None)
    assert (unknown.address, unknown.project_id, unknown.known) == ("cron", "default", False)


async def test_a_pair_has_one_thread_whoever_writes(store: Store) -> None:
    assert peers.thread("p", "b", "a") == peers.thread("p", "a", "b") == "a2a:p:a+b"
    assert peers.thread("p", "b", "a", "topic") == "a2a:p:a+b:topic"
