"""`apx phone` and `apx round` as they are called: against the phone itself, and against a daemon that runs."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bridge.demo import Facts as DemoFacts
from bridge.demo import command, environment, furnish, judged
from bridge.narrated import narrated
from bridge.png import check
from bridge.round_verbs import replayed
from bridge.simulator.casts import empty
from core.paths import Home
from core.texts import catalogue, languages
from tests.fakes import daemon_process
from tests.fakes.daemon_process import announced, end, spawn
from tests.fakes.town import server_and_phone, settings

pytestmark = pytest.mark.anyio


class Place:
    """A home with a phone, and `apx` for it."""

    def __init__(self, home: Home, address: str) -> None:
        self.home, self.address = home, address

    async def apx(self, *args: str) -> subprocess.CompletedProcess[str]:
        return await asyncio.to_thread(daemon_process.apx, self.home.root, *args)

    async def data(self, *args: str, code: int = 0) -> Any:
        result = await self.apx(*args, "--json")
        assert result.returncode == code, result.stderr
        return json.loads(result.stdout)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Place]:
    phone = empty("en")
    phone.receive(phone.whatsapp.add("Ann", number="34600100201").id, "Are you coming on Friday?")
    async with server_and_phone(tmp_path, phone) as (port, device):
        home = Home(tmp_path / "home")
        home.make()
        config = settings(None, device.address, port, user={"language": "en"}, whatsapp={"posture": "draft"})
        home.config.write_text(json.dumps(config))
        yield Place(home, device.address)


async def test_the_phone_is_looked_at_with_no_app_running(here: Place, tmp_path: Path) -> None:
    shown = await here.data("phone", "status")
    assert (shown["state"], shown["serial"]) == ("ready", here.address)
    told = await here.apx("phone", "status")
    assert (told.returncode, told.stdout.startswith("✓ ")) == (0, True), told.stderr
    assert here.address in told.stdout
    picture = tmp_path / "screen.png"
    saved = await here.apx("phone", "screenshot", str(picture))
    assert (saved.returncode, saved.stdout.strip()) == (0, str(picture))
    assert check(picture.read_bytes()).width == 1080
    nowhere = await here.apx("phone", "screenshot", str(tmp_path / "no" / "x.png"))
    assert (nowhere.returncode, nowhere.stderr.count("\n")) == (1, 1)


async def test_a_phone_is_chosen_and_forgotten(here: Place) -> None:
    assert (await here.apx("phone", "use", "")).returncode == 0
    none = await here.apx("phone", "status")
    assert (none.returncode, "apx phone use" in none.stderr) == (3, True)
    wrong = await here.apx("phone", "use", "other")
    assert (wrong.returncode, here.address in wrong.stderr) == (1, True)
    assert (await here.data("phone", "use"))["state"] == "ready"  # the only one that is there
    connected = await here.apx("phone", "connect", here.address)
    assert (connected.returncode, "apx phone use" in connected.stderr) == (0, False)
    assert (await here.apx("phone", "connect", "nonsense")).returncode == 1
    assert (await here.apx("phone", "pair", "127.0.0.1:9", "123456")).returncode == 1
    assert (await here.apx("phone", "pair")).returncode == 2


async def test_rounds_without_an_app_are_read_and_not_started(here: Place) -> None:
    assert await here.data("round", "list") == []
    assert (await here.apx("round", "show")).returncode == 1
    for verb in (("round", "start"), ("phone", "watch")):
        refused = await here.apx(*verb)
        assert (refused.returncode, "apx daemon start" in refused.stderr) == (1, True)


async def test_a_round_is_started_watched_and_replayed(here: Place) -> None:
    daemon = spawn(here.home.root, "--port", "0")
    try:
        await asyncio.to_thread(announced, here.home.root, daemon.pid)
        watching = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", daemon_process.APX, "phone", "watch"),
            cwd=daemon_process.ROOT,
            env=daemon_process.environment(here.home.root),
            stdout=subprocess.PIPE,
        )
        assert watching.stdout is not None
        assert b"Phone:" in await watching.stdout.readline()
        whole = await here.data("round", "start", "--wait")
        seen = [(await watching.stdout.readline()).decode() for _ in range(4)]
        watching.send_signal(signal.SIGINT)
        assert await watching.wait() == 130
        assert any("A round begins" in line for line in seen)
        assert [chat["title"] for chat in whole["conversations"]] == ["Ann"]
        (listed,) = await here.data("round", "list")
        assert listed["id"] == whole["id"]
        shown = await here.apx("round", "show", whole["id"])
        assert "Are you coming on Friday?" in shown.stdout
        replay = await here.apx("round", "replay")
        assert ", draft]" in replay.stdout
        assert "practice:rules" in replay.stdout
        assert (await here.apx("round", "show", "rnd_none")).returncode == 1
    finally:
        errors = await asyncio.to_thread(end, daemon)
    assert errors == ""


def test_every_event_of_the_phone_has_its_line_and_the_others_none() -> None:
    chat = {"title": "Ann", "messages": 2, "decision": "reply", "outcome": "sent"}
    told = {
        "phone_state": {"state": "locked", "serial": "S"},
        "conversation_read": chat,
        "conversation_decided": chat,
        "alert_relayed": {"state": "absent"},
        "round_closed": {"conversations": 1},
        "alert_received": {},
        "round_started": {},
        "question_asked": {},
        "question_answered": {},
    }
    for lang in languages():
        assert all(narrated(name, data, lang) for name, data in told.items())
    assert narrated("said", {"text": "x"}, "en") is None


def test_a_replay_takes_a_round_that_is_not_over() -> None:
    found = {
        "id": "rnd_1", "state": "running", "started_at": "2026-01-01T10:00:00.000Z", "closed_at": None,
        "alerts": [{"received_at": "2026-01-01T09:59:58.000Z", "source": "http"}],
        "steps": [{"at": "2026-01-01T10:00:02.000Z", "name": "list_opened", "ms": 1500}],
        "conversations": [], "in_background": None,
    }  # fmt: skip
    lines = list(replayed(found, "en"))
    assert lines[1].startswith("   -2.0 s")
    assert "list_opened (1.5 s)" in lines[2]


def facts(**changes: Any) -> DemoFacts:
    sent = {"title": "Ann", "decision": "reply", "args": {"text": "Yes"}, "outcome": "sent"}
    values: dict[str, Any] = {
        "unread": ["Ann", "Bob"],
        "round": {"conversations": [sent], "in_background": True},
        "telegrams": ["Ann: “Yes”. Bob."],
        "typed": [("Ann", "Yes")],
        "in_background": True,
        "violations": [],
    }
    return DemoFacts(**(values | changes))


def test_the_demo_believes_nothing_that_it_has_not_seen() -> None:
    assert all(judged(facts()).values())
    wrong = {
        "all_named": {"unread": ["Ann", "Bob", "Eve"]},
        "one_telegram": {"telegrams": ["Ann: “Yes”. Bob.", "again"]},
        "truth": {"typed": [("Bob", "Yes")]},
        "no_harm": {"violations": ["long press on Ann"]},
        "background": {"in_background": False},
    }
    for name, changes in wrong.items():
        checks = judged(facts(**changes))
        assert [check for check, holds in checks.items() if not holds] == [name]
    assert not judged(facts(telegrams=[]))["one_telegram"]


def test_the_demo_takes_nothing_of_the_persons_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("APX_CONFIG", "ADB_SERVER_SOCKET", "ANDROID_SERIAL", "TELEGRAM_BOT_TOKEN"):
        monkeypatch.setenv(name, "x")
    home = Home(tmp_path / "h")
    furnish(home, "es", adb_port=5, address="127.0.0.1:6", api_base="http://127.0.0.1:7")
    env = environment(home, 5)
    foreign = {"APX_CONFIG", "ADB_SERVER_SOCKET", "ANDROID_SERIAL", "TELEGRAM_BOT_TOKEN"}
    assert not foreign & env.keys()
    assert env["APX_HOME"] == str(home.root)
    assert home.config.stat().st_mode & 0o077 == 0
    assert command(window=True)[-3:] == ["desktop.main", "--page", "rounds"]


def test_both_languages_have_every_text() -> None:
    english, spanish = (catalogue(lang).keys() for lang in ("en", "es"))
    for prefix in ("cli.phone", "cli.round", "cli.demo", "demo.", "watch.", "replay."):
        wanted = {key for key in english if key.startswith(prefix)}
        assert wanted
        assert wanted == {key for key in spanish if key.startswith(prefix)}
