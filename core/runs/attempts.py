"""One answer, however many requests it takes: each attempt is weighed, priced and written down.

The decision is made in `routing`; here it is carried out. A target that was left is not gone back to.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from core.errors import BudgetSpent, ModelUnavailable, NotConfigured
from core.runs import routing, sight
from core.runs.echo import REPEATS, Ear, circle
from core.runs.ladder import Rung
from core.runs.llm import Models
from core.runs.quota import Circuits, Cooling, Quota
from core.runs.request import Reply, Request
from core.runs.retry import Patience
from core.runs.router import STAND_IN_RETRIES, Plan, Router
from core.runs.routing import Action, Situation, Verdict
from core.runs.spending import Spending
from core.runs.spoken import Speech
from core.runs.targets import parse
from core.runs.turn import Run

REQUEST_S = 120.0
SILENT = frozenset({"never", "no_grant", "cancelled"})  # the failure's own sentence says it all

Record = Callable[[str, Mapping[str, Any]], Awaitable[None]]
Messages = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Desk:
    """What the attempts of all runs share."""

    models: Models
    router: Router
    quota: Quota
    circuits: Circuits
    spending: Spending


@dataclass(slots=True)
class Attempts:
    """The requests of one run. `moved` hears of every change of target, `limited` of an account at its limit."""

    run: Run
    plan: Plan
    desk: Desk
    say: Callable[[str], None]
    record: Record
    failed: Callable[[str, ModelUnavailable], None]
    moved: Callable[[str], None]
    limited: Callable[[Cooling], Awaitable[None]]
    lang: str = "en"
    patience: Patience = field(default_factory=Patience)
    stream: bool = True
    deadline: float | None = None  # on the loop's clock
    purpose: str = "turn"
    _left: list[Rung] = field(default_factory=list)
    _repeats: int = 0  # requests of this turn that repeat another
    _recorded: int = 0
    _tools_recorded: int = 0  # they grow while the run works
    _cooling: dict[str, Cooling] | None = None

    def __post_init__(self) -> None:
        self._left = list(self.plan.ladder.rungs)

    async def __call__(self, messages: Messages, tools: list[dict[str, Any]]) -> Reply:
        """The next answer of the conversation; raises `ModelUnavailable` when nobody may give it."""
        began, tried = time.monotonic(), 0
        if self._cooling is None:
            self._cooling = await self.desk.quota.cooling()
            await self._avoid_cooling(messages)
        await self._record_request(messages, tools)
        while True:
            tried += 1
            speech = Speech(self.say)
            started = time.monotonic()
            request = Request(
                target=self.run.target,
                messages=await sight.shown(messages, self.run.target, self.desk.router.sees(self.run.target)),
                tools=tools,
                max_tokens=self.run.turn.max_tokens,
                stream=self.stream,
                timeout_s=self._seconds(began),
                purpose=self.purpose,
                lang=self.lang,
            )
            try:
                return await self._request(request, speech, tried)
            except ModelUnavailable as error:
                verdict = self._weigh(error, tried, bool(speech.pieces), time.monotonic() - began)
                await self._record_failure(error, verdict, tried, time.monotonic() - started)
                self.failed(self.run.target, error)
                if verdict.action is Action.STOP:
                    await self._note_quota(error)
                    raise self._final(error, verdict) from error
                self._repeats += 1
                if verdict.wait_s is not None:
                    await asyncio.sleep(verdict.wait_s)
                    continue
                await self._note_quota(error)
                await self._advance(error, messages)
                await self._record_request(messages, tools, whole=True)
                tried = 0

    async def give_way(self, messages: Messages, tools: list[dict[str, Any]], sentence: str) -> bool:
        """The model in force only gives empty answers: go on with the next one, if there is one."""
        error = ModelUnavailable("empty", sentence)
        verdict = self._weigh(error, 1, False, 0)
        await self._record_failure(error, verdict, 1, 0)
        if verdict.action is not Action.ADVANCE:
            return False
        self._repeats += 1
        await self._advance(error, messages)
        await self._record_request(messages, tools, whole=True)
        return True

    def retell(self) -> None:
        """The messages are other ones than before: the next record holds all of them."""
        self._recorded = 0

    # One attempt

    async def _request(self, request: Request, speech: Speech, tried: int) -> Reply:
        target, desk, started = parse(request.target), self.desk, time.monotonic()
        free = desk.router.is_free(request.target)
        try:
            async with desk.spending.allowed(
                self.run, request, target, free=free, unattended=self.plan.unattended, lang=self.lang
            ):
                try:
                    reply = await self._heard(request, speech)
                except ModelUnavailable as error:
                    desk.circuits.failed(target.provider, error.kind)
                    if speech.pieces:  # it broke off, and what was written is paid
                        written = Reply("".join(speech.pieces))
                        await desk.spending.cost(self.run, target, request, written, free=free)
                    raise
                speech.end()
                self.run.tokens_in += reply.tokens_in
                self.run.tokens_out += reply.tokens_out
                step = self._answered(reply, tried, time.monotonic() - started)
                await desk.spending.cost(self.run, target, request, reply, free=free, step=step)
        except BudgetSpent as error:
            await self.record(
                "failure",
                {"target": request.target, "class": error.code, "reason": str(error), "action": "stop"}
                | {"why": error.code, "asked": False},
            )
            raise
        desk.circuits.answered(target.provider)
        if self._cooling and request.target in self._cooling:
            del self._cooling[request.target]
            await desk.quota.answered(request.target)
        return reply

    async def _heard(self, request: Request, speech: Speech) -> Reply:
        """One answer. A model that only repeats itself is stopped, and its words end where that began."""
        ear = Ear(speech.hear)
        work = asyncio.create_task(self.desk.models.complete(request, ear.hear))
        circling = asyncio.create_task(ear.circling.wait())
        try:
            await asyncio.wait({work, circling}, return_when=asyncio.FIRST_COMPLETED)
            reply = work.result() if work.done() else Reply("".join(speech.pieces), finish=REPEATS)
        finally:
            for task in (work, circling):
                task.cancel()
            await asyncio.gather(work, circling, return_exceptions=True)
        if not reply.calls and (end := circle(reply.text)):
            reply = replace(reply, text=reply.text[:end].rstrip() + " …", finish=REPEATS)
        return reply

    def _seconds(self, began: float) -> float:
        """How long this attempt may take: never past what the turn, or the patience with one answer, has left."""
        left = [REQUEST_S, self.patience.total_s - (time.monotonic() - began)]
        if self.deadline is not None:
            left.append(self.deadline - asyncio.get_running_loop().time())
        return max(0.1, min(left))

    # What follows

    def _weigh(self, error: ModelUnavailable, tried: int, published: bool, spent_s: float) -> Verdict:
        rung = self._next(error.kind)
        stands_in = self.run.target != self.plan.primary
        retries = min(STAND_IN_RETRIES, self.patience.retries) if stands_in else self.patience.retries
        situation = Situation(
            tried=tried,
            published=published,
            spent_s=spent_s,
            broken=self.desk.circuits.is_open(parse(self.run.target).provider),
            retries_left=self.plan.retries - self._repeats,
            next_via=rung.via if rung else "",
            why_none=self.plan.ladder.why_none,
            attended=not self.plan.unattended,
            chosen=self.plan.chosen,
            patience=replace(self.patience, retries=retries),
        )
        return routing.decide(error, situation)

    def _next(self, kind: str) -> Rung | None:
        """The next granted target that is not cooling; after a quota only those granted for it."""
        cooling = self._cooling or {}
        return next(
            (
                rung
                for rung in self._left
                if rung.target not in cooling and (kind != "quota" or rung.via == routing.MODEL_FALLBACK)
            ),
            None,
        )

    async def _advance(self, error: ModelUnavailable, messages: Messages) -> None:
        """Go to the next target, exactly; where it cannot be used, that is the end and its reason is said."""
        while True:
            rung = self._next(error.kind)
            if rung is None:
                raise self._final(error, Verdict(Action.STOP, "no_more"))
            self._left = self._left[self._left.index(rung) + 1 :]
            try:
                await self.desk.models.configured(rung.target, self.lang)
            except NotConfigured as missing:
                verdict = Verdict(Action.STOP, "missing")
                why = verdict.sentence(self.lang, next=rung.target, reason=str(missing))
                await self.record(
                    "failure",
                    {"target": rung.target, "class": "missing", "reason": str(missing), "action": "stop"}
                    | {"why": "missing", "asked": False},
                )
                raise ModelUnavailable(error.kind, f"{error} {why}") from error
            if rung.via != routing.MODEL_FALLBACK or await self._reachable(rung.target):
                break
            await self.record(
                "failure",
                {"target": rung.target, "class": "network", "reason": "health", "action": "advance"}
                | {"why": "unhealthy", "asked": False},
            )
        left, self.run.target = self.run.target, rung.target
        if messages and messages[0]["role"] == "system":
            # The prompt names the model that answers; it must not name the one that was left.
            content = str(messages[0]["content"]).replace(left, rung.target)
            messages[0] = {**messages[0], "content": content}
        said = Verdict(Action.ADVANCE, "advance").sentence(
            self.lang, target=left, next=rung.target, reason=str(error)
        )
        await self.record("note", {"text": said, "from": left, "target": rung.target})
        self.moved(rung.target)

    async def _reachable(self, target: str) -> bool:
        """Whether something listens at the target's address; a provider without one of its own is believed."""
        url = urlsplit(self.desk.router.base_url(parse(target).provider))
        if not url.hostname:
            return True
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            async with asyncio.timeout(self.plan.health_s):
                _, writer = await asyncio.open_connection(url.hostname, port)
        except (OSError, TimeoutError):
            return False
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        return True

    async def _avoid_cooling(self, messages: Messages) -> None:
        """A primary at its limit is not asked by work that nobody watches, nor where another was granted for it."""
        one = (self._cooling or {}).get(self.run.target)
        if one is None:
            return
        error = ModelUnavailable("quota", one.why)
        verdict = self._weigh(error, 1, False, 0)
        if verdict.action is Action.STOP and not self.plan.unattended:
            return  # the owner is there, and may have paid: one request tells
        await self.record(
            "failure",
            {"target": one.target, "class": "quota", "reason": one.why, "action": verdict.action}
            | {"why": "cooling", "until": one.until, "asked": False},
        )
        if verdict.action is Action.STOP:
            await self.limited(one)
            raise self._final(error, verdict)
        await self._advance(error, messages)

    async def _note_quota(self, error: ModelUnavailable) -> None:
        if error.kind != "quota":
            return
        one = await self.desk.quota.cool(self.run.target, str(error))
        self._cooling = {**(self._cooling or {}), one.target: one}
        if self.plan.unattended:
            await self.limited(one)

    def _final(self, error: ModelUnavailable, verdict: Verdict) -> ModelUnavailable:
        if verdict.why in SILENT:
            return error
        why = verdict.sentence(self.lang, target=self.run.target)
        return ModelUnavailable(error.kind, f"{error} {why}", retry_after_s=error.retry_after_s)

    # The record

    async def _record_request(
        self, messages: Messages, tools: list[dict[str, Any]], *, whole: bool = False
    ) -> None:
        """Only what is new since the last request: the manifest puts the whole together again."""
        since = 0 if whole else self._recorded
        body: dict[str, Any] = {
            "target": self.run.target,
            "purpose": self.purpose,
            "since": since,
            "messages": messages[since:],
            "offers_tools": bool(tools),
            "max_tokens": self.run.turn.max_tokens,
        }
        if self._recorded == 0 or len(tools) > self._tools_recorded:
            body["tools"] = list(tools)
            self._tools_recorded = len(tools)
        self._recorded = len(messages)
        await self.record("request", body)

    async def _record_failure(
        self, error: ModelUnavailable, verdict: Verdict, tried: int, seconds: float
    ) -> None:
        await self.record(
            "failure",
            {
                "target": self.run.target,
                "class": error.kind,
                "reason": str(error),
                "tried": tried,
                "again_in_s": verdict.wait_s,
                "action": verdict.action,
                "why": verdict.why,
                "seconds": round(seconds, 3),
                "repeats": self._repeats,
                "repeats_most": self.plan.retries,
            },
        )

    def _answered(self, reply: Reply, tried: int, seconds: float) -> dict[str, Any]:
        return {
            "target": self.run.target,
            "text": reply.text,
            "calls": [{"id": c.id, "tool": c.name, "args": c.args_json} for c in reply.calls],
            "tokens_in": reply.tokens_in,
            "tokens_out": reply.tokens_out,
            "finish": reply.finish,
            "tried": tried,
            "seconds": round(seconds, 3),
            "repeats": self._repeats,
            "repeats_most": self.plan.retries,
        }
