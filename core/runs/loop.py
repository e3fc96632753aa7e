"""The conversation between a model and its tools: ask, run what it calls, ask again, until it stops calling."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from core.errors import Unavailable
from core.neutral import neutral
from core.runs.attempts import Attempts, Record
from core.runs.budget import Budget
from core.runs.request import Reply, ToolCall
from core.runs.turn import Call, Run, Status
from core.store import new_id
from core.texts import t

EMPTY_TWICE = 2
CUT_TWICE = 2

# Notes to the model, which no person reads.
CLOSING = (
    "[system note] This was the last step: there are no more tools. Close in a few natural sentences: what is done, "
    "what is missing, and ask whether to go on. Claim nothing that no tool result shows."
)
CONTINUE = "[system note] Your answer was cut by its length limit. Go on exactly where it stopped."

Dispatcher = Callable[[ToolCall], Awaitable[Call]]


@dataclass(slots=True)
class Loop:
    """One run's conversation. It fills `run` as it goes, so that whatever stops it leaves a true record."""

    run: Run
    asking: Attempts
    dispatch: Dispatcher
    budget: Budget
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    record: Record
    lang: str = "en"
    decides: bool = False  # a sealed turn: the first call that holds is the end
    _empty: int = 0
    _cut: int = 0
    _pieces: list[str] = field(default_factory=list)

    async def work(self) -> None:
        """Until the model stops calling tools, the budget ends, or (sealed) one call has decided."""
        while not self.budget.spent:
            closing = self.budget.closing and bool(self.run.calls) and not self.decides
            if closing:
                self.messages.append({"role": "user", "content": CLOSING})
            offered = [] if closing else self.tools
            reply = await self.asking(self.messages, offered)
            if reply.calls and self.tools and not closing:
                self.budget.spend()
                if await self._call(reply) and self.decides:
                    self.run.status = Status.DONE
                    return
                continue
            if self._worth_asking_again(reply) or await self._given_way(reply, offered):
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

    async def _given_way(self, reply: Reply, offered: list[dict[str, Any]]) -> bool:
        """A model that has nothing to say, asked enough, gives way to the next one that was granted."""
        if reply.text.strip() or self._pieces or self.run.files or self.decides:
            return False
        if not await self.asking.give_way(self.messages, offered, t("run.empty", self.lang)):
            return False
        self._empty = 0
        return True

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


def _sendable(args_json: str) -> str:
    """Arguments as they can stand in the conversation: some providers refuse a history with broken JSON in it."""
    try:
        return args_json if isinstance(json.loads(args_json or "x"), dict) else "{}"
    except ValueError:
        return "{}"
