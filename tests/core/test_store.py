"""Several statements in one trip are all or none, and readers of several questions see them whole."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from core.store import Store

pytestmark = pytest.mark.anyio
INSERT = "insert into cooldowns (target, why, since, until) values (?, ?, '', '')"


async def _targets(store: Store) -> list[str]:
    return [row["target"] for row in await store.all("select target from cooldowns order by target")]


async def test_statements_together_are_all_kept_or_none_is(tmp_path: Path) -> None:
    async with Store.open(tmp_path / "apx.db") as store:
        await store.together((INSERT, ("a", "1")), (INSERT, ("b", "2")))
        with pytest.raises(sqlite3.IntegrityError):
            await store.together((INSERT, ("c", "3")), (INSERT, ("a", "again")))
        assert await _targets(store) == ["a", "b"]
        await store.run(INSERT, "d", "4")  # nothing is left open behind a failure
        assert await _targets(store) == ["a", "b", "d"]
    async with Store.open(tmp_path / "apx.db") as store:
        assert await _targets(store) == ["a", "b", "d"]


async def test_statements_together_wait_for_a_transaction_and_do_not_join_it(tmp_path: Path) -> None:
    async with Store.open(tmp_path / "apx.db") as store:
        other: list[asyncio.Task[None]] = []

        async def fails() -> None:
            async with store.transaction() as db:
                await db.execute(INSERT, ("a", "1"))
                other.append(asyncio.create_task(store.together((INSERT, ("b", "2")))))
                await asyncio.sleep(0)
                raise RuntimeError

        with pytest.raises(RuntimeError):
            await fails()
        await other[0]
        assert await _targets(store) == ["b"]


async def test_statements_that_nobody_waits_for_any_more_are_not_kept(tmp_path: Path) -> None:
    async with Store.open(tmp_path / "apx.db") as store:
        held = asyncio.create_task(store.all("with recursive n(x) as (select 1 union all select x + 1 from n"
                                             " where x < 300000) select count(*) from n"))  # fmt: skip
        writing = asyncio.create_task(store.together((INSERT, ("a", "1"))))
        await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        await held
        assert await _targets(store) == []
        await store.together((INSERT, ("b", "2")))
        assert await _targets(store) == ["b"]


async def test_several_questions_are_answered_in_their_order(tmp_path: Path) -> None:
    async with Store.open(tmp_path / "apx.db") as store:
        await store.run(INSERT, "a", "1")
        named, none, count = await store.several(
            ("select target from cooldowns where why = ?", ("1",)),
            ("select target from cooldowns where why = ?", ("2",)),
            ("select count(*) as many from cooldowns", ()),
        )
        assert ([row["target"] for row in named], none, count[0]["many"]) == (["a"], [], 1)
