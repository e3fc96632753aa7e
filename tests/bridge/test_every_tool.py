"""Every tool of the product answers a real call: asked for by a model behind the real model library, with the real
phone server, Telegram's interface and an MCP server of the SDK around it. A tool without a case here is a failure.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bridge.parts import parts
from bridge.simulator.bot_api import BotApi, bot_api
from bridge.simulator.casts import Author, empty
from bridge.simulator.phone import SimPhone
from core import agents, projects, tasks
from core.api.server import serve
from core.app import App
from core.events import BackgroundJob, Event, RunClosed
from core.paths import Home
from core.runs import jobs
from core.runs.turn import Call, Run, Status, Turn
from core.store import new_id
from core.tools.outline import elements
from core.tools.web import Visitor
from tests.fakes.openai_server import Answer, OpenAIServer
from tests.fakes.sites import Sites, sites
from tests.fakes.town import TOKEN, server_and_phone, settings

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c63f8ffff3f030005fe02fe"
    "a735819d0000000049454e44ae426082"
)
PROGRAM = """#!/bin/sh
printf '%s\\n' "$@" > "$PWD/asked-of-claude"
echo "report: refactored"
"""
MCP: dict[str, Any] = {
    "name": "fake",
    "command": sys.executable,
    "args": ["-m", "tests.fakes.mcp_program"],
    "env": {"PYTHONPATH": str(ROOT)},
}


def people() -> SimPhone:
    phone = empty("en")
    write = Author(phone)
    ana = phone.whatsapp.add("Ana", number="34600100201")
    write.said(ana, 90, "How are you?")
    write.waiting(ana, 9, "Coming on Friday?")
    write.said(phone.whatsapp.add("Beto", number="34600100203"), 300, "See you")
    return phone


@dataclass
class World:
    """The living app, what stands in for the world around it, and the words of its model."""

    app: App
    server: OpenAIServer
    bot: BotApi
    phone: SimPhone
    web: Sites
    script: dict[str, list[Answer]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    @property
    def folder(self) -> Path:
        """Where the tools of the default project work."""
        return self.app.home.projects / "default" / "files"

    def model(self, body: dict[str, Any]) -> Answer:
        """The next scripted answer to the last thing that was said; a decision where only that is wanted."""
        last = body["messages"][-1]
        if "leave" in [one["function"]["name"] for one in body.get("tools", ())]:
            return Answer(calls=[("leave", {"reason": "nothing to do"})])
        if last["role"] == "user":
            for said, answers in self.script.items():
                if said in str(last["content"]) and answers:
                    return answers.pop(0)
        return Answer("Done.")

    async def turn(
        self, *steps: Answer | Callable[[str], Answer], channel: str = "api", text: str = ""
    ) -> Run:
        """One turn of the owner's in a thread of its own; the model calls what the steps say, one after another.

        A step that depends on what the last call brought is a function of that.
        """
        mark, first = f"please {new_id('ask')}", steps[0]
        assert isinstance(first, Answer)
        self.script[mark] = [first]
        queue = list(steps[1:])

        def default(body: dict[str, Any]) -> Answer:
            last = body["messages"][-1]
            mine = any(mark in str(one["content"]) for one in body["messages"] if one["role"] == "user")
            if mine and last["role"] == "tool" and queue:
                step = queue.pop(0)
                return step if isinstance(step, Answer) else step(str(last["content"]))
            return self.model(body)

        self.server.default = default
        turn = Turn(text=f"{mark} {text}", channel=channel, thread=f"{channel}:{mark}", sender="owner")
        run = await self.app.runner.run(turn)
        assert run.status is Status.DONE, run.text
        self.used |= {one.tool for one in run.calls if one.ok}
        return run

    async def use(self, tool: str, channel: str = "api", /, **args: Any) -> Call:
        """A turn whose model calls one tool; the call, which must have held."""
        run = await self.turn(Answer(calls=[(tool, args)]), channel=channel)
        (call,) = run.calls
        assert call.ok, call.result
        # The model was told of it, and it read the result.
        told = [one for one in self.server.requests if tool in one.tools]
        assert told
        results = [m["content"] for one in told for m in one.body["messages"] if m["role"] == "tool"]
        assert call.result in results
        return call

    def says(self, said: str, *answers: Answer) -> None:
        """What the model answers whoever is asked this."""
        self.script[said] = list(answers)

    def heard(self, kind: type[Event], fits: Callable[[Any], bool]) -> "asyncio.Future[Any]":
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.app.bus.subscribe(kind, lambda e: future.done() or not fits(e) or future.set_result(e))
        return future


Case = Callable[[World], Awaitable[None]]
CASES: dict[str, Case] = {}


def case(tool: str) -> Callable[[Case], Case]:
    def keep(run: Case) -> Case:
        assert tool not in CASES
        CASES[tool] = run
        return run

    return keep


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def world(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """One of it for all: the model library takes seconds to load, an adb server and a phone take theirs."""
    root = tmp_path_factory.mktemp("all")
    programs = root / "bin"
    programs.mkdir()
    (programs / "claude").write_text(PROGRAM)
    (programs / "claude").chmod(0o755)
    async with AsyncExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("PATH", f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin")
        patch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        patch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
        adb_port, device = await stack.enter_async_context(server_and_phone(root, people()))
        bot = await stack.enter_async_context(bot_api(TOKEN))
        server = await stack.enter_async_context(OpenAIServer())
        web = await stack.enter_async_context(sites())

        @asynccontextmanager
        async def placed(app: App) -> AsyncIterator[None]:
            """The public web is the one on loopback, as far as the tools know."""
            app.services[Visitor] = web.visitor
            yield

        home = Home(root / "apx")
        home.make()
        usual = settings(
            bot,
            device.address,
            adb_port,
            super_agent={
                "model": "standin:small",
                "permission_mode": "total",
                "judge": {"continue_unfinished": False},
            },
            engines={"standin": {"base_url": server.url, "api_key": "sk-standin-0123456789"}},
            mcp={"servers": [MCP]},
            user={"language": "en"},
            whatsapp={"posture": "draft"},
            web_search={"provider": "searxng", "base_url": f"http://127.0.0.1:{web.port}"},
        )
        home.config.write_text(json.dumps(usual), "utf-8")
        quiet = [one for one in parts() if one is not serve]
        app = await stack.enter_async_context(App.open(home, [placed, *quiet]))
        made = World(app, server, bot, device.phone, web)
        made.folder.mkdir(parents=True)
        yield made


# Files


@case("write_file")
async def _(w: World) -> None:
    await w.use("write_file", path="notes/a.txt", content="one\ntwo\n")
    assert (w.folder / "notes/a.txt").read_text() == "one\ntwo\n"


@case("read_file")
async def _(w: World) -> None:
    (w.folder / "poem.txt").write_text("the moon\nthe sea\n")
    assert (await w.use("read_file", path="poem.txt", from_line=2)).result == "the sea\n"


@case("list_files")
async def _(w: World) -> None:
    (w.folder / "seen.txt").write_text("12345")
    assert "seen.txt  5" in (await w.use("list_files")).result


@case("edit_file")
async def _(w: World) -> None:
    (w.folder / "plan.txt").write_text("buy milk\nbuy bread\n")
    await w.use("edit_file", path="plan.txt", old="milk", new="oats")
    assert (w.folder / "plan.txt").read_text() == "buy oats\nbuy bread\n"


@case("search_files")
async def _(w: World) -> None:
    (w.folder / "deep.txt").write_text("nothing\nA Heron stands\n")
    assert "deep.txt:2: A Heron stands" in (await w.use("search_files", text="heron")).result


@case("glob")
async def _(w: World) -> None:
    (w.folder / "x.heron").write_text("")
    assert (await w.use("glob", pattern="*.heron")).result == "x.heron"


@case("grep")
async def _(w: World) -> None:
    (w.folder / "log.txt").write_text("ok\nerror 42\n")
    assert "log.txt:2: error 42" in (await w.use("grep", pattern=r"error \d+")).result


async def a_repository(w: World) -> None:
    """The workspace as one with a commit and a change, made as its owner would."""
    if not (w.folder / ".git").exists():
        who = "git -c user.name=Marta -c user.email=m@example.org"
        line = f"git init -q . && echo one > kept.txt && git add kept.txt && {who} commit -qm 'First light'"
        await w.use("run_shell", command=line)
    (w.folder / "kept.txt").write_text("two\n")


@case("git_status")
async def _(w: World) -> None:
    await a_repository(w)
    assert " M kept.txt" in (await w.use("git_status", path="kept.txt")).result


@case("git_diff")
async def _(w: World) -> None:
    await a_repository(w)
    assert "-one\n+two" in (await w.use("git_diff", "code", path="kept.txt")).result


@case("git_log")
async def _(w: World) -> None:
    await a_repository(w)
    assert (await w.use("git_log")).result.endswith("Marta: First light")


@case("git_show")
async def _(w: World) -> None:
    await a_repository(w)
    assert "+one" in (await w.use("git_show", commit="HEAD")).result


@case("run_shell")
async def _(w: World) -> None:
    call = await w.use("run_shell", command="echo made > by-shell.txt; echo told")
    assert "exit code 0" in call.result
    assert "told" in call.result
    assert (w.folder / "by-shell.txt").read_text() == "made\n"


@case("send_file")
async def _(w: World) -> None:
    (w.folder / "chart.png").write_bytes(PNG)
    run = await w.turn(
        Answer(calls=[("send_file", {"path": "chart.png", "caption": "the tide"})]), channel="desktop"
    )
    assert run.calls[0].ok, run.calls[0].result
    (file,) = run.files
    assert (file.name, file.caption, file.path.read_bytes()) == ("chart.png", "the tide", PNG)


# The owner


@case("send_telegram")
async def _(w: World) -> None:
    call = await w.use("send_telegram", text="the kettle is on")
    assert "Queued" in call.result
    await w.bot.until(lambda: any(one.text == "the kettle is on" for one in w.bot.sent))


@case("set_identity")
async def _(w: World) -> None:
    await w.use("set_identity", owner_name="Marta")
    assert w.app.identity.now.owner_name == "Marta"
    assert "Marta" in w.app.home.identity.read_text()


@case("ask_questions")
async def _(w: World) -> None:
    asked = {"questions": [{"question": "Which day?", "options": ["Friday", "Sunday"]}]}
    run = await w.turn(Answer(calls=[("ask_questions", asked)]), channel="desktop")
    assert [one.options for one in run.questions] == [("Friday", "Sunday")]
    assert "Which day?" in run.text


@case("finish")
async def _(w: World) -> None:
    run = await w.turn(Answer(calls=[("finish", {"summary": "All tests pass."})]), channel="code")
    assert (run.ending, run.text) == ("finish", "All tests pass.")


@case("discover_tools")
async def _(w: World) -> None:
    run = await w.turn(
        Answer(calls=[("discover_tools", {"activate": ["glob"]})]),
        Answer(calls=[("glob", {"pattern": "*.none"})]),
        channel="telegram",
    )
    assert [one.ok for one in run.calls] == [True, True]
    assert run.calls[1].result == "No file has such a name."


# What is known


@case("remember")
async def _(w: World) -> None:
    fact = "The bakery opens at seven."
    run = await w.turn(Answer(calls=[("remember", {"fact": fact})]), text=f"remember: {fact}")
    assert run.calls[0].ok
    assert await w.app.store.one("select 1 from facts where text = ?", fact)
    assert fact in w.app.home.memory.read_text()


@case("forget")
async def _(w: World) -> None:
    fact = "Parking is on the second floor."
    await w.turn(Answer(calls=[("remember", {"fact": fact})]), text=f"remember: {fact}")
    await w.use("forget", fact="second floor")
    assert fact not in w.app.home.memory.read_text()


@case("read_memory")
async def _(w: World) -> None:
    fact = "The boiler was serviced in May."
    await w.turn(Answer(calls=[("remember", {"fact": fact})]), text=f"remember: {fact}")
    assert fact in (await w.use("read_memory")).result


@case("tail_messages")
async def _(w: World) -> None:
    await w.turn(Answer("Sails are up."), channel="telegram", text="is the boat ready")
    lines = (await w.use("tail_messages", channel="telegram", limit=2)).result.splitlines()
    assert ["boat ready" in lines[0], lines[1].endswith("Sails are up.")] == [True, True]


@case("list_projects")
async def _(w: World) -> None:
    assert "- default: default (this conversation's)" in (await w.use("list_projects")).result.lower()


@case("add_project")
async def _(w: World) -> None:
    folder = w.app.home.root.parent / "garden"
    folder.mkdir()
    await w.use("add_project", path=str(folder))
    assert [one.path for one in await projects.listed(w.app.store) if one.id == "garden"] == [str(folder)]


@case("list_agents")
async def _(w: World) -> None:
    await an_agent(w, "Emil")
    assert "- emil (Emil; default): Count what you are told to." in (await w.use("list_agents")).result


@case("search_sessions")
async def _(w: World) -> None:
    run = await w.turn(Answer("Noted."), text="the ferry to Hvar leaves at noon")
    assert run.turn.thread in (await w.use("search_sessions", query="ferry Hvar")).result
    assert "leaves at noon" in (await w.use("search_sessions", session=run.turn.thread)).result


def a_skill(w: World) -> None:
    folder = w.app.home.skills / "bake"
    folder.mkdir(exist_ok=True)
    (folder / "SKILL.md").write_text("---\nname: bake\ndescription: Bread.\n---\nKnead for ten minutes.\n")
    (folder / "times.md").write_text("Forty minutes at 220.")


@case("list_skills")
async def _(w: World) -> None:
    a_skill(w)
    assert "- bake (owner): Bread." in (await w.use("list_skills")).result


@case("load_skill")
async def _(w: World) -> None:
    a_skill(w)
    assert "Knead for ten minutes." in (await w.use("load_skill", name="bake")).result


@case("read_skill")
async def _(w: World) -> None:
    a_skill(w)
    assert (await w.use("read_skill", name="bake", file="times.md")).result == "Forty minutes at 220."


# Tasks


async def a_task(w: World, title: str) -> int:
    made = await tasks.create(w.app.store, w.app.bus, project_id="default", title=title, author="owner")
    return made.id


@case("create_task")
async def _(w: World) -> None:
    await w.use("create_task", title="Water the fern", due="2030-05-01")
    (row,) = await w.app.store.all("select due, state from tasks where title = 'Water the fern'")
    assert tuple(row) == ("2030-05-01", "open")


@case("list_tasks")
async def _(w: World) -> None:
    id = await a_task(w, "Call the plumber")
    assert f"- {id}: Call the plumber" in (await w.use("list_tasks")).result


@case("get_task")
async def _(w: World) -> None:
    id = await a_task(w, "Fix the gate")
    await tasks.comment(w.app.store, w.app.bus, id, "the hinge", author="owner")
    assert "owner: the hinge" in (await w.use("get_task", id=id)).result


@case("update_task")
async def _(w: World) -> None:
    id = await a_task(w, "Paint")
    await w.use("update_task", id=id, status="running", title="Paint the door")
    task = await tasks.find(w.app.store, id)
    assert (task.title, task.status) == ("Paint the door", "running")


@case("complete_task")
async def _(w: World) -> None:
    id = await a_task(w, "Sweep")
    await w.use("complete_task", id=id)
    assert (await tasks.find(w.app.store, id)).state == "done"


@case("comment_task")
async def _(w: World) -> None:
    id = await a_task(w, "Mow")
    await w.use("comment_task", id=id, text="half is done")
    assert [one.text for one in await tasks.thread(w.app.store, id)] == ["half is done"]


# Others who work


async def an_agent(w: World, name: str) -> None:
    if not any(one.name == name for one in await agents.listed(w.app.store)):
        await agents.add(w.app.store, "default", name=name, instructions="Count what you are told to.")


@case("call_agent")
async def _(w: World) -> None:
    await an_agent(w, "Ana")
    w.says("count the geese", Answer(calls=[("list_files", {})]), Answer("40 geese."))
    call = await w.use("call_agent", agent="ana", prompt="count the geese")
    assert call.result == "Done."
    (job,) = await jobs.recent(w.app.store, recipient="ana", limit=1)
    run = await w.app.store.one(
        "select answerer, json_extract(body, '$.tool') as tool from runs join run_steps on run_id = runs.id"
        " where runs.id = ? and kind = 'tool'",
        job.run_id,
    )
    assert run is not None
    assert tuple(run) == ("ana", "list_files")  # it worked with tools, it did not describe that


@case("send_to_agent")
async def _(w: World) -> None:
    await an_agent(w, "Bob")
    w.says("count the ducks", Answer("12 ducks."))
    woken = w.heard(RunClosed, lambda e: e.channel == "a2a" and e.text == "Noted: 12.")
    w.says("bob answered what you handed over", Answer("Noted: 12."))
    call = await w.use("send_to_agent", to="bob", message="count the ducks", background=True)
    assert "You are woken with the answer" in call.result
    await woken


@case("check_jobs")
async def _(w: World) -> None:
    await an_agent(w, "Clara")
    ended = w.heard(BackgroundJob, lambda e: e.phase == "end" and e.recipient == "clara")
    args = {"to": "clara", "message": "count the swans", "background": True, "wake_me": False}
    await w.turn(Answer(calls=[("send_to_agent", args)]))
    await ended
    assert "done" in (await w.use("check_jobs")).result.partition("clara")[0]


@case("run_subagent")
async def _(w: World) -> None:
    w.says("count to three", Answer("one two three"))
    assert (await w.use("run_subagent", task="count to three")).result == "one two three"


@case("call_runtime")
async def _(w: World) -> None:
    call = await w.use("call_runtime", runtime="claude-code", prompt="tidy the imports")
    assert "report: refactored" in call.result
    assert (w.folder / "asked-of-claude").read_text() == "-p\ntidy the imports\n"
    w.says("claude-code answered what you handed over", Answer("The tests are tidy."))
    woken = w.heard(RunClosed, lambda e: e.text == "The tests are tidy.")
    left = {"runtime": "claude-code", "prompt": "tidy the tests", "background": True}
    call = await w.use("call_runtime", **left)
    assert "Running as job_" in call.result
    await woken
    (job,) = await jobs.recent(w.app.store, recipient="claude-code")
    assert (job.kind, job.status) == ("runtime", "done")
    assert "report: refactored" in job.result


@case("list_mcps")
async def _(w: World) -> None:
    assert "- fake (program)" in (await w.use("list_mcps")).result


@case("list_mcp_tools")
async def _(w: World) -> None:
    assert "- add (reads): Add two numbers." in (await w.use("list_mcp_tools", server="fake")).result


@case("call_mcp")
async def _(w: World) -> None:
    note = w.folder / "by-mcp.txt"
    args = {"path": str(note), "text": "hello"}
    assert "written" in (await w.use("call_mcp", server="fake", tool="write_note", args=args)).result
    assert note.read_text() == "hello"


@case("fetch")
async def _(w: World) -> None:
    assert "Page /tides" in (await w.use("fetch", url=w.web.url("/tides"))).result


# The phone


@case("phone_state")
async def _(w: World) -> None:
    assert (await w.use("phone_state")).result.startswith("ready:")


@case("phone_screenshot")
async def _(w: World) -> None:
    call = await w.use("phone_screenshot")
    path = Path(call.result.partition("not sent: ")[2].rpartition(" (")[0])
    assert path.read_bytes().startswith(PNG[:8])


@case("phone_open")
async def _(w: World) -> None:
    await w.use("phone_open")
    assert w.phone.in_front


@case("phone_key")
async def _(w: World) -> None:
    w.phone.foreground = "com.whatsapp/.Main"
    await w.use("phone_key", key="HOME")
    assert not w.phone.in_front


@case("phone_ui")
async def _(w: World) -> None:
    w.phone.foreground = "com.whatsapp/.Main"
    assert '"Ana"' in (await w.use("phone_ui")).result


@case("phone_tap")
async def _(w: World) -> None:
    await w.use("phone_tap", x=500, y=610)
    assert w.phone.touches[-1] == (500, 610)


@case("phone_type")
async def _(w: World) -> None:
    w.phone.home()
    await w.turn(Answer(calls=[("phone_open", {"link": "https://wa.me/34600100203"})]))
    field = w.phone.whatsapp
    field.focused = field.keyboard = True
    await w.use("phone_type", text="hello")
    assert field.find("Beto").draft == "hello"
    field.find("Beto").draft = ""


@case("whatsapp_unread")
async def _(w: World) -> None:
    w.phone.home()
    w.phone.receive("34600100201", "Are you there?")
    assert "Ana (" in (await w.use("whatsapp_unread")).result


@case("whatsapp_read")
async def _(w: World) -> None:
    assert "See you" in (await w.use("whatsapp_read", chat="Beto")).result
    assert not w.phone.in_front


@case("whatsapp_send")
async def _(w: World) -> None:
    await w.use("whatsapp_send", chat="Beto", text="On my way 🎉")
    assert ("Beto", "On my way 🎉") in [(one.title, one.text) for one in w.phone.sent]


@case("whatsapp_round")
async def _(w: World) -> None:
    w.phone.home()
    w.phone.receive("34600100201", "Shall I bring bread?")
    assert "Ana" in (await w.use("whatsapp_round")).result


@case("whatsapp_last_round")
async def _(w: World) -> None:
    if not await w.app.store.one("select 1 from rounds"):
        await w.use("whatsapp_round")
    assert "is over" in (await w.use("whatsapp_last_round")).result


# The web


async def acts(w: World, tool: str, element: str, **args: Any) -> str:
    """A call on an element of the shop's page, by its words; the page is opened in the same turn."""

    def step(said: str) -> Answer:
        ref = next(ref for ref, label in elements(said).items() if label == element)
        return Answer(
            calls=[(tool, {"ref": ref, "element": element, "site": f"one.org:{w.web.port}", **args})]
        )

    run = await w.turn(Answer(calls=[("browser_navigate", {"url": w.web.url("/")})]), step)
    call = run.calls[-1]
    assert call.ok, call.result
    return call.result


@case("browser_navigate")
async def _(w: World) -> None:
    assert 'button "Send"' in (await w.use("browser_navigate", url=w.web.url("/"))).result


@case("browser_click")
async def _(w: World) -> None:
    w.web.posted.clear()
    assert "Thanks" in await acts(w, "browser_click", 'button "Send"')
    assert w.web.posted


@case("browser_type")
async def _(w: World) -> None:
    assert "Ana" in await acts(w, "browser_type", 'textbox "Name"', text="Ana")


@case("browser_select")
async def _(w: World) -> None:
    assert "Large" in await acts(w, "browser_select", 'combobox "Size"', values=["Large"])


async def reads(w: World, tool: str, **args: Any) -> str:
    opening = Answer(calls=[("browser_navigate", {"url": w.web.url("/script")})])
    run = await w.turn(opening, Answer(calls=[(tool, args)]))
    assert run.calls[-1].ok, run.calls[-1].result
    return run.calls[-1].result


@case("browser_snapshot")
async def _(w: World) -> None:
    assert "Made by a script" in await reads(w, "browser_snapshot")


@case("browser_get_text")
async def _(w: World) -> None:
    assert "Made by a script" in await reads(w, "browser_get_text")


@case("browser_wait")
async def _(w: World) -> None:
    assert "Made by a script" in await reads(w, "browser_wait", text="Made by", seconds=5)


@case("browser_screenshot")
async def _(w: World) -> None:
    said = await reads(w, "browser_screenshot")
    assert "not sent" in said
    assert list(w.app.home.media_out.glob("*.png"))


@case("browser_close")
async def _(w: World) -> None:
    await reads(w, "browser_close")


@case("web_search")
async def _(w: World) -> None:
    said = (await w.use("web_search", query="tides")).result
    assert "https://tides.example.org/" in said
    assert "High at nine" in said


@pytest.mark.parametrize("tool", CASES)
async def test_it_does_what_it_says(world: World, tool: str) -> None:
    await CASES[tool](world)
    assert tool in world.used


async def test_every_tool_has_its_case_here(world: World) -> None:
    # The loop itself adds these two where they belong.
    assert set(CASES) == {*world.app.tools.names(), "finish", "discover_tools"}
