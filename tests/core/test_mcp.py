"""MCP servers on real pipes and real HTTP: started late, ended always, gated each time."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from core.config import Config
from core.errors import ApxError, Invalid, NotFound, Refused, Unavailable
from core.events import Bus
from core.mcp_servers import McpServers
from core.paths import Home
from core.store import Store
from core.vault import Vault
from tests.fakes.mcp_http import mcp_http

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]
SECRET = "s3cret-value-0123"


def program(name: str = "fake", **more: Any) -> dict[str, Any]:
    env = {"PYTHONPATH": str(ROOT)} | more.pop("env", {})
    args = ["-m", "tests.fakes.mcp_program"]
    return {"name": name, "command": sys.executable, "args": args, "env": env} | more


def plain(name: str = "fake", **more: Any) -> dict[str, Any]:
    """A server that starts at once, for what concerns its process."""
    args = ["-S", "-E", str(ROOT / "tests" / "fakes" / "mcp_plain.py")]
    return {"name": name, "command": sys.executable, "args": args} | more


def shell(line: str) -> dict[str, Any]:
    return {"name": "fake", "command": "/bin/sh", "args": ["-c", line]}


@asynccontextmanager
async def opened(tmp_path: Path, *servers: dict[str, Any], **bounds: Any) -> AsyncIterator[McpServers]:
    home, bus = Home(tmp_path / "apx"), Bus()
    home.make()
    async with Store.open(home.db) as store:
        vault = Vault(home, store)
        await vault.keep("mcp.key", SECRET)
        config = Config(home, bus, vault)
        await config.set({"mcp.servers": list(servers)})
        async with McpServers(config, bus, **bounds).open() as found:
            yield found


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def pids(log: Path) -> list[int]:
    return [int(line) for line in log.read_text().split()]


async def test_tools_of_a_program_are_listed_and_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-ours")
    spec = program(env={"API_TOKEN": "vault:mcp.key", "MCP_FAKE": "noise", "DOCS": "/home/ana/docs"})
    async with opened(tmp_path, spec) as servers:
        assert not servers.running("fake")
        offers = {one.name: one for one in await servers.tools("fake")}
        assert offers["add"].reads
        assert not offers["write_note"].reads
        assert offers["add"].schema["properties"].keys() == {"a", "b"}
        # What it printed on stdout first was passed over.
        assert await servers.call("fake", "add", {"a": 2, "b": 3}) == "5"
        assert servers.running("fake")
        # A secret of the vault reaches it and comes back covered; our environment stays with us.
        assert await servers.call("fake", "environment", {"name": "API_TOKEN"}) == "••••"
        assert await servers.call("fake", "environment", {"name": "OPENAI_API_KEY"}) == "(none)"
        assert await servers.call("fake", "environment", {"name": "HOME"}) == os.environ["HOME"]
        assert await servers.call("fake", "environment", {"name": "DOCS"}) == "/home/ana/docs"
        with pytest.raises(Unavailable, match="it is broken"):
            await servers.call("fake", "fail", {})
        with pytest.raises(NotFound, match="It has: add"):
            await servers.offer("fake", "nothing")


async def test_the_whole_group_is_gone_afterwards(tmp_path: Path) -> None:
    log = tmp_path / "pids"
    async with opened(tmp_path, plain(env={"MCP_FAKE": "child", "MCP_LOG": str(log)})) as servers:
        await servers.tools("fake")
        assert all(alive(pid) for pid in pids(log))
    assert len(pids(log)) == 2
    assert not any(alive(pid) for pid in pids(log))


async def test_an_idle_server_ends_and_the_next_call_starts_it_again(tmp_path: Path) -> None:
    log = tmp_path / "pids"
    async with opened(tmp_path, plain(env={"MCP_LOG": str(log)}), idle_s=0.05) as servers:
        await servers.tools("fake")
        async with asyncio.timeout(10):
            while alive(pids(log)[0]):  # noqa: ASYNC110 a process of somebody else's child
                await asyncio.sleep(0.02)
        assert await servers.call("fake", "add", {"a": 1, "b": 1}) == "2"
        assert len(pids(log)) == 2


async def test_a_server_that_dies_in_a_call_is_not_asked_again_by_itself(tmp_path: Path) -> None:
    log = tmp_path / "pids"
    async with opened(tmp_path, plain(env={"MCP_LOG": str(log)})) as servers:
        with pytest.raises(Unavailable, match="may be done"):
            await servers.call("fake", "die", {})
        assert len(pids(log)) == 1
        assert await servers.call("fake", "add", {"a": 1, "b": 1}) == "2"
        assert len(pids(log)) == 2


async def test_a_call_that_hangs_ends_in_its_time_and_so_does_the_server(tmp_path: Path) -> None:
    log, mark = tmp_path / "pids", tmp_path / "mark"
    spec = plain(env={"MCP_LOG": str(log)}, timeout_s=1)
    async with opened(tmp_path, spec) as servers:
        with pytest.raises(Unavailable, match="did not answer within 1 s"):
            await servers.call("fake", "sleep", {"seconds": 60, "mark": str(mark)})
        assert mark.read_text() == "began"
        assert await servers.call("fake", "add", {"a": 1, "b": 1}) == "2"
    assert not any(alive(pid) for pid in pids(log))


async def test_a_cancelled_call_leaves_the_server_usable(tmp_path: Path) -> None:
    async with opened(tmp_path, plain()) as servers:
        await servers.tools("fake")
        task = asyncio.create_task(servers.call("fake", "sleep", {"seconds": 0.2}))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await servers.call("fake", "add", {"a": 1, "b": 1}) == "2"


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"name": "fake", "command": "/no/such/program"}, "cannot be started"),
        (shell("echo no licence found >&2; exit 2"), "no licence found"),
        (shell("exec sleep 300"), "did not answer within"),
        ({"name": "fake", "url": "http://127.0.0.1:9/mcp"}, "start failed"),
        (plain(env={"KEY": "vault:not.there"}), "holds no secret named not.there"),
    ],
)
async def test_a_server_that_does_not_start_says_why(tmp_path: Path, spec: dict[str, Any], says: str) -> None:
    async with opened(tmp_path, spec, start_s=3) as servers:
        with pytest.raises(ApxError, match=says):
            await servers.tools("fake")
        assert says in servers.problems["fake"]
        assert not servers.running("fake")


async def test_a_server_on_http_gets_its_header_from_the_vault(tmp_path: Path) -> None:
    async with mcp_http(token=SECRET) as served:
        spec = {"name": "web", "url": served.url, "headers": {"Authorization": f"Bearer {SECRET}"}}
        async with opened(tmp_path, spec) as servers:
            assert await servers.call("web", "add", {"a": 2, "b": 2}) == "4"
        wrong = {"name": "web", "url": served.url, "headers": {"Authorization": "Bearer other-0123456"}}
        async with opened(tmp_path / "b", wrong) as servers:
            with pytest.raises(Unavailable) as caught:
                await servers.tools("web")
            assert "other-0123456" not in str(caught.value)
    assert f"Bearer {SECRET}" in served.headers


async def test_a_change_of_the_settings_ends_what_it_concerns(tmp_path: Path) -> None:
    log = tmp_path / "pids"
    env = {"MCP_LOG": str(log)}
    async with opened(tmp_path, plain(env=env), plain("other")) as servers:
        await servers.tools("fake")
        await servers.tools("other")
        await servers._config.set({"mcp.servers": [plain(env=env, enabled=False), plain("other")]})
        assert not servers.running("fake")
        assert servers.running("other")
        with pytest.raises(Refused, match="switched off"):
            await servers.tools("fake")
        with pytest.raises(NotFound, match="There are: fake, other"):
            await servers.tools("third")


@pytest.mark.parametrize(
    "spec",
    [
        {"name": "x"},
        {"name": "x", "command": "a", "url": "http://b/"},
        {"name": "X y", "command": "a"},
        {"name": "x", "url": "file:///etc/passwd"},
        {"name": "x", "url": "http://b/", "headers": {"A": "b\r\nC: d"}},
        {"name": "x", "command": "a", "env": {"A=B": "c"}},
    ],
)
async def test_a_server_that_makes_no_sense_is_refused(tmp_path: Path, spec: dict[str, Any]) -> None:
    config = Config(Home(tmp_path), Bus())
    with pytest.raises(Invalid):
        await config.set({"mcp.servers": [spec]})


async def test_secrets_of_servers_are_never_shown_and_survive_a_change(tmp_path: Path) -> None:
    config = Config(Home(tmp_path), Bus())
    await config.set({"mcp.servers": [{"name": "x", "command": "a", "env": {"TOKEN": SECRET}}]})
    shown = config.shown()["mcp"]["servers"]
    assert SECRET not in json.dumps(shown)
    await config.set({"mcp.servers": [shown[0] | {"args": ["-v"]}]})
    assert config.now.mcp.servers[0].env == {"TOKEN": SECRET}
    assert config.now.mcp.servers[0].args == ("-v",)
