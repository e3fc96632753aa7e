"""The frames of a streamed answer: what the bus tells of one run, in the words of the wire."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import asdict
from types import TracebackType
from typing import Any, Protocol, Self

from core.api.access import Access, Caller
from core.app import App
from core.events import (
    ApprovalDecided,
    ApprovalRequested,
    EngineFailed,
    Event,
    FileDelivered,
    JudgeBudgetExhausted,
    JudgeVerdict,
    ModelRouted,
    RunStarted,
    Said,
    StuckAbort,
    StuckDetected,
    ToolFinished,
    ToolStarted,
)
from core.runs.turn import Call, Run, Status, Turn

log = logging.getLogger(__name__)

KEEPALIVE_S = 20.0
SHOWN_CHARS = 1200
FAILURES = (Status.FAILED, Status.CANCELLED)
BROKEN = "Something failed inside; the log says what."


def _call(call: Call) -> dict[str, Any]:
    return {
        "id": call.id,
        "tool": call.tool,
        "args": call.args,
        "result": call.result[:SHOWN_CHARS],
        "ok": call.ok,
        "seconds": round(call.seconds, 3),
    }


def result(app: App, run: Run) -> dict[str, Any]:
    """An answered run; the name is the identity's, and the only name that is shown."""
    return {
        "text": run.text,
        "usage": {
            "input_tokens": run.tokens_in,
            "output_tokens": run.tokens_out,
            "seconds": round(run.seconds, 3),
        },
        "name": app.identity.now.agent_name,
        "model": run.target,
        "trace": [_call(call) for call in run.calls],
        "files": [
            {"media_id": one.media_id, "name": one.name, "kind": one.kind, "mime": one.mime, "size": one.size}
            | {"caption": one.caption}
            for one in run.files
        ],
        "unseen": app.runner.router.unseen(run),
        "status": run.status.value,
        "run_id": run.id,
        "ending": run.ending.value,
        "questions": [asdict(one) for one in run.questions],
        "judge": run.judge,
    }


class Wire:
    """What is told of a run as a frame, or None for what is not shown; it remembers the arguments of open calls."""

    def __init__(self) -> None:
        self._args: dict[str, dict[str, Any]] = {}

    def __call__(self, event: Event) -> dict[str, Any] | None:
        match event:
            case Said():
                return {"type": "assistant_delta", "delta": event.text}
            case ToolStarted():
                self._args[event.call_id] = event.args
                trace = {"id": event.call_id, "tool": event.tool, "args": event.args, "pending": True}
                return {"type": "tool_start", "trace": trace}
            case ToolFinished():
                args = self._args.pop(event.call_id, {})
                trace = {"id": event.call_id, "tool": event.tool, "args": args, "ok": event.ok}
                return {"type": "tool_result", "trace": trace | {"result": event.result[:SHOWN_CHARS]}}
            case ModelRouted():
                return {"type": "model_routed", "model": event.target, "purpose": event.purpose}
            case EngineFailed():
                return {
                    "type": "engine_failed",
                    "model": event.target,
                    "kind": event.kind,
                    "reason": event.reason,
                }
            case ApprovalRequested():
                return {
                    "type": "approval_requested",
                    "approval_id": event.approval_id,
                    "tool": event.tool,
                    "summary": event.summary,
                }
            case ApprovalDecided():
                return {
                    "type": "approval_decided",
                    "approval_id": event.approval_id,
                    "decision": event.decision,
                }
            case JudgeVerdict():
                return {
                    "type": "judge_verdict",
                    "iteration": event.iteration,
                    "score": event.score,
                    "reasoning": event.reasoning,
                    "passed": event.passed,
                    "missing": list(event.missing),
                }
            case JudgeBudgetExhausted():
                return {
                    "type": "judge_budget_exhausted",
                    "iteration": event.iteration,
                    "left": event.left,
                }
            case StuckDetected() | StuckAbort():
                return {
                    "type": event.wire_name(),
                    "kind": event.kind,
                    "tool": event.tool,
                    "times": event.times,
                }
            case FileDelivered():
                return {"type": "file", "media_id": event.media_id, "name": event.name, "kind": event.kind}
        return None


class Frames:
    """Runs a turn as a task of its own and turns what is told of it into frames, ending with None."""

    def __init__(self, app: App, turn: Turn) -> None:
        self._app = app
        self._turn = turn
        self._queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._run_id: str | None = None
        self._wire = Wire()

    def __enter__(self) -> "Frames":
        self._leave = self._app.bus.subscribe(Event, self._take)
        self._task = asyncio.create_task(self._work())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    async def next(self) -> dict[str, Any] | None:
        """The next frame, or None when there are no more."""
        return await self._queue.get()

    def stop(self) -> None:
        """Stop the run; the stream ends when it has been recorded."""
        self._task.cancel()

    async def aclose(self) -> None:
        """Stop the run if it still goes on, and wait until it has been recorded."""
        self._task.cancel()
        (ended,) = await asyncio.gather(self._task, return_exceptions=True)
        if isinstance(ended, Exception):
            log.error("The run %s broke", self._run_id, exc_info=ended)

    async def _work(self) -> None:
        last: dict[str, Any] = {"type": "error", "error": "The run was stopped.", "code": "cancelled"}
        try:
            run = await self._app.runner.run(self._turn)
            if run.status in FAILURES:
                code = run.error_kind or run.status.value
                last = {"type": "error", "error": run.text, "code": code, "run_id": run.id}
            else:
                last = {"type": "final", "result": result(self._app, run)}
        except asyncio.CancelledError:
            raise
        except BaseException:
            last = {"type": "error", "error": BROKEN, "code": "failed", "run_id": self._run_id}
            raise
        finally:
            self._queue.put_nowait(last)
            self._queue.put_nowait(None)

    def _take(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            # The runner tells of it from within our own task, before anything else: that is our run's id.
            if self._run_id is None and asyncio.current_task() is self._task:
                self._run_id = event.run_id
                self._queue.put_nowait({"type": "run_started", "run_id": event.run_id})
            return
        if event.run_id is None or event.run_id != self._run_id:
            return
        frame = self._wire(event)
        if frame is not None:
            self._queue.put_nowait(frame)


class Told(Protocol):
    """A source of frames that is listened to inside its `with`; None is its end."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None: ...
    async def next(self) -> dict[str, Any] | None: ...
    def stop(self) -> None: ...
    async def aclose(self) -> None: ...


async def streamed(access: Access, who: Caller, told: Told, *, keepalive_s: float) -> AsyncIterator[str]:
    """Frames as lines of JSON, an empty one in silence. A reader who goes away stops what is told; so does a token that
    stops being good.
    """
    with access.stream(who) as gone, told as frames:
        leaving = asyncio.ensure_future(gone.wait())
        leaving.add_done_callback(lambda _: frames.stop())
        try:
            while True:
                try:
                    async with asyncio.timeout(keepalive_s):
                        frame = await frames.next()
                except TimeoutError:
                    yield "\n"
                    continue
                if frame is None:
                    return
                yield json.dumps(frame, ensure_ascii=False, default=str) + "\n"
        finally:
            leaving.cancel()
            await frames.aclose()
