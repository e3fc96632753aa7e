"""Which adb program is used, and that a running server is left alone."""

import socket
from pathlib import Path

import pytest

from bridge import program
from bridge.adb import Adb
from bridge.faults import ServerDown
from core.errors import Invalid
from tests.fakes.adb_wire import AdbWire

pytestmark = pytest.mark.anyio

OLD = "Android Debug Bridge version 1.0.41\nVersion 29.0.6-debian\nInstalled as /usr/lib/android-sdk/adb\n"
NEW = "Android Debug Bridge version 1.0.41\nVersion 36.0.0-13206524\n"


@pytest.mark.parametrize(
    ("env", "address"),
    [
        ({}, ("127.0.0.1", 5037)),
        ({"ANDROID_ADB_SERVER_PORT": "6000"}, ("127.0.0.1", 6000)),
        ({"ANDROID_ADB_SERVER_ADDRESS": "10.0.0.2"}, ("10.0.0.2", 5037)),
        ({"ADB_SERVER_SOCKET": "tcp:7000", "ANDROID_ADB_SERVER_PORT": "6000"}, ("127.0.0.1", 7000)),
        ({"ADB_SERVER_SOCKET": "tcp:box.lan:7000"}, ("box.lan", 7000)),
    ],
)
def test_the_environment_wins_over_the_configuration(env, address):
    assert program.server_address("127.0.0.1", 5037, env) == address


@pytest.mark.parametrize(
    "env",
    [{"ANDROID_ADB_SERVER_PORT": "many"}, {"ANDROID_ADB_SERVER_PORT": "0"}, {"ADB_SERVER_SOCKET": "local:x"}],
)
def test_a_variable_that_makes_no_sense_is_named(env):
    with pytest.raises(Invalid, match=next(iter(env))):
        program.server_address("127.0.0.1", 5037, env)


def test_the_release_is_read_from_the_second_line():
    assert (program.release_of(OLD), program.release_of(NEW), program.release_of("")) == (29, 36, 0)


@pytest.mark.parametrize(("said", "chosen"), [(NEW, True), (OLD, False)])
async def test_the_installed_adb_is_used_when_it_is_new_enough(tmp_path, said, chosen):
    installed = tmp_path / "adb"
    installed.write_text(f"#!/bin/sh\ncat <<'END'\n{said}END\n")
    installed.chmod(0o755)
    found = await program.find({"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert (found == installed) is chosen


async def test_without_an_installed_adb_the_bundled_one_is_used(tmp_path):
    found = await program.find({"PATH": str(tmp_path)})
    assert found is not None
    assert found.parent.name == "binaries"


@pytest.fixture
def adb_on_path(tmp_path, monkeypatch):
    """An adb that is new enough and whose other calls run a script."""

    def put(script: str) -> Path:
        installed = tmp_path / "adb"
        version = "if [ $1 = version ]; then echo Version 36.0.0-1; exit 0; fi"
        installed.write_text(f"#!/bin/sh\n{version}\necho $* >> {tmp_path}/ran\n{script}\n")
        installed.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        return tmp_path / "ran"

    return put


async def test_a_running_server_is_used_as_it_is(adb_on_path):
    ran = adb_on_path("exit 1")
    wire = AdbWire()
    async with wire.serving():
        await program.ensure_server("127.0.0.1", wire.port)
    assert wire.asked == ["host:version"]
    assert not ran.exists()


async def test_another_program_on_the_port_is_said_and_nothing_is_started(adb_on_path):
    ran = adb_on_path("exit 1")
    wire = AdbWire(greeting=b"HTTP/1.1 400 Bad Request\r\n\r\n")
    async with wire.serving():
        with pytest.raises(ServerDown, match="web server"):
            await program.ensure_server("127.0.0.1", wire.port)
    assert not ran.exists()


async def test_no_server_is_started_on_another_computer(adb_on_path, free_port):
    ran = adb_on_path("exit 1")
    with pytest.raises(ServerDown):
        await program.ensure_server("no-such-host.invalid", free_port)
    assert not ran.exists()


@pytest.mark.parametrize(
    ("script", "why"), [("echo cannot bind; exit 1", "cannot bind"), ("exec sleep 60", "within")]
)
async def test_a_server_that_does_not_start_is_an_error_with_its_words(adb_on_path, free_port, script, why):
    ran = adb_on_path(script)
    with pytest.raises(ServerDown, match=why):
        await program.ensure_server("127.0.0.1", free_port, timeout_s=0.5)
    assert ran.read_text() == f"-P {free_port} start-server\n"


@pytest.fixture
def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


async def test_a_real_server_is_started_once_and_lives_on(monkeypatch, tmp_path, free_port):
    for name in ("HOME", "USERPROFILE", "TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("ADB_MDNS", "ADB_USB", "ADB_EMU"):
        monkeypatch.setenv(name, "0")
    await program.ensure_server("127.0.0.1", free_port)
    adb = Adb("127.0.0.1", free_port)
    try:
        assert await adb.version() == 41
        await program.ensure_server("127.0.0.1", free_port)
        assert await adb.version() == 41
    finally:
        with pytest.raises(ServerDown):
            await adb._ask("host:kill", timeout_s=5)  # it answers OKAY without a text, and is gone
