"""Stored updates become what they ask for, each exactly once, also when the process dies in between.

A row is waiting, then working, then done, failed or ignored. Presses and /stop never wait behind a turn.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from core.channels import telegram_heard, telegram_menu, telegram_people
from core.channels.telegram_albums import Albums
from core.channels.telegram_chat import Chat
from core.channels.telegram_door import Door
from core.channels.telegram_people import Who
from core.channels.telegram_poll import Timing
from core.channels.telegram_presses import ButtonPress, Presses
from core.channels.telegram_question import CHOSEN, Question, add, age, waited
from core.channels.telegram_rows import TRIES, Rows
from core.channels.telegram_update import Inbound, one_line
from core.channels.telegram_wire import Line, courtesy
from core.errors import ApxError
from core.message import Message
from core.settings import Channel

if TYPE_CHECKING:
    from core.app import App

log = logging.getLogger(__name__)

STOPPING = frozenset({"stop", "reset", "new"})
COMMAND_AGE = timedelta(hours=1)  # an order of yesterday is not carried out today
SEEN = [{"type": "emoji", "emoji": "👀"}]

Taker = Callable[[str, int], Awaitable[str]]


class Intake:
    """The updates of one bot. `channel` gives the settings as they are now."""

    def __init__(
        self,
        app: "App",
        line: Line,
        timing: Timing,
        *,
        name: str,
        channel: Callable[[], Channel],
        bot: Callable[[], tuple[int, str]],
        presses: Mapping[str, ButtonPress],
        takers: Sequence[Taker],
        quiet: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._app, self._line, self._timing = app, line, timing
        self._channel, self._takers, self._quiet = channel, takers, quiet
        self._outbox = f"telegram:{name}"
        self._rows = Rows(app.store, bot)
        self._door = Door(app, name)
        self._presses = Presses(app, line, timing, name=name, takers=presses)
        self._albums = Albums(timing.album_s, self._begin)
        self._chats: dict[str, Chat] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.wake = asyncio.Event()

    async def run(self) -> None:
        """Work off what is stored until cancelled."""
        settled = False
        try:
            while True:
                await self.wake.wait()
                self.wake.clear()
                if self._rows.bot_id:
                    if not settled:
                        settled = True
                        await self._settle()
                    await self._work()
        finally:
            self._albums.leave()
            await asyncio.gather(*(chat.leave() for chat in self._chats.values()))
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    # Rows

    async def _work(self) -> None:
        questions: dict[str, Question] = {}
        for row in await self._rows.in_state("waiting"):
            await self._rows.mark(row["update_id"], "working")
            result = (await asyncio.gather(self._one(row, questions), return_exceptions=True))[0]
            if isinstance(result, BaseException):
                await self._broke(row["update_id"], result)
        for address, question in questions.items():
            await self._announce(address, question)
            if question.groups or self._albums.waits(address):
                self._albums.hold(address, question)
            else:
                self._begin(address, question)

    def _begin(self, address: str, question: Question) -> None:
        self._own(self._chat(address).ask(question), question.updates)

    async def _one(self, row: sqlite3.Row, questions: dict[str, Question]) -> None:
        inbound, channel = self._rows.read(row), self._channel()
        verdict, key = telegram_people.who(inbound, channel), self._rows.key(inbound.update_id)
        if verdict is Who.NOBODY:
            return await self._rows.mark(inbound.update_id, "ignored")
        if inbound.kind == "press":
            work = self._press(inbound, verdict)
            return self._own(asyncio.create_task(work), [inbound.update_id])
        if verdict is Who.OWNER:
            return await self._owner(inbound, questions)
        if verdict is Who.CLAIMANT:
            await self._door.claim(inbound, channel, key)
        else:
            await self._door.refuse(inbound, channel, key)
        return await self._rows.mark(inbound.update_id, "done")

    def _own(self, task: asyncio.Task[None], updates: list[int]) -> None:
        """Keep a task and what it works for; a bug in it is another try, not a silence."""

        def ended(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if not task.cancelled() and (bug := task.exception()):
                again = asyncio.create_task(self._all_broke(updates, bug))
                self._tasks.add(again)
                again.add_done_callback(self._tasks.discard)

        self._tasks.add(task)
        task.add_done_callback(ended)

    async def _all_broke(self, updates: list[int], bug: BaseException) -> None:
        for id in updates:
            await self._broke(id, bug)

    async def _broke(self, update_id: int, bug: BaseException) -> None:
        log.error("Telegram update %s met a bug", update_id, exc_info=bug)
        if await self._rows.again(update_id):
            self.wake.set()
        else:
            await self._gave_up(update_id)

    async def _gave_up(self, update_id: int) -> None:
        key = f"{self._rows.key(update_id)}/failed"
        await self._door.tell_owner(self._channel(), "telegram.update_failed", key)

    async def _settle(self) -> None:
        """What a stopped process was working on: answered already, done in part, or to be done now."""
        await self._rows.forget_old()
        for row in await self._rows.in_state("working"):
            inbound = self._rows.read(row)
            if await self._settled(inbound, row["received_at"]):
                await self._rows.mark(inbound.update_id, "done")
            elif row["tries"] >= TRIES:
                await self._rows.mark(inbound.update_id, "failed")
                await self._gave_up(inbound.update_id)
            else:
                await self._rows.mark(inbound.update_id, "waiting")

    async def _settled(self, inbound: Inbound, received_at: str) -> bool:
        store, key = self._app.store, self._rows.key(inbound.update_id)
        if await self._app.outbox.find(key):
            return True
        if inbound.kind == "press":
            sql = "select 1 from telegram_buttons where key = ? and pressed_at is not null"
            return await store.one(sql, inbound.data) is not None
        acted = await store.one(
            "select 1 from runs join run_steps on run_steps.run_id = runs.id where runs.thread = ?"
            " and runs.started_at >= ? and runs.status in ('lost', 'cancelled') and run_steps.kind = 'tool'",
            *(await self._chat(inbound.address).thread(), received_at),
        )
        if acted:
            # It may have done something already, so it is not done again by itself.
            await self._chat(inbound.address).say("telegram.cut_off", key, text=one_line(inbound.text, 80))
        return acted is not None

    # What is asked

    def _chat(self, address: str) -> Chat:
        if address not in self._chats:
            self._chats[address] = Chat(
                self._app,
                self._line,
                self._timing,
                outbox=self._outbox,
                address=address,
                project=self._channel().project,
                done=self._rows.done,
                quiet=self._quiet,
            )
        return self._chats[address]

    async def _owner(self, inbound: Inbound, questions: dict[str, Question]) -> None:
        id, key, address = inbound.update_id, self._rows.key(inbound.update_id), inbound.address
        if inbound.kind == "reaction":
            lang = self._app.identity.language
            kept = await telegram_heard.reaction(self._app.store, self._outbox, inbound, lang)
            return await self._rows.mark(id, "done" if kept else "ignored")
        before = await self._rows.before(inbound) if inbound.kind in {"message", "edit"} else []
        if not self._counts(inbound, before):
            return await self._rows.mark(id, "ignored")
        chat = self._chat(address)
        chat.forum = inbound.topic > 0
        if inbound.command:
            if age(inbound) > COMMAND_AGE:
                at = f"{inbound.sent_at.astimezone():%d/%m %H:%M}" if inbound.sent_at else "?"
                await chat.say("telegram.old_command", key, command=f"/{inbound.command}", at=at)
                return await self._rows.mark(id, "ignored")
            if inbound.command in STOPPING:
                for dropped in (questions.pop(address, None), self._albums.drop(address)):
                    if dropped is not None:
                        await self._rows.done(dropped.updates)
                        chat.downloads.forget(dropped.files)
            await self._command(inbound.command, chat, key)
            return await self._rows.mark(id, "done")
        if said := await self._taken(inbound):
            await self._app.outbox.post(
                Message(channel=self._outbox, to=address, text=said, markup=False, key=key)
            )
            return await self._rows.mark(id, "done")
        if chat.repeats(inbound.text) and not inbound.file:
            await chat.still_working(key)
            return await self._rows.mark(id, "done")
        if inbound.kind == "edit" and chat.busy:
            where = {"chat_id": inbound.chat_id, "message_id": inbound.message_id}
            await courtesy(self._line, "setMessageReaction", **where, reaction=SEEN)
        question = questions.setdefault(address, Question(key))
        question.key = key
        question.updates.append(id)
        words = inbound.text if inbound.kind == "message" and not inbound.forwarded else ""
        add(
            question,
            inbound,
            self._app.identity.language,
            before=before[-1].text if before else "",
            skill=await telegram_menu.skill_of(self._app.home, words),
        )
        if inbound.file:
            chat.downloads.begin(inbound.file)
        return None

    def _counts(self, inbound: Inbound, before: list[Inbound]) -> bool:
        """It says something to us, and something new: neither the same message again nor an edit of no word."""
        if inbound.kind not in {"message", "edit"} or inbound.other_bot:
            return False
        if inbound.kind == "edit":
            return (
                bool(inbound.text)
                and not inbound.text.startswith("/")
                and not (before and before[-1].text == inbound.text)
            )
        return bool(inbound.text or inbound.file) and all(one.kind != "message" for one in before)

    def answer(self, address: str, text: str, key: str) -> None:
        """The owner chose one of the answers that were offered: it is what they say next."""
        self._choose(address, Question(key), text)

    def _choose(self, address: str, question: Question, text: str) -> None:
        question.texts[CHOSEN] = text
        self._begin(address, question)

    async def _taken(self, inbound: Inbound) -> str:
        """What to say to words that somebody was waiting for; empty when they are for the assistant."""
        if inbound.kind != "message" or inbound.file or inbound.forwarded or inbound.user_id is None:
            return ""
        for take in self._takers:
            try:
                said = await take(inbound.text, inbound.user_id)
            except ApxError as error:
                said = str(error)
            if said:
                return said
        return ""

    async def _announce(self, address: str, question: Question) -> None:
        """The owner is told when more than one message had to wait, and that one answer comes."""
        known = waited(question, self._app.identity.language)
        if known and len(question.waited) > 1:
            await self._chat(address).say("telegram.backlog", f"{question.key}/backlog", **known)

    async def _command(self, command: str, chat: Chat, key: str) -> None:
        stopped = command in STOPPING and await chat.stop()
        if command in {"reset", "new"}:
            await chat.reset()
            await chat.say("telegram.fresh", key)
        elif command == "stop":
            await chat.say("telegram.stopped" if stopped else "telegram.nothing_runs", key)
        else:
            await chat.say("telegram.hello", key, name=self._app.identity.now.agent_name)

    # Buttons

    async def _press(self, inbound: Inbound, verdict: Who) -> None:
        if verdict is not Who.OWNER:
            await self._presses.refused(inbound)
        elif await self._presses.foreign(inbound):
            id = inbound.update_id
            return self._choose(inbound.address, Question(self._rows.key(id), [id]), inbound.label)
        else:
            await self._presses.press(inbound)
        return await self._rows.mark(inbound.update_id, "done")

    async def redraw(self, chat: str, telegram_id: int, keyboard: dict[str, Any]) -> None:
        """Show the buttons that are left under a message; without any, the keyboard goes."""
        await self._presses.redraw(chat, telegram_id, keyboard)
