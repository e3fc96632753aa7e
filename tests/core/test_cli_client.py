"""The command line finds the app that runs, follows it when it moves, and gives its token to nobody else."""

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from core.api.server import announce
from core.app import owned
from core.cli import client as module
from core.cli.client import ApiFailed, connect
from core.errors import AlreadyRunning
from core.events import RunClosed
from core.runs.request import Reply, ToolCall
from core.tool import Context, Effect, tool
from tests.fakes.api_home import Served, served
from tests.fakes.daemon_process import APX, ROOT, environment

pytestmark = pytest.mark.anyio


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as one:
        yield one


async def exec_(api: Served, *args: str) -> asyncio.subprocess.Process:
    """`apx exec` as a process of its own, against the app of the test."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", APX, "exec", *args,
        cwd=ROOT, env=environment(api.app.home.root), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


async def test_the_running_app_is_asked_and_no_second_one_is_opened(api: Served) -> None:
    async with connect(api.app.home) as client:
        assert (await client.get("/api/identity"))["agent_name"] == "APX"
        await api.app.identity.set(agent_name="Nube")
        assert (await client.get("/api/identity"))["agent_name"] == "Nube"


async def test_a_token_that_was_rotated_meanwhile_is_read_again(api: Served) -> None:
    async with connect(api.app.home) as client:
        await client.call("POST", "/api/token/rotate")
        assert (await client.get("/api/identity"))["agent_name"] == "APX"


async def test_an_app_that_came_back_on_another_port_is_found_again(tmp_path: Path) -> None:
    async with served(tmp_path) as first, connect(first.app.home) as client:
        assert await client.get("/api/identity")
        home = first.app.home
        # Its port is gone for whoever asks there, and the file names where it is now.
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        announce(home, port)
        with pytest.raises(ApiFailed, match="stopped answering"):
            await client.get("/api/identity")
        announce(home, first.port)
        assert await client.get("/api/identity")


async def test_a_refusal_carries_its_sentence_code_and_fields(api: Served) -> None:
    async with connect(api.app.home) as client:
        with pytest.raises(ApiFailed) as refused:
            await client.call("PATCH", "/api/identity", {"agent_name": ""})
    assert (refused.value.status, refused.value.code, refused.value.fields) == (
        400,
        "invalid",
        ("agent_name",),
    )


async def test_no_token_goes_to_a_port_where_something_else_answers(tmp_path: Path) -> None:
    heard: list[bytes] = []

    async def stranger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
        await writer.drain()
        writer.close()

    async with served(tmp_path) as api:
        home = api.app.home
    server = await asyncio.start_server(stranger, "127.0.0.1", 0)
    async with server:
        announce(home, server.sockets[0].getsockname()[1])  # what a dead app left, its port taken by somebody
        async with connect(home) as client:
            assert await client.get("/api/identity")
    assert heard
    assert b"authorization" not in b"".join(heard).lower()


async def test_a_home_in_use_that_never_answers_says_who_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.2)
    async with served(tmp_path) as api:
        home = api.app.home
    with owned(home), pytest.raises(AlreadyRunning, match="process"):
        async with connect(home):
            pass


class Note(BaseModel):
    text: str


async def test_exec_shows_name_model_tools_and_tokens_beside_the_answer(api: Served) -> None:
    @tool(Effect.READ)
    async def note(args: Note, ctx: Context) -> str:
        """Note."""
        return "Noted."

    args = '{"text": "a \\u001b[31m red \\"word\\""}'
    replies = iter(
        [
            Reply(calls=[ToolCall("c1", "note", args)], tokens_in=600, tokens_out=90),
            Reply(text="Done.\nTwice.", tokens_in=12, tokens_out=108),
        ]
    )

    async def complete(*_: Any, **__: Any) -> Reply:
        return next(replies)

    api.app.models.complete = complete  # type: ignore[method-assign]
    api.app.tools.add(note)
    await api.app.identity.set(agent_name="Nube")
    process = await exec_(api, "note it")
    out, err = await process.communicate()
    assert (process.returncode, out.decode()) == (0, "Done.\nTwice.\n")
    lines = [line for line in err.decode().splitlines() if line]
    assert lines[0] == "Nube · practice:rules"
    assert lines[1].startswith("→ tool  note { text: ")
    assert "\x1b" not in err.decode()
    assert lines[-1].startswith("# 612 tok in / 198 out · ")


async def test_ctrl_c_ends_with_130_and_stops_the_run(api: Served) -> None:
    reached = asyncio.Event()
    ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    api.app.bus.subscribe(RunClosed, lambda event: ended.set_result(event.status))

    async def complete(*_: Any, **__: Any) -> Reply:
        reached.set()
        await asyncio.Event().wait()
        return Reply()

    api.app.models.complete = complete  # type: ignore[method-assign]
    process = await exec_(api, "wait")
    await asyncio.wait_for(reached.wait(), 30)
    process.send_signal(signal.SIGINT)
    out, err = await process.communicate()
    assert (process.returncode, out, b"Traceback" in err) == (130, b"", False)
    assert await asyncio.wait_for(ended, 10) == "cancelled"


@pytest.mark.parametrize(
    ("code", "forbidden"),
    [
        ("import core.cli.main", {"httpx", "pydantic", "fastapi", "asyncio", "core.app", "litellm"}),
        (
            "import core.api.server, core.app",
            {"fastapi", "starlette.routing", "litellm", "telegram", "PySide6", "numpy", "PIL"},
        ),
        ("import core.cli.ask", {"pydantic", "fastapi", "core.app", "litellm", "uvicorn"}),
    ],
)
async def test_a_start_imports_only_what_it_needs(code: str, forbidden: set[str]) -> None:
    script = f"{code}\nimport sys\nprint(*sorted(set(sys.modules) & {forbidden!r}))"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, cwd=ROOT, stdout=subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert (process.returncode, out.decode().split()) == (0, [])
