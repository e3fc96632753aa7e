"""The phone against a simulated one behind a real adb server: what works, and each thing that goes wrong."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge import program
from bridge.adb import Adb
from bridge.faults import ServerDown, ShellFailed, TimedOut
from bridge.phone import Phone, Target
from bridge.png import BadPicture
from bridge.screen import Unreadable, same_text
from bridge.simulator.stage import SimDevice, adb_server, connect, simulated_phone
from core.errors import PhoneUnreachable, Unavailable

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def server(tmp_path_factory) -> AsyncIterator[Adb]:
    installed = await program.find()
    assert installed is not None
    async with adb_server(installed, tmp_path_factory.mktemp("adb")) as port:
        yield Adb("127.0.0.1", port)


@pytest.fixture
async def device(server) -> AsyncIterator[SimDevice]:
    async with simulated_phone() as device:
        await connect(server.port, device.address)
        yield device
        await server.disconnect(device.address)


@pytest.fixture
def phone(server, device) -> Phone:
    return Phone(server, Target(device.address))


async def test_a_visit_from_waking_to_home(phone, device):
    device.phone.sleep()
    assert (await phone.present()).state == "device"
    before = await phone.probe()
    assert (before.awake, before.keyguard, before.android) == (False, "swipe", 13)
    assert before.package_version == device.phone.installed["com.whatsapp"]
    await phone.unlock()
    await phone.launch()
    tree = await phone.wait_for(lambda tree: tree.has("fab"))
    assert tree.package == "com.whatsapp"
    assert tree.size == device.phone.size == (await phone.probe()).size
    shot = await phone.screenshot()
    assert (shot.width, shot.height) == device.phone.size
    await phone.home()
    assert not device.phone.in_front
    await phone.sleep()
    assert not device.phone.awake
    assert 26 not in device.phone.keys


async def test_what_is_typed_is_what_was_meant(phone, device):
    text = 'it\'s 100%sure; $HOME `id` #x ~ "q" \\ & | <a> %%s and a good deal more than forty letters'
    await phone.open_url("https://wa.me/5491155550101?text=")
    entry = (await phone.wait_for(lambda tree: tree.has("entry"))).find("entry")
    assert entry
    await phone.tap(*entry.center)
    await phone.text(text)
    entry = (await phone.tree()).find("entry")
    assert entry
    assert same_text(entry.text, text)
    await phone.close_keyboard()
    assert device.phone.keys[-1] == 111
    assert (await phone.tree()).has("entry")


async def test_a_link_carries_any_text(phone):
    await phone.open_url("https://wa.me/5491155550101?text=%C2%BFVa%3F%20%27%24HOME%27%20%F0%9F%98%80")
    tree = await phone.wait_for(lambda tree: tree.has("entry"))
    entry = tree.find("entry")
    assert entry
    assert same_text(entry.text, "¿Va? '$HOME' 😀")


async def test_a_locked_phone_stays_locked_and_can_still_leave_the_app(phone, device):
    await phone.launch()
    device.phone.keyguard = "secure"
    with pytest.raises(PhoneUnreachable) as error:
        await phone.unlock()
    assert error.value.state == "locked"
    assert device.phone.keyguard == "secure"
    await phone.home()
    assert not device.phone.in_front


async def test_the_keyboard_is_changed_and_an_unknown_one_noticed(phone, device):
    device.phone.install("com.android.adbkeyboard")
    owners = await phone.ime()
    assert owners
    await phone.set_ime("com.android.adbkeyboard/.AdbIME")
    assert device.phone.ime == "com.android.adbkeyboard/.AdbIME"
    await phone.set_ime(owners)
    assert device.phone.ime == owners
    with pytest.raises(ShellFailed, match="Unknown input method"):
        await Phone(phone._adb, phone.target, patience=0.05).set_ime("com.none/.Ime")


async def test_a_missing_app_is_said(phone, device):
    del device.phone.installed["com.whatsapp"], device.phone.apps["com.whatsapp"]
    assert (await phone.probe()).package_version is None
    for open_it in (phone.launch, lambda: phone.open_url("https://wa.me/1")):
        with pytest.raises(PhoneUnreachable) as error:
            await open_it()
        assert error.value.state == "whatsapp_missing"


# the connection


async def test_a_phone_that_does_not_let_us_in(server):
    async with simulated_phone() as device:
        device.faults.set("unauthorized")
        with pytest.raises(PhoneUnreachable) as error:
            await Phone(server, Target(device.address)).present()
        assert error.value.state == "unauthorized"
        await server.disconnect(device.address)


async def test_a_dropped_connection_is_made_again(phone, device):
    await device.drop()
    await device.stop()
    with pytest.raises(PhoneUnreachable) as error:
        await phone.probe()
    assert error.value.state in ("offline", "absent")
    with pytest.raises(PhoneUnreachable) as error:
        await phone.present()
    assert error.value.state == "absent"
    await device.start()
    await phone.present()
    assert (await phone.probe()).awake


async def test_another_phone_on_the_cable_is_never_used(server, device):
    with pytest.raises(PhoneUnreachable, match=device.address) as error:
        await Phone(server, Target("R5CT0000000")).present()
    assert error.value.state == "other_phone"
    assert device.phone.commands == []


async def test_a_network_that_vanishes_ends_at_the_deadline(server, device):
    await device.drop(fin=False)
    with pytest.raises(TimedOut) as error:
        await server.shell(device.address, "input tap 1 1", timeout_s=0.3)
    assert error.value.maybe_done


async def test_output_that_ends_with_the_connection_is_not_an_answer(server, device):
    device.faults.set("drop_mid_output", 20)
    with pytest.raises(PhoneUnreachable) as error:
        await server.shell(device.address, "dumpsys power")
    assert error.value.state in ("offline", "absent")


async def test_a_server_that_ends_takes_its_streams_along(tmp_path: Path):
    installed = await program.find()
    assert installed is not None
    async with simulated_phone() as device:
        async with adb_server(installed, tmp_path) as port:
            await connect(port, device.address)
            adb = Adb("127.0.0.1", port)
            tracking = adb.track()
            assert [one.serial for one in await anext(tracking)] == [device.address]
            following = adb.lines(device.address, "logcat -b events")
            await anext(following)
            device.phone.receive(device.phone.whatsapp.chats[0].id, "hola")
            async with asyncio.timeout(5):
                while "notification_enqueue" not in await anext(following):
                    pass
        with pytest.raises(ServerDown):
            await anext(tracking)
        await following.aclose()
        with pytest.raises(ServerDown):
            await adb.shell(device.address, "id")


async def test_tracking_sees_a_phone_come_and_go(server):
    async with simulated_phone() as device:
        tracking = server.track()
        await anext(tracking)
        await connect(server.port, device.address)
        async with asyncio.timeout(10):
            while (device.address, "device") not in [
                (one.serial, one.state) for one in await anext(tracking)
            ]:
                pass
            await server.disconnect(device.address)
            while device.address in [one.serial for one in await anext(tracking)]:
                pass
        await tracking.aclose()


# the shell


async def test_odd_shells_give_the_same_condition(phone, device):
    whole = await phone.probe()
    for fault, value in (
        ("crlf", True),
        ("no_shell_v2", True),
        ("stderr_mixed", True),
        ("exit_code_lies", True),
        ("command_not_found", "grep"),
        ("jitter", 0.02),
        ("output_flood", 300_000),
    ):
        device.faults.set(fault, value)
        if fault == "no_shell_v2":
            await device.drop()
            await phone.present()
        seen = await phone.probe()
        assert (seen.awake, seen.keyguard, seen.foreground, seen.size) == (
            whole.awake,
            whole.keyguard,
            whole.foreground,
            whole.size,
        ), fault
        device.faults.clear()


async def test_a_command_that_never_ends_is_given_up(server, device):
    device.faults.set("never_ends", "dumpsys")
    with pytest.raises(TimedOut):
        await server.shell(device.address, "dumpsys power", timeout_s=0.3)


async def test_forbidden_touches_name_the_switch(phone, device):
    for lies in (False, True):
        device.faults.set("inject_events")
        if lies:
            device.faults.set("exit_code_lies")
        with pytest.raises(PhoneUnreachable) as error:
            await phone.tap(10, 10)
        assert error.value.state == "input_forbidden"


# the tree


@pytest.mark.parametrize(
    "fault", ["null_root", "empty_dump", "killed", "not_idle", "truncated_xml", "stale_file", "late_write"]
)
async def test_a_dump_that_fails_once_or_twice_is_tried_again(phone, device, fault):
    await phone.launch()
    await phone.tree()
    await phone.home()
    device.faults.set(fault, times=2)
    tree = await phone.tree()
    assert tree.package != "com.whatsapp"  # never the screen of before
    assert device.faults.struck(fault) >= 1


@pytest.mark.parametrize("fault", ["null_root", "empty_dump", "killed", "truncated_xml", "stale_file"])
async def test_a_dump_that_keeps_failing_is_unreadable_and_never_empty(phone, device, fault):
    await phone.launch()
    await phone.tree()
    device.faults.set(fault)
    with pytest.raises(Unreadable):
        await phone.tree(deadline_s=0.4)


async def test_a_screen_without_rest_is_read_compressed(phone, device):
    await phone.launch()
    device.faults.set("not_idle")
    tree = await phone.tree()
    assert tree.reader == "compressed"
    assert tree.has("contact_row_container")


async def test_spoilt_trees_are_read_as_far_as_they_go(phone, device):
    await phone.launch()
    plain = await phone.tree()
    device.faults.set("glued_line")
    assert (await phone.tree()).signature == plain.signature
    device.faults.set("bad_characters")
    assert (await phone.tree()).degraded
    device.faults.clear()
    device.faults.set("offscreen_pages")
    assert len((await phone.tree()).all("contact_row_container")) == len(plain.all("contact_row_container"))
    device.faults.clear()
    device.faults.set("emoji_dots")
    titles = [node.text for node in plain.all("conversations_row_contact_name")]
    dotted = [node.text for node in (await phone.tree()).all("conversations_row_contact_name")]
    assert all(same_text(a, b) for a, b in zip(titles, dotted, strict=True))


@pytest.mark.parametrize("window", ["call", "permission", "chooser"])
async def test_a_window_on_top_is_told_by_its_package(phone, device, window):
    await phone.launch()
    device.faults.set("window_on_top", window)
    assert (await phone.tree()).package != "com.whatsapp"


# the picture


@pytest.mark.parametrize(
    ("fault", "error", "why"),
    [
        ("black_screenshot", Unavailable, "protects itself"),
        ("truncated_png", BadPicture, "cut off"),
        ("crlf_png", BadPicture, "line ends"),
        ("huge_screenshot", BadPicture, "no picture"),
    ],
)
async def test_a_picture_that_shows_nothing_is_an_error(phone, device, fault, error, why):
    device.faults.set(fault)
    with pytest.raises(error, match=why):
        await phone.screenshot()


async def test_a_picture_behind_a_warning_or_damaged_once_is_found(phone, device):
    device.faults.set("warning_before_png")
    device.faults.set("truncated_png", times=1)
    assert (await phone.screenshot()).height == 2400


async def test_a_dark_screen_has_no_picture(phone, device):
    device.phone.sleep()
    with pytest.raises(Unavailable, match="screen is off"):
        await phone.screenshot()
