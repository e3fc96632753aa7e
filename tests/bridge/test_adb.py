"""The adb transport, against a server that misbehaves in every way real ones did."""

import asyncio
import socket
from contextlib import aclosing

import pytest

from bridge.adb import Adb, Device, Shell, parse_devices
from bridge.faults import NoServer, ServerDown, ServiceMissing, ShellFailed, TimedOut, for_state, meaning
from core.errors import Invalid, PhoneUnreachable
from tests.fakes.adb_wire import AdbWire, block, fail, frame, okay

pytestmark = pytest.mark.anyio


@pytest.fixture
def wire() -> AdbWire:
    return AdbWire()


@pytest.fixture
async def adb(wire):
    async with wire.serving() as adb:
        yield adb


async def test_version_and_devices_survive_packets_of_one_byte(wire, adb):
    wire.packet = 1
    wire.devices = "A device model:x\nB unauthorized\nC offline\n"
    assert await adb.version() == 41
    assert [device.state for device in await adb.devices()] == ["device", "unauthorized", "offline"]
    await wire.closed()


async def test_a_shell_tells_output_errors_and_exit_code_apart(wire, adb):
    wire.packet = 1
    wire.run = lambda command: (b"out\r\n", b"err", 3)
    assert await adb.shell("PHONE", "false") == Shell("out\n", "err", 3)
    await wire.closed()


async def test_a_phone_without_shell_v2_still_gives_its_exit_code(wire, adb):
    wire.features = "cmd"
    wire.run = lambda command: (b"exit-=1 is no mark\n", b"", 7)
    assert await adb.shell("PHONE", "false") == Shell("exit-=1 is no mark\n", "", 7)


async def test_a_server_that_knows_no_features_is_an_old_one(wire, adb):
    wire.raw["host-serial:PHONE:features"] = fail("unknown host service")
    wire.run = lambda command: (command.encode(), b"", 0)
    assert (await adb.shell("PHONE", "id")).stdout == "id"


async def test_a_phone_that_refuses_the_shell_v2_it_promised_is_asked_the_old_way(wire, adb):
    wire.raw["shell,v2,raw:id"] = fail("closed")
    wire.run = lambda command: (b"uid", b"", 0)
    assert await adb.shell("PHONE", "id") == Shell("uid", "", 0)


async def test_a_phone_that_refuses_both_shells_is_going_away(wire, adb):
    wire.raw["shell,v2,raw:id"] = fail("closed")
    wire.raw["host:transport:PHONE"] = fail("closed")
    with pytest.raises(ServiceMissing) as error:
        await adb.shell("PHONE", "id")
    assert error.value.state == "offline"


async def test_one_bad_byte_does_not_lose_the_rest(wire, adb):
    wire.run = lambda command: (b"a\xffb", b"", 0)
    assert (await adb.shell("PHONE", "x")).stdout == "a\ufffdb"


async def test_five_megabytes_arrive_whole(wire, adb):
    wire.run = lambda command: (b"x" * 5_000_000, b"", 0)
    assert len((await adb.shell("PHONE", "x")).stdout) == 5_000_000
    assert len(await adb.exec_out("PHONE", "x")) == 5_000_000


async def test_exec_out_leaves_every_byte_as_it_is(wire, adb):
    wire.run = lambda command: (bytes(range(256)) + b"\r\n", b"", 0)
    assert await adb.exec_out("PHONE", "screencap -p") == bytes(range(256)) + b"\r\n"
    assert wire.asked[-1] == "exec:screencap -p"


async def test_output_without_end_is_cut(wire, adb):
    wire.run = lambda command: (b"x" * 100_000, b"", 0)
    with pytest.raises(ShellFailed, match="more than"):
        await adb.exec_out("PHONE", "x", max_bytes=50_000)
    await wire.closed()


@pytest.mark.parametrize(
    "request_", ["host-serial:PHONE:features", "host:transport:PHONE", "shell,v2,raw:sleep"]
)
async def test_silence_at_any_step_ends_at_the_one_deadline_and_leaks_nothing(wire, adb, request_):
    wire.silent.add(request_)
    with pytest.raises(TimedOut) as error:
        await adb.shell("PHONE", "sleep", timeout_s=0.1)
    assert error.value.state == "timeout"
    assert error.value.maybe_done == (request_ == "shell,v2,raw:sleep")
    await wire.closed()


async def test_a_trickle_does_not_stretch_the_deadline(wire, adb):
    wire.packet = 1
    wire.run = lambda command: (b"x" * 2_000_000, b"", 0)
    with pytest.raises(TimedOut):
        await adb.shell("PHONE", "drip", timeout_s=0.3)
    await wire.closed()


async def test_a_cancelled_call_closes_its_connection(wire, adb):
    wire.silent.add("shell,v2,raw:sleep")
    task = asyncio.create_task(adb.shell("PHONE", "sleep", timeout_s=60))
    await wire.silence.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await wire.closed()


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("device 'PHONE' not found", "absent"),
        ("no devices/emulators found", "absent"),
        ("device offline", "offline"),
        ("device still connecting", "offline"),
        (
            "device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set\n" + "x" * 2000,
            "unauthorized",
        ),
        ("device still authorizing", "unauthorized"),
        (
            "insufficient permissions for device: user in plugdev group; are your udev rules wrong?",
            "no_permissions",
        ),
        ("more than one device/emulator", "other_phone"),
        ("some new complaint", "offline"),
    ],
)
async def test_a_refusal_says_which_absence_it_is(wire, adb, text, state):
    wire.raw["host:transport:PHONE"] = fail(text)
    with pytest.raises(PhoneUnreachable, match="PHONE") as error:
        await adb.shell("PHONE", "id")
    assert error.value.state == state
    await wire.closed()


async def test_no_server_is_said_as_such():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with pytest.raises(NoServer) as error:
        await Adb("127.0.0.1", port).version()
    assert error.value.state == "no_adb"


async def test_a_web_server_on_the_port_is_called_by_its_name(wire, adb):
    wire.greeting = b"HTTP/1.1 400 Bad Request\r\n\r\n"
    with pytest.raises(ServerDown, match="web server"):
        await adb.version()
    wire.greeting = b"SSH-2.0-x\r\n"
    with pytest.raises(ServerDown, match="another program"):
        await adb.devices()


async def test_rubbish_where_a_length_belongs_is_no_adb_server(wire, adb):
    wire.raw["host:version"] = b"OKAYwxyz"
    with pytest.raises(ServerDown, match="no sense"):
        await adb.version()
    wire.raw["host:version"] = okay("what?")
    with pytest.raises(ServerDown, match="not an adb server"):
        await adb.version()


async def test_a_server_that_hangs_up_at_once_is_not_believed(wire, adb):
    wire.raw["host:version"] = b""
    with pytest.raises(ServerDown, match="hung up"):
        await adb.version()


async def test_a_phone_that_drops_out_in_the_middle_is_offline_and_not_half_an_answer(wire, adb):
    wire.raw["shell,v2,raw:dumpsys"] = b"OKAY" + frame(1, b"half")
    with pytest.raises(PhoneUnreachable, match="middle") as error:
        await adb.shell("PHONE", "dumpsys")
    assert error.value.state == "offline"


async def test_a_replaced_server_is_noticed_when_a_stream_breaks(wire, adb):
    tracking = adb.track()
    assert [device.serial for device in await anext(tracking)] == ["PHONE"]
    wire.version = 40
    wire.hang_up()
    with pytest.raises(ServerDown, match="version 41, now 40"):
        await anext(tracking)


async def test_tracking_tells_each_change(wire, adb):
    async with aclosing(adb.track()) as tracking:
        await anext(tracking)
        wire.devices = "PHONE offline\n"
        wire.changed.set()
        assert await anext(tracking) == [Device("PHONE", "offline", {})]
    await wire.closed()


async def test_an_old_server_is_tracked_without_properties(wire, adb):
    wire.raw["host:track-devices-l"] = fail("unknown host service")
    async with aclosing(adb.track()) as tracking:
        assert [device.state for device in await anext(tracking)] == ["device"]
    assert wire.asked[-1] == "host:track-devices"


@pytest.mark.parametrize("said", ["connected to 127.0.0.1:5555", "already connected to 127.0.0.1:5555"])
async def test_connecting_believes_the_words(wire, adb, said):
    wire.raw["host:connect:127.0.0.1:5555"] = okay(said)
    await adb.connect("127.0.0.1:5555")


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ("failed to connect to '127.0.0.1:5555': Connection refused", "absent"),
        ("failed to authenticate to 127.0.0.1:5555", "unauthorized"),
    ],
)
async def test_connecting_does_not_believe_okay(wire, adb, said, state):
    wire.raw["host:connect:127.0.0.1:5555"] = okay(said)
    with pytest.raises(PhoneUnreachable, match=r"127\.0\.0\.1:5555") as error:
        await adb.connect("127.0.0.1:5555")
    assert error.value.state == state


async def test_an_address_cannot_carry_another_request(adb):
    with pytest.raises(Invalid, match="not an address"):
        await adb.connect("1.2.3.4:5\nhost:kill")


async def test_disconnecting_a_stranger_is_no_failure(wire, adb):
    wire.raw["host:disconnect:1.2.3.4:5"] = fail("no such device '1.2.3.4:5'")
    await adb.disconnect("1.2.3.4:5")


async def test_pairing_answers_the_name_of_the_phone(wire, adb):
    wire.raw["host:pair:123456:1.2.3.4:41000"] = okay(
        "Successfully paired to 1.2.3.4:41000 [guid=adb-XY-abc]"
    )
    assert await adb.pair("1.2.3.4:41000", "123456") == "adb-XY-abc"


async def test_a_wrong_pairing_code_is_said(wire, adb):
    wire.raw["host:pair:123456:1.2.3.4:41000"] = okay("Failed: Wrong password or connection was dropped.")
    with pytest.raises(PhoneUnreachable, match="did not accept the code"):
        await adb.pair("1.2.3.4:41000", "123456")
    with pytest.raises(Invalid):
        await adb.pair("1.2.3.4:41000", "12:34")


async def test_an_adb_that_cannot_pair_says_so(adb):
    with pytest.raises(ServiceMissing, match="too old"):
        await adb.pair("1.2.3.4:41000", "123456")


async def test_lines_come_as_they_are_printed(wire, adb):
    printed = frame(1, b"one\r\ntw") + frame(2, b"noise\n") + frame(1, b"o\xff\nrest") + frame(3, b"\0")
    wire.raw["shell,v2,raw:logcat"] = b"OKAY" + printed
    wire.packet = 1
    assert [line async for line in adb.lines("PHONE", "logcat")] == ["one", "two\ufffd", "rest"]
    await wire.closed()


async def test_lines_of_an_old_phone_and_a_broken_stream(wire, adb):
    wire.features = ""
    wire.raw["shell:logcat"] = b"OKAYone\r\ntwo"
    lines = adb.lines("PHONE", "logcat")
    assert await anext(lines) == "one"
    with pytest.raises(PhoneUnreachable, match="middle"):
        await anext(lines)


async def test_leaving_the_lines_early_closes_the_connection(wire, adb):
    wire.raw["shell,v2,raw:logcat"] = b"OKAY" + frame(1, b"one\ntwo\n")
    async with aclosing(adb.lines("PHONE", "logcat")) as lines:
        assert await anext(lines) == "one"
    await wire.closed()


async def test_reverse_waits_for_the_phones_own_answer(wire, adb):
    wire.raw["reverse:forward:tcp:7430;tcp:7430"] = b"OKAYOKAY"
    await adb.reverse("PHONE", "tcp:7430", "tcp:7430")
    wire.raw["reverse:forward:tcp:7430;tcp:7430"] = b"OKAY" + fail("cannot bind listener: Address in use")
    with pytest.raises(PhoneUnreachable, match="cannot bind"):
        await adb.reverse("PHONE", "tcp:7430", "tcp:7430")


async def test_a_command_beyond_the_protocols_length_is_refused_before_it_is_sent(adb):
    with pytest.raises(Invalid, match="too long"):
        await adb.shell("PHONE", "x" * 70_000)


async def test_the_device_list_is_read_in_all_its_forms():
    listed = parse_devices(
        "R5CT10ABCDE            device usb:1-2 product:p model:SM_G991B device:o1s transport_id:3\n"
        "192.168.1.20:41234\tdevice\n"
        "adb-R5CT-abc (2)._adb-tls-connect._tcp device product:p transport_id:9\n"
        "0123 no permissions (user in plugdev group; are your udev rules wrong?);"
        " see [http://developer.android.com/tools/device.html] usb:1-4\n"
        "emulator-5554   offline\n"
        "strange brandnew\n\n"
    )
    assert [(device.serial, device.state) for device in listed] == [
        ("R5CT10ABCDE", "device"),
        ("192.168.1.20:41234", "device"),
        ("adb-R5CT-abc (2)._adb-tls-connect._tcp", "device"),
        ("0123", "no permissions"),
        ("emulator-5554", "offline"),
        ("strange", "brandnew"),
    ]
    assert listed[0].properties["model"] == "SM_G991B"
    assert listed[3].properties == {"usb": "1-4"}


async def test_every_state_of_the_list_has_a_meaning():
    assert for_state("device", "X") is None
    states = {
        state: error.state
        for state in (
            "authorizing",
            "unauthorized",
            "offline",
            "connecting",
            "no permissions",
            "recovery",
            "new",
        )
        if (error := for_state(state, "X"))
    }
    assert states == {
        "authorizing": "unauthorized",
        "unauthorized": "unauthorized",
        "offline": "offline",
        "connecting": "offline",
        "no permissions": "no_permissions",
        "recovery": "offline",
        "new": "offline",
    }
    assert isinstance(meaning("unknown host service"), ServiceMissing)
    assert block("x") == b"0001x"
