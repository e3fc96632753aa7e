"""The phone, against a server that answers as real phones did, kindly and not."""

import asyncio
import re
import struct
import zlib

import pytest

from bridge import probe
from bridge.faults import ShellFailed
from bridge.phone import Phone, Target, pieces, quote
from bridge.presence import is_address, is_remote, present
from bridge.reader import complaint
from bridge.screen import Unexpected, Unreadable
from core.errors import Invalid, PhoneUnreachable, Refused, Unavailable
from tests.fakes.adb_wire import AdbWire, Printed, fail, okay

pytestmark = pytest.mark.anyio

WINDOW = """
  mCurrentFocus=Window{a1b2c3 u0 com.whatsapp/com.whatsapp.home.ui.HomeActivity}
    KeyguardServiceDelegate
      showing=false
      secure=true
    mCurrentRotation=ROTATION_0
"""
REPORTS = {
    "dumpsys power": "  mWakefulness=Awake\n  mLastUserActivityTime=99 (4200 ms ago)\n",
    "dumpsys window": WINDOW,
    "dumpsys activity activities": "  topResumedActivity=ActivityRecord{1 u0 com.whatsapp/.Conversation}\n",
    "settings get secure default_input_method": "com.google.android.inputmethod.latin/com.android.LatinIME\n",
    "wm size": "Physical size: 1440x3168\nOverride size: 1080x2376\n",
    "am get-current-user": "0\n",
    "getprop ro.build.version.release": "13\n",
    "dumpsys package com.whatsapp": "    versionName=2.26.38.73\n    User 0: installed=true hidden=false\n",
    "dumpsys input_method": "  mInputShown=false\n",
}
SCREEN = (
    "<?xml version='1.0' ?><hierarchy rotation=\"0\"><node package='com.whatsapp' bounds='[0,0][1080,2376]'"
    " resource-id='com.whatsapp:id/fab'/></hierarchy>UI hierchary dumped to: /dev/tty\n"
)


class Script:
    """A phone's shell of few words: prefixes of commands and what they print; `;` works, pipes may."""

    def __init__(self) -> None:
        self.reports = dict(REPORTS)
        self.pipes = True
        self.ran: list[str] = []

    def __call__(self, line: str) -> Printed:
        out, err, code = "", "", 0
        for command in line.split("; "):
            said = self.one(command)
            out, err, code = out + said[0], err + said[1], said[2]
        return out.encode(), err.encode(), code

    def one(self, command: str) -> tuple[str, str, int]:
        if command.startswith("echo "):
            return command.removeprefix("echo ") + "\n", "", 0
        if " | " in command and not self.pipes:
            return "", "sh: no pipes\n", 2
        command, _, grep = command.partition(" | grep -E ")
        self.ran.append(command)
        said = next((text for start, text in self.reports.items() if command.startswith(start)), None)
        if said is None:
            return "", "", 0
        if grep:
            said = "".join(x + "\n" for x in said.splitlines() if re.search(grep.strip("'"), x))
        return said, "", 0


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def wire(script) -> AdbWire:
    return AdbWire(run=script)


@pytest.fixture
async def adb(wire):
    async with wire.serving() as adb:
        yield adb
        await wire.closed()


@pytest.fixture
def phone(adb) -> Phone:
    return Phone(adb, Target("PHONE"))


@pytest.fixture
def hasty(adb) -> Phone:
    """The same phone, waited for a twentieth of the time."""
    return Phone(adb, Target("PHONE"), patience=0.05)


# presence


async def test_the_pinned_phone_is_there(phone):
    assert (await phone.present()).properties["model"] == "m"


@pytest.mark.parametrize(
    ("devices", "state"),
    [
        ("", "absent"),
        ("OTHER device\n", "other_phone"),
        ("PHONE unauthorized\n", "unauthorized"),
        ("PHONE offline\n", "offline"),
        ("PHONE no permissions (udev?); see [http://x]\n", "no_permissions"),
        ("PHONE recovery\n", "offline"),
    ],
)
async def test_an_absence_says_which(wire, phone, devices, state):
    wire.devices = devices
    with pytest.raises(PhoneUnreachable, match="PHONE") as error:
        await phone.present()
    assert error.value.state == state


async def test_nothing_pinned_names_what_is_attached(adb):
    with pytest.raises(PhoneUnreachable, match="PHONE") as error:
        await Phone(adb, Target("")).present()
    assert error.value.state == "not_configured"


async def test_a_dropped_network_phone_is_forgotten_and_connected_once(wire, adb):
    wire.devices = "1.2.3.4:5555 offline\n"
    wire.raw["host:disconnect:1.2.3.4:5555"] = okay("disconnected")
    wire.raw["host:connect:1.2.3.4:5555"] = okay("failed to connect to 1.2.3.4:5555: No route to host")
    with pytest.raises(PhoneUnreachable) as error:
        await Phone(adb, Target("1.2.3.4:5555")).present()
    assert error.value.state == "offline"
    assert [request for request in wire.asked if "connect" in request] == [
        "host:disconnect:1.2.3.4:5555",
        "host:connect:1.2.3.4:5555",
    ]


async def test_a_server_that_notices_the_break_late_is_asked_again():
    address = "1.2.3.4:5555"

    class Late(AdbWire):
        async def _answer(self, request, reader, writer):
            if request == f"host:connect:{address}" and request in self.asked[:-1]:
                self.devices = f"{address} device\n"
            return await super()._answer(request, reader, writer)

    wire = Late(devices="", raw={f"host:connect:{address}": okay(f"already connected to {address}")})
    async with wire.serving() as adb:
        assert (await present(adb, address)).state == "device"


async def test_a_network_phone_that_does_not_answer_the_call_is_absent(wire, adb):
    wire.devices = ""
    wire.silent.add("host:connect:1.2.3.4:5555")
    with pytest.raises(PhoneUnreachable) as error:
        await present(adb, "1.2.3.4:5555", connect_s=0.1)
    assert error.value.state == "absent"


async def test_an_absent_network_phone_refused_by_its_key_is_unauthorized(wire, adb):
    wire.devices = ""
    wire.raw["host:connect:1.2.3.4:5555"] = okay("failed to authenticate to 1.2.3.4:5555")
    with pytest.raises(PhoneUnreachable) as error:
        await Phone(adb, Target("1.2.3.4:5555")).present()
    assert error.value.state == "unauthorized"


def test_kinds_of_serial():
    assert [is_address(x) for x in ("R5CT", "emulator-5554", "1.2.3.4:5", "phone.lan:41000", "[::1]:5")] == [
        False, False, True, True, True,
    ]  # fmt: skip
    assert [is_remote(x) for x in ("R5CT", "127.0.0.1:5", "localhost:5", "1.2.3.4:5", "phone.lan:5")] == [
        False, False, False, True, True,
    ]  # fmt: skip
    assert is_remote("adb-R5CT-abc._adb-tls-connect._tcp")


# condition


async def test_one_call_tells_the_whole_condition(wire, phone):
    assert await phone.probe() == probe.Condition(
        awake=True,
        keyguard="none",
        foreground="com.whatsapp",
        activity="com.whatsapp.home.ui.HomeActivity",
        ime="com.google.android.inputmethod.latin/com.android.LatinIME",
        rotation=0,
        size=(1080, 2376),
        user=0,
        package_version="2.26.38.73",
        android=13,
        idle_s=4.2,
    )
    assert len(wire.commands) == 1


async def test_a_shell_without_pipes_is_asked_for_whole_reports(script, phone):
    script.pipes = False
    condition = await phone.probe()
    assert (condition.awake, condition.keyguard, condition.package_version) == (True, "none", "2.26.38.73")


async def test_what_the_phone_does_not_say_stays_unknown(script, phone):
    script.reports.clear()
    script.reports["pm path"] = "package:/data/app/base.apk\n"
    assert await phone.probe() == probe.Condition()


@pytest.mark.parametrize(
    "said",
    ["Unable to find package: com.whatsapp\n", "User 0: installed=false hidden=false\n  versionName=2.26\n"],
)
async def test_an_app_that_is_not_installed_has_no_version(script, phone, said):
    script.reports["dumpsys package com.whatsapp"] = said
    assert (await phone.probe()).package_version is None


@pytest.mark.parametrize(
    ("window", "more", "kind"),
    [
        ("showing=false\nsecure=true", "", "none"),
        ("showing=true\n secure=false", "", "swipe"),
        ("showing=true\n secure=true", "", "secure"),
        ("mShowingLockscreen=true mSecure", "true\n", "swipe"),
        ("isKeyguardShowing=true", "false\nUser (id=0): trusted=0, deviceLocked=1", "secure"),
        ("mCurrentFocus=Window{1 u0 KeyguardBouncer}", "", "unknown"),
        ("mShowingDream=false", "", "unknown"),
    ],
)
def test_the_keyguard_in_the_words_of_different_androids(window, more, kind):
    assert probe.keyguard(window, more) == kind


def test_the_foreground_behind_shades_and_dialogs():
    resumed = "  mResumedActivity: ActivityRecord{7 u0 com.whatsapp/.Conversation t9}\n"
    front = ("com.whatsapp", "com.whatsapp.Conversation")
    assert probe.foreground("mCurrentFocus=Window{1 u0 NotificationShade}", resumed) == front
    assert probe.foreground("mCurrentFocus=Window{1 u0 Application Not Responding: x}", resumed) == front
    assert probe.foreground("mCurrentFocus=null\nmCurrentFocus=Window{1 u10 a.b/.C}") == ("a.b", "a.b.C")
    assert probe.foreground("mCurrentFocus=null", "") == (None, None)


def test_reports_that_are_read_word_by_word():
    assert [probe.awake(f"mWakefulness={x}") for x in ("Awake", "Asleep", "Dozing")] == [True, False, False]
    assert probe.awake("Display Power: state=ON") is True
    assert probe.awake("") is None
    assert [probe.rotation(x) for x in ("mRotation=1", "mCurrentRotation=ROTATION_270", "")] == [1, 3, None]
    assert probe.size("Physical size: 10x20") == (10, 20)
    assert probe.size("") is None
    assert probe.ime("null") is None
    assert probe.android("8.1.0") == 8


# power, lock, home


async def test_a_lit_screen_is_left_alone(script, phone):
    await phone.wake()
    assert not [command for command in script.ran if command.startswith("input")]


async def test_waking_uses_the_key_that_only_wakes(script, phone):
    script.reports["dumpsys power"] = "mWakefulness=Asleep\n"
    waking = phone.wake()
    task = asyncio.ensure_future(waking)
    while "input keyevent 224" not in script.ran:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    script.reports["dumpsys power"] = "mWakefulness=Awake\n"
    await task


async def test_a_secure_lock_is_not_touched(script, phone):
    script.reports["dumpsys window"] = "showing=true\nsecure=true\n"
    with pytest.raises(PhoneUnreachable) as error:
        await phone.unlock()
    assert error.value.state == "locked"
    assert not [command for command in script.ran if command.startswith(("input", "wm dismiss"))]


async def test_home_is_verified_and_an_app_that_stays_is_said(script, phone, hasty):
    script.reports["dumpsys window"] = "mCurrentFocus=Window{1 u0 com.launcher/.Home}\n"
    await phone.home()
    assert "input keyevent 3" in script.ran
    script.reports["dumpsys window"] = WINDOW
    with pytest.raises(PhoneUnreachable) as error:
        await hasty.home()
    assert error.value.state == "whatsapp_stuck"
    assert any("android.intent.category.HOME" in command for command in script.ran)


async def test_a_phone_that_does_not_tell_its_foreground_is_looked_at(script, phone):
    script.reports["dumpsys window"] = script.reports["dumpsys activity activities"] = "nothing\n"
    script.reports["uiautomator"] = SCREEN.replace("package='com.whatsapp'", "package='com.launcher'")
    await phone.home()


# touch


async def test_touches_are_plain_commands(script, phone):
    await phone.tap(3, 4)
    await phone.swipe(1, 2, 3, 4, 250)
    await phone.key("BACK")
    await phone.text("it's 100%sure; $HOME #x")
    assert script.ran == [
        "input tap 3 4",
        "input swipe 1 2 3 4 250",
        "input keyevent BACK",
        "input text 'it'\\''s 100%'",
        "input text 'sure",
        "$HOME #x'",
    ]  # the script splits at "; ", as no real shell would inside quotes


async def test_what_cannot_be_typed_is_refused_before_anything_is(script, phone):
    for text in ("ñ", "a\nb", "😀"):
        with pytest.raises(Refused):
            await phone.text(text)
    for code in ("BACK; reboot", "back", ""):
        with pytest.raises(Invalid):
            await phone.key(code)
    with pytest.raises(Invalid):
        await phone.set_ime("x; reboot")
    with pytest.raises(Invalid):
        await phone.open_url("https://wa.me/1?text=hola mundo")
    with pytest.raises(Invalid):
        Phone(phone._adb, Target("PHONE", package="com.whatsapp; reboot"))
    assert script.ran == []


def test_a_text_is_typed_in_pieces_without_the_spelling_of_a_space():
    text = "100%s of %%ss " * 9
    assert "".join(pieces(text)) == text
    assert not any("%s" in piece or len(piece) > 40 for piece in pieces(text))
    assert pieces("") == []
    assert quote("a'b") == "'a'\\''b'"
    with pytest.raises(Invalid):
        quote("a\0b")


@pytest.mark.parametrize(
    "said",
    [
        "java.lang.SecurityException: Injecting input events requires the INJECT_EVENTS permission.",
        "java.lang.SecurityException: Injecting to another application requires INJECT_EVENTS permission",
    ],
)
async def test_a_phone_that_forbids_touches_names_its_switch(script, phone, said):
    script.reports["input"] = said
    with pytest.raises(PhoneUnreachable, match=r"USB debugging \(Security settings\)") as error:
        await phone.tap(1, 1)
    assert error.value.state == "input_forbidden"


@pytest.mark.parametrize(
    "said", ["Error: Invalid arguments", "Exception occurred while executing 'text':\njava.lang.NullPointer"]
)
async def test_a_failure_with_exit_code_zero_is_a_failure(script, phone, said):
    script.reports["input"] = said
    with pytest.raises(ShellFailed):
        await phone.tap(1, 1)


# apps


async def test_the_app_is_launched_as_its_icon_would(script, phone):
    script.reports["cmd package resolve-activity"] = "priority=0 preferredOrder=0\ncom.whatsapp/.Main\n"
    await phone.launch()
    assert script.ran[-1].startswith("am start --user 0 -a android.intent.action.MAIN")
    assert script.ran[-1].endswith("-f 0x10200000 -n 'com.whatsapp/.Main'")


async def test_an_icon_that_cannot_be_resolved_is_launched_by_monkey(script, phone):
    script.reports["cmd package resolve-activity"] = "android/com.android.internal.app.ResolverActivity\n"
    script.reports["monkey"] = "Events injected: 1\n"
    await phone.launch()
    assert script.ran[-1].startswith("monkey -p com.whatsapp")


async def test_a_missing_app_is_said_as_such(script, phone):
    script.reports["cmd package resolve-activity"] = "No activity found\n"
    script.reports["monkey"] = "** No activities found to run, monkey aborted.\n"
    with pytest.raises(PhoneUnreachable) as error:
        await phone.launch()
    assert error.value.state == "whatsapp_missing"


async def test_a_link_goes_to_the_app_alone_and_quoted(script, phone):
    await phone.open_url("https://wa.me/5491100?text=a%20b&c=$HOME")
    assert script.ran == [
        "am start --user 0 -a android.intent.action.VIEW"
        " -d 'https://wa.me/5491100?text=a%20b&c=$HOME' -p com.whatsapp"
    ]
    script.reports["am start"] = "Error: Activity not started, unable to resolve Intent { act=VIEW }\n"
    script.reports["pm path"] = "package:/data/app/x.apk\n"
    with pytest.raises(ShellFailed):
        await phone.open_url("https://wa.me/1")


# the screen


async def test_the_tree_knows_its_window_and_its_way(script, phone):
    script.reports["uiautomator dump /dev/tty"] = SCREEN
    tree = await phone.tree()
    assert (tree.package, tree.reader, tree.ids) == ("com.whatsapp", "direct", ["fab"])


@pytest.mark.parametrize(
    "bad", ["ERROR: null root node returned by UiTestAutomationBridge.\n", "", "Killed\n", SCREEN[:120]]
)
async def test_a_way_that_fails_gives_place_to_the_next_which_is_remembered(script, phone, bad):
    script.reports["uiautomator dump /dev/tty"] = bad
    script.reports["cat"] = SCREEN
    assert (await phone.tree()).reader == "file"
    script.ran.clear()
    assert (await phone.tree()).reader == "file"
    assert not [command for command in script.ran if "/dev/tty" in command]


async def test_a_file_name_is_used_once_and_removed(script, phone):
    script.reports["cat"] = SCREEN
    first = await phone.tree()
    await phone.tree()
    dumped = [command.split()[-2] for command in script.ran if command.startswith("uiautomator dump /data")]
    removed = [command.split()[-1] for command in script.ran if command.startswith("rm -f")]
    assert first.reader == "file"
    assert len(set(dumped)) == 2
    assert dumped == removed


async def test_a_screen_that_never_rests_is_unreadable_with_the_phones_own_words(script, phone):
    script.reports["uiautomator"] = "ERROR: could not get idle state.\n"
    with pytest.raises(Unreadable, match="did not come to rest"):
        await phone.tree(deadline_s=0.5)


async def test_a_tree_printed_after_an_error_is_an_old_one(script, phone):
    script.reports["uiautomator"] = "ERROR: null root node returned by UiTestAutomationBridge.\n"
    script.reports["cat"] = SCREEN
    with pytest.raises(Unreadable, match="no window"):
        await phone.tree(deadline_s=4)


async def test_another_reader_of_the_screen_is_named(script, phone):
    script.reports["uiautomator"] = (
        "java.lang.IllegalStateException: UiAutomationService x already registered!\n"
    )
    script.reports["ps -A"] = "shell 1 2 app_process\nu0 3 4 com.x.instrument.runner\nu0 5 6 com.whatsapp\n"
    with pytest.raises(Unreadable, match=r"app_process, com\.x\.instrument\.runner"):
        await phone.tree(deadline_s=20)


async def test_a_phone_that_goes_away_is_not_an_unreadable_screen(wire, phone):
    wire.raw["host:transport:PHONE"] = fail("device offline")
    with pytest.raises(PhoneUnreachable):
        await phone.tree()


def test_every_complaint_has_words():
    assert "nothing" in complaint(" \n")
    assert "memory" in complaint("Killed\n")
    assert "strange" in complaint("something strange\nat x")


async def test_waiting_ends_with_the_screen_that_was_waited_for(script, phone):
    script.reports["uiautomator"] = SCREEN
    assert (await phone.wait_for(lambda tree: tree.has("fab"))).has("fab")


async def test_waiting_in_vain_says_what_was_seen_instead(script, phone):
    script.reports["uiautomator"] = SCREEN
    with pytest.raises(Unexpected, match=r"of com\.whatsapp: fab") as error:
        await phone.wait_for(lambda tree: tree.has("entry"), timeout_s=0.4)
    assert error.value.tree is not None
    script.reports["uiautomator"] = "Killed"
    with pytest.raises(Unexpected) as error:
        await phone.wait_for(lambda tree: True, timeout_s=0.2)
    assert error.value.tree is None


def picture(pixel: bytes) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = zlib.compress(b"".join(b"\0" + (pixel if row % 2 else b"\0\0\0\xff") * 8 for row in range(8)))
    head = struct.pack(">IIBBBBB", 8, 8, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


async def test_a_screenshot_is_a_picture_or_an_error(wire, phone):
    white, black = picture(b"\xff\xff\xff\xff"), picture(b"\0\0\0\xff")
    wire.raw["exec:screencap -p"] = b"OKAY[Warning] Multiple displays\n" + white
    shot = await phone.screenshot()
    assert (shot.width, shot.height, shot.data) == (8, 8, white)
    wire.raw["exec:screencap -p"] = b"OKAY" + black
    with pytest.raises(Unavailable, match="protects itself"):
        await phone.screenshot()
    wire.raw["exec:screencap -p"] = b"OKAY" + white[:-20]
    with pytest.raises(Unavailable, match="cut off"):
        await phone.screenshot()


async def test_a_dark_screen_is_said_to_be_off(wire, script, phone):
    script.reports["dumpsys power"] = "mWakefulness=Dozing\n"
    wire.raw["exec:screencap -p"] = b"OKAY" + picture(b"\0\0\0\xff")
    with pytest.raises(Unavailable, match="screen is off"):
        await phone.screenshot()


# the keyboard


async def test_the_keyboard_is_put_away_only_when_it_is_out(script, phone):
    await phone.close_keyboard()
    assert not [command for command in script.ran if command.startswith("input keyevent")]
    script.reports["dumpsys input_method"] = "  mInputShown=true\n"
    await phone.close_keyboard()
    assert script.ran[-1] == "input keyevent 111"


async def test_a_keyboard_that_was_not_set_is_noticed(script, phone, hasty):
    await phone.set_ime("com.google.android.inputmethod.latin/com.android.LatinIME")
    with pytest.raises(ShellFailed):
        await hasty.set_ime("com.other/.Ime")
