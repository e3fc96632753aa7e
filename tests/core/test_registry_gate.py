"""No tool of the product escapes the gate, in any mode; and each channel is offered what it should be."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from bridge.tools import TOOLS as PHONE
from core.runs.gate import STEERING
from core.runs.steering import UNASKED
from core.runs.turn import Status
from core.tool import Context, Effect, Tool
from core.tools import agents, browsing, computer, knowledge, mcp
from tests.fakes.house import House, house, turn
from tests.fakes.openai_server import Answer

pytestmark = pytest.mark.anyio

ALL = (
    *(*computer.CORE, *computer.FULL, *knowledge.CORE, *knowledge.FULL),
    *(*agents.CORE, *agents.FULL, *mcp.TOOLS, *browsing.TOOLS, *PHONE),
)
ran: list[str] = []


class Anything(BaseModel):
    model_config = ConfigDict(extra="allow")


def muted(tool: Tool) -> Tool:
    """The same tool, which only remembers that it ran."""

    async def run(args: Any, ctx: Context) -> str:
        ran.append(tool.name)
        return "ran"

    return replace(tool, run=run, args=Anything, effect_of=None)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[House]:
    ran.clear()
    async with house(tmp_path) as built:
        built.tools.add(*(muted(tool) for tool in ALL))
        yield built


def must_ask(tool: Tool, mode: str) -> bool:
    if tool.name in STEERING:
        return False  # it changes nothing but the turn
    if mode == "permiso":
        return True
    return mode == "automatico" and tool.effect in {Effect.SEND, Effect.DANGER}


@pytest.mark.parametrize("mode", ["total", "automatico", "permiso"])
@pytest.mark.parametrize("tool", ALL, ids=lambda tool: tool.name)
async def test_every_tool_passes_the_gate(here: House, tool: Tool, mode: str) -> None:
    await here.config.set({"super_agent.permission_mode": mode})
    args = {"command": "make"} if tool.group == "shell" else {}
    here.server.next(Answer(calls=[(tool.name, args)]), Answer("Done."))
    run = await here.runner.run(turn(channel="api"))  # nobody can be asked
    asks = must_ask(tool, mode)
    assert (ran == []) is asks
    assert ("needs the owner's permission" in run.calls[0].result) is asks
    here.says_yes = False
    here.server.next(Answer(calls=[(tool.name, args)]), Answer("Done."))
    await here.runner.run(turn(channel="api", can_ask=True))
    assert ([one.tool for one in here.asked] == [tool.name]) is asks
    assert len(ran) == (0 if asks else 2)


@pytest.mark.parametrize("tool", ALL, ids=lambda tool: tool.name)
async def test_every_tool_is_rated_and_described(tool: Tool, tmp_path: Path) -> None:
    schema = tool.schema()["function"]
    assert schema["description"]
    assert tool.group
    assert tool.args.model_config.get("extra") == "forbid"


@pytest.mark.parametrize(
    ("channel", "full"),
    [
        *(("api", True), ("cli", True), ("web", True), ("routine", True), ("code", True), ("a2a", True)),
        *(("telegram", False), ("desktop", False)),
    ],
)
async def test_channels_and_their_tools(tmp_path: Path, channel: str, full: bool) -> None:
    async with house(tmp_path) as here:
        here.tools.add(*computer.CORE)
        here.tools.add(*computer.FULL, full_only=True)
        here.server.next(Answer("Hi."))
        await here.runner.run(turn(channel=channel))
        names = [one["function"]["name"] for one in here.server.requests[0].body["tools"]]
        core = [tool.name for tool in computer.CORE]
        more = [tool.name for tool in computer.FULL]
        if channel in UNASKED:
            core.remove("ask_questions")
        if channel == "code":
            more.append("finish")
        assert names == ([*core, *more] if full else [*core, "discover_tools"])


async def test_more_tools_come_from_the_shelf_for_the_next_step(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.tools.add(*computer.CORE)
        here.tools.add(*computer.FULL, full_only=True)
        here.server.next(
            Answer(calls=[("grep", {"pattern": "x"})]),
            Answer(calls=[("discover_tools", {"query": "regular"})]),
            Answer(calls=[("discover_tools", {"activate": ["nothing"]})]),
            Answer(calls=[("discover_tools", {"activate": ["grep", "grep", "fetch"]})]),
            Answer(calls=[("grep", {"pattern": "x"})]),
            Answer(calls=[("discover_tools", {})]),
            Answer("Done."),
        )
        run = await here.runner.run(turn())
        results = [call.result for call in run.calls]
        assert "there is no tool 'grep'" in results[0]
        assert (
            results[1]
            == "- grep (files): Find lines in the project's files by a regular expression; answers path:line: text."
        )
        assert "There is no tool nothing" in results[2]
        assert results[3] == "At hand from the next step on: grep, grep, fetch."
        assert results[4] == "No line matches."
        assert "grep" not in results[5]
        assert "edit_file" in results[5]
        offered = [
            [one["function"]["name"] for one in request.body["tools"]] for request in here.server.requests
        ]
        assert ("grep" in offered[3], "grep" in offered[4]) == (False, True)
        assert run.status is Status.DONE


async def test_a_stranger_is_offered_no_shelf(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.tools.add(*computer.FULL, full_only=True)
        here.server.next(Answer("Hi."), Answer("Hi."))
        await here.runner.run(turn(sender="third_party"))
        await here.runner.run(turn(channel="whatsapp"))
        assert all(not request.body.get("tools") for request in here.server.requests)
