"""Rounds: from the alerts that wait to the one Telegram that closes them.

One round at a time. Alerts in a burst become one round; alerts during a round become one more. Everything a
round knows is in the journal before its next step, so a stopped process goes on where it was: no alert is lost,
no answer and no report goes out twice.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bridge import journal, relay, report
from bridge.carry import CHANGED, Carrier, Outcome, guarded, key_of
from bridge.decide import Decision, Person, decide, decided, hushed, under_posture
from bridge.handset import Handset, Hold
from bridge.journal import Conversation, Round
from bridge.owner_questions import Questions
from bridge.quiet import quiet
from bridge.retention import purge
from bridge.walk import Opened, Walk, known_as, posture_of
from core.app import App
from core.errors import ApxError, PhoneUnreachable
from core.events import AlertReceived, ConversationDecided, RoundClosed, RoundStarted
from core.message import Message

log = logging.getLogger(__name__)
PHONE_S = 600.0
DAY_S = 86_400.0
AT_ONCE = 4  # sealed turns in flight
RESUMES = 3
AGAIN = 2  # decisions on one conversation, when messages arrive before the answer is typed


@dataclass(slots=True)
class Rounds:
    """The worker of a home's rounds."""

    app: App
    handset: Handset
    questions: Questions
    _wake: asyncio.Event
    _tidy_at: float = 0.0

    @classmethod
    @asynccontextmanager
    async def open(cls, app: App, handset: Handset, questions: Questions) -> AsyncIterator["Rounds"]:
        """Work alerts until the block is left. A round that is walking then leaves WhatsApp and waits on disk."""
        rounds = cls(app, handset, questions, asyncio.Event())
        leave = app.bus.subscribe(AlertReceived, lambda _: rounds._heard())
        rounds._heard()
        worker = asyncio.create_task(rounds._work())
        try:
            yield rounds
        finally:
            leave()
            worker.cancel()
            with suppress(asyncio.CancelledError):
                await worker

    def _heard(self) -> None:
        self._wake.set()

    async def _work(self) -> None:
        for round in await journal.unfinished(self.app.store):
            await self._whole(round)
        while True:
            await self._tidy()
            await self._wake.wait()
            self._wake.clear()
            if not self.app.config.now.whatsapp.enabled or not await journal.waiting(self.app.store):
                continue
            await self._quiet()
            if (rest_s := await relay.resting_s(self)) > 0:
                # This state was told a moment ago: what came since waits, and then the phone is tried again.
                asyncio.get_running_loop().call_later(rest_s, self._wake.set)
                continue
            alerts = await journal.waiting(self.app.store)
            if alerts:
                await self._whole(await journal.begin(self.app.store, alerts[0]["project_id"]))
            self._wake.set()

    async def _tidy(self) -> None:
        """Once a day, between rounds: replays that have had their days go."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._tidy_at:
            return
        self._tidy_at = loop.time() + DAY_S
        loop.call_at(self._tidy_at, self._wake.set)
        if count := await purge(
            self.app.store, datetime.now(UTC), max(1, self.app.config.now.whatsapp.replay_days)
        ):
            log.info("The replay of %d rounds was removed: its days had passed", count)

    async def _quiet(self) -> None:
        """Wait until no alert has come for `quiet_s`, but not longer than `cap_s`."""
        settings = self.app.config.now.whatsapp
        loop = asyncio.get_running_loop()
        last = loop.time() + settings.cap_s
        while (left := min(settings.quiet_s, last - loop.time())) > 0:
            self._wake.clear()
            try:
                await asyncio.wait_for(self._wake.wait(), left)
            except TimeoutError:
                return

    async def _whole(self, round: Round) -> None:
        """One round to its end. A fault of ours ends this round with a relay, and never the worker."""
        if await self._faultless(self._round(round), round):
            return
        await self._faultless(self._fail(round), round)

    async def _faultless(self, work: Coroutine[Any, Any, None], round: Round) -> bool:
        task = asyncio.create_task(work)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        if (error := task.exception()) is not None:
            log.error("Round %s failed", round.id, exc_info=error)
        return error is None

    async def _fail(self, round: Round) -> None:
        """What was read is told; where nothing was, the alert with its own words."""
        round.state = round.why = round.phone_state = "failed"
        chats = await journal.conversations(self.app.store, round.id)
        if all(chat.state == "found" for chat in chats):
            await relay.relay(self, round)
        else:
            await self._close(round, chats)

    async def _round(self, round: Round) -> None:
        app, store = self.app, self.app.store
        settings = app.config.now.whatsapp
        app.bus.emit(RoundStarted(round_id=round.id, project_id=round.project_id))
        walk = Walk(store, app.bus, round, settings, await journal.conversations(store, round.id))
        if settings.read == "notifications":
            # Nothing is opened, and a phone out of reach is still told of.
            state, _, _ = await self.handset.look()
            round.phone_state = state if state in relay.SILENT_ADB else ""
            round.source = "notifications"
            await relay.relay(self, round)
            return
        state = await self._look_warming(walk)
        if _read_nothing(walk, state):
            round.phone_state = state
            await relay.relay(self, round)
            return
        round.phone_state, round.why = state or "ready", state
        await self._decide_all(round, walk.chats)
        await self._carry_all(round, walk)
        round.state = "closed"
        await self._close(round, walk.chats, limited=walk.limited)

    async def _look_warming(self, walk: Walk) -> str:
        """Walk over the phone while the model's process loads: no answer waits for that, and no relay either."""
        async with asyncio.TaskGroup() as group:
            warming = group.create_task(self.app.models.warm(model)) if (model := self._model) else None
            state = await self._look(walk)
            if warming is not None and _read_nothing(walk, state):
                warming.cancel()
        return state

    async def _look(self, walk: Walk) -> str:
        """Walk over the phone; empty when all was read, else the state that stopped it."""
        if walk.round.resumed > RESUMES:
            return "failed"
        hold: Hold | None = None
        try:
            async with asyncio.timeout(PHONE_S):
                wait_s = self.app.config.now.whatsapp.owner_wait_s
                async with self.handset.held(owner_wait_s=wait_s) as hold:
                    await walk.go(hold.whatsapp, await relay.notices(self.handset))
            return ""
        except PhoneUnreachable as error:
            await journal.step(self.app.store, walk.round.id, "stopped", state=error.state, detail=str(error))
            return error.state
        except TimeoutError:
            return "timeout"
        except ApxError as error:
            await journal.step(
                self.app.store, walk.round.id, "stopped", state="unreadable", detail=str(error)
            )
            return "unreadable"
        finally:
            if hold is not None:
                walk.round.in_background = hold.left

    async def _decide_all(self, round: Round, chats: list[Conversation]) -> None:
        """Sealed turns for what was read, a few at a time. The phone is free meanwhile."""
        free = asyncio.Semaphore(AT_ONCE)

        async def one(chat: Conversation) -> None:
            async with free:
                await self._decide(round, chat)

        async with asyncio.TaskGroup() as group:
            for chat in chats:
                if chat.state == "read":
                    group.create_task(one(chat))

    @property
    def _model(self) -> str:
        """The model that decides, or nothing where none is set up."""
        agent = self.app.config.now.super_agent
        return agent.model if agent.enabled else ""

    async def _decide(self, round: Round, chat: Conversation) -> None:
        app = self.app
        settings = app.config.now
        _, note = posture_of(settings.whatsapp, chat.title, chat.number)
        decision = await decide(
            app.runner,
            chat,
            Person(app.identity.now.owner_name, note),
            project_id=round.project_id,
            has_model=bool(self._model),
        )
        decision = under_posture(await self._guarded(chat, decision), chat.posture, chat.fresh)
        if quiet(app):
            decision = under_posture(decision, "draft", chat.fresh, why="quiet")
        decided(chat, decision)
        await journal.decided(app.store, chat)

    async def _guarded(self, chat: Conversation, decision: Decision) -> Decision:
        """A reply that the guard refuses becomes a question, with the refused text as a draft for the owner only."""
        if decision.kind == "reply":
            text = str(decision.args.get("text", ""))
            verdict = await guarded(self.app.store, chat, text)
            if not verdict.passes:
                question = " / ".join(line.text for line in chat.fresh if line.text)[:300]
                args = {"question": question, "draft": text, "holding_reply": ""}
                return Decision("ask_owner", args, decision.by, f"guard.{verdict.reason}", decision.run_id)
        if decision.kind == "ask_owner" and (held := str(decision.args.get("holding_reply", ""))):
            verdict = await guarded(self.app.store, chat, held)
            if not verdict.passes:
                args = {**decision.args, "holding_reply": ""}
                return Decision("ask_owner", args, decision.by, decision.reason, decision.run_id)
        return decision

    async def _carry_all(self, round: Round, walk: Walk) -> None:
        """Type what is to be typed, in one hold of the phone; ask the owner what is theirs."""
        pending = [chat for chat in walk.chats if chat.state == "decided" and _to_type(chat)]
        pending = [chat for chat in pending if not await self._hushed(chat)]
        if pending:
            hold: Hold | None = None
            try:
                async with asyncio.timeout(PHONE_S), self.handset.held() as hold:
                    carrier = Carrier(hold.whatsapp, self.app.store, self.app.outbox)
                    for chat in pending:
                        if await self._hushed(chat):
                            continue
                        await self._carry(round, carrier, chat, walk.opened.get(chat.id) or known_as(chat))
            except (PhoneUnreachable, TimeoutError) as error:
                state = error.state if isinstance(error, PhoneUnreachable) else "timeout"
                for chat in pending:
                    if chat.state == "decided":
                        await self._done(chat, Outcome("not_sent", f"phone.{state}"))
            finally:
                if hold is not None:
                    round.in_background = hold.left
        for chat in walk.chats:
            if chat.decision == "ask_owner" and chat.state in ("decided", "done"):
                await self.questions.ask(chat)
            if chat.state == "decided":
                await self._done(chat, None)

    async def _hushed(self, chat: Conversation) -> bool:
        """In quiet hours nothing is typed any more; what an earlier start may have typed is only looked after."""
        if not quiet(self.app) or await self.app.outbox.find(key_of(chat, chat.decision or "")):
            return False
        hushed(chat)
        await journal.decided(self.app.store, chat)
        return True

    async def _carry(self, round: Round, carrier: Carrier, chat: Conversation, opened: Opened) -> None:
        outcome: Outcome | None = None
        for left in reversed(range(AGAIN)):
            text = _to_type(chat)
            if not text:
                outcome = None  # what arrived meanwhile changed the decision
                break
            key = key_of(chat, chat.decision or "")
            outcome = await carrier.send(chat, opened, text, key=key)
            if outcome.why != CHANGED or not left:
                break
            # Somebody wrote meanwhile: what is on the screen now is what has to be answered.
            await self._decide(round, chat)
        await self._done(chat, outcome)

    async def _done(self, chat: Conversation, outcome: Outcome | None) -> None:
        chat.outcome = outcome.state if outcome else None
        chat.outcome_why = outcome.why if outcome else ""
        await journal.done(self.app.store, chat)
        self.app.bus.emit(
            ConversationDecided(
                round_id=chat.round_id,
                conversation_id=chat.id,
                title=chat.title,
                decision=chat.decision or "",
                outcome=chat.outcome or "",
            )
        )

    async def _close(self, round: Round, chats: list[Conversation], *, limited: bool = False) -> None:
        lang = self.app.identity.language
        asked = await self.questions.of_round(round.id)
        text = report.written(round, chats, lang, questions=asked, limited=limited)
        if text:
            round.report_id = await self.app.outbox.post(
                Message(
                    channel="telegram",
                    text=text,
                    markup=False,
                    key=f"report:{round.id}",
                    buttons=self.questions.buttons(asked, lang),
                    origin={"round_id": round.id},
                )
            )
        await self.close(round, alerts="worked")

    async def close(self, round: Round, *, alerts: str) -> None:
        """Close the round in the journal and tell of it."""
        if round.state == "running":
            round.state = "closed"
        await journal.close(self.app.store, round, alerts=alerts)
        count = await self.app.store.one("select count(*) from conversations where round_id = ?", round.id)
        self.app.bus.emit(
            RoundClosed(
                round_id=round.id,
                status=round.state,
                conversations=count[0] if count else 0,
                project_id=round.project_id,
            )
        )


def _read_nothing(walk: Walk, state: str) -> bool:
    """Whether the phone stopped the walk before there was anything to decide on."""
    return bool(state) and all(chat.state == "found" for chat in walk.chats)


def _to_type(chat: Conversation) -> str:
    if chat.decision == "reply":
        return str(chat.args.get("text", ""))
    if chat.decision == "ask_owner":
        return str(chat.args.get("holding_reply", ""))
    return ""
