"""The owner's tools over a simulated phone: what they do is asked of the phone, what they say is read."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bridge.handset import Handset
from bridge.png import check
from bridge.simulator.casts import Author, empty
from bridge.simulator.phone import SimPhone
from bridge.tools import TOOLS, outline
from bridge.whatsapp_tools import DATA
from core.errors import ApxError, NotFound, PhoneUnreachable, Refused, Unavailable
from core.paths import Home
from core.runs.gate import Policy, Verdict, decide
from core.runs.turn import Run, Status, Turn
from core.tool import Context, Effect
from core.tools.pictures import keep
from tests.fakes.town import House, house

pytestmark = pytest.mark.anyio
BY_NAME = {tool.name: tool for tool in TOOLS}


def people() -> SimPhone:
    phone = empty("es")
    write = Author(phone)
    ana = phone.whatsapp.add("Ana", number="34600100201")
    write.said(ana, 90, "¿Qué tal?")
    write.said(ana, 80, "Todo bien", mine=True)
    write.waiting(ana, 9, "¿Vienes el viernes?")
    write.waiting(phone.whatsapp.add("", number="34600100105", saved=False), 5, "Hola, ¿precio?")
    write.said(phone.whatsapp.add("Beto", number="34600100203"), 300, "Nos vemos")
    return phone


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path, people(), whatsapp={"posture": "draft"}) as one:
        yield one


def context(home: House, run_id: str = "run_1") -> Context:
    app = home.app
    turn = Turn(text="", channel="api", thread="api:t", sender="owner")
    return Context(
        *(app.store, app.bus, app.home, app.config, app.identity, app.outbox, turn, run_id),
        services=app.services,
    )


async def call(home: House, name: str, *, run_id: str = "run_1", **args: Any) -> str:
    tool = BY_NAME[name]
    return await tool.run(tool.args.model_validate(args), context(home, run_id))


def test_every_tool_of_the_contract_is_there_with_its_effect() -> None:
    reading = "phone_state phone_screenshot phone_ui whatsapp_unread whatsapp_read whatsapp_last_round"
    effects = dict.fromkeys(reading.split(), Effect.READ)
    effects |= dict.fromkeys(["phone_tap", "phone_type", "phone_key", "phone_open"], Effect.DANGER)
    effects |= {"whatsapp_send": Effect.SEND, "whatsapp_round": Effect.WRITE}
    assert {tool.name: tool.effect for tool in TOOLS} == effects


def test_nothing_touches_the_phone_where_nobody_can_be_asked() -> None:
    for name in ("phone_tap", "phone_type", "phone_key", "phone_open", "whatsapp_send"):
        verdict = decide(BY_NAME[name], touches_credentials=False, policy=Policy("automatico"))
        assert verdict is Verdict.REFUSE, name


async def test_the_state_is_told_with_what_else_is_connected(home: House) -> None:
    said = await call(home, "phone_state")
    assert said.startswith("ready:")
    assert home.device.address in said
    assert "screen on" in said
    await home.app.config.set({"phone.serial": "other"})
    said = await call(home, "phone_state")
    assert said.startswith("other_phone:")
    assert f"not used: {home.device.address}" in said


async def test_a_screenshot_is_kept_and_not_sent(home: House) -> None:
    said = await call(home, "phone_screenshot")
    assert "not sent" in said
    (path,) = home.app.home.media_out.iterdir()
    assert str(path) in said
    assert path.stat().st_mode & 0o077 == 0
    assert check(path.read_bytes()).width == 1080
    assert await home.app.store.all("select * from media") == []
    assert home.bot.sent == []


async def test_asking_for_a_picture_takes_and_delivers_it(home: House) -> None:
    """The practice model joins the two tools as a model does."""
    from core.tools.owner import send_file

    if "send_file" not in home.app.tools.names():
        home.app.tools.add(send_file)
    turn = Turn(text="Mándame una captura del teléfono", channel="desktop", thread="desktop", sender="owner")
    run: Run = await home.app.runner.run(turn)
    assert run.status is Status.DONE, run.text
    assert [one.tool for one in run.calls] == ["phone_screenshot", "send_file"]
    (file,) = run.files
    assert file.mime == "image/png"
    assert file.name.startswith("phone_")


def test_pictures_of_one_second_do_not_replace_one_another(tmp_path: Path) -> None:
    home = Home(tmp_path)
    paths = {keep(home, bytes([n]), "phone") for n in range(3)}
    assert sorted(path.read_bytes() for path in paths) == [b"\0", b"\1", b"\2"]


async def test_the_screen_is_an_outline_that_says_it_is_data(home: House) -> None:
    home.phone.foreground = "com.whatsapp/.Main"
    said = await call(home, "phone_ui")
    first, *lines = said.splitlines()
    assert first.startswith("com.whatsapp, 1080x")
    assert DATA in first
    assert any('"Ana"' in line for line in lines)
    assert any("tap" in line for line in lines)
    assert len(lines) < 201


def test_a_password_is_not_read_aloud() -> None:
    from bridge.screen import parse

    xml = (
        '<hierarchy rotation="0"><node index="0" text="hunter2" resource-id="a:id/p" class="android.widget.EditText"'
        ' package="a" content-desc="" checkable="false" checked="false" clickable="true" enabled="true"'
        ' focusable="true" focused="true" scrollable="false" long-clickable="false" password="true"'
        ' selected="false" bounds="[0,0][10,10]" /></hierarchy>'
    )
    said = outline(parse(xml))
    assert "hunter2" not in said
    assert "[hidden]" in said


async def test_touching_typing_and_keys_reach_the_phone(home: House) -> None:
    await call(home, "phone_open")
    assert home.phone.in_front
    await call(home, "phone_tap", x=500, y=600)
    assert home.phone.touches[-1] == (500, 600)
    assert "HOME" in await call(home, "phone_key", key="HOME")
    assert not home.phone.in_front
    with pytest.raises(Refused):
        await call(home, "phone_type", text="café")
    for name, args in (("phone_tap", {"x": -1, "y": 0}), ("phone_key", {"key": "HOME; reboot"})):
        with pytest.raises(ValueError, match=name.removeprefix("phone_")[0]):
            BY_NAME[name].args.model_validate(args)


async def test_an_app_that_is_not_there_is_named(home: House) -> None:
    with pytest.raises(ApxError, match=r"org\.example\.nothing"):
        await call(home, "phone_open", app="org.example.nothing")


async def test_what_is_unread_is_listed_and_nothing_is_opened(home: House) -> None:
    said = await call(home, "whatsapp_unread")
    assert DATA in said
    assert "Ana (1 unread" in said
    assert "+34 600 100 105 (1 unread" in said
    assert "Beto" not in said
    assert home.phone.read_chats == []
    assert not home.phone.in_front


@pytest.mark.parametrize("named", ["Ana", "+34 600 100 201", "34600100201"])
async def test_a_chat_is_read_by_name_or_number(home: House, named: str) -> None:
    said = await call(home, "whatsapp_read", chat=named)
    assert "¿Vienes el viernes?" in said
    assert "owner: Todo bien" in said
    assert DATA in said
    assert not home.phone.in_front


async def test_a_chat_that_is_not_there_is_not_replaced_by_another(home: House) -> None:
    with pytest.raises(NotFound):
        await call(home, "whatsapp_send", chat="Zoe", text="hola")
    assert home.phone.sent == []


async def test_of_two_chats_with_one_name_none_is_guessed(home: House) -> None:
    for number in ("34600300301", "34600300302"):
        chat = home.phone.whatsapp.add("Alex", number=number)
        home.phone.receive(chat.id, "¿Dónde?")
    with pytest.raises(Refused, match="number"):
        await call(home, "whatsapp_send", chat="Alex", text="En casa")
    assert home.phone.sent == []


async def test_a_message_is_proven_and_on_record_and_not_repeated_in_its_run(home: House) -> None:
    for _ in range(2):
        said = await call(home, "whatsapp_send", chat="Ana", text="Sí, voy 🎉 $(reboot) %s")
    assert [(one.title, one.text) for one in home.phone.sent] == [("Ana", "Sí, voy 🎉 $(reboot) %s")]
    (row,) = await home.app.store.all("select state, recipient from outbox where channel = 'whatsapp'")
    assert (row["state"], row["recipient"]) == ("delivered", "34600100201")
    assert not home.phone.in_front
    assert said


async def test_a_round_can_be_asked_for_and_the_last_one_told(home: House) -> None:
    assert await call(home, "whatsapp_last_round") == "There has been no round yet."
    said = await call(home, "whatsapp_round")
    assert "Ana" in said
    assert DATA in said
    assert (await call(home, "whatsapp_last_round")).partition("Its report")[0] in said
    (alert,) = await home.app.store.all("select source from alerts")
    assert alert["source"] == "owner"
    assert len(home.bot.sent) == 1


async def test_a_phone_out_of_reach_is_said_and_not_guessed(home: House) -> None:
    await home.app.config.set({"phone.serial": ""})
    for name in ("phone_screenshot", "phone_ui", "whatsapp_unread"):
        with pytest.raises(PhoneUnreachable):
            await call(home, name)


async def test_without_a_phone_part_the_tools_say_so(home: House) -> None:
    ctx = context(home)
    ctx.services = {}
    for name in ("phone_state", "whatsapp_unread", "whatsapp_round"):
        tool = BY_NAME[name]
        with pytest.raises(Unavailable):
            await tool.run(tool.args(), ctx)


async def test_one_touch_waits_for_whoever_holds_the_phone(home: House) -> None:
    import asyncio

    hand: Handset = home.app.services[Handset]
    async with hand.held():
        touch = asyncio.create_task(call(home, "phone_tap", x=1, y=1))
        done, _ = await asyncio.wait({touch}, timeout=0.3)
        assert not done
    assert await touch == "Tapped at 1,1."
