"""Every turn of every surface goes through here, and every ending is recorded before the caller hears of it."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from core import agents, projects
from core.config import Config
from core.errors import ApxError, ModelUnavailable, NotFound
from core.events import (
    Bus,
    EngineFailed,
    Event,
    FileDelivered,
    ModelRouted,
    RunClosed,
    RunStarted,
    Said,
)
from core.identity import IdentityFile
from core.paths import Home
from core.runs import budget, history, prompt, quota, retry, summaries
from core.runs.attempts import Attempts, Desk
from core.runs.classifier import classified
from core.runs.credentials import Place
from core.runs.dispatch import Ask, Dispatch
from core.runs.gate import Policy, policy_of
from core.runs.judge import Judge
from core.runs.known import Known, known
from core.runs.llm import Models
from core.runs.loop import Loop
from core.runs.quota import Circuits, Cooling, Quota
from core.runs.registry import Tools
from core.runs.router import Router
from core.runs.shelf import Shelf
from core.runs.spending import Spending
from core.runs.steering import at_hand, is_contract
from core.runs.stuck import Stuck
from core.runs.summaries import Summaries
from core.runs.turn import Attachment, Message, Run, Status, Turn
from core.store import Store
from core.texts import t
from core.tool import Context, Tool, described

if TYPE_CHECKING:
    from core.outbox import Outbox

log = logging.getLogger(__name__)

SEALED_S = 60.0


@dataclass(slots=True)
class _Active:
    run: Run
    work: asyncio.Task[None]
    closed: asyncio.Event = field(default_factory=asyncio.Event)


class Runner:
    """`await runner.run(turn)`; the run that comes back says how it went. `ask` is set by whoever can ask the owner."""

    def __init__(
        self,
        *,
        store: Store,
        bus: Bus,
        home: Home,
        config: Config,
        identity: IdentityFile,
        outbox: "Outbox",
        models: Models,
        tools: Tools,
        ask: Ask | None = None,
        services: Mapping[type, Any] | None = None,
    ) -> None:
        self.ask = ask
        self._store = store
        self._bus = bus
        self._home = home
        self._config = config
        self._identity = identity
        self._outbox = outbox
        self._tools = tools
        self.quota = Quota(store, config)
        self.circuits = Circuits(time.monotonic)
        self.spending = Spending(store, config, self._zone)
        self.router = Router(config, store, self.quota, self.circuits)
        self.patience = retry.Patience()
        self.desk = Desk(models, self.router, self.quota, self.circuits, self.spending)
        self.summaries = Summaries(store, bus, self.desk, lambda: identity.language)
        self._services = {} if services is None else services
        self._active: dict[str, _Active] = {}

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Runs a former process left unfinished are lost; runs of this one end before the block is left."""
        if lost := await history.lose_unfinished(self._store):
            log.info("%d runs of the former process were lost", lost)
        async with self.summaries.open():
            try:
                yield
            finally:
                active = list(self._active.values())
                for one in active:
                    one.work.cancel()
                await asyncio.gather(*(one.closed.wait() for one in active))

    def active(self) -> list[Run]:
        """The runs that are going on, the oldest first."""
        return [one.run for one in self._active.values()]

    def cancel(self, run_id: str) -> None:
        """Stop one run; whoever waits for it gets it back as cancelled."""
        if run_id not in self._active:
            raise NotFound(f"There is no active run {run_id}.")
        self._active[run_id].work.cancel()

    async def run(self, turn: Turn, *, parent: Run | None = None) -> Run:
        """Answer a turn. What goes wrong as expected is in the run; only cancellation and bugs are raised."""
        run = await history.begin(self._store, turn, parent.id if parent else None)
        began = time.monotonic()
        where: dict[str, Any] = {"run_id": run.id, "project_id": turn.project_id}
        self._bus.emit(RunStarted(channel=turn.channel, sender=turn.sender, thread=turn.thread, **where))
        work = asyncio.create_task(self._answer(run))
        self._active[run.id] = _Active(run, work)
        try:
            await work
        except asyncio.CancelledError:
            run.status, run.text = Status.CANCELLED, t("run.cancelled", self._identity.language)
            me = asyncio.current_task()
            if me is not None and me.cancelling():
                raise
        except ApxError as error:
            run.status, run.text = Status.FAILED, str(error)
            run.error_kind = error.kind if isinstance(error, ModelUnavailable) else error.code
        except BaseException:
            run.status, run.error_kind = Status.FAILED, "bug"
            run.text = t("run.bug", self._identity.language)
            raise
        finally:
            run.seconds = time.monotonic() - began
            await asyncio.shield(self._close(run))
        return run

    async def _close(self, run: Run) -> None:
        turn = run.turn
        try:
            await history.close(self._store, run, author=turn.answerer or self._identity.now.agent_name)
        finally:
            self._active.pop(run.id).closed.set()
        self._bus.emit(
            RunClosed(
                run_id=run.id,
                project_id=turn.project_id,
                channel=turn.channel,
                thread=turn.thread,
                status=run.status,
                text=run.text,
            )
        )
        self.summaries.after(run)

    async def _answer(self, run: Run) -> None:
        limit = run.turn.timeout_s or (SEALED_S if run.turn.sealed else None)
        try:
            async with asyncio.timeout(limit) as clock:
                await (await self._prepare(run, clock.when())).work()
        except TimeoutError as error:
            if not clock.expired():
                raise
            sentence = t("run.timeout", self._identity.language, seconds=f"{limit:g}")
            raise ModelUnavailable("timeout", sentence) from error

    async def _prepare(self, run: Run, deadline: float | None) -> Loop:
        """Everything a conversation needs: the model, the tools, the words, the limits."""
        turn, settings, lang = run.turn, self._config.now.super_agent, self._identity.language
        before = await self._before(run)
        plan = await self.router.plan(turn, lang, context_chars=sum(len(one.text) for one in before))
        record = partial(history.step, self._store, run.id)
        plan = await classified(
            run, plan, desk=self.desk, settings=self._config.now, record=record, lang=lang
        )
        run.target = plan.primary
        await history.selected(self._store, run.id, run.target, plan.selected_by)
        where: dict[str, Any] = {"run_id": run.id, "project_id": turn.project_id}

        def moved(target: str) -> None:
            self._bus.emit(ModelRouted(target=target, purpose="turn", **where))

        async def limited(one: Cooling) -> None:
            await quota.tell(self._outbox, one, lang, run_id=run.id)

        moved(run.target)
        ask = self.ask if turn.can_ask and not turn.sealed else None
        policy = policy_of(settings, can_ask=ask is not None)
        if turn.sealed:
            # Its tools only write down a decision: whoever asked acts on it, under the contact's posture.
            policy = Policy("total", frozenset(), can_ask=False)
        offered = self._offered(turn)
        await described(offered)
        shelf = Shelf(offered, self._more(turn), risk=policy.rating is not None)
        root = await projects.root(self._store, self._home, turn.project_id)
        place = Place(self._home, Path.home(), root, root)
        told = await known(
            turn,
            shelf,
            services=self._services,
            identity=self._identity.now,
            home=self._home,
            root=root,
            before=before,
            run=run,
        )
        if told.recalled is not None:
            await record("memory", told.recalled)
        asking = Attempts(
            run=run,
            plan=plan,
            desk=self.desk,
            say=lambda piece: None if turn.sealed else self._bus.emit(Said(text=piece, **where)),
            record=record,
            failed=lambda target, error: self._bus.emit(
                EngineFailed(target=target, kind=error.kind, reason=str(error), **where)
            ),
            moved=moved,
            limited=limited,
            lang=lang,
            patience=retry.SEALED if turn.sealed else self.patience,
            stream=not turn.sealed,
            deadline=deadline,
        )
        watch = settings.stuck_detection

        def emit(kind: type[Event], values: dict[str, Any]) -> None:
            self._bus.emit(kind(**values, **where))

        judge = Judge(
            settings=settings.judge,
            desk=self.desk,
            run=run,
            record=record,
            emit=emit,
            primary=settings.model,
            lang=lang,
        )
        left = turn.budget or budget.Budget(budget.steps(turn.channel, settings, turn.max_iters))
        context = self._context(run, shelf)
        context.budget, context.offered = left, lambda: tuple(shelf.offered.values())
        return Loop(
            run=run,
            asking=asking,
            dispatch=Dispatch(shelf.offered, context, policy, ask, place=place),
            budget=left,
            messages=await self._messages(run, before, told),
            tools=shelf.schemas,
            record=record,
            emit=emit,
            judge=judge,
            stuck=Stuck(watch.action_repeat, watch.error_repeat, enabled=watch.enabled and not turn.sealed),
            lang=lang,
            decides=turn.sealed,
            contract=is_contract(turn),
        )

    def _zone(self) -> tzinfo | None:
        """The owner's time zone; an unknown name is the machine's."""
        try:
            return ZoneInfo(self._identity.now.timezone) if self._identity.now.timezone else None
        except (ZoneInfoNotFoundError, ValueError):
            return None

    def _offered(self, turn: Turn) -> tuple[Tool, ...]:
        """Exactly the turn's tools where it names them; else the channel's, and only for the owner."""
        if turn.sealed:
            return turn.tools or ()
        if turn.tools is not None:
            return at_hand(turn, turn.tools)
        return at_hand(turn, self._tools.of(turn.channel) if turn.sender == "owner" else ())

    def _more(self, turn: Turn) -> tuple[Tool, ...]:
        """What the turn may still take down from the shelf."""
        if turn.tools is not None or turn.sealed or turn.sender != "owner":
            return ()
        return self._tools.more(turn.channel)

    async def _before(self, run: Run) -> list[Message]:
        """What was said before: what the turn brings, else its thread. A sealed turn has none."""
        turn = run.turn
        if turn.sealed:
            return []
        if turn.previous or turn.cue or not turn.thread:
            return list(turn.previous)
        return await summaries.conversation(self._store, turn.thread, run.id)

    async def _messages(self, run: Run, before: list[Message], told: Known) -> list[dict[str, Any]]:
        turn = run.turn
        if turn.sealed:
            return prompt.messages(turn, turn.system or "")
        settings = self._config.now.super_agent
        # Between agents everybody is of the house; only the assistant knows of the owner's other conversations.
        house = turn.sender == "owner" or turn.channel in {"a2a", "group"}
        owner = house and not turn.role
        rows = (
            await self._store.all("select name from projects where id != 'default' order by name")
            if house
            else []
        )
        listed = await agents.listed(self._store) if house else ()
        text = (
            f"{turn.system}\n\n{told.memory}".strip()
            if turn.system
            else prompt.system(
                turn,
                self._identity.now,
                language=self._identity.language,
                target=run.target,
                role=turn.role or settings.system,
                instructions="" if turn.role else settings.instructions,
                projects=[row["name"] for row in rows],
                agents=[f"{one.slug} ({one.name})" for one in listed],
                threads=await history.active_threads(self._store, besides=turn.thread) if owner else (),
                skills=told.skills,
                memory=told.memory,
            )
        )
        return prompt.messages(turn, text, before)

    def _context(self, run: Run, shelf: Shelf) -> Context:
        async def attach(file: Attachment) -> None:
            if any(one.media_id == file.media_id for one in run.files):
                return  # the same file twice is once
            run.files.append(file)
            self._bus.emit(
                FileDelivered(
                    run_id=run.id,
                    project_id=run.turn.project_id,
                    media_id=file.media_id,
                    name=file.name,
                    kind=file.kind,
                    size=file.size,
                    caption=file.caption,
                )
            )

        return Context(
            store=self._store,
            bus=self._bus,
            home=self._home,
            config=self._config,
            identity=self._identity,
            outbox=self._outbox,
            turn=run.turn,
            run_id=run.id,
            attach=None if run.turn.sealed else attach,
            services=self._services,
            take=shelf.take,
        )
