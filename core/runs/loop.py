"""The conversation between a model and its tools: ask, run what it calls, ask again, until it stops calling."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from core.errors import ModelUnavailable, Unavailable
from core.runs.budget import Budget
from core.runs.llm import Models
from core.runs.prompt import neutral
from core.runs.request import Reply, Request, ToolCall
from core.runs.retry import Patience, pause
from core.runs.turn import Call, Run, Status
from core.store import new_id
from core.texts import t

REQUEST_S = 120.0
EMPTY_TWICE = 2
CUT_TWICE = 2

# Notes to the model, which no person reads.
CLOSING = (
    "[system note] This was the last step: there are no more tools. Close in a few natural sentences: what is done, "
    "what is missing, and ask whether to go on. Claim nothing that no tool result shows."
)
CONTINUE = "[system note] Your answer was cut by its length limit. Go on exactly where it stopped."

Record = Callable[[str, Mapping[str, Any]], Awaitable[None]]
Dispatcher = Callable[[ToolCall], Awaitable[Call]]


@dataclass(slots=True)
class Loop:
    """One run's conversation. It fills `run` as it goes, so that whatever stops it leaves a true record."""

    run: Run
    models: Models
    dispatch: Dispatcher
    budget: Budget
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    say: Callable[[str], None]
    record: Record
    failed: Callable[[ModelUnavailable], None]
    lang: str = "en"
    patience: Patience = field(default_factory=Patience)
    decides: bool = False  # a sealed turn: the first call that holds is the end
    deadline: float | None = None  # on the loop's clock
    _recorded: int = 0
    _tools_recorded: int = -1
    _empty: int = 0
    _cut: int = 0
    _pieces: list[str] = field(default_factory=list)

    async def work(self) -> None:
        """Until the model stops calling tools, the budget ends, or (sealed) one call has decided."""
        while not self.budget.spent:
            closing = self.budget.closing and bool(self.run.calls) and not self.decides
            if closing:
                self.messages.append({"role": "user", "content": CLOSING})
            reply = await self._ask([] if closing else self.tools)
            if reply.calls and self.tools and not closing:
                self.budget.spend()
                if await self._call(reply) and self.decides:
                    self.run.status = Status.DONE
                    return
                continue
            if self._worth_asking_again(reply):
                continue
            self.budget.spend()
            self._end(reply, Status.BUDGET_EXCEEDED if closing else Status.DONE)
            return
        # Only a turn whose very last step still called tools comes here.
        self.run.text = self.run.text or t("run.budget", self.lang)
        self.run.status = Status.BUDGET_EXCEEDED

    def _worth_asking_again(self, reply: Reply) -> bool:
        """An empty answer, or one that was cut, is asked for again, without spending a step; twice at most."""
        if (
            reply.finish in {"length", "max_tokens"}
            and reply.text
            and not self.decides
            and self._cut < CUT_TWICE
        ):
            self._cut += 1
            self._pieces.append(reply.text)
            self.messages += [
                {"role": "assistant", "content": reply.text},
                {"role": "user", "content": CONTINUE},
            ]
            return True
        if not reply.text.strip() and not self._pieces and self._empty < EMPTY_TWICE:
            self._empty += 1
            return True
        return False

    def _end(self, reply: Reply, status: Status) -> None:
        text = "".join([*self._pieces, reply.text]).strip()
        if not text and not self.run.files and not self.decides:
            raise Unavailable(t("run.empty", self.lang))
        self.run.text, self.run.status = text, status

    async def _call(self, reply: Reply) -> bool:
        """Run the calls of a reply in order; whether one of them held. A deciding turn takes no second one."""
        wanted = [ToolCall(one.id or new_id("call"), one.name, one.args_json) for one in reply.calls]
        self.messages.append(
            {
                "role": "assistant",
                "content": reply.text or None,
                "tool_calls": [
                    {
                        "id": one.id,
                        "type": "function",
                        "function": {"name": one.name, "arguments": _sendable(one.args_json)},
                    }
                    for one in wanted
                ],
            }
        )
        held = False
        for one in wanted:
            call = await self.dispatch(one)
            self.run.calls.append(call)
            self.messages.append({"role": "tool", "tool_call_id": one.id, "content": neutral(call.result)})
            await self.record(
                "tool",
                {
                    "id": call.id,
                    "tool": call.tool,
                    "args": call.args,
                    "ok": call.ok,
                    "result": call.result,
                    "seconds": round(call.seconds, 3),
                },
            )
            held = held or call.ok
            if held and self.decides:
                break
        return held

    async def _ask(self, tools: list[dict[str, Any]]) -> Reply:
        """One answer of the model; passing failures are tried again while nothing of it has been said."""
        began, tried = time.monotonic(), 0
        await self._record_request(tools)
        while True:
            said: list[str] = []
            request = Request(
                target=self.run.target,
                messages=self.messages,
                tools=tools,
                max_tokens=self.run.turn.max_tokens,
                stream=not self.decides,
                timeout_s=self._seconds(began),
                lang=self.lang,
            )
            tried += 1
            try:
                reply = await self.models.complete(request, partial(self._hear, said))
            except ModelUnavailable as error:
                spent = time.monotonic() - began
                wait = pause(error, tried, published=bool(said), spent_s=spent, patience=self.patience)
                await self.record(
                    "failure",
                    {"class": error.kind, "reason": str(error), "tried": tried, "again_in_s": wait},
                )
                self.failed(error)
                if wait is None:
                    raise
                await asyncio.sleep(wait)
                continue
            self.run.tokens_in += reply.tokens_in
            self.run.tokens_out += reply.tokens_out
            await self.record(
                "reply",
                {
                    "text": reply.text,
                    "calls": [{"id": c.id, "tool": c.name, "args": c.args_json} for c in reply.calls],
                    "tokens_in": reply.tokens_in,
                    "tokens_out": reply.tokens_out,
                    "finish": reply.finish,
                },
            )
            return reply

    def _hear(self, said: list[str], piece: str) -> None:
        said.append(piece)
        self.say(piece)

    def _seconds(self, began: float) -> float:
        """How long this attempt may take: never past what the turn, or the patience with this model, has left."""
        left = [REQUEST_S, self.patience.total_s - (time.monotonic() - began)]
        if self.deadline is not None:
            left.append(self.deadline - asyncio.get_running_loop().time())
        return max(0.1, min(left))

    async def _record_request(self, tools: list[dict[str, Any]]) -> None:
        """Only what is new since the last request: the manifest puts the whole together again."""
        body: dict[str, Any] = {
            "target": self.run.target,
            "purpose": "turn",
            "since": self._recorded,
            "messages": self.messages[self._recorded :],
            "offers_tools": bool(tools),
            "max_tokens": self.run.turn.max_tokens,
        }
        if len(self.tools) != self._tools_recorded:
            body["tools"] = list(self.tools)
            self._tools_recorded = len(self.tools)
        self._recorded = len(self.messages)
        await self.record("request", body)


def _sendable(args_json: str) -> str:
    """Arguments as they can stand in the conversation: some providers refuse a history with broken JSON in it."""
    try:
        return args_json if isinstance(json.loads(args_json or "x"), dict) else "{}"
    except ValueError:
        return "{}"
