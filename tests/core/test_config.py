"""The configuration and the identity: live, all or nothing, and every mistake named with its key and line."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.config import Config
from core.errors import Invalid
from core.events import Bus, ConfigChanged, ConfigRejected, Event, IdentityChanged
from core.identity import IdentityFile
from core.paths import Home

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.make()
    return home


@asynccontextmanager
async def told(bus: Bus, kind: type[Event]) -> AsyncIterator[list[Event]]:
    """What is told of this kind, once something has been."""
    found: list[Event] = []
    some = asyncio.Event()

    def tell(event: Event) -> None:
        found.append(event)
        some.set()

    leave = bus.subscribe(kind, tell)
    yield found
    await asyncio.wait_for(some.wait(), 20)
    leave()


async def test_an_edit_from_outside_is_taken_and_told(home: Home) -> None:
    bus = Bus()
    config = Config(home, bus)
    async with config.followed(), told(bus, ConfigChanged) as events:
        home.config.write_text('{"super_agent": {"icon": "menta"}}')
    assert config.now.super_agent.icon == "menta"
    assert [event.keys for event in events if isinstance(event, ConfigChanged)] == [("super_agent.icon",)]


async def test_a_broken_edit_is_named_with_its_line_and_the_last_good_stays(home: Home) -> None:
    home.config.write_text('{"super_agent": {"icon": "menta"}}')
    bus = Bus()
    config = Config(home, bus)
    async with config.followed(), told(bus, ConfigRejected) as events:
        home.config.write_text('{\n "super_agent": {\n  "icn": "sol"\n }\n}')
    assert config.now.super_agent.icon == "menta"
    assert "config.json line 3: super_agent.icn: this key does not exist" in (config.problem or "")
    assert len(events) == 1
    with pytest.raises(Invalid, match="Nothing was changed"):
        await config.set({"port": 7431})


async def test_a_wrong_value_changes_nothing(home: Home) -> None:
    config = Config(home, Bus())
    with pytest.raises(Invalid, match=r"port.*Nothing was changed"):
        await config.set({"super_agent.icon": "sol", "port": "many"})
    assert config.now.super_agent.icon == "noche"
    assert not home.config.exists()


async def test_a_secret_is_shown_as_a_marker_that_keeps_it(home: Home) -> None:
    config = Config(home, Bus())
    channel = {"name": "default", "bot_token": "123456:abcdefghijkl"}
    await config.set({"telegram.channels": [channel]})
    shown = config.shown()["telegram"]["channels"]
    assert shown[0]["bot_token"] == "••••ijkl"
    await config.set({"telegram.channels": shown})
    assert config.now.telegram.channels[0].bot_token == channel["bot_token"]


async def test_an_identity_edited_outside_is_told_and_a_broken_one_is_not_lost(home: Home) -> None:
    bus = Bus()
    identity = IdentityFile(home, bus, Config(home, bus))
    async with identity.followed(), told(bus, IdentityChanged):
        home.identity.write_text('{"agent_name": "Ada"}')
    assert identity.now.agent_name == "Ada"
    home.identity.write_text("{broken")
    again = IdentityFile(home, bus, Config(home, bus))
    assert again.now.agent_name == "APX"
    assert [path.read_text() for path in home.root.glob("identity.json.broken-*")] == ["{broken"]


async def test_the_file_is_the_owners_alone_whatever_it_was_before(home: Home) -> None:
    home.config.write_text('{"engines": {"standin": {"api_key": "sk-0123456789"}}}')
    home.config.chmod(0o644)
    config = Config(home, Bus())
    await config.set({"user.language": "es"})
    assert home.config.stat().st_mode & 0o777 == 0o600
    # One leaf was written; the others are as they were.
    assert config.now.engines["standin"].api_key
    assert [one.name for one in home.root.iterdir() if "config" in one.name] == ["config.json"]


def test_a_test_that_names_no_home_has_an_empty_one_of_its_own() -> None:
    home = Home.find()
    assert home.root != Path.home() / ".apx"
    assert list(home.root.iterdir()) == []
