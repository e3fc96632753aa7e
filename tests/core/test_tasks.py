"""Tasks and conversations, over the tools, HTTP and the command line."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bridge import parts
from core import sessions, tasks
from core.cli.group import Programs
from core.cli.main import group
from core.cli.words import language
from core.errors import Invalid, NotFound
from core.events import TaskChanged
from core.memory_index import Index
from core.paths import Home
from core.store import now
from core.tools import tasks as task_tools
from core.tools.knowledge import knowledge
from tests.fakes.api_home import Served, served
from tests.fakes.house import House, house, turn
from tests.fakes.openai_server import Answer

pytestmark = pytest.mark.anyio


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as built:
        yield built


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path, parts=[knowledge]) as one:
        yield one


async def test_a_task_goes_its_way_by_tools(here: House) -> None:
    here.tools.add(*task_tools.TOOLS)
    here.server.next(
        Answer(calls=[("create_task", {"title": "Call  Ana", "due": "2026-12-01"})]),
        Answer(
            calls=[
                ("update_task", {"id": 1, "status": "blocked"}),
                ("comment_task", {"id": 1, "text": "No line"}),
            ]
        ),
        Answer(calls=[("get_task", {"id": 1}), ("list_tasks", {}), ("complete_task", {"id": 1})]),
        Answer(
            calls=[
                ("list_tasks", {"state": "all", "project": "all"}),
                ("get_task", {"id": 9}),
                ("update_task", {"id": 1}),
            ]
        ),
        Answer("Done."),
    )
    results = [one.result for one in (await here.runner.run(turn())).calls]
    assert results[0] == "Task 1: Call Ana (default; pending, due 2026-12-01)"
    assert "blocked" in results[1]
    assert "No line" in results[3]
    assert results[4] == "- 1: Call Ana (default; blocked, due 2026-12-01, 1 comments)"
    assert "done" in results[5]
    assert "done" in results[6]
    assert "There is no task 9" in results[7]
    assert "at least one field" in results[8]
    told = here.seen(TaskChanged)
    assert [one.state for one in told] == ["open", "open", "open", "done"]
    task = await tasks.find(here.store, 1)
    assert task.closed_at is not None
    assert (await tasks.update(here.store, here.bus, 1, {"state": "open"})).closed_at is None


@pytest.mark.parametrize(
    "changes",
    [
        {"title": " "},
        {"title": "x" * 201},
        {"state": "gone"},
        {"status": "x"},
        {"due": "tomorrow"},
        {"id": 3},
        {},
    ],
    ids=str,
)
async def test_bad_changes_change_nothing(here: House, changes: dict[str, Any]) -> None:
    before = await tasks.create(here.store, here.bus, project_id="default", title="Tea")
    with pytest.raises(Invalid):
        await tasks.update(here.store, here.bus, before.id, {"body": "new"} | changes if changes else {})
    assert await tasks.find(here.store, before.id) == before


async def test_what_is_due_first_stands_first(here: House) -> None:
    for title, due in (
        ("none", None),
        ("late", "2026-12-09"),
        ("soon", "2026-12-01T10:00"),
        ("done", "2026-01-01"),
    ):
        await tasks.create(here.store, here.bus, project_id="default", title=title, due=due)
    await tasks.update(here.store, here.bus, 4, {"state": "done"})
    assert [one.title for one in await tasks.listed(here.store, state=None)] == [
        "soon",
        "late",
        "none",
        "done",
    ]


async def test_tasks_over_http_stay_in_their_project(api: Served, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    pid = (await api.http.post("/api/projects", json={"path": str(tmp_path / "shop")})).json()["id"]
    mine = f"/api/projects/{pid}/tasks"
    made = await api.http.post(mine, json={"title": "Paint", "due": "2026-12-01"})
    assert (made.status_code, made.json()["project_id"]) == (201, pid)
    id = made.json()["id"]
    assert (await api.http.get("/api/projects/default/tasks")).json()["data"] == []
    assert (
        await api.http.patch(f"/api/projects/default/tasks/{id}", json={"state": "done"})
    ).status_code == 404
    changed = (await api.http.patch(f"{mine}/{id}", json={"status": "running", "due": None})).json()
    assert (changed["status"], changed["due"], changed["title"]) == ("running", None, "Paint")
    assert (await api.http.post(f"{mine}/{id}/comments", json={"text": "Blue"})).status_code == 201
    whole = (await api.http.get(f"{mine}/{id}")).json()
    assert [one["text"] for one in whole["thread"]] == ["Blue"]
    assert (await api.http.get(f"/api/tasks/{id}")).json() == whole
    assert [one["id"] for one in (await api.http.get("/api/tasks")).json()["data"]] == [id]
    assert (await api.http.patch(f"{mine}/{id}", json={"due": "soon"})).json()["fields"] == ["due"]
    assert (await api.http.delete(f"/api/projects/{pid}")).status_code in (403, 409, 400)
    _, client = await api.paired("client")
    for path in ("/api/tasks", mine, "/api/memory", "/api/sessions", "/api/skills"):
        assert (await api.bare.get(path)).status_code == 401
        assert (await api.bare.get(path, headers=client)).status_code == 403


async def test_memory_over_http(api: Served) -> None:
    made = await api.http.post("/api/memory", json={"text": "Likes tea"})
    assert (made.status_code, made.json()["source"]) == (201, "owner")
    listed = (await api.http.get("/api/memory", params={"q": "TEA"})).json()
    assert [one["text"] for one in listed["data"]] == ["Likes tea"]
    assert "Likes tea" in Path(listed["notebook"]).read_text()
    assert (await api.http.post("/api/memory", json={"text": "x", "source": "owner"})).status_code == 422
    assert (await api.http.post("/api/memory", json={"text": "x", "project_id": "../x"})).status_code in (
        400,
        404,
    )
    gone = await api.http.delete(f"/api/memory/{made.json()['id']}")
    assert gone.json()["forgotten_at"]
    assert (await api.http.get("/api/memory")).json()["data"] == []
    assert len((await api.http.get("/api/memory", params={"forgotten": True})).json()["data"]) == 1
    assert (await api.http.delete("/api/memory/99")).status_code == 404


async def test_skills_over_http(api: Served) -> None:
    names = [one["name"] for one in (await api.http.get("/api/skills")).json()["data"]]
    assert names == ["files-and-reports", "phone", "whatsapp-round"]
    assert "# Working on the phone" in (await api.http.get("/api/skills/phone")).json()["text"]
    for name in ("..%2F..%2Fetc", "nope"):
        assert (await api.http.get(f"/api/skills/{name}")).status_code in (400, 404)


async def said(app: Any, text: str, thread: str, role: str = "user") -> None:
    await app.store.run(
        "insert into messages (thread, channel, author, role, text, at) values (?, 'telegram', 'owner', ?, ?, ?)",
        *(thread, role, text, now()),
    )


async def test_conversations_are_found_by_their_words(api: Served) -> None:
    await said(api.app, "¿Cuánto salió la reparación del coche?", "telegram:1")
    await said(api.app, "It was 300.", "telegram:1", "assistant")
    await said(api.app, "Nothing of that kind", "desktop/a b")
    found = (await api.http.get("/api/sessions", params={"q": "reparacion coches"})).json()["data"]
    assert [(one["thread"], one["lines"]) for one in found] == [("telegram:1", 2)]
    assert "reparación del coche" in found[0]["snippet"]
    latest = (await api.http.get("/api/sessions")).json()["data"]
    assert [one["thread"] for one in latest] == ["desktop/a b", "telegram:1"]
    shown = (await api.http.get("/api/sessions/desktop%2Fa%20b")).json()
    assert [one["text"] for one in shown["data"]] == ["Nothing of that kind"]
    assert (await api.http.get("/api/sessions/nope")).status_code == 404
    for query in ('"', "* OR *", "NEAR("):
        assert (await api.http.get("/api/sessions", params={"q": query})).status_code in (200, 400)


async def test_conversations_are_found_without_the_index_too(here: House, tmp_path: Path) -> None:
    await said(here, "The garden gate", "t:1")
    async with Index.open(tmp_path / "nowhere" / "search.db") as index:
        assert [one.thread for one in await sessions.search(here.store, index, "garden")] == ["t:1"]
        with pytest.raises(Invalid):
            await sessions.search(here.store, index, '"*"')


async def test_a_long_conversation_shows_its_end(here: House) -> None:
    for n in range(30):
        await said(here, f"{n} " + "x" * 1000, "t:1")
    lines = await sessions.shown(here.store, "t:1", max_chars=5000)
    assert [one.text[:2] for one in lines] == ["…x", "26", "27", "28", "29"]
    assert sum(len(one.text) for one in lines) == 5000
    with pytest.raises(NotFound):
        await sessions.shown(here.store, "t:2")


async def test_the_agent_looks_into_former_conversations(tmp_path: Path) -> None:
    async with house(tmp_path) as here, knowledge(here):  # type: ignore[arg-type]
        await said(here, "The garden gate is green", "t:1")
        here.server.next(
            Answer(calls=[("search_sessions", {"query": "garden"}), ("search_sessions", {"session": "t:1"})]),
            Answer(calls=[("search_sessions", {}), ("search_sessions", {"query": "submarine"})]),
            Answer("Green."),
        )
        results = [one.result for one in (await here.runner.run(turn("which colour has it?"))).calls]
        assert results[0].startswith("- t:1 (telegram, ")
        assert results[1].endswith("owner: The garden gate is green")
        assert "t:1" in results[2]
        assert results[3] == "Nothing like that was said."


def apx(*args: str, code: int = 0) -> Any:
    result = CliRunner().invoke(group, list(args), obj=Programs(parts.tools, ("true",)))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return json.loads(result.stdout) if "--json" in args else result.stdout + result.stderr


def test_the_verbs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    language.cache_clear()
    home = Home.find()
    home.make()
    assert apx("task", "add", "Call", "Ana", "--due", "2026-12-01", "--json")["due"] == "2026-12-01"
    assert "given up" in apx("task", "drop", "1")
    assert "open" in apx("task", "reopen", "1")
    assert "Added to task 1" in apx("task", "comment", "1", "no", "line")
    assert "owner: no line" in apx("task", "show", "1")
    assert apx("task", "status", "1", "blocked", "--json")["status"] == "blocked"
    assert "Call Ana" in apx("task", "list")
    assert apx("task", "done", "1", "--json")["state"] == "done"
    assert "There is no task 7" in apx("task", "show", "7", code=1)
    assert "Remembered as 1: Likes tea" in apx("memory", "add", "Likes", "tea")
    assert apx("memory", "search", "tea", "--json")[0]["source"] == "owner"
    assert "memory.md" in apx("memory", "list")
    assert "Forgotten: Likes tea" in apx("memory", "forget", "1")
    assert apx("memory", "list", "--all", "--json")[0]["forgotten_at"]
    assert "whatsapp-round" in apx("skills", "list")
    assert "# WhatsApp on" in apx("skills", "show", "whatsapp-round")
    assert apx("sessions", "list", "--json") == []
    assert "at least one word" in apx("sessions", "search", "***", code=1)
    assert "no conversation" in apx("sessions", "show", "desktop/x y", code=1)
