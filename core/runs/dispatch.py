"""The one door to every tool: arguments are checked, the gate is asked, and only then something runs.

What we expect to go wrong becomes text for the model; a bug ends the run.
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from core.errors import ApxError
from core.events import CredentialsChanged, ToolFinished, ToolStarted
from core.message import OutcomeUnknown
from core.runs import history
from core.runs.binding import Bound, bind, grant, shown, warnings
from core.runs.credentials import Place, changed, prints
from core.runs.gate import RISK, WRITERS, Facts, Policy, Risk, Verdict, decide, examine
from core.runs.once import Once
from core.runs.request import ToolCall
from core.runs.turn import Call
from core.runs.visible import visible
from core.store import new_id
from core.texts import t
from core.tool import Context, Effect, Tool

log = logging.getLogger(__name__)

MAX_RESULT = 16_000
# Families that start programs: what those do is only known afterwards.
WATCHED = frozenset({"shell", "code", "mcp"})
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
        place: Place | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._offered = offered
        self._ctx = ctx
        self._policy = policy
        self._ask = ask
        self._place = place or Place(ctx.home, Path.home(), Path.cwd(), Path.cwd())
        self._deadline_s = deadline_s
        self._once = Once()

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
        rating = RISK in call.args and RISK not in tool.args.model_fields
        risk = _risk(call.args.pop(RISK)) if rating else Risk.UNKNOWN
        try:
            args = tool.args.model_validate_json(
                json.dumps(call.args) if rating else wanted.args_json or "{}"
            )
        except ValidationError as error:
            return f"error: {_explained(error)}", False
        # What is judged is what will run: the arguments as they were understood.
        judged = args.model_dump(mode="json", exclude_unset=True)
        place = self._at(tool, judged)
        facts = examine(tool, judged, place, self._policy)
        # Where all is asked about, nobody has to be asked what the call does.
        if tool.effect_of is not None and not facts.never and self._policy.mode != "permiso":
            try:
                facts = replace(facts, effect=await tool.effect_of(args, self._ctx))
            except ApxError as error:
                return f"error: {error}", False
        if known := self._once.before(tool, facts.effect, judged):
            return known
        if refusal := await self._gate(tool, judged, place, facts, risk):
            return f"error: {refusal}", False
        result, ok, unknown = "", False, True  # stopped halfway: nobody knows
        try:
            result, ok, unknown = await self._watched(tool, args, place, facts)
        finally:
            self._once.after(tool, facts.effect, judged, result, ok=ok, unknown=unknown)
        return result, ok

    async def _watched(self, tool: Tool, args: Any, place: Place, facts: Facts) -> tuple[str, bool, bool]:
        """Run it; where it could have done what nobody saw coming, look at the credential files again after it."""
        if tool.group not in WATCHED or facts.effect is Effect.READ:
            return await self._run(tool, args)
        before = await asyncio.to_thread(prints, place)
        result, ok, unknown = "", False, True
        try:
            result, ok, unknown = await self._run(tool, args)
        finally:
            touched = changed(before, prints(place))
            if touched:
                await asyncio.shield(self._tell(tool, touched, expected=facts.credentials))
        if touched and not facts.credentials:
            names = ", ".join(map(str, touched))
            result += (
                f"\n\nATTENTION: files that keep credentials changed while this ran: {names}. Tell the owner."
            )
        return result, ok, unknown

    async def _tell(self, tool: Tool, touched: list[Path], *, expected: bool) -> None:
        paths = tuple(map(str, touched))
        log.warning("Credential files changed while %s ran: %s", tool.name, ", ".join(paths))
        note = {"credentials_changed": paths, "tool": tool.name, "expected": expected}
        await history.step(self._ctx.store, self._ctx.run_id, "note", note)
        where: dict[str, Any] = {"run_id": self._ctx.run_id, "project_id": self._ctx.turn.project_id}
        self._ctx.bus.emit(CredentialsChanged(tool=tool.name, paths=paths, expected=expected, **where))

    async def _run(self, tool: Tool, args: Any) -> tuple[str, bool, bool]:
        """The result, whether it holds, and whether what it did is not known."""
        try:
            async with asyncio.timeout(self._deadline_s) as clock:
                return _capped(await tool.run(args, self._ctx)), True, False
        except ApxError as error:
            return f"error: {error}", False, isinstance(error, OutcomeUnknown)
        except TimeoutError:
            if not clock.expired():
                raise
            return (
                f"error: {tool.name} took longer than {self._deadline_s:g} s; its work may still go on",
                False,
                True,
            )

    def _at(self, tool: Tool, args: Mapping[str, Any]) -> Place:
        """Where a call works: a shell line may begin in a folder of its own."""
        folder = args.get("cwd") if tool.group == "shell" else None
        return replace(self._place, cwd=self._place.root / folder) if isinstance(folder, str) else self._place

    async def _gate(
        self, tool: Tool, args: dict[str, Any], place: Place, facts: Facts, risk: Risk
    ) -> str | None:
        """The reason why the call may not run, if there is one."""
        lang = self._ctx.identity.language
        if facts.never:
            return t(f"gate.{facts.never}", lang, pattern=facts.pattern, tool=tool.name)
        verdict = decide(
            tool, touches_credentials=facts.credentials, policy=self._policy, effect=facts.effect, risk=risk
        )
        if verdict is Verdict.ALLOW:
            return None
        if verdict is Verdict.REFUSE or self._ask is None:
            why = (
                "it would write a file that holds credentials"
                if facts.credentials
                else f"it is a {tool.effect} tool"
            )
            return f"{tool.name} needs the owner's permission ({why}), and nobody can be asked here"
        bound = bind(tool, args, place, facts)
        if not await self._ask(self._approval(tool, args, place, facts, risk, bound)):
            return "the owner said no, or did not answer; do not try it again"
        if other := bound.differs(bind(tool, args, place, facts)):
            return f"what was approved is not what would run any more: {other} changed meanwhile. Ask again"
        return None

    def _approval(
        self, tool: Tool, args: dict[str, Any], place: Place, facts: Facts, risk: Risk, bound: Bound
    ) -> Approval:
        turn, lang = self._ctx.turn, self._ctx.identity.language
        whole = json.dumps(args, ensure_ascii=False)
        why = "credentials" if facts.credentials else str(facts.effect)
        rated = self._policy.rating is not None and not facts.credentials
        return Approval(
            id=new_id("apr"),
            run_id=self._ctx.run_id,
            channel=turn.channel,
            thread=turn.thread,
            tool=tool.name,
            args=args,
            summary=t("approval.summary", lang, tool=tool.name, args=visible(whole)),
            project_id=turn.project_id,
            # In a room several speak, and the owner has to see which of them wants something.
            agent=turn.answerer
            if turn.channel == "group" and turn.role
            else self._ctx.identity.now.agent_name,
            effect=str(facts.effect),
            risk=str(risk) if self._policy.rating is not None else "",
            why=t("approval.why.risk", lang, risk=risk) if rated else t(f"approval.why.{why}", lang),
            shown=shown(tool, args, facts, lang),
            warnings=warnings(args, facts, bound, lang),
            cwd=visible(str(place.cwd)) if tool.group in WRITERS else "",
            digest=bound.digest,
            grant=grant(tool, args, facts, place, risk),
        )


def _risk(given: Any) -> Risk:
    """The model's rating; what is no rating is none."""
    text = str(given).strip().upper()
    return Risk(text) if text in set(Risk) else Risk.UNKNOWN


def _object(args_json: str) -> dict[str, Any]:
    try:
        value = json.loads(args_json or "{}")
    except ValueError:
        return {}
    # Half a character can stand in JSON and nowhere else, not even in our record of it.
    whole = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return whole if isinstance(whole, dict) else {}


def _explained(error: ValidationError) -> str:
    """What is wrong with the arguments, without the web addresses that the library adds."""
    parts = (f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in error.errors())
    return "; ".join(parts)


def _capped(result: str) -> str:
    if len(result) <= MAX_RESULT:
        return result
    return f"{result[:MAX_RESULT]}\n[cut: {len(result) - MAX_RESULT} more characters]"
