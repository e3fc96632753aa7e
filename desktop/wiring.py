"""Joins the core to the screen: widgets are given callables and values here, and never the app itself."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint

from core import alerts
from core.channels import telegram_desk
from core.channels.telegram_people import claim_of
from core.errors import Refused
from core.events import (
    ChannelState,
    ConfigChanged,
    ConfigRejected,
    IdentityChanged,
    OwnerClaimed,
    PhoneState,
    RunClosed,
    RunStarted,
)
from core.runs import ledger
from core.runs.approvals import Approvals
from core.runs.history import transcript
from core.runs.manifest import manifest
from core.runs.selection import UNATTENDED
from desktop import approvals, kept, ran, records, room_desk, steps
from desktop.activity import Activity
from desktop.phone import TONES, Known, PhoneScreen
from desktop.questions import Question
from desktop.rounds import Rounds
from desktop.settings import pages
from desktop.settings.telegram import Claim, TelegramPage
from desktop.slots import settle, slot
from desktop.stage import Stage
from desktop.watching import WatchCard
from desktop.working import Talks, Team

if TYPE_CHECKING:
    from core.app import App
    from desktop.door import Door

PLACE = "desktop.mascot.place"
GUIDED = "desktop.guide.done"


@asynccontextmanager
async def joined(app: "App", stage: Stage, door: "Door") -> AsyncIterator[None]:
    """The screens live on the core while inside."""
    desk = Desk(app, stage, door)
    try:
        await desk.open()
        yield
    finally:
        desk.rest()
        await stage.chat.close()
        await desk.room.chat.close()
        await settle()  # before the screens go: a slot that comes back wants its widget
        desk.leave()


class Desk:
    """The callables of the widgets, over one open app."""

    def __init__(self, app: "App", stage: Stage, door: "Door") -> None:
        self.app, self.stage, self.door = app, stage, door
        self.words = stage.words
        self._connections: list[Callable[[], object]] = []

    async def open(self) -> None:
        """Listen first, then read: nothing that happens in between is missed."""
        app, stage = self.app, self.stage
        self._screens()
        stage.feed.listen(app.bus)
        stage.questions.serve(self.questions, self.answer)
        self._speak()
        self._introduce()
        self._listening()
        self._show_model()
        await self.talks.open()
        stage.workers.serve(self.team.at_work, self.team.stop)
        await stage.workers.refresh()
        await stage.questions.refresh()
        self.rounds.follow()
        await self._claims()
        await self._put_mascot()
        await self._greet()
        if app.config.problem:
            stage.chat.note(self.words("config.rejected", why=app.config.problem))
        stage.face.tell()

    def rest(self) -> None:
        """Hear and begin nothing more."""
        for disconnect in self._connections:
            disconnect()
        self._connections.clear()
        for screen in (self.room, self.rounds, self.activity, self.jobs, self.tasks, self.memory):
            screen.rest()
        self.stage.feed.close()
        self.stage.questions.serve(None, None)
        self.stage.workers.serve(None, None)
        self.stage.conversations.serve(None)

    def leave(self) -> None:
        """Let go of the core: the screens that lived on it go too."""
        self.stage.face.close()
        for key in self.screens:
            self.stage.window.take(key)

    def _on(self, signal: Any, told: Callable[..., object]) -> None:
        signal.connect(told)
        self._connections.append(lambda: signal.disconnect(told))

    def _screens(self) -> None:
        app, stage, words = self.app, self.stage, self.words
        self.rounds = Rounds(
            words,
            rounds=lambda: records.rounds(app.store),
            conversations=lambda round_id: records.conversations(app.store, round_id),
            steps=lambda round_id: records.steps(app.store, round_id),
            answer=self.answer,
            start=self.start_round,
        )
        self.watch = WatchCard(
            words,
            on=lambda: app.config.now.whatsapp.watch,
            change=lambda key, value: app.config.set({key: value}),
            state=self.door.watching,
        )
        self.phone = PhoneScreen(
            words,
            state=self.door.state,
            attached=self.door.attached,
            choose=self.choose_phone,
            picture=self.door.picture,
            more=(self.watch,),
        )
        self.activity = Activity(
            words,
            runs=lambda wanted: ran.runs(app.store, wanted),
            channels=lambda: ran.channels(app.store),
            read=self.inside,
            given=lambda run_id: manifest(app.store, run_id),
            stop=self.stop_run,
        )
        self.team = Team(app, words)
        self.talks = Talks(app, stage.chat, stage.conversations, self.team, words)
        self.jobs = self.team.screen()
        self.tasks, self.memory = kept.tasks_screen(app, words), kept.memory_screen(app, words)
        self.room = room_desk.rooms_screen(app, words, stage.feed, stage.questions, stage.save)
        self.settings = pages.screen(app, words, decide=self.decide)
        self.guide = steps.guide(app, words)
        self.guide.wanted.connect(self._go)
        self.guide.finished.connect(self._guided)
        self.screens = {
            "guide": self.guide,
            "rooms": self.room,
            "rounds": self.rounds,
            "phone": self.phone,
            "tasks": self.tasks,
            "activity": self.activity,
            "jobs": self.jobs,
            "memory": self.memory,
            "settings": self.settings,
        }
        for key, screen in self.screens.items():
            stage.window.put(key, screen)
        self.settings.opened.connect(lambda _: self._show_claim())
        feed = stage.feed
        self._on(feed.rounds_changed, self.rounds.follow)
        self._on(stage.questions.changed, self.rounds.follow)
        for happened in (feed.run_started, feed.run_closed, feed.tool_finished):
            self._on(happened, self._run_told)
        self._on(feed.job_changed, self._job_told)
        self._on(feed.titled, self._titled)
        for happened in (feed.run_started, feed.run_closed):
            self._on(happened, self._thread_told)
        self._on(feed.rooms_changed, self.room.follow)
        self._on(feed.tasks_changed, self.tasks.follow)
        self._on(feed.memory_changed, self.memory.follow)
        self._on(feed.phone_changed, self._phone_told)
        self._on(feed.identity_changed, self._identity_told)
        self._on(feed.config_changed, self._config_told)
        self._on(feed.config_rejected, self._rejected)
        self._on(feed.channel_changed, self._channel_told)
        self._on(feed.owner_claimed, self._claimed)
        self._on(stage.round_asked, self._round_asked)
        self._on(stage.mascot.moved, self._mascot_moved)
        self._channel: tuple[str, str] = ("", "")
        self._claim: Claim | None = None

    # what the screens ask for

    async def questions(self) -> list[Question]:
        return [*await self._permissions(), *await records.questions(self.app.store)]

    async def _permissions(self) -> list[Question]:
        """The open ones; those that were on the screen and are decided elsewhere leave their ending there."""
        asked, questions = self._asked(), self.stage.questions
        if asked is None:
            return []
        agent = self.app.identity.now.agent_name
        waiting = [approvals.question(one, self.words, agent) for one in await asked.open_ones()]
        gone = {one.id for one in questions.open if one.kind == "permission"} - {one.id for one in waiting}
        for id in gone:
            one = await asked.find(id)
            if one.decided_by != "desktop":
                questions.end(id, *approvals.ending(one, asked.sentence(one), self.words))
        return waiting

    def _asked(self) -> Approvals | None:
        found: Approvals | None = self.app.services.get(Approvals)
        return found

    async def answer(self, question_id: str, choice: str, text: str) -> None:
        asked = self._asked()
        if asked is not None and choice in approvals.CHOICES:
            await asked.decide(question_id, choice, by="desktop")
        else:
            await self.door.answer(question_id, choice, text)

    async def inside(self, run_id: str) -> ran.Inside:
        store = self.app.store
        return ran.Inside(await transcript(store, run_id), await ledger.attempts(store, run_id))

    def stop_run(self, run_id: str) -> None:
        self.app.runner.cancel(run_id)

    async def start_round(self) -> None:
        if not self.app.config.now.whatsapp.enabled:
            raise Refused(self.words("rounds.off"))
        if not self.app.config.now.phone.serial:
            raise Refused(self.words("rounds.no_phone"))
        await alerts.accept(self.app.store, self.app.bus, project_id="default", body=b"", source="owner")

    async def choose_phone(self, serial: str) -> None:
        await self.app.config.set({"phone.serial": serial})

    async def decide(self, claim: Claim, yes: bool) -> None:
        """The claimant becomes the owner, or is declined for good."""
        await telegram_desk.confirm_claim(self.app, claim.channel, claim.user_id, yes)
        self._claim = None

    # what happened

    def _introduce(self) -> None:
        identity = self.app.identity
        self.stage.introduce(identity.now.agent_name, identity.icon)

    def _speak(self) -> None:
        self.words.speak(self.app.identity.language)

    def _listening(self) -> None:
        now = self.app.config.now
        listening = now.telegram.enabled or (now.whatsapp.enabled and bool(now.phone.serial))
        self.stage.face.know(open=True, listening=listening)
        self.stage.tray.set_round_possible(now.whatsapp.enabled and bool(now.phone.serial))

    def _show_model(self) -> None:
        agent = self.app.config.now.super_agent
        mode = self.words(f"settings.super_agent.permission_mode.{agent.permission_mode}").lower()
        self.stage.chat.see(self.talks.blind())
        self.stage.talk.show_model(f"{agent.model.partition(':')[2]} · {mode}" if agent.model else "")

    def _identity_told(self, _: IdentityChanged) -> None:
        self._speak()
        self._introduce()
        self._show_model()
        self.room.follow()
        self.settings.refresh()
        self.guide.refresh()

    def _config_told(self, event: ConfigChanged) -> None:
        now = self.app.config.now
        self._speak()
        self._listening()
        self._show_model()
        if "desktop.theme" in event.keys:
            self.stage.wear(now.desktop.theme)
        if "desktop.mascot" in event.keys:
            self.stage.show_mascot(now.desktop.mascot)
        if any(key.startswith("phone.") for key in event.keys):
            self.phone.known = None
            if self.phone.isVisible():
                self.phone.refresh()
        self.watch.refresh()
        self.settings.refresh()
        self.guide.refresh()

    def _run_told(self, _: object) -> None:
        self.activity.follow()

    def _titled(self, _: object) -> None:
        self.stage.conversations.refresh()

    def _thread_told(self, event: RunStarted | RunClosed) -> None:
        if event.channel not in UNATTENDED:
            self.stage.conversations.refresh()

    def _job_told(self, _: object) -> None:
        self.stage.workers.refresh()
        self.jobs.follow()

    def _rejected(self, event: ConfigRejected) -> None:
        self.stage.chat.note(self.words("config.rejected", why=event.why))

    def _phone_told(self, event: PhoneState) -> None:
        self.phone.tell(Known(event.state, serial=event.serial, detail=event.detail))
        state = self.words.known(f"phone.{event.state}.short", event.state)
        self.rounds.show_phone(state, TONES.get(event.state, "danger"))

    def _channel_told(self, event: ChannelState) -> None:
        if event.channel == "phone_watch":
            self.watch.refresh()
        if event.channel.startswith("telegram"):
            self._channel = (event.state, event.detail)
            self._show_claim()

    def _claimed(self, event: OwnerClaimed) -> None:
        self._claim = Claim(event.user_id, event.user_name, event.channel)
        self._show_claim()

    async def _claims(self) -> None:
        """How the bot stands, and who asked to be the owner, while nobody looked."""
        for bot in (await telegram_desk.status(self.app))[:1]:
            if not self._channel[0] and bot["state"] != "off":
                self._channel = (bot["state"], bot["detail"])
        for channel in self.app.config.now.telegram.channels:
            found = await claim_of(self.app.store, channel.name)
            if found is not None and found.state == "open":
                self._claim = Claim(found.user_id, found.name, channel.name)
        self._show_claim()

    def _show_claim(self) -> None:
        page = self.settings.built.get("telegram")
        if isinstance(page, TelegramPage):
            page.tell(*self._channel)
            page.claimed(self._claim)

    def _round_asked(self) -> None:
        self.stage.window.open("rounds")
        self.stage.window.bring()
        self.rounds.begin.click()

    @slot(QPoint)
    async def _mascot_moved(self, point: QPoint) -> None:
        await records.keep(self.app.store, PLACE, json.dumps([point.x(), point.y()]))

    async def _greet(self) -> None:
        """Where nothing is set up yet, the first steps are the first thing to see."""
        if steps.facts(self.app).fresh and not await records.kept(self.app.store, GUIDED):
            self.stage.window.rail.entries["guide"].show()
            self.stage.window.open("guide")

    def _go(self, place: str) -> None:
        key, _, page = place.partition(".")
        self.stage.window.open(key)
        if page:
            self.settings.open(page)

    @slot()
    async def _guided(self) -> None:
        self.stage.window.rail.entries["guide"].hide()
        self.stage.window.open("chat")
        await records.keep(self.app.store, GUIDED, "1")

    async def _put_mascot(self) -> None:
        kept = await records.kept(self.app.store, PLACE)
        if kept:
            x, y = json.loads(kept)
            self.stage.mascot.place(QPoint(x, y))
