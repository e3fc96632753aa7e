"""What a bot meets, one row at a time: the line to the server (15-18, 27, 29, 30). Each test is named by its row.

What a row needs besides is shown by tests with names of their own:

    15  test_what_waited_while_the_app_was_off_is_one_question, test_an_old_command_is_not_carried_out_and_that_is_said
    16  test_another_poller_is_named_and_left_room, test_one_bot_is_asked_by_one_channel_and_every_other_says_why
    17  test_a_poll_that_fails_or_hangs_is_followed_by_one_that_works
"""

import asyncio
import os
import re
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bridge.simulator.bot_api import bot_api
from bridge.simulator.bot_faults import Fault, conflict, failing, hang
from core.api.doctor import Level, examine
from core.channels import telegram_poll
from core.channels.telegram_desk import status, unhook
from core.channels.telegram_lock import BotLock, folder
from core.channels.telegram_menu import menu, slug
from core.channels.telegram_wire import BotError, Route, connected
from core.errors import NotConfigured
from core.events import ChannelState
from core.outbox import Message
from core.watchdog import Watchdog
from tests.core.telegram_kit import FAST, OWNER, TOKEN, desk, talking

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parent.parent.parent
HASTY = replace(FAST, poll_s=0.2, slack_s=0.1)


def ages(hours: float) -> int:
    return int(time.time() - hours * 3600)


async def test_row_15_what_waited_is_one_question_with_one_answer_however_much_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telegram_poll, "BATCH", 25)  # more waits than one answer of the server holds
    async with bot_api(TOKEN) as api:
        for n in range(40):
            await api.say(OWNER, OWNER, f"line {n}", date=ages(3))
        async with desk(tmp_path, api) as one:
            await api.until(lambda: len(api.sent) == 2)
            await one.until_states(*["done"] * 40)
            (turn,) = one.runner.turns
            assert turn.text == "\n".join(f"line {n}" for n in range(40))
            assert turn.context_note.count("had to wait") == 1
            assert one.texts()[0].startswith("40 messages waited since")
            assert one.texts()[1].startswith("echo line 0")


# 16: one poller


async def test_row_16_a_bot_that_another_process_has_is_left_to_it_and_it_is_said_to_which(
    tmp_path: Path,
) -> None:
    async with bot_api(TOKEN) as api:
        async with desk(tmp_path / "a", api) as first:
            await first.until(lambda: "online" in first.told())
            async with desk(tmp_path / "b", api) as second:
                await second.until(second.told)
                assert second.told() == ["conflict"]
                detail = second.seen(ChannelState)[0].detail
                assert f"Process {os.getpid()} on this computer" in detail
                assert str(tmp_path / "a") in detail
                (row,) = await status(second.app)
                assert (row["state"], row["detail"]) == ("conflict", detail)
                (check,) = [one for one in await examine(second.app) if one.name == "telegram"]
                assert (check.level, check.remedy) == (Level.FAIL, detail)
                assert await first.ask("hola") == "echo hola"
                assert len(second.runner.turns) == 0
                first.app.bus.subscribe(ChannelState, first.events.append)
                await first.app.config.set({"telegram.enabled": False})
                await second.until(lambda: second.told()[-1] == "online")
                assert await second.ask("and you?") == "echo and you?"
        assert [
            path for path in folder(tmp_path).glob("telegram-*.lock") if str(os.getpid()) in path.read_text()
        ] == []


HOLDING = """
import sys, time
from pathlib import Path
from core.channels.telegram_lock import BotLock
assert BotLock(Path(sys.argv[1])).take("http://x", 5) is None
print("held", flush=True)
time.sleep(600)
"""


async def test_row_16_a_lock_ends_with_its_process_and_is_for_one_bot_at_one_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HOLDING, "/home/ana/.apx"), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"held\n"
    mine, other = BotLock(tmp_path), BotLock(tmp_path)
    holder = mine.take("http://x/", 5)
    assert holder is not None
    assert (holder.pid, holder.home) == (process.pid, "/home/ana/.apx")
    assert other.take("http://x", 6) is None
    assert BotLock(tmp_path).take("http://y", 5) is None
    (name,) = {path.name for path in (tmp_path / "apx").iterdir() if str(process.pid) in path.read_text()}
    assert re.fullmatch(r"telegram-[0-9a-f]{16}\.lock", name)
    process.kill()
    await process.wait()
    assert mine.take("http://x", 5) is None
    assert mine.take("http://x", 5) is None  # what one has, one has
    refused = BotLock(tmp_path).take("http://x", 5)
    assert refused is not None
    assert refused.pid == os.getpid()
    mine.release()
    other.release()
    assert name not in {path.name for path in (tmp_path / "apx").iterdir()}


def test_row_16_a_folder_that_others_could_write_to_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "apx").mkdir(mode=0o777)
    (tmp_path / "apx").chmod(0o777)
    assert folder(tmp_path / "home") == tmp_path / "home"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "none"))
    assert folder(tmp_path / "home") == tmp_path / "home"


async def test_row_16_a_conflict_is_waited_out_and_not_polled_against(tmp_path: Path) -> None:
    async with bot_api(TOKEN) as api:
        api.script("getUpdates", *[conflict()] * 50)
        async with desk(tmp_path, api, timing=replace(FAST, conflict_s=600)) as one:
            await one.until(one.told)
            assert one.told() == ["conflict"]
            detail = one.seen(ChannelState)[0].detail
            assert "Another program asks this bot too" in detail
            assert "@BotFather" in detail
            assert await one.app.outbox.wait(
                await one.app.outbox.post(Message(channel="telegram", text="goes out")), 30
            )
            assert len(one.asked("getUpdates")) == 1


async def test_row_16_a_web_address_is_named_without_its_secret_and_the_bot_is_taken_back(
    tmp_path: Path,
) -> None:
    async with bot_api(TOKEN) as api:
        api.webhook = "https://hooks.example.org/secret-4711"
        async with desk(tmp_path, api) as one:
            await one.until(one.told)
            detail = one.seen(ChannelState)[0].detail
            assert "hooks.example.org" in detail
            assert "4711" not in detail
            assert "apx telegram unhook" in detail
            with pytest.raises(NotConfigured):
                await unhook(one.app, "other")
            await unhook(one.app)
            await one.until(lambda: one.told()[-1] == "online")
            assert one.asked("deleteWebhook")[0]["drop_pending_updates"] == "false"


async def test_row_16_a_poll_of_our_own_that_the_server_still_holds_is_no_conflict(tmp_path: Path) -> None:
    async with bot_api(TOKEN) as api:
        api.script("getUpdates", hang(), conflict(), conflict())
        async with desk(tmp_path, api, timing=replace(FAST, poll_s=0.5, slack_s=0.1)) as one:
            await one.until(lambda: "online" in one.told())
            assert one.told() == ["offline", "online"]


# 17: silence


async def test_row_17_a_server_that_never_answers_is_given_up_visibly_and_heard_again(tmp_path: Path) -> None:
    async with bot_api(TOKEN) as api:
        api.script("getUpdates", *[hang()] * 5)
        async with desk(tmp_path, api, timing=HASTY) as one:
            await one.until(lambda: "failed" in one.told())
            assert one.told() == ["offline", "failed"]
            failed = one.seen(ChannelState)[1]
            assert "3 new connections did not help" in failed.detail
            assert "start the app again" in failed.detail
            assert len(one.asked("getUpdates")) >= 4
            (check,) = [one for one in await examine(one.app) if one.name == "telegram"]
            assert (check.level, check.remedy) == (Level.FAIL, failed.detail)
            await one.until(lambda: one.told()[-1] == "online")  # the app stayed, and so did its patience
            assert await one.ask("hola") == "echo hola"
            (row,) = await status(one.app)
            assert row["age_s"] >= 0
            (check,) = [one for one in await examine(one.app) if one.name == "telegram"]
            assert (check.level, "apx_demo_bot" in check.text) == (Level.OK, True)


async def test_row_17_what_waits_and_does_not_come_is_a_reason_for_a_new_connection(tmp_path: Path) -> None:
    async with bot_api(TOKEN) as api:
        real = api._getUpdates

        async def empty(_: Any) -> Any:
            return []

        api._getUpdates = empty  # type: ignore[method-assign]
        await api.say(OWNER, OWNER, "are you deaf?")
        async with desk(tmp_path, api, timing=replace(HASTY, witness_s=0.0)) as one:
            await one.until(lambda: "offline" in one.told())
            assert len(one.asked("getWebhookInfo")) == 2
            api._getUpdates = real  # type: ignore[method-assign]
            await api.until(lambda: api.sent)
            assert one.texts() == ["echo are you deaf?"]


FAILING = """
import asyncio
from contextlib import asynccontextmanager
import bridge.main
from core.events import ChannelState

@asynccontextmanager
async def failing(app):
    event = ChannelState(channel="telegram:main", state="failed", detail="Telegram does not answer.")
    timer = asyncio.get_running_loop().call_later(0.05, app.bus.emit, event)
    yield
    timer.cancel()

bridge.main.parts = lambda: (failing,)
bridge.main.daemon([])
"""


async def test_row_17_a_daemon_that_somebody_supervises_leaves_with_75_and_the_reason(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", FAILING),
        cwd=ROOT,
        env={**os.environ, "APX_HOME": str(tmp_path)},
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        _, said = await process.communicate()
    assert process.returncode == 75
    assert b"Telegram does not answer." in said
    assert b"Traceback" not in said


# 18: a loop that stands still


def stands_still(seconds: float) -> None:
    time.sleep(seconds)


async def test_row_18_a_loop_that_stands_still_is_noticed_from_outside_with_the_place(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Watchdog(lag_s=0.1, every_s=0.01).open() as watch:
        await asyncio.sleep(0.05)
        assert watch.last is None
        stands_still(0.5)
        while watch.last is None:  # noqa: ASYNC110 - another thread says it
            await asyncio.sleep(0.01)
        assert watch.last.where.startswith("test_telegram_rows_line.py:")
        assert watch.last.where.endswith(" stands_still")
    assert "The loop has stood still" in caplog.text
    assert "stands_still(0.5)" in caplog.text


async def test_row_18_the_doctor_names_a_stall(tmp_path: Path) -> None:
    async with talking(tmp_path) as one, Watchdog(lag_s=0.05, every_s=0.01).open() as watch:
        one.app.services[Watchdog] = watch
        await asyncio.sleep(0.05)
        stands_still(0.3)
        while watch.last is None:  # noqa: ASYNC110 - another thread says it
            await asyncio.sleep(0.01)
        (check,) = [one for one in await examine(one.app) if one.name == "loop"]
        assert check.level is Level.WARN
        assert "stands_still" in check.remedy


# 27 and 30: the menu


def test_row_27_a_menu_is_short_and_its_names_are_commands() -> None:
    known = [(f"Übung-{n} x", "Tells " + "the weather " * 20) for n in range(150)]
    made = menu("en", [*known, ("stop", "not ours"), ("日本", "no name"), ("week-plan", "")])
    assert len(made) == 60
    assert [one["command"] for one in made[:3]] == ["stop", "new", "help"]
    assert len({one["command"] for one in made}) == 60
    for one in made:
        assert re.fullmatch(r"[a-z0-9_]{1,32}", one["command"])
        assert 1 <= len(one["description"]) <= 60
    assert (slug("week-plan"), slug("日本"), len(slug("x" * 90))) == ("week_plan", "", 32)
    assert menu("es", [])[0]["description"] != menu("en", [])[0]["description"]


def skill(home: Path, name: str) -> None:
    (home / "skills" / name).mkdir(parents=True)
    (home / "skills" / name / "SKILL.md").write_text(
        f"---\nname: {name}\ndescription: About {name}.\n---\nDo it.\n"
    )


async def test_row_27_the_menu_is_published_when_it_changed_and_a_skill_is_called_by_its_command(
    tmp_path: Path,
) -> None:
    for n in range(150):
        skill(tmp_path, f"a-skill-{n}")
    async with bot_api(TOKEN) as api:
        async with desk(tmp_path, api) as one:
            await api.until(lambda: api.commands)
            assert len(api.commands) == 60
            assert await one.ask("/a_skill_10 in Quito") == "echo /a_skill_10 in Quito"
            assert "the skill a-skill-10" in one.runner.turns[0].context_note
            origin = {"type": "hidden_user", "sender_user_name": "Eve", "date": 1}
            await one.ask("/a_skill_10", forward_origin=origin)
            assert "the skill" not in one.runner.turns[1].context_note
            asked = len(one.asked("setMyCommands"))
        async with desk(tmp_path, api) as one:
            await one.ask("hola")
            assert len(one.asked("setMyCommands")) == asked == 1
            await one.app.config.set({"user.language": "es"})
            await one.app.config.set({"telegram.channels.0.project": "other"})
        async with desk(tmp_path, api, **{"user.language": "es"}) as one:
            await api.until(lambda: len(one.asked("setMyCommands")) == 2)


@pytest.mark.parametrize("fault", [hang(), failing(500), Fault(400, "Bad Request: BOT_COMMANDS_TOO_MUCH")])
async def test_row_30_a_menu_that_is_not_taken_holds_up_nothing_and_is_offered_again(
    tmp_path: Path, fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    async with bot_api(TOKEN) as api:
        api.script("setMyCommands", fault)
        async with desk(tmp_path, api, timing=replace(FAST, aside_s=0.2)) as one:
            await api.until(lambda: one.asked("setMyCommands"))
            assert await one.ask("hola") == "echo hola"
            assert one.asked("deleteWebhook") == []
            methods = [call.method for call in api.calls]
            assert methods.index("getUpdates") < methods.index("setMyCommands")
            await one.until(lambda: "The menu of commands stays" in caplog.text)
            assert api.commands == []
        async with desk(tmp_path, api):
            await api.until(lambda: api.commands)


# 29: which way


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The name bot.test: whoever takes any family is led to ::1, where nobody listens. The families that were asked."""
    asked: list[int] = []
    real: Callable[..., Any] = socket.getaddrinfo

    def look_up(host: Any, port: Any, family: int = 0, *args: Any, **more: Any) -> Any:
        if host not in {"bot.test", b"bot.test"}:
            return real(host, port, family, *args, **more)
        asked.append(family)
        if family == socket.AF_INET:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
        return [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", port, 0, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return asked


async def test_row_29_a_host_that_is_reached_by_ipv4_alone_is_found_and_remembered(names: list[int]) -> None:
    async with bot_api(TOKEN) as api:
        base, route = api.base_url.replace("127.0.0.1", "bot.test"), Route()
        for _ in range(2):
            line = connected(TOKEN, base, poll_s=1, slack_s=1, route=route)
            assert (await line.call("getMe"))["id"] == 123456
            assert route.ipv4
            await line.hang_up()
        assert [family == socket.AF_INET for family in names] == [False, True, True]
        assert len(api.calls) == 2


async def test_row_29_where_neither_way_leads_there_nothing_was_sent(names: list[int]) -> None:
    async with bot_api(TOKEN) as api:
        base = api.base_url.replace("127.0.0.1", "bot.test")
    for route in (Route(), Route(ipv4=True)):
        line = connected(TOKEN, base, poll_s=1, slack_s=1, route=route)
        with pytest.raises(BotError) as error:
            await line.call("getMe")
        assert (error.value.status, error.value.effect) == (0, False)
        await line.hang_up()
