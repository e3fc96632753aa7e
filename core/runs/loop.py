"""The conversation between a model and its tools: ask, run what it calls, ask again, until it stops calling.

How a turn ends is decided here: by an answer, by `finish` under a contract, by a question to the owner, by the
reserved last step, or early, when it goes round in circles. A judge may send the first two back, on the same steps.
"""

import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from core.errors import Unavailable
from core.events import Event, StuckAbort, StuckDetected
from core.neutral import neutral
from core.runs import compaction, steering
from core.runs.attempts import Attempts, Record
from core.runs.budget import Budget
from core.runs.echo import REPEATS
from core.runs.judge import Judge
from core.runs.prose import recover
from core.runs.request import CUT, Reply, ToolCall
from core.runs.spoken import is_planning, without_thinking
from core.runs.stuck import CLOSING as STUCK_CLOSING
from core.runs.stuck import Finding, Stuck
from core.runs.turn import Call, Ending, Run, Status
from core.store import new_id
from core.texts import t

log = logging.getLogger(__name__)

EMPTY_TWICE = 2
CUT_TWICE = 2

# Notes to the model, which no person reads.
CLOSING = (
    "[system note] This was the last step: there are no more tools. Close in a few natural sentences: what is done, "
    "what is missing, and ask whether to go on. Claim nothing that no tool result shows."
)
CONTINUE = "[system note] Your answer was cut by its length limit. Go on exactly where it stopped."
REPEATING = (
    "[system note] You were saying the same words over and over and were stopped there. Do not say them again: go on "
    "with what is new, or close."
)
PLANNED = (
    "[system note] That was a plan, and nobody reads it. Write the answer itself, in the owner's language."
)
AFTER_THE_END = "not run: the turn was already over"

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
    emit: Callable[[type[Event], dict[str, Any]], None]
    judge: Judge
    stuck: Stuck
    lang: str = "en"
    decides: bool = False  # a sealed turn: the first call that holds is the end
    contract: bool = False
    _empty: int = 0
    _cut: int = 0
    _acks: int = 0
    _last: Ending = Ending.NONE  # why the next step is the last one
    _pieces: list[str] = field(default_factory=list)
    _talk: list[str] = field(default_factory=list)  # what a contract turn said without declaring its end

    async def work(self) -> None:
        """Until the turn has ended in one of its ways, or its steps have."""
        while not self.budget.spent:
            self._prepare_last()
            self._lighten()
            offered = [] if self._last else self.tools
            reply = await self._understood(await self.asking(self.messages, offered), offered)
            if reply.calls and offered:
                self.budget.spend()
                if await self._call(reply):
                    return
                continue
            if self._worth_asking_again(reply) or await self._given_way(reply, offered):
                continue
            self.budget.spend()
            if not await self._goes_on(reply):
                return
        # Only a turn whose very last step still called tools comes here.
        self.run.text = self.run.text or t("run.budget", self.lang)
        self.run.status = Status.BUDGET_EXCEEDED

    # Before a step

    def _prepare_last(self) -> None:
        """The last step has no tools: it is kept for words about what was done and what was not."""
        if self._last or self.decides:
            return
        if self.stuck.over:
            self._last = Ending.STUCK
            self._tell(STUCK_CLOSING)
        elif self.budget.closing and self.run.calls:
            self._last = Ending.CLOSING
            self._tell(CLOSING)

    def _lighten(self) -> None:
        if lighter := compaction.lighter(self.messages):
            self.messages = lighter
            self.asking.retell()

    def _tell(self, note: str, said: str = "") -> None:
        if said:
            self.messages.append({"role": "assistant", "content": said})
        self.messages.append({"role": "user", "content": note})

    # After an answer

    async def _understood(self, reply: Reply, offered: list[dict[str, Any]]) -> Reply:
        """The answer as it is meant: no thinking aloud, and calls that were written as text are calls."""
        if (said := without_thinking(reply.text)) != reply.text.strip():
            reply = replace(reply, text=said)
        if not self.decides and is_planning(reply.text):
            log.warning("%s wrote its plan in place of an answer; it is not shown", self.run.target)
            await self.record(
                "note", {"text": "a plan is no answer and reached nobody", "target": self.run.target}
            )
            if not reply.calls and self._empty < EMPTY_TWICE:
                self._tell(PLANNED, reply.text)
            reply = replace(reply, text="")
        if reply.calls or not offered:
            return reply
        known = {one["function"]["name"] for one in offered}
        quoted = (str(one.get("content") or "") for one in self.messages if one["role"] in {"tool", "user"})
        if (found := recover(reply.text, known, quoted)) is None:
            return reply
        names = [one.name for one in found.calls]
        await self.record("note", {"text": "calls written as text were run as calls", "recovered": names})
        return replace(reply, text=found.text, calls=list(found.calls))

    def _worth_asking_again(self, reply: Reply) -> bool:
        """An empty answer, or one that was cut, is asked for again, without spending a step; twice at most."""
        broken_off = reply.finish in CUT or reply.finish == REPEATS
        if broken_off and reply.text and not self.decides and self._cut < CUT_TWICE:
            self._cut += 1
            self._pieces.append(reply.text)
            self._tell(REPEATING if reply.finish == REPEATS else CONTINUE, reply.text)
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

    async def _goes_on(self, reply: Reply) -> bool:
        """A step that called nothing: the end, unless the contract or the judge wants more."""
        text = "".join([*self._pieces, reply.text]).strip()
        if reply.finish in CUT and text and not self.decides:
            text += f"\n\n{t('run.cut', self.lang)}"
        if reply.finish == REPEATS and text and not self.decides:
            text += f"\n\n{t('run.repeats', self.lang)}"
        if self._last:
            # Silence is no ending: what the model does not say, we do.
            words = "run.stuck" if self._last is Ending.STUCK else "run.budget"
            status = Status.DONE if self._last is Ending.STUCK else Status.BUDGET_EXCEEDED
            self._end(text or t(words, self.lang), status, self._last)
            return False
        if not text and not self.run.files and not self.decides:
            raise Unavailable(t("run.empty", self.lang))
        if self.contract and not self.decides:
            if self._acks < steering.ACKS:
                self._acks += 1
                self._talk.append(text)
                self._again(steering.UNDECLARED, text)
                return True
            self._end(_joined(*self._talk, text), Status.DONE, Ending.UNDECLARED)
            return False
        self._end(text, Status.DONE, Ending.ANSWER)
        return await self._sent_back(said=text)

    def _end(self, text: str, status: Status, ending: Ending) -> None:
        self.run.text, self.run.status, self.run.ending = text, status, ending

    async def _sent_back(self, said: str = "") -> bool:
        """The judge is not content: the turn goes on with what it misses, on the steps that are left."""
        note = await self.judge.sends_back(self.run.text, self.budget.left)
        if not note:
            return False
        self._end("", Status.RUNNING, Ending.NONE)
        self._again(note, said)
        self._acks = 0
        self._talk.clear()
        return True

    def _again(self, note: str, said: str = "") -> None:
        self._tell(note, said)
        self._empty = self._cut = 0
        self._pieces.clear()

    # Calls

    async def _call(self, reply: Reply) -> bool:
        """Run the calls of a reply in order; whether one of them was the end of the turn."""
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
        last: Call | None = None
        circle: Finding | None = None
        for one in wanted:
            if last is not None:  # every call of an answer needs a result, or the next request is refused
                self._result(one, AFTER_THE_END)
                continue
            call = await self.dispatch(one)
            self.run.calls.append(call)
            self._result(one, call.result)
            await self._record_call(call)
            circle = circle or self.stuck.after(call)
            if call.ok and (self.decides or steering.ends(call)):
                last = call
        if last is None:
            self._acks = 0
            await self._note_circle(circle)
            return False
        if self.decides:
            self.run.status = Status.DONE
            return True
        return await self._ended_by(last, reply.text)

    async def _ended_by(self, call: Call, said: str) -> bool:
        if questions := steering.asked(call):
            self.run.questions = questions
            self._end(steering.as_text(questions, said), Status.DONE, Ending.QUESTIONS)
            return True
        text = _joined(*self._talk, said, str(call.args.get("summary", "")))
        self._end(text, Status.DONE, Ending.FINISH)
        return not await self._sent_back()

    def _result(self, one: ToolCall, text: str) -> None:
        self.messages.append({"role": "tool", "tool_call_id": one.id, "content": neutral(text)})

    async def _note_circle(self, circle: Finding | None) -> None:
        if circle is None or self.decides:
            return
        found = {"kind": str(circle.kind), "tool": circle.tool, "times": circle.times}
        await self.record(
            "stuck",
            {
                "circle": str(circle.kind),
                "tool": circle.tool,
                "times": circle.times,
                "closes": self.stuck.over,
            },
        )
        self.emit(StuckAbort if self.stuck.over else StuckDetected, found)
        if not self.stuck.over:
            self._tell(circle.note)

    async def _record_call(self, call: Call) -> None:
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


def _joined(*texts: str) -> str:
    """The texts one after the other, each once: what another one says as a whole is left out."""
    kept: list[str] = []
    for text in filter(None, (one.strip() for one in texts)):
        if not any(text in other for other in kept):
            kept = [other for other in kept if other not in text] + [text]
    return "\n\n".join(kept)


def _sendable(args_json: str) -> str:
    """Arguments as they can stand in the conversation: some providers refuse a history with broken JSON in it."""
    try:
        return args_json if isinstance(json.loads(args_json or "x"), dict) else "{}"
    except ValueError:
        return "{}"
