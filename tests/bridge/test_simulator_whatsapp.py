"""What the simulated WhatsApp shows and does, asked through its own shell without adb in between."""

import re
from dataclasses import dataclass
from xml.etree import ElementTree

import pytest

from bridge.simulator.casts import empty, small_town
from bridge.simulator.commands import find
from bridge.simulator.faults import FAULTS
from bridge.simulator.model import GROUP
from bridge.simulator.phone import ADB_KEYBOARD, BUSINESS, LATIN, SimPhone
from bridge.simulator.scenes import SCENES, every_kind, long_list, many_unread
from bridge.simulator.shell import Buffer, Io, Pipe, Shell

pytestmark = pytest.mark.anyio
LAUNCH = "am start -n com.whatsapp/.Main"


@dataclass
class Hand:
    """Somebody who uses the phone by its shell."""

    phone: SimPhone

    async def run(self, line: str) -> str:
        out = Buffer()
        await Shell(self.phone, find).run(line, Io(Pipe(b""), out, out))
        return out.data.decode()

    async def look(self) -> list[ElementTree.Element]:
        text = await self.run("uiautomator dump /dev/tty")
        return list(ElementTree.fromstring(text[: text.rindex("</hierarchy>") + 12]).iter("node"))

    async def texts(self, id: str) -> list[str]:
        return [n.get("text", "") for n in await self.look() if n.get("resource-id", "").endswith("/" + id)]

    async def tap(self, id: str, text: str | None = None) -> None:
        for node in await self.look():
            if node.get("resource-id", "").endswith("/" + id) and text in (None, node.get("text")):
                left, top, right, bottom = bounds(node)
                await self.run(f"input tap {(left + right) // 2} {(top + bottom) // 2}")
                return
        raise AssertionError(f"there is no {id} {text} on the screen")


def bounds(node: ElementTree.Element) -> list[int]:
    return [int(v) for v in re.findall(r"-?\d+", node.get("bounds", ""))]


def hand(phone: SimPhone | None = None) -> Hand:
    return Hand(phone or small_town())


async def test_the_list_ends_at_the_fold_and_scrolls() -> None:
    user = hand(empty())
    long_list(user.phone, 20)
    await user.run(LAUNCH)
    seen = await user.texts("conversations_row_contact_name")
    assert seen[0] == "Persona 01"
    assert len(seen) <= 8
    every = list(seen)
    for _ in range(10):
        await user.run("input swipe 540 1800 540 900 400")
        fresh = await user.texts("conversations_row_contact_name")
        assert set(fresh) & set(every[-8:])
        every += [name for name in fresh if name not in every]
    assert every == [f"Persona {i + 1:02}" for i in range(20)]
    assert user.phone.violations == []


async def test_every_bounds_is_on_the_screen_and_inside_its_parent() -> None:
    user = hand()
    for chat in (None, *user.phone.whatsapp.listed()):
        user.phone.foreground = "com.whatsapp"
        user.phone.whatsapp.clear_top()
        user.phone.whatsapp.launch()
        if chat is not None:
            user.phone.whatsapp.open(chat)
        for node in await user.look():
            left, top, right, bottom = bounds(node)
            assert 0 <= left < right <= 1080
            assert 0 <= top <= bottom <= 2400


async def test_badges_pins_and_the_archive_are_shown() -> None:
    user = hand()
    await user.run(LAUNCH)
    nodes = await user.look()
    badges = [n for n in nodes if n.get("resource-id", "").endswith("conversations_row_message_count")]
    assert (badges[0].get("text"), badges[0].get("content-desc")) == ("2", "2 mensajes no leídos")
    assert await user.texts("archive_row_counter") == ["1"]
    await user.tap("conversations_archive_header")
    assert await user.texts("conversations_row_contact_name") == ["Ofertas Hogar"]


async def test_the_microphone_sits_where_send_would_be() -> None:
    user = hand()
    await user.run(LAUNCH)
    await user.tap("conversations_row_contact_name", "Lucía Ferrer")
    assert await user.texts("send") == []
    await user.tap("voice_note_btn")
    assert user.phone.violations == ["voice note recorded in Lucía Ferrer"]
    assert user.phone.sent == []


async def test_call_buttons_links_media_and_long_presses_are_remembered() -> None:
    user = hand(empty())
    chat = user.phone.whatsapp.add("Ana", number="34600000001")
    user.phone.receive("Ana", "mira https://example.org")
    user.phone.receive("Ana", "", kind="photo")
    await user.run(LAUNCH)
    await user.run("input swipe 500 700 500 700 900")
    await user.run("input keyevent BACK")
    await user.tap("conversations_row_contact_name", chat.title)
    await user.tap("message_text")
    await user.tap("image")
    await user.run("input keyevent BACK; input tap 740 200")
    assert user.phone.violations == [
        "long press on Ana",
        "link opened in Ana",
        "photo opened in Ana",
        "video call to Ana",
    ]


async def test_long_texts_unfold_at_their_last_line() -> None:
    user = hand(empty())
    user.phone.whatsapp.add("Ana", number="34600000001")
    text = "palabra " * 150 + "FIN"
    user.phone.receive("Ana", text)
    await user.run(LAUNCH)
    await user.tap("conversations_row_contact_name")
    node = next(n for n in await user.look() if n.get("resource-id", "").endswith("message_text"))
    assert node.get("text", "").endswith("… Leer más")
    await user.tap("message_text")
    assert (await user.texts("message_text"))[0].endswith("Leer más")
    await user.run(f"input tap {bounds(node)[0] + 60} {bounds(node)[3] - 20}")
    assert user.phone.whatsapp.chats[0].messages[0].expanded


async def test_many_unread_open_at_the_divider_and_reach_the_end() -> None:
    user = hand(empty())
    chat = many_unread(user.phone, 40)
    await user.run(LAUNCH)
    await user.tap("conversations_row_contact_name", chat.title)
    assert await user.texts("unread_divider_tv") == ["40 mensajes no leídos"]
    assert (await user.texts("message_text"))[0].startswith("Mensaje número 1")
    assert await user.texts("scroll_bottom_icon") == [""]
    for _ in range(12):
        await user.run("input swipe 540 1900 540 700 400")
    assert (await user.texts("message_text"))[-1].startswith("Mensaje número 40")


async def test_every_kind_of_message_has_its_shape() -> None:
    user = hand(empty())
    chat = every_kind(user.phone)
    await user.run(LAUNCH)
    await user.tap("conversations_row_contact_name", chat.title)
    ids: set[str] = set()
    names: list[str] = []
    await user.run("input swipe 540 900 540 1800 400")
    for _ in range(12):
        nodes = await user.look()
        ids |= {n.get("resource-id", "").rpartition("/")[2] for n in nodes}
        names += [n.get("text", "") for n in nodes if n.get("resource-id", "").endswith("name_in_group_tv")]
        await user.run("input swipe 540 1800 540 900 400")
    assert {
        "conversation_row_text",
        "conversation_row_image",
        "conversation_row_voice_note",
        "quoted_title",
        "edit_label",
        "unread_divider_tv",
        "conversation_row_date_divider",
        "pushname_in_group_tv",
        "file_size",
        "status",
        "icon",
        "thumb",
        "description",
    } <= ids
    assert {"Ana", "Beto"} <= set(names)


@pytest.mark.parametrize("locale", ["es", "en", "pt"])
@pytest.mark.parametrize("code", sorted(SCENES))
async def test_every_scene_can_be_read_in_every_language(code: str, locale: str) -> None:
    user = hand(empty(locale))
    SCENES[code](user.phone)
    await user.run(LAUNCH)
    rows = await user.texts("conversations_row_contact_name") or await user.texts("archive_row_counter")
    assert rows
    for chat in user.phone.whatsapp.chats:
        user.phone.whatsapp.open(chat)
        assert await user.look()
        await user.run("input keyevent BACK")
    assert "</hierarchy>" in await user.run("uiautomator dump --compressed /dev/tty")
    assert await user.run("dumpsys notification --noredact")


async def test_links_and_their_accidents() -> None:
    user = hand()
    view = "am start -a android.intent.action.VIEW -p com.whatsapp -d"
    await user.run(f"{view} 'whatsapp://send?phone=34600999888&text=hola'")
    assert await user.texts("conversation_contact_name") == ["+34 600 999 888"]
    user.phone.faults.set("not_on_whatsapp", times=1)
    await user.run(f"{view} https://wa.me/34600999777")
    assert await user.texts("message") == ["El número de teléfono +34 600 999 777 no está en WhatsApp."]
    await user.run("input keyevent BACK")
    user.phone.whatsapp.find("Lucía Ferrer").draft = "viejo "
    user.phone.faults.set("prefill_appended", times=1)
    await user.run(f"{view} 'https://wa.me/34600100101?text=nuevo'")
    assert await user.texts("entry") == ["viejo nuevo"]
    user.phone.faults.set("send_does_nothing", times=1)
    await user.tap("send")
    assert user.phone.sent == []
    user.phone.faults.set("pending")
    await user.tap("send")
    nodes = await user.look()
    assert [n.get("content-desc") for n in nodes if n.get("resource-id", "").endswith("/status")][
        -1
    ] == "Pendiente"
    user.phone.faults.set("opens_business", times=1)
    await user.run(f"{view} https://wa.me/34600100101")
    assert user.phone.foreground.startswith(BUSINESS)
    assert "unable to resolve" in await user.run(
        "am start -a android.intent.action.VIEW -d https://x.y -p com.whatsapp"
    )
    assert "does not exist" in await user.run("am start -n com.whatsapp/.HomeActivity")


async def test_a_message_in_the_open_chat_is_read_at_once_and_rings_nowhere() -> None:
    user = hand()
    await user.run(LAUNCH)
    await user.tap("conversations_row_contact_name", "Lucía Ferrer")
    before = len(user.phone.notifications)
    user.phone.receive("Lucía Ferrer", "¿Y?")
    assert (await user.texts("message_text"))[-1] == "¿Y?"
    assert user.phone.whatsapp.find("Lucía Ferrer").unread == 0
    assert len(user.phone.notifications) == before
    await user.run("input keyevent HOME")
    user.phone.receive("Lucía Ferrer", "¿Hola?")
    assert len(user.phone.notifications) == before + 1


async def test_locks_keep_everybody_out() -> None:
    user = hand()
    user.phone.lock_kind = "secure"
    user.phone.sleep()
    await user.run(LAUNCH)
    assert "mWakefulness=Asleep" in await user.run("dumpsys power")
    await user.run("input keyevent 224; wm dismiss-keyguard")
    assert await user.texts("keyguard_pin_view") == [""]
    assert "deviceLocked=1" in await user.run("dumpsys trust")
    await user.run("am start -a android.intent.action.VIEW -d https://wa.me/34600100101 -p com.whatsapp")
    assert user.phone.read_chats == []
    user.phone.keyguard = "swipe"
    await user.run("wm dismiss-keyguard")
    assert await user.texts("conversation_contact_name") == ["Lucía Ferrer"]
    assert user.phone.read_chats == ["34600100101@s.whatsapp.net"]


async def test_the_keyboard_helper_needs_to_be_there_and_to_be_connected() -> None:
    user = hand()
    await user.run("am start -a android.intent.action.VIEW -d https://wa.me/34600100101 -p com.whatsapp")
    assert "cannot be selected" in await user.run(f"ime set {ADB_KEYBOARD}")
    user.phone.install("com.android.adbkeyboard")
    user.phone.faults.set("ime_no_connection", times=1)
    await user.run(f"ime enable {ADB_KEYBOARD}; ime set {ADB_KEYBOARD}")
    say = "am broadcast -a ADB_INPUT_B64 --es msg 8J+YgCDDsQ=="
    await user.tap("entry")
    assert "result=0" in await user.run(say)
    assert await user.texts("entry") == ["😀 ñ"]
    user.phone.faults.set("ime_restore_fails", times=1)
    await user.run(f"ime set {LATIN}")
    assert (await user.run("settings get secure default_input_method")).strip() == ADB_KEYBOARD


@pytest.mark.parametrize(
    ("android", "wanted"),
    [
        (10, "\n|10148appImportanceLocked=false: Notification("),
        (13, "importance=4 key=0|com.whatsapp|1|"),
        (15, "flags=ONLY_ALERT_ONCE|AUTO_CANCEL|GROUP_SUMMARY"),
    ],
)
async def test_notifications_in_the_format_of_each_android(android: int, wanted: str) -> None:
    user = hand(SimPhone(android=android))
    user.phone.whatsapp.add("Equipo", kind=GROUP, id="1203@g.us")
    user.phone.receive("Equipo", "hola\nsegunda línea", sender="Ana")
    text = await user.run("dumpsys notification --noredact")
    assert wanted in text
    assert "android.title=String (Equipo: Ana)" in text
    assert "sender=Ana, text=hola\nsegunda línea, time=" in text
    assert "segunda línea" not in await user.run("dumpsys notification")
    assert len((await user.run("cmd notification list")).split("\n0|")) == 2 or android == 10


async def test_a_posted_test_notification_is_the_shells_own() -> None:
    user = hand(empty())
    await user.run("cmd notification post -S messaging --conversation Prueba --message 'Ana:hola' tag x")
    assert "pkg=com.android.shell" in await user.run("dumpsys notification --noredact")
    assert user.phone.events[-1][1] == "notification_enqueue"


TREE = {
    "not_idle": "could not get idle state",
    "null_root": "null root node",
    "killed": "Killed",
    "empty_dump": "NullPointerException",
    "already_registered": "already registered!",
}


@pytest.mark.parametrize(("fault", "said"), TREE.items())
async def test_dumps_fail_as_they_do_on_phones(fault: str, said: str) -> None:
    user = hand()
    user.phone.faults.set(fault, times=1)
    answer = await user.run("uiautomator dump /dev/tty")
    assert said in answer
    assert "</hierarchy>" not in answer
    assert "</hierarchy>" in await user.run("uiautomator dump /dev/tty")


async def test_stale_and_late_dumps_show_what_is_no_longer_there() -> None:
    user = hand()
    await user.run("uiautomator dump /sdcard/a.xml")
    await user.run(LAUNCH)
    user.phone.faults.set("stale_screen", times=1)
    assert "launcher" in await user.run("uiautomator dump /dev/tty")
    user.phone.faults.set("late_write", times=1)
    await user.run("uiautomator dump /sdcard/b.xml; rm -f /sdcard/b.xml")
    await user.run("input keyevent HOME; uiautomator dump /sdcard/c.xml")
    assert b"com.whatsapp" in user.phone.files["/sdcard/b.xml"]


async def test_another_window_is_alone_in_the_tree_until_it_is_closed() -> None:
    user = hand()
    await user.run(LAUNCH)
    for kind in ("call", "permission", "anr", "volume", "chooser"):
        user.phone.overlay = kind
        assert all(n.get("package") != "com.whatsapp" for n in await user.look())
        await user.run("input keyevent BACK")
        assert await user.texts("fab") == [""]


@pytest.mark.parametrize("fault", sorted(FAULTS))
async def test_no_fault_breaks_the_simulator_itself(fault: str) -> None:
    if fault in ("never_ends", "half_typed"):
        pytest.skip("these hang, which is their point")
    values: dict[str, object] = {
        "renamed_id": "message_text=msg_body",
        "override_size": "1080x2376",
        "inertia": 120,
        "large_font": 1.5,
        "history_page": 5,
    }
    phone = small_town()
    long_list(phone, 12)
    phone.whatsapp.last_chat = "34600100102@s.whatsapp.net"
    user = hand(phone)
    phone.faults.set(fault, values.get(fault, True))
    await user.run(LAUNCH)
    for line in (
        "uiautomator dump /dev/tty",
        "input swipe 540 1800 540 900 400",
        "input tap 500 900",
        "uiautomator dump /sdcard/x.xml",
        "screencap -p /sdcard/x.png",
        "input text hola",
        "wm size",
        "dumpsys notification --noredact",
        "dumpsys window",
        "ime list -s -a",
        "am start -a android.intent.action.VIEW -d 'https://wa.me/34600100101?text=a' -p com.whatsapp",
    ):
        await user.run(line)
    phone.receive("34600100101@s.whatsapp.net", "otro")
    await user.run("uiautomator dump /dev/tty; input keyevent BACK")
