"""A daemon that is killed with a job running, and the verbs and routes of work between agents."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result

from core.cli.group import Programs
from core.cli.main import group
from core.cli.words import language
from core.paths import Home
from core.tools.agents import agents, agents_once
from tests.fakes.api_home import Served, served
from tests.fakes.daemon_process import announced, end, spawn
from tests.fakes.openai_server import Answer, OpenAIServer, fault

pytestmark = pytest.mark.anyio


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as started:
        yield started


def settings(server: OpenAIServer) -> dict[str, Any]:
    return {
        "super_agent": {"enabled": True, "model": "standin:small"},
        "engines": {"standin": {"base_url": server.url, "api_key": "sk-standin-0123456789"}},
        "user": {"language": "en"},
    }


def client(root: Path) -> httpx.AsyncClient:
    here = json.loads((root / "daemon.json").read_text())
    return httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{here['port']}",
        headers={"authorization": f"Bearer {(root / 'owner.token').read_text().strip()}"},
        timeout=60,
        trust_env=False,
    )


async def test_a_killed_daemon_tells_the_asker_that_its_job_is_lost_and_not_done(
    tmp_path: Path, server: OpenAIServer
) -> None:
    root = tmp_path / "home"
    home = Home(root)
    home.make()
    home.config.write_text(json.dumps(settings(server)))
    working, woken = asyncio.Event(), asyncio.Event()
    told: list[str] = []

    def answer(body: dict[str, Any]) -> Answer:
        if body["messages"][0]["content"].startswith("You are Ana"):
            working.set()
            return fault("hang")
        last = body["messages"][-1]
        if last["role"] == "tool":
            return Answer("Ana is on it.")
        if "What you had asked" in last["content"]:
            told.append(last["content"])
            woken.set()
            return Answer("The sheep are not counted.")
        call = {"to": "ana", "message": "count the sheep", "background": True}
        return Answer(calls=[("send_to_agent", call)])

    server.default = answer
    daemon = spawn(root)
    try:
        await asyncio.to_thread(announced, root, daemon.pid)
        async with client(root) as http:
            assert (await http.post("/api/projects/0/agents", json={"name": "Ana"})).status_code == 201
            asked = await http.post("/api/projects/0/super-agent/chat", json={"prompt": "count"})
            assert asked.json()["text"] == "Ana is on it."
            await working.wait()
            (job,) = (await http.get("/api/jobs", params={"open": 1})).json()["data"]
            assert (job["status"], job["from"], job["to"]) == ("running", "super_agent", "ana")
            (at_work,) = (await http.get("/api/at-work")).json()["data"]
            assert (at_work["name"], at_work["below"]) == ("Ana", [])
    finally:
        daemon.kill()
        await asyncio.to_thread(daemon.communicate)
    fresh = spawn(root)
    try:
        await asyncio.to_thread(announced, root, fresh.pid)
        await woken.wait()
        assert "There is NO result" in told[0]
        assert "the app was ended while it ran" in told[0]
        assert "count the sheep" in told[0]
        async with client(root) as http:
            page = (await http.get("/api/jobs", params={"status": "lost", "from": "apx"})).json()
            assert ([one["id"] for one in page["data"]], page["meta"]["open"]) == ([job["id"]], 0)
            assert (await http.get(f"/api/jobs/{job['id']}")).json()["woken_at"]
            assert (await http.delete(f"/api/jobs/{job['id']}")).status_code == 405
    finally:
        await asyncio.to_thread(end, fresh)
    assert len(told) == 1


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path, parts=(agents,)) as up:
        yield up


async def test_agents_and_letters_over_http(here: Served) -> None:
    http = here.http
    made = await http.post("/api/projects/default/agents", json={"name": "Ana", "instructions": "Count."})
    assert (made.status_code, made.json()["slug"]) == (201, "ana")
    assert (await http.post("/api/projects/default/agents", json={"name": "Ana"})).status_code == 403
    assert (await http.get("/api/projects/nope/agents")).status_code == 404
    letter = {"from": "Nobody", "to": "ana", "body": "hello", "deliver": True}
    answered = (await http.post("/api/projects/0/send", json=letter)).json()
    assert (answered["state"], answered["status"], answered["to"]) == ("answered", "done", "ana")
    assert answered["text"]
    deep = await http.post("/api/send", json=letter | {"depth": 3})
    assert (deep.status_code, deep.json()["code"]) == (429, "limit")
    missing = await http.post("/api/send", json=letter | {"to": "zoe"})
    assert missing.status_code == 404
    assert "Agents: ana" in missing.json()["error"]
    chat = {"prompt": "hi", "agent": "ana"}
    run_id = (await http.post("/api/projects/0/super-agent/chat", json=chat)).json()["run_id"]
    row = await here.app.store.one("select thread, answerer from runs where id = ?", run_id)
    assert tuple(row or ()) == ("api:owner:ana", "ana")
    nobody = await http.post("/api/projects/0/super-agent/chat", json=chat | {"agent": "zoe"})
    assert nobody.status_code == 404
    left = await http.post("/api/send", json={"from": "ana", "to": "APX", "body": "for later"})
    assert (left.status_code, left.json()["thread"]) == (201, "a2a:default:ana+super_agent")
    assert (await http.get("/api/jobs", params={"status": "finished"})).status_code == 400
    assert (await http.get("/api/jobs/job_none")).status_code == 404
    assert (await http.post("/api/jobs/job_none/cancel")).status_code == 404
    over = await http.post(f"/api/jobs/{answered['job_id']}/cancel")
    assert (over.status_code, over.json()["error"]) == (403, f"{answered['job_id']} has ended already: done.")
    page = (await http.get("/api/jobs", params={"from": "nobody", "limit": 1})).json()
    assert page["meta"]["total"] == 0  # a name that nobody bears stays as it was written
    assert (await http.delete("/api/projects/default/agents/ana")).json()["name"] == "Ana"
    assert (await http.get("/api/agents")).json()["data"] == []


def apx(*args: str) -> Result:
    programs = Programs(tools=lambda: (agents_once,), daemon=())
    return CliRunner().invoke(group, list(args), obj=programs)


def test_the_verbs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    language.cache_clear()
    home = Home.find()
    home.make()
    home.config.write_text(json.dumps({"super_agent": {"enabled": True, "model": "practice:rules"}}))
    assert (
        json.loads(apx("agent", "add", "Ana", "--instructions", "Count.", "--json").stdout)["slug"] == "ana"
    )
    assert "ana" in apx("agent", "list").stdout
    assert "Count." in apx("agent", "show", "ana").stdout
    asked = apx("exec", "-a", "ana", "hello")
    assert (asked.exit_code, asked.stderr.splitlines()[0]) == (0, "Ana · practice:rules")
    said = apx("send", "ana", "apx", "hello", "--deliver")
    assert said.exit_code == 0, said.output
    assert said.stdout.strip()
    assert "answered" in said.stderr
    (job,) = json.loads(apx("jobs", "--from", "ana", "--json").stdout)
    assert (job["from"], job["to"], job["status"]) == ("ana", "super_agent", "done")
    assert "Nothing" in apx("jobs", "--open").stderr
    stopped = apx("jobs", "cancel", job["id"])
    assert (stopped.exit_code, "has ended already: done" in stopped.stderr) == (1, True)
    assert "Left for ana" in apx("send", "apx", "ana", "later").stderr
    monkeypatch.setenv("APX_DEPTH", "3")
    deep = apx("send", "ana", "apx", "hello", "--deliver")
    assert (deep.exit_code, deep.stdout) == (1, "")
    assert "handed on 3 times" in deep.stderr
    assert apx("agent", "remove", "ana").exit_code == 0
    assert apx("agent", "show", "ana").exit_code == 1
