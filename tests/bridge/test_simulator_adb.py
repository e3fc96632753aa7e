"""The simulated phone behind the real adb: program, server and transport are the ones people use."""

import asyncio
import os
import struct
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import adbutils
import pytest

from bridge.simulator.stage import SimDevice, adb_server, ask, connect, simulated_phone

pytestmark = pytest.mark.anyio
ADB = Path(adbutils.__file__).parent / "binaries" / "adb"


@dataclass
class Rig:
    """A phone, a server, and the adb program to talk through."""

    device: SimDevice
    port: int

    async def adb(self, *words: str) -> tuple[int, bytes, bytes]:
        process = await asyncio.create_subprocess_exec(
            str(ADB),
            "-P",
            str(self.port),
            "-s",
            self.device.address,
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(10):
            out, err = await process.communicate()
        return process.returncode or 0, out, err

    async def shell(self, line: str) -> str:
        return (await self.adb("shell", line))[1].decode()

    async def nodes(self) -> list[ElementTree.Element]:
        _, out, _ = await self.adb("exec-out", "uiautomator dump /dev/tty")
        text = out.decode()
        return list(ElementTree.fromstring(text[: text.rindex("</hierarchy>") + 12]).iter("node"))

    async def tap(self, id: str, text: str | None = None) -> None:
        for node in await self.nodes():
            if node.get("resource-id", "").endswith("/" + id) and text in (None, node.get("text")):
                left, top, right, bottom = (
                    int(v) for v in node.get("bounds", "")[1:-1].replace("][", ",").split(",")
                )
                await self.shell(f"input tap {(left + right) // 2} {(top + bottom) // 2}")
                return
        raise AssertionError(f"there is no {id} {text} on the screen")


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with adb_server(ADB, tmp_path / "adb") as port, simulated_phone() as device:
        await connect(port, device.address)
        yield Rig(device, port)


def texts(nodes: list[ElementTree.Element], id: str) -> list[str]:
    return [n.get("text", "") for n in nodes if n.get("resource-id", "").endswith("/" + id)]


async def test_adb_lists_the_phone_and_carries_exit_codes(rig: Rig) -> None:
    assert "device product:simphone model:Sim_Phone" in await ask(rig.port, "host:devices-l")
    assert await rig.adb("shell", "echo out; echo err >&2; exit 7") == (7, b"out\n", b"err\n")
    assert await rig.shell("getprop ro.serialno") == "SIM0001\n"


async def test_a_round_through_list_and_chat_marks_read_and_sends(rig: Rig) -> None:
    phone = rig.device.phone
    await rig.shell(
        "am start -a android.intent.action.MAIN -c android.intent.category.LAUNCHER -n com.whatsapp/.Main"
    )
    nodes = await rig.nodes()
    assert texts(nodes, "conversations_row_contact_name")[:3] == ["Mamá", "Lucía Ferrer", "Banco Solar"]
    assert texts(nodes, "fab") == [""]

    await rig.tap("conversations_row_contact_name", "Lucía Ferrer")
    nodes = await rig.nodes()
    assert texts(nodes, "conversation_contact_name") == ["Lucía Ferrer"]
    assert texts(nodes, "unread_divider_tv") == ["1 mensaje no leído"]
    assert texts(nodes, "message_text")[-1].startswith("¿Vienes a cenar")
    assert phone.read_chats == ["34600100101@s.whatsapp.net"]

    await rig.tap("entry")
    assert "mInputShown=true" in await rig.shell("dumpsys input_method")
    await rig.shell("input text 'On%smy way'")
    await rig.tap("send")
    assert [(s.title, s.text) for s in phone.sent] == [("Lucía Ferrer", "On my way")]

    await rig.shell("input keyevent KEYCODE_BACK; input keyevent 4; input keyevent 3")
    assert not phone.in_front
    assert phone.violations == []


async def test_a_link_fills_the_composer_and_sends_nothing_by_itself(rig: Rig) -> None:
    link = "https://wa.me/34600100105?text=%C2%BFEl%20martes%3F%20%F0%9F%98%80%0A%25s%20%24HOME"
    await rig.shell(f"am start -a android.intent.action.VIEW -d '{link}' -p com.whatsapp")
    assert texts(await rig.nodes(), "entry") == ["¿El martes? 😀\n%s $HOME"]
    assert rig.device.phone.sent == []
    await rig.tap("send")
    assert [s.text for s in rig.device.phone.sent] == ["¿El martes? 😀\n%s $HOME"]
    assert texts(await rig.nodes(), "message_text")[-1] == "¿El martes? 😀\n%s $HOME"


async def test_screenshots_are_pictures_of_the_screen(rig: Rig) -> None:
    _, data, _ = await rig.adb("exec-out", "screencap", "-p")
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (1080, 2400)
    start = data.index(b"IDAT")
    (length,) = struct.unpack(">I", data[start - 4 : start])
    assert len(zlib.decompress(data[start + 4 : start + 4 + length])) == 2400 * (1 + 1080 * 3)
    await rig.shell("input keyevent SLEEP")
    _, dark, _ = await rig.adb("exec-out", "screencap -p")
    assert len(dark) < len(data)


async def test_the_event_log_streams_what_arrives(rig: Rig) -> None:
    process = await asyncio.create_subprocess_exec(
        str(ADB),
        "-P",
        str(rig.port),
        "-s",
        rig.device.address,
        "exec-out",
        "logcat -b events -v epoch -T 1 | grep notification_",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(5):
            await process.stdout.readline()
            rig.device.phone.receive("Carla", "¿Estás?")
            line = (await process.stdout.readline()).decode()
    finally:
        process.terminate()
        await process.wait()
    assert "notification_enqueue: [10148,4821,com.whatsapp,1," in line
    assert "shortcut=34600100108@s.whatsapp.net" in line
    assert "Estás" not in line


async def test_an_unauthorized_phone_is_listed_as_such(tmp_path: Path) -> None:
    async with adb_server(ADB, tmp_path / "adb") as port, simulated_phone() as device:
        device.faults.set("unauthorized")
        with pytest.raises(RuntimeError, match="failed to authenticate"):
            await connect(port, device.address)
        assert "unauthorized" in await ask(port, "host:devices")
        device.faults.clear()
        await ask(port, f"host:disconnect:{device.address}")
        await connect(port, device.address)
        assert f"{device.address}\tdevice" in await ask(port, "host:devices")


async def test_a_dropped_phone_goes_offline_and_comes_back_on_its_port(rig: Rig) -> None:
    await rig.device.stop()
    code, _, err = await rig.adb("shell", "true")
    assert code == 1
    assert b"not found" in err or b"offline" in err
    await rig.device.start()
    await ask(rig.port, f"host:disconnect:{rig.device.address}")
    await connect(rig.port, rig.device.address)
    assert await rig.shell("echo back") == "back\n"


async def test_a_phone_that_vanishes_without_a_word_still_looks_connected(rig: Rig) -> None:
    await rig.device.drop(fin=False)
    assert f"{rig.device.address}\tdevice" in await ask(rig.port, "host:devices")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await _hang(rig)
    await ask(rig.port, f"host:disconnect:{rig.device.address}")
    await connect(rig.port, rig.device.address)
    assert await rig.shell("echo back") == "back\n"


async def _hang(rig: Rig) -> None:
    """A shell over the server's socket, which nobody answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", rig.port)
    try:
        for request in (f"host:transport:{rig.device.address}", "shell:true"):
            writer.write(f"{len(request):04x}{request}".encode())
            assert await reader.readexactly(4) == b"OKAY"
        await reader.read()
    finally:
        writer.close()


async def test_a_connection_can_break_in_the_middle_of_an_answer(rig: Rig) -> None:
    rig.device.faults.set("drop_mid_output", 300, times=1)
    _, out, _ = await rig.adb("exec-out", "uiautomator dump /dev/tty")
    assert len(out) <= 300


async def test_an_old_phone_without_shell_v2_has_no_exit_codes(tmp_path: Path) -> None:
    async with adb_server(ADB, tmp_path / "adb") as port, simulated_phone() as device:
        device.faults.set("no_shell_v2")
        await connect(port, device.address)
        assert await Rig(device, port).adb("shell", "echo x; false") == (0, b"x\n", b"")


async def test_two_phones_need_a_serial(tmp_path: Path) -> None:
    async with adb_server(ADB, tmp_path / "adb") as port, simulated_phone() as one, simulated_phone() as two:
        await connect(port, one.address)
        await connect(port, two.address)
        with pytest.raises(RuntimeError, match="more than one"):
            await ask(port, "host:get-state")


async def test_the_stage_leaves_no_process_and_no_port(tmp_path: Path) -> None:
    async with adb_server(ADB, tmp_path / "adb") as port, simulated_phone() as device:
        await connect(port, device.address)
    with pytest.raises(ConnectionError):
        await asyncio.open_connection("127.0.0.1", port)
    with pytest.raises(ConnectionError):
        await asyncio.open_connection("127.0.0.1", device.port)
    running = [p for p in Path("/proc").glob("[0-9]*/cmdline") if os.access(p, os.R_OK)]
    assert not [p for p in running if f"-P\0{port}\0nodaemon".encode() in _bytes(p)]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
