"""Replays end after the owner's days; what stays of a round is a line, and its codes are covered."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bridge import retention, view
from bridge.retention import covered, due
from bridge.simulator.casts import Author, empty
from bridge.simulator.phone import SimPhone
from core.app import App
from core.paths import Home
from tests.fakes.town import house, server_and_phone, settings

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
CODE = "482 913"


def test_what_is_due_is_closed_and_older_than_the_days() -> None:
    def ago(**span: float) -> str:
        return (NOW - timedelta(**span)).isoformat(timespec="milliseconds")

    rounds = [("a", ago(days=8)), ("b", ago(days=6, hours=23)), ("c", None), ("d", ago(days=7, seconds=1))]
    assert due(rounds, NOW, 7) == ["a", "d"]
    assert due(rounds, NOW, 0) == ["a", "b", "d"]
    assert due([], NOW, 7) == []


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("your code is 482913", "your code is ••••••"),
        ("see you at 18:30", "see you at 18:30"),
        (
            '{"text": "your code is 482913", "to": "482913"}',
            '{"text": "your code is ••••••", "to": "482913"}',
        ),
        ('{"a": 1}', '{"a": 1}'),
        ("", ""),
        ("482913", "••••••"),
    ],
)
def test_codes_are_covered_and_json_stays_json(text: str, after: str) -> None:
    assert covered(text, frozenset()) == after


def a_town() -> SimPhone:
    phone = empty("es")
    write = Author(phone)
    write.waiting(phone.whatsapp.add("Ana", number="34600100201"), 9, "Hola")
    bank = phone.whatsapp.add("Banco Solar", number="34600100202")
    write.waiting(bank, 5, f"Banco Solar: tu código de verificación es {CODE}.")
    return phone


TABLES = ("phone_messages", "round_steps", "run_steps")


async def counts(app: App) -> dict[str, int]:
    return {name: (await app.store.one(f"select count(*) from {name}") or [0])[0] for name in TABLES}


@pytest.mark.anyio
async def test_steps_and_messages_go_and_the_line_stays_without_codes(tmp_path: Path) -> None:
    async with house(tmp_path, a_town()) as home:
        text = await home.round()
        assert CODE in text
        store = home.app.store
        round_id = (await store.one("select id from rounds") or [""])[0]
        assert all((await counts(home.app)).values())
        assert await retention.purge(store, datetime.now(UTC), 7) == 0
        assert all((await counts(home.app)).values())
        later = datetime.now(UTC) + timedelta(days=8)
        assert await retention.purge(store, later, 7) == 1
        assert await counts(home.app) == dict.fromkeys(TABLES, 0)
        whole = await view.whole(store, round_id, reveal=True)
        assert whole is not None
        assert whole["replay_ended_at"]
        assert {chat["title"] for chat in whole["conversations"]} == {"Ana", "Banco Solar"}
        assert "Banco Solar" in whole["report"]["text"]
        kept = json.dumps(whole, ensure_ascii=False)
        for table in ("outbox", "outbox_parts", "questions", "alerts", "runs", "conversations"):
            kept += json.dumps([tuple(row) for row in await store.all(f"select * from {table}")])
        assert CODE not in kept
        assert "482913" not in kept
        assert await retention.purge(store, later, 7) == 0  # once


@pytest.mark.anyio
async def test_a_run_of_the_owner_keeps_its_steps(tmp_path: Path) -> None:
    async with house(tmp_path, a_town()) as home:
        from core.runs.turn import Turn

        run = await home.app.runner.run(Turn(text="hola", channel="desktop", thread="d", sender="owner"))
        await home.round()
        await retention.purge(home.app.store, datetime.now(UTC) + timedelta(days=9), 7)
        rows = await home.app.store.all("select distinct run_id from run_steps")
        assert [row["run_id"] for row in rows] == [run.id]


@pytest.mark.anyio
async def test_the_worker_of_rounds_does_it_when_the_app_starts(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.make()
    async with App.open(home) as app:
        old = (datetime.now(UTC) - timedelta(days=30)).isoformat(timespec="milliseconds")
        await app.store.run(
            "insert into rounds (id, project_id, state, started_at, closed_at) values ('r', 'default', 'closed', ?, ?)",
            *(old, old),
        )
        await app.store.run(
            "insert into round_steps (round_id, at, name) values ('r', ?, 'list_opened')", old
        )
    from bridge.parts import phone

    async with server_and_phone(tmp_path, empty("es")) as (port, device):
        home.config.write_text(json.dumps(settings(None, device.address, port)), "utf-8")
        async with App.open(home, [phone]) as app:
            async with asyncio.timeout(30):
                while await app.store.one("select 1 from round_steps"):  # noqa: ASYNC110 it tells nobody
                    await asyncio.sleep(0.01)
            row = await app.store.one("select replay_ended_at from rounds")
            assert row is not None
            assert row["replay_ended_at"]
