"""The one door to every tool: arguments are checked, the gate is asked, and only then something runs.

What we expect to go wrong becomes text for the model; a bug ends the run.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from core.errors import ApxError
from core.events import ToolFinished, ToolStarted
from core.runs.gate import Policy, Verdict, decide, touches_credentials
from core.runs.request import ToolCall
from core.runs.turn import Call
from core.store import new_id
from core.texts import t
from core.tool import Context, Tool

MAX_RESULT = 16_000
DEADLINE_S = 900.0


@dataclass(frozen=True, slots=True)
class Approval:
    """A call that waits for the owner's yes; `args` are complete, so that nothing hides behind a cut.

    `shown` is what the owner reads, `digest` what it was bound to, `grant` what "always" would stand for: empty
    where always is not to be had.
    """

    id: str
    run_id: str
    channel: str
    thread: str
    tool: str
    args: Mapping[str, Any]
    summary: str
    project_id: str = "default"
    agent: str = ""
    effect: str = ""
    risk: str = ""
    why: str = ""
    shown: str = ""
    warnings: tuple[str, ...] = ()
    cwd: str = ""
    digest: str = ""
    grant: str = ""


Ask = Callable[[Approval], Awaitable[bool]]


class Dispatch:
    """Runs the calls of one run. `offered` is all there is: a name outside it does not exist."""

    def __init__(
        self,
        offered: Mapping[str, Tool],
        ctx: Context,
        policy: Policy,
        ask: Ask | None = None,
        *,
        cwd: Path | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._offered = offered
        self._ctx = ctx
        self._policy = policy
        self._ask = ask
        self._cwd = cwd
        self._deadline_s = deadline_s

    async def __call__(self, wanted: ToolCall) -> Call:
        """One call, from the model's words to its result."""
        call = Call(id=wanted.id or new_id("call"), tool=wanted.name, args=_object(wanted.args_json))
        turn, bus = self._ctx.turn, self._ctx.bus
        where: dict[str, Any] = {"run_id": self._ctx.run_id, "project_id": turn.project_id}
        bus.emit(ToolStarted(call_id=call.id, tool=call.tool, args=call.args, **where))
        began = time.monotonic()
        call.ok = False  # until it is known to be otherwise
        try:
            call.result, call.ok = await self._result(wanted, call)
        except asyncio.CancelledError:
            call.result = "stopped; what it had begun may be done"
            raise
        finally:
            call.seconds = time.monotonic() - began
            bus.emit(
                ToolFinished(
                    call_id=call.id,
                    tool=call.tool,
                    ok=call.ok,
                    result=call.result,
                    seconds=call.seconds,
                    **where,
                )
            )
        return call

    async def _result(self, wanted: ToolCall, call: Call) -> tuple[str, bool]:
        tool = self._offered.get(wanted.name)
        if tool is None:
            return f"error: there is no tool {wanted.name!r}. There are: {', '.join(self._offered)}", False
        try:
            args = tool.args.model_validate_json(wanted.args_json or "{}")
        except ValidationError as error:
            return f"error: {_explained(error)}", False
        refusal = await self._gate(tool, call)
        if refusal:
            return f"error: {refusal}", False
        try:
            async with asyncio.timeout(self._deadline_s) as clock:
                return _capped(await tool.run(args, self._ctx)), True
        except ApxError as error:
            return f"error: {error}", False
        except TimeoutError:
            if not clock.expired():
                raise
            return (
                f"error: {tool.name} took longer than {self._deadline_s:g} s; its work may still go on",
                False,
            )

    async def _gate(self, tool: Tool, call: Call) -> str | None:
        """The reason why the call may not run, if there is one."""
        secret = touches_credentials(tool, call.args, self._ctx.home, cwd=self._cwd)
        verdict = decide(tool, touches_credentials=secret, policy=self._policy)
        if verdict is Verdict.ALLOW:
            return None
        if verdict is Verdict.REFUSE or self._ask is None:
            why = "it would write a file that holds credentials" if secret else f"it is a {tool.effect} tool"
            return f"{tool.name} needs the owner's permission ({why}), and nobody can be asked here"
        return (
            None if await self._approved(tool, call, self._ask) else "the owner said no; do not try it again"
        )

    async def _approved(self, tool: Tool, call: Call, ask: Ask) -> bool:
        turn = self._ctx.turn
        shown = json.dumps(call.args, ensure_ascii=False)
        summary = t("approval.summary", self._ctx.identity.language, tool=tool.name, args=shown)
        approval = Approval(
            new_id("apr"), self._ctx.run_id, turn.channel, turn.thread, tool.name, call.args, summary
        )
        return await ask(approval)


def _object(args_json: str) -> dict[str, Any]:
    try:
        value = json.loads(args_json or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _explained(error: ValidationError) -> str:
    """What is wrong with the arguments, without the web addresses that the library adds."""
    parts = (f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in error.errors())
    return "; ".join(parts)


def _capped(result: str) -> str:
    if len(result) <= MAX_RESULT:
        return result
    return f"{result[:MAX_RESULT]}\n[cut: {len(result) - MAX_RESULT} more characters]"
