"""Rooms from outside: over HTTP in frames, and from the command line."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from core.api import room_frames
from core.channels.rooms import Rooms, speaking
from core.cli.group import Programs
from core.cli.main import group
from core.cli.words import language
from core.events import RoomSettled
from core.paths import Home
from tests.fakes.api_home import Served, served
from tests.fakes.house import WORKER
from tests.fakes.openai_server import Answer, OpenAIServer, fault

pytestmark = pytest.mark.anyio
GROUPS = "/api/projects/0/groups"


def config(server: OpenAIServer) -> dict[str, Any]:
    return {
        "super_agent": {"enabled": True, "model": "standin:small"},
        "engines": {"standin": {"base_url": server.url, "api_key": "sk-standin-0123456789"}},
        "user": {"language": "en"},
    }


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as one:
        yield one


@asynccontextmanager
async def home_of(root: Path, server: OpenAIServer) -> AsyncIterator[Served]:
    async with served(root, config(server), parts=[speaking]) as one:
        for name in ("Ana", "Bob"):
            await one.http.post("/api/projects/0/agents", json={"name": name})
        yield one


@pytest.fixture
async def api(tmp_path: Path, server: OpenAIServer) -> AsyncIterator[Served]:
    async with home_of(tmp_path, server) as one:
        one.app.models._command = WORKER  # the one that starts at once
        yield one


@pytest.fixture
async def real(tmp_path: Path, server: OpenAIServer) -> AsyncIterator[Served]:
    """With the model worker that the product has."""
    async with home_of(tmp_path, server) as one:
        yield one


async def made(api: Served, *who: Any) -> str:
    answer = await api.http.post(GROUPS, json={"title": "The plan", "participants": who or ["ana", "bob"]})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def frames(api: Served, room: str, **body: Any) -> list[dict[str, Any]]:
    path = f"{GROUPS}/{room}/message/stream"
    async with api.http.stream("POST", path, json=body, timeout=120) as answer:
        assert answer.headers["content-type"].startswith("application/x-ndjson")
        return [json.loads(line) async for line in answer.aiter_lines() if line]


async def test_a_room_is_made_shown_changed_and_closed(api: Served) -> None:
    room = await made(api, "ana", {"slug": "Bob", "project_id": "default"}, "apx")
    one = (await api.http.get(f"{GROUPS}/{room}")).json()
    assert [member["slug"] for member in one["members"]] == ["ana", "bob", "super_agent"]
    assert (one["said"], one["answering"]) == ([], False)
    left = (await api.http.delete(f"{GROUPS}/{room}/participants/ana")).json()
    assert [member["slug"] for member in left["members"]] == ["bob", "super_agent"]
    back = await api.http.post(f"{GROUPS}/{room}/participants", json={"slug": "Ana"})
    assert [member["slug"] for member in back.json()["members"]] == ["bob", "super_agent", "ana"]
    for path in ("/api/groups", GROUPS):
        assert [row["title"] for row in (await api.http.get(path)).json()["data"]] == ["The plan"]
    assert (await api.http.delete(f"{GROUPS}/{room}")).status_code == 200
    assert (await api.http.get(f"{GROUPS}/{room}")).status_code == 404


async def test_what_is_wrong_with_a_new_room_is_one_sentence(api: Served) -> None:
    elsewhere = [{"slug": "ana", "project_id": "nowhere"}]
    for body, status, words in (
        ({"title": "", "participants": ["ana"]}, 400, "needs a title"),
        ({"participants": ["ana"]}, 400, "needs a title"),
        ({"title": "x"}, 400, "at least one member"),
        ({"title": "x", "participants": ["zoe"]}, 404, "nobody called 'zoe'"),
        ({"title": "x", "members": elsewhere}, 404, "no such project"),
        ({"title": "x", "participants": "ana"}, 422, "participants"),
    ):
        answer = await api.http.post(GROUPS, json=body)
        assert answer.status_code == status
        assert words in answer.json()["error"]
    assert (await api.http.get(GROUPS)).json()["data"] == []


async def test_a_line_and_its_answers_come_as_frames(real: Served, server: OpenAIServer) -> None:
    room = await made(real)
    server.next(Answer("hello from @bob's friend"), Answer("and from Bob"))
    got = await frames(real, room, prompt=" @ana say hello ", **{"from": "somebody", "channel": "routine"})
    kinds = [one["type"] for one in got if one["type"] != "model_routed"]
    assert kinds[:3] == ["start", "owner_message", "speaker_start"]
    assert kinds[-2:] == ["done", "final"]
    assert got[1]["text"] == "@ana say hello"
    speakers = [(one["slug"], one["asked_by"]) for one in got if one["type"] == "speaker_start"]
    assert speakers == [("ana", "owner"), ("bob", "ana")]
    said = "".join(one["delta"] for one in got if one["type"] == "speaker_delta" and one["slug"] == "ana")
    finals = {one["slug"]: one["text"] for one in got if one["type"] == "speaker_final"}
    assert said == finals["ana"] == "hello from @bob's friend"
    assert (got[-1]["result"]["state"], got[-1]["result"]["replies"]) == ("answered", 2)
    one = (await real.http.get(f"{GROUPS}/{room}")).json()
    assert [(line["author"], line["role"]) for line in one["said"]] == [
        ("owner", "user"),
        ("ana", "assistant"),
        ("bob", "assistant"),
    ]
    again = await frames(real, room, rerun=True)
    assert again[1]["again"]
    cut = await real.http.post(f"{GROUPS}/{room}/truncate", json={"keep_visible": 1})
    assert cut.json()["removed"] == 3


async def test_a_line_that_cannot_be_said_is_refused_before_anything_is_kept(api: Served) -> None:
    room = await made(api, "ana")
    for body, status, words in (
        ({}, 400, "nothing in this line"),
        ({"rerun": True}, 200, "Nothing was said"),
    ):
        answer = await api.http.post(f"{GROUPS}/{room}/message/stream", json=body)
        assert answer.status_code == status
        assert words in answer.text
    await api.http.delete(f"{GROUPS}/{room}/participants/ana")
    answer = await api.http.post(f"{GROUPS}/{room}/message/stream", json={"prompt": "anybody?"})
    assert (answer.status_code, answer.json()["code"]) == (403, "refused")
    assert "Nobody is in the room" in answer.json()["error"]
    assert (await api.http.get(f"{GROUPS}/{room}")).json()["said"] == []


async def test_a_room_in_which_nobody_could_answer_ends_in_an_error(
    api: Served, server: OpenAIServer
) -> None:
    room = await made(api, "ana")
    server.default = lambda body: fault("auth")
    got = await frames(api, room, prompt="hello")
    assert [one["type"] for one in got][-3:] == ["speaker_final", "done", "error"]
    assert got[-3]["status"] == "failed"
    assert got[-1]["error"] == got[-3]["text"]


async def test_stop_ends_the_stream_and_a_second_line_waits_outside(
    api: Served, server: OpenAIServer
) -> None:
    room = await made(api)
    server.next(fault("hang"))
    asking = asyncio.create_task(frames(api, room, prompt="@ana @bob"))
    await server.arrived.wait()
    busy = await api.http.post(f"{GROUPS}/{room}/message/stream", json={"prompt": "and?"})
    assert (busy.status_code, busy.json()["code"]) == (409, "already_running")
    abort = {"channel": "group", "thread_id": f"group:{room}"}
    assert (await api.http.post("/api/projects/0/turns/abort", json=abort)).json() == {"aborted": 1}
    got = await asking
    assert [one["type"] for one in got][-3:] == ["speaker_aborted", "done", "aborted"]
    assert (await api.http.post("/api/projects/0/turns/abort", json=abort)).json() == {"aborted": 0}
    assert len(server.requests) == 1


async def test_a_turn_of_another_channel_is_stopped_by_its_thread(api: Served, server: OpenAIServer) -> None:
    server.next(fault("hang"))
    body = {"prompt": "hello", "channelMeta": {"thread": "mine"}}
    asking = asyncio.create_task(api.http.post("/api/projects/0/super-agent/chat", json=body))
    await server.arrived.wait()
    abort = {"channel": "api", "thread_id": "mine"}
    assert (await api.http.post("/api/projects/0/turns/abort", json=abort)).json() == {"aborted": 1}
    assert (await asking).json()["code"] == "cancelled"


async def test_who_stops_reading_stops_the_room(
    api: Served, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room_frames, "KEEPALIVE_S", 0.01)
    monkeypatch.setattr("core.api.rooms.KEEPALIVE_S", 0.01)
    room = await made(api)
    server.default = lambda body: fault("hang")
    settled: asyncio.Future[RoomSettled] = asyncio.get_running_loop().create_future()
    api.app.bus.subscribe(RoomSettled, settled.set_result)
    async with api.http.stream(
        "POST", f"{GROUPS}/{room}/message/stream", json={"prompt": "@ana @bob"}
    ) as answer:
        lines = answer.aiter_lines()
        while (await anext(lines)).strip():
            pass  # a blank line keeps a quiet stream open
    assert (await settled).state == "stopped"
    assert api.app.services[Rooms].talk(room) is None


async def test_who_may_do_what(api: Served) -> None:
    room = await made(api, "ana")
    _, client = await api.paired("client")
    assert (await api.bare.get(f"{GROUPS}/{room}", headers=client)).status_code == 200
    assert (await api.bare.get(f"{GROUPS}/{room}")).status_code == 401
    for method, path in (("DELETE", f"{GROUPS}/{room}"), ("DELETE", f"{GROUPS}/{room}/participants/ana")):
        assert (await api.bare.request(method, path, headers=client)).status_code == 403
    answer = await api.bare.post(GROUPS, json={"title": "x", "participants": ["ana"]}, headers=client)
    assert answer.status_code == 403


@pytest.fixture
def _english(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    language.cache_clear()


def apx(*args: str) -> Result:
    programs = Programs(tools=lambda: [speaking], daemon=("false",))
    result = CliRunner().invoke(group, list(args), obj=programs)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.mark.usefixtures("_english")
def test_the_command_line_makes_and_uses_a_room() -> None:
    home = Home.find()
    home.make()
    home.config.write_text(json.dumps({"super_agent": {"enabled": True, "model": "practice:rules"}}))
    assert apx("agent", "add", "Ana").exit_code == 0
    assert apx("room", "create", "The plan", "ana", "apx").exit_code == 0
    said = apx("room", "say", "the plan", "hello", "@ana", "and", "@apx")
    assert said.exit_code == 0, said.output
    assert said.stdout.startswith("Ana: ")
    assert len([line for line in said.stdout.splitlines() if ": " in line]) >= 2
    shown = apx("room", "show", "The plan")
    assert "You: hello @ana and @apx" in shown.stdout
    rows = json.loads(apx("room", "list", "--json").stdout)
    assert [row["title"] for row in rows] == ["The plan"]
    assert "The plan" in apx("room", "list").stdout
    assert apx("room", "add", "The plan", "ana").exit_code == 1
    assert apx("room", "remove", "The plan", "ana").exit_code == 0
    again = json.loads(apx("room", "say", "The plan", "--again", "--json").stdout)
    assert (again["state"], len(again["said"])) == ("answered", 1)
    assert apx("room", "stop", "The plan").stderr.strip() == "Nobody was answering there."
    assert apx("room", "truncate", "The plan", "1").exit_code == 0
    assert apx("room", "delete", "The plan").exit_code == 0
    gone = apx("room", "show", "The plan")
    assert (gone.exit_code, "no room called" in gone.stderr) == (1, True)
