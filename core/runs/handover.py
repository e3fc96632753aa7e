"""Handing work from one agent to another: in the background or waited for, within limits, and never twice.

The work is a task of this class, not of whoever asked: an asker that stops waiting is woken later instead. What
limits it is told as a sentence to act on. One thread has one run at a time; nobody waits from inside a conversation
between agents, so no two can wait for each other.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from core.errors import ApxError, Refused
from core.events import BackgroundJob, Bus
from core.identity import IdentityFile
from core.outbox import Outbox
from core.runs import afterword, jobs, peer_turns, peers, wording
from core.runs.jobs import Job, State
from core.runs.peers import Peer
from core.runs.registry import Tools
from core.runs.runner import Runner
from core.runs.turn import Run, Status, Turn
from core.store import Store

log = logging.getLogger(__name__)

MAX_OPEN = 3
MAX_DEPTH = 3
WAIT_S = 840.0  # less than any tool's own deadline: the answer is not lost with the patience of who waits
LATE_S = 30.0  # past its deadline by the clock on the wall: this computer slept, and its own clock with it
RECONCILE_S = 60.0

T = TypeVar("T")
_ENDS = {
    Status.DONE: State.DONE,
    Status.BUDGET_EXCEEDED: State.DONE,  # its text says what is done and what is missing
    Status.CANCELLED: State.CANCELLED,
}


Work = Callable[[Job], Awaitable[tuple[State, str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What one hands to another. `run_id` and `job_id` are the turn it is handed over in; `depth` is that turn's.

    `work` is done in the place of a turn of the recipient's, by whatever `kind` says. `origin` is the owner's chat.
    """

    sender: Peer
    to: Peer
    text: str
    thread: str = ""
    background: bool = False
    wake: bool = True
    followup: bool = False
    depth: int = 0
    run_id: str = ""
    job_id: str = ""
    kind: str = "a2a"
    work: Work | None = None
    life_s: float | None = None
    origin: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Handed:
    """What came of it: answered, failed, running, already_running or refused; `text` can be read as it is."""

    state: str
    text: str
    job: Job | None = None


class Handover:
    """`await handover.hand(order)`. `lasting`: this process goes on, so that work may outlive who asked."""

    def __init__(
        self,
        *,
        store: Store,
        bus: Bus,
        identity: IdentityFile,
        tools: Tools,
        runner: Runner,
        outbox: Outbox,
        lasting: bool = True,
        life_s: float = jobs.LIFE_S,
        wait_s: float = WAIT_S,
    ) -> None:
        self.lasting = lasting
        self._store, self._bus, self._outbox = store, bus, outbox
        self._identity, self._tools, self.runner = identity, tools, runner
        self._life_s, self._wait_s = life_s, wait_s
        self._opening = asyncio.Lock()
        self._threads: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._working: dict[str, asyncio.Task[None]] = {}
        self._closing = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Handover"]:
        """What a former process left running is lost, and who waits for it is told so."""
        if lost := await jobs.lose_running(self._store, wording.LOST):
            log.info("%d jobs of the former process were lost", lost)
        upkeep: asyncio.Task[None] | None = None
        if self.lasting:
            for job in await jobs.unwoken(self._store):
                self._emit(job, "end")
                self._begin(self._wake(job))
            upkeep = asyncio.create_task(self._kept_up())
            upkeep.add_done_callback(self._ended)  # a bug in it is logged
        try:
            yield self
            while self._tasks and not self.lasting:
                # A command ends when its work has ended: nobody else is there to go on with it.
                await asyncio.gather(*self._tasks, return_exceptions=True)
        finally:
            self._closing = True
            everything = [*self._tasks, *([upkeep] if upkeep else ())]
            for task in everything:
                task.cancel()
            await asyncio.gather(*everything, return_exceptions=True)

    async def _kept_up(self) -> None:
        while True:
            await self.reconcile()
            await asyncio.sleep(RECONCILE_S)

    async def reconcile(self) -> None:
        """Close what nobody works on any more and what is past its time; forget what ended long ago."""
        async with self._opening:
            running = await jobs.recent(self._store, open=True, limit=1000)
            stray = [one for one in running if one.id not in self._working]
        for job in stray:
            await self._close(job.id, State.LOST, wording.LOST)
        for job in running:
            task = self._working.get(job.id)
            if task is not None and self._left(job) < -LATE_S:
                await self._close(job.id, State.TIMED_OUT, wording.over(self._life_of(job)))
                task.cancel()
        await jobs.prune(self._store)

    async def cancel(self, job_id: str) -> Job:
        """Stop a job: its asker is woken and told so."""
        job = await jobs.find(self._store, job_id)
        if job.status is not State.RUNNING:
            raise Refused(f"{job.id} has ended already: {job.status}.")
        if (task := self._working.get(job.id)) is not None:
            task.cancel()
            await asyncio.wait([task])
        await self._close(job.id, State.CANCELLED, wording.STOPPED)
        return await jobs.find(self._store, job.id)

    async def hand(self, order: Order) -> Handed:
        """Hand work over. A limit is an answer, not an exception."""
        if order.sender.address == order.to.address and order.sender.project_id == order.to.project_id:
            return Handed("refused", wording.SELF)
        if order.depth >= MAX_DEPTH:
            return Handed("refused", wording.too_deep(MAX_DEPTH))
        starting = self._begin(self._start(order))
        try:
            began = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # The row may be there already: what nobody waits for is stopped as soon as it has begun.
            starting.add_done_callback(_stopped)
            raise
        if isinstance(began, Handed):
            return began
        job, task = began
        if order.background:
            return Handed("running", wording.running(job), job)
        return await self._wait(job, task)

    async def _start(self, order: Order) -> "Handed | tuple[Job, asyncio.Task[None]]":
        async with self._opening:
            if not order.followup and (same := await self._same(order)):
                return Handed("already_running", await wording.going_on(self._store, same), same)
            if (refused := await self._full(order.sender)) is not None:
                return refused
            job = await self._open(order)
            task = self._working[job.id] = self._begin(self._work(job, order))
            task.add_done_callback(lambda _: self._working.pop(job.id, None))
        return job, task

    async def _same(self, order: Order) -> Job | None:
        rows = await jobs.recent(
            self._store,
            open=True,
            project_id=order.to.project_id,
            sender=order.sender.address,
            recipient=order.to.address,
            limit=1,
        )
        return rows[0] if rows else None

    async def _full(self, sender: Peer) -> Handed | None:
        rows = await jobs.recent(self._store, open=True, sender=sender.address, limit=1000)
        mine = [one for one in rows if one.sender_project == sender.project_id]
        return Handed("refused", wording.too_many(mine)) if len(mine) >= MAX_OPEN else None

    async def _open(self, order: Order) -> Job:
        job = await jobs.begin(
            self._store,
            project_id=order.to.project_id,
            sender=order.sender.address,
            sender_project=order.sender.project_id,
            recipient=order.to.address,
            thread=peers.thread(order.to.project_id, order.sender.address, order.to.address, order.thread),
            body=order.text,
            wake=order.background and order.wake and order.sender.known,
            waited=not order.background,
            depth=order.depth + 1,
            parent_id=order.job_id or None,
            life_s=self._life_s if order.life_s is None else order.life_s,
            kind=order.kind,
            origin=order.origin if order.sender.agent is None else None,
        )
        self._emit(job, "start")
        return job

    async def _wait(self, job: Job, task: asyncio.Task[None]) -> Handed:
        """The answer, or (patience over) the promise to be woken. Who is stopped while waiting stops the work."""
        try:
            await asyncio.wait([task], timeout=self._wait_s)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not task.done() and await jobs.leave(self._store, job.id):
            job = replace(job, waited=False, wake=True)
            self._emit(job, "progress")
            return Handed("running", wording.running(job), job)
        job = await jobs.find(self._store, job.id)
        if job.status is State.DONE:
            return Handed("answered", job.result, job)
        return Handed("failed", wording.no_result(job), job)

    async def _work(self, job: Job, order: Order) -> None:
        """The recipient's turn, to one of its endings."""
        status, text = State.FAILED, wording.BUG
        try:
            async with asyncio.timeout(self._left(job)):
                status, text = await (order.work(job) if order.work else self._turn(job, order))
        except ApxError as error:
            status, text = State.FAILED, str(error)
        except TimeoutError:
            status, text = State.TIMED_OUT, wording.over(self._life_of(job))
        except asyncio.CancelledError:
            if self._closing:
                raise  # the row stays as it is: the next start tells the asker
            status, text = State.CANCELLED, wording.STOPPED
            raise
        finally:
            if not self._closing:
                await asyncio.shield(self._close(job.id, status, text))

    async def _turn(self, job: Job, order: Order) -> tuple[State, str]:
        async with self._thread(job.thread):
            turn = await self.turn_of(
                order.to,
                Turn(
                    text=order.text,
                    channel="a2a",
                    thread=job.thread,
                    sender=job.sender,
                    project_id=job.project_id,
                    depth=job.depth,
                    run_id=job.run_id,
                    job_id=job.id,
                ),
            )
            # The parent's caps of money hold for what it hands on, too.
            parent = Run(id=order.run_id, turn=turn) if order.run_id else None
            run = await self.runner.run(turn, parent=parent)
        return _ENDS.get(run.status, State.FAILED), run.text

    async def turn_of(self, peer: Peer, turn: Turn) -> Turn:
        """A turn as this peer answers it."""
        return await peer_turns.turn_of(self._store, self._identity, self._tools, peer, turn)

    async def _close(self, id: str, status: State, text: str) -> None:
        if not await jobs.close(self._store, id, status, text):
            return
        job = await jobs.find(self._store, id)
        self._emit(job, "end")
        if job.wake:
            self._begin(self._wake(job))

    async def _wake(self, job: Job) -> None:
        """Give the asker a turn of its own with what came of its work; what it writes then is a note."""
        if not await jobs.claim(self._store, job.id):
            return
        asker = await peers.known(self._store, job.sender, job.sender_project)
        if asker is None:
            log.info("Nobody is left to hear of job %s: %s is gone", job.id, job.sender)
            return
        async with self._thread(job.thread):
            turn = await self.turn_of(
                asker,
                Turn(
                    text=wording.woken(job),
                    channel="a2a",
                    thread=job.thread,
                    sender=job.recipient,
                    project_id=job.sender_project,
                    depth=job.depth + 1,
                    timeout_s=jobs.LIFE_S,
                    aside=True,
                    origin=job.origin,
                ),
            )
            run = await self.runner.run(turn)
        if asker.agent is None:
            name, lang = self._identity.now.agent_name, self._identity.language
            await afterword.tell(self._store, self._outbox, job, run, author=name, lang=lang)

    def _thread(self, name: str) -> asyncio.Lock:
        return self._threads.setdefault(name, asyncio.Lock())

    def _left(self, job: Job) -> float:
        return (datetime.fromisoformat(job.deadline_at) - datetime.now(UTC)).total_seconds()

    def _life_of(self, job: Job) -> float:
        begun, end = (datetime.fromisoformat(at) for at in (job.created_at, job.deadline_at))
        return (end - begun).total_seconds()

    def _begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (bug := task.exception()):
            log.error("Work between agents broke off", exc_info=bug)

    def _emit(self, job: Job, phase: str) -> None:
        self._bus.emit(
            BackgroundJob(
                phase=phase,
                job_id=job.id,
                kind=job.kind,
                sender=job.sender,
                recipient=job.recipient,
                thread=job.thread,
                status=job.status,
                waited=job.waited,
                run_id=job.run_id,
                project_id=job.project_id,
            )
        )


def _stopped(starting: "asyncio.Task[Handed | tuple[Job, asyncio.Task[None]]]") -> None:
    if (
        not starting.cancelled()
        and not starting.exception()
        and isinstance(began := starting.result(), tuple)
    ):
        began[1].cancel()
