"""The database's scripts: each is applied once, also one whose number is below another that came before it."""

from pathlib import Path

import pytest

from core import store
from core.store import Store

pytestmark = pytest.mark.anyio


async def test_a_script_with_a_lower_number_that_comes_later_is_applied_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "SCHEMA", tmp_path)
    (tmp_path / "001_start.sql").write_text("create table one (x);")
    (tmp_path / "040_late.sql").write_text("create table late (x);")
    async with Store.open(tmp_path / "a.db"):
        pass
    (tmp_path / "031_between.sql").write_text("create table between_them (x);")
    for _ in range(2):
        async with Store.open(tmp_path / "a.db") as db:
            assert await db.all("select * from between_them") == []
            assert [row["number"] for row in await db.all("select * from scripts")] == [1, 31, 40]
            version = await db.one("pragma user_version")
            assert version is not None
            assert version[0] == 40


async def test_a_database_from_before_the_list_keeps_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "SCHEMA", tmp_path)
    (tmp_path / "001_start.sql").write_text("create table one (x);")
    async with Store.open(tmp_path / "a.db") as db:
        await db.run("drop table scripts")
    async with Store.open(tmp_path / "a.db") as db:
        assert [row["number"] for row in await db.all("select * from scripts")] == [1]
