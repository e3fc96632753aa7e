"""The intake keeps anything, answers the truth and tells once."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core import alerts
from core.errors import Invalid, NotFound
from core.events import AlertReceived, Bus
from core.store import Store, now

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with Store.open(tmp_path / "apx.db") as store:
        yield store


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def bus(told: list[str]) -> Bus:
    bus = Bus()
    bus.subscribe(AlertReceived, lambda event: told.append(event.alert_id))
    return bus


async def post(store: Store, bus: Bus, body: bytes = b"", **more: str) -> alerts.Accepted:
    return await alerts.accept(store, bus, project_id="default", body=body, **more)  # type: ignore[arg-type]


BODIES = [
    b'{"prompt": "7 new messages", "channel": "whatsapp"}',
    b'{"prompt": "he said "yes"\n", "channel": "whatsapp"',
    b"title=%evtprm3&text=%C3%B1",
    b"{not_title}",
    b"",
    b"\x00\x01 \xff\xfe raw",
    "👩‍👩‍👧 ñandú".encode(),
    b"[" * 30_000,
]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(
    "content_type", ["application/json", "text/plain; charset=latin-1", "", "x; charset=zip", "a\r\nb: c"]
)
async def test_any_body_is_kept_as_one_waiting_alert(
    store: Store, bus: Bus, told: list[str], body: bytes, content_type: str
) -> None:
    answer = await post(store, bus, body, content_type=content_type)
    alert = await alerts.find(store, answer.alert_id)
    assert (answer.status, answer.round_id, answer.replayed) == ("accepted", None, False)
    assert (alert.state, alert.truncated, "\0" in alert.body) == ("waiting", False, False)
    assert told == [answer.alert_id]


async def test_text_arrives_as_it_was_sent(store: Store, bus: Bus) -> None:
    answer = await post(store, bus, 'señal "100%" 👍\n$(x)'.encode())
    assert (await alerts.find(store, answer.alert_id)).body == 'señal "100%" 👍\n$(x)'


async def test_a_named_charset_is_followed(store: Store, bus: Bus) -> None:
    answer = await post(store, bus, "añó".encode("latin-1"), content_type="text/plain; charset=ISO-8859-1")
    assert (await alerts.find(store, answer.alert_id)).body == "añó"


async def test_what_is_over_64_kb_is_cut_between_characters_and_said(store: Store, bus: Bus) -> None:
    answer = await post(store, bus, b"x" + "ñ".encode() * 600_000)
    alert = await alerts.find(store, answer.alert_id)
    assert alert.truncated
    assert alert.body == "x" + "ñ" * 32_767


async def test_the_row_is_on_disk_before_anybody_hears_of_it(store: Store, tmp_path: Path) -> None:
    import sqlite3

    bus, seen = Bus(), []

    def look(event: AlertReceived) -> None:
        # Another connection sees only what has been committed.
        with sqlite3.connect(f"file:{tmp_path}/apx.db?mode=ro", uri=True) as db:
            seen.extend(db.execute("select id from alerts").fetchall())
        db.close()

    bus.subscribe(AlertReceived, look)
    answer = await post(store, bus, b"hello")
    assert seen == [(answer.alert_id,)]


async def test_the_same_key_is_the_same_alert_told_once(store: Store, bus: Bus, told: list[str]) -> None:
    answers = await asyncio.gather(*(post(store, bus, b"a", idempotency_key="k1") for _ in range(10)))
    assert {answer.alert_id for answer in answers} == {answers[0].alert_id}
    assert {answer.status for answer in answers} == {"accepted"}
    assert sum(answer.replayed for answer in answers) == 9
    assert told == [answers[0].alert_id]
    assert len(await alerts.recent(store)) == 1


async def test_keys_are_apart_between_projects_and_of_any_length(store: Store, bus: Bus) -> None:
    await store.run("insert into projects (id, name, created_at) values ('p2', 'two', ?)", now())
    first = await post(store, bus, idempotency_key="k")
    other = await alerts.accept(store, bus, project_id="p2", body=b"", idempotency_key="k")
    assert first.alert_id != other.alert_id
    long = [await post(store, bus, idempotency_key="k" * 100_000) for _ in range(2)]
    assert long[0].alert_id == long[1].alert_id
    blank = [await post(store, bus, idempotency_key=" ") for _ in range(2)]
    assert blank[0].alert_id != blank[1].alert_id


async def test_an_alert_behind_a_waiting_one_is_merged(store: Store, bus: Bus, told: list[str]) -> None:
    first, second = await post(store, bus, b"1"), await post(store, bus, b"2")
    assert (first.status, second.status, second.round_id) == ("accepted", "merged", None)
    assert told == [first.alert_id, second.alert_id]


async def test_an_alert_during_a_round_is_merged_and_names_it(store: Store, bus: Bus) -> None:
    await store.run(
        "insert into rounds (id, project_id, state, started_at) values ('rnd_1', 'default', 'running', ?)",
        now(),
    )
    answer = await post(store, bus, b"1", idempotency_key="k")
    again = await post(store, bus, b"1", idempotency_key="k")
    assert (answer.status, answer.round_id) == ("merged", "rnd_1")
    assert (again.status, again.alert_id) == ("merged", answer.alert_id)


async def test_an_unknown_project_keeps_nothing(store: Store, bus: Bus, told: list[str]) -> None:
    with pytest.raises(NotFound):
        await alerts.accept(store, bus, project_id="nope", body=b"")
    assert (await alerts.recent(store), told) == ([], [])


async def test_recent_is_newest_first_and_filtered(store: Store, bus: Bus) -> None:
    ids = [(await post(store, bus, b"", client_id=f"cli_{n % 2}")).alert_id for n in range(4)]
    await store.run("update alerts set state = 'worked' where id = ?", ids[0])
    assert [alert.id for alert in await alerts.recent(store, limit=2)] == ids[:1:-1]
    assert [alert.id for alert in await alerts.recent(store, client_id="cli_0")] == [ids[2], ids[0]]
    assert [alert.id for alert in await alerts.recent(store, state="worked")] == ids[:1]
    with pytest.raises(Invalid):
        await alerts.recent(store, state="nope")


async def test_somebody_elses_alert_is_not_found(store: Store, bus: Bus) -> None:
    answer = await post(store, bus, b"", client_id="cli_a")
    assert (await alerts.find(store, answer.alert_id, client_id="cli_a")).id == answer.alert_id
    for wrong in ("cli_b", ""):
        with pytest.raises(NotFound):
            await alerts.find(store, answer.alert_id, client_id=wrong)
