"""Stored updates become what they ask for, each exactly once, also when the process dies in between.

A row is waiting, then working, then done, failed or ignored. Presses and /stop never wait behind a turn.
"""

import asyncio
import json
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from core.channels import telegram_buttons, telegram_people
from core.channels.telegram_chat import Chat, Question
from core.channels.telegram_people import Claim, Who
from core.channels.telegram_poll import Timing
from core.channels.telegram_update import Inbound, one_line, read
from core.channels.telegram_wire import BotError, Line
from core.errors import ApxError
from core.events import OwnerClaimed, StrangerRefused
from core.message import Message, OutcomeUnknown
from core.settings import Channel
from core.store import now
from core.texts import t

if TYPE_CHECKING:
    from core.app import App

log = logging.getLogger(__name__)

TRIES = 3
STOPPING = frozenset({"stop", "reset", "new"})
WAITED = timedelta(minutes=10)  # after this the turn is told how long the words have waited
KEPT = timedelta(days=30)
COMMAND_AGE = timedelta(hours=1)  # an order of yesterday is not carried out today

ButtonPress = Callable[[dict[str, str], int], Awaitable[str]]
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
    ) -> None:
        self._app, self._line, self._timing = app, line, timing
        self._name, self._channel, self._bot = name, channel, bot
        self._presses, self._takers = presses, takers
        self._outbox = f"telegram:{name}"
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
                if self._bot()[0]:
                    if not settled:
                        settled = True
                        await self._settle()
                    await self._work()
        finally:
            await asyncio.gather(*(chat.leave() for chat in self._chats.values()))
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    # Rows

    async def _work(self) -> None:
        bot_id, _ = self._bot()
        rows = await self._app.store.all(
            "select * from telegram_updates where bot_id = ? and state = 'waiting' order by update_id", bot_id
        )
        questions: dict[str, Question] = {}
        for row in rows:
            await self._mark(row["update_id"], "working")
            result = (await asyncio.gather(self._one(row, questions), return_exceptions=True))[0]
            if isinstance(result, BaseException):
                await self._broke(row["update_id"], result)
        for chat_id, question in questions.items():
            self._own(self._chat(chat_id).ask(question), question.updates)

    async def _one(self, row: sqlite3.Row, questions: dict[str, Question]) -> None:
        inbound = self._read(row)
        verdict = telegram_people.who(inbound, self._channel())
        if verdict is Who.NOBODY or await self._seen(inbound):
            return await self._mark(inbound.update_id, "ignored")
        if inbound.kind == "press":
            return self._own(asyncio.create_task(self._press(inbound, verdict)), [inbound.update_id])
        if verdict is Who.OWNER:
            return await self._owner(inbound, questions)
        if verdict is Who.CLAIMANT:
            await self._claim(inbound)
        else:
            await self._refuse(inbound)
        return await self._mark(inbound.update_id, "done")

    def _read(self, row: sqlite3.Row) -> Inbound:
        bot_id, username = self._bot()
        return read(json.loads(row["body"]), bot_id=bot_id, username=username)

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
        row = await self._app.store.one(
            "select tries from telegram_updates where bot_id = ? and update_id = ?", self._bot()[0], update_id
        )
        if row and row["tries"] < TRIES:
            await self._mark(update_id, "waiting")
            self.wake.set()
            return
        await self._mark(update_id, "failed")
        await self._tell_owner("telegram.update_failed", f"{self._key(update_id)}/failed")

    async def _mark(self, update_id: int, state: str) -> None:
        await self._app.store.run(
            "update telegram_updates set state = ?, tries = tries + ?, closed_at = ?"
            " where bot_id = ? and update_id = ?",
            *(state, state == "working", now() if state in {"done", "failed", "ignored"} else None),
            *(self._bot()[0], update_id),
        )

    async def _done(self, updates: list[int]) -> None:
        for id in updates:
            await self._mark(id, "done")

    def _key(self, update_id: int) -> str:
        return f"telegram/{self._bot()[0]}/{update_id}"

    async def _settle(self) -> None:
        """What a stopped process was working on: answered already, done in part, or to be done now."""
        month_ago = (datetime.now(UTC) - KEPT).isoformat(timespec="milliseconds")
        await self._app.store.run("delete from telegram_updates where closed_at < ?", month_ago)
        rows = await self._app.store.all(
            "select * from telegram_updates where bot_id = ? and state = 'working' order by update_id",
            self._bot()[0],
        )
        for row in rows:
            inbound = self._read(row)
            if await self._settled(inbound, row["received_at"]):
                await self._mark(inbound.update_id, "done")
            elif row["tries"] >= TRIES:
                await self._mark(inbound.update_id, "failed")
                await self._tell_owner("telegram.update_failed", f"{self._key(inbound.update_id)}/failed")
            else:
                await self._mark(inbound.update_id, "waiting")

    async def _settled(self, inbound: Inbound, received_at: str) -> bool:
        store, key = self._app.store, self._key(inbound.update_id)
        if inbound.kind == "press":
            sql = "select 1 from telegram_buttons where key = ? and pressed_at is not null"
            return await store.one(sql, inbound.data) is not None
        if await self._app.outbox.find(key):
            return True
        acted = await store.one(
            "select 1 from runs join run_steps on run_steps.run_id = runs.id where runs.thread = ?"
            " and runs.started_at >= ? and runs.status in ('lost', 'cancelled') and run_steps.kind = 'tool'",
            *(await self._chat(inbound.chat_id).thread(), received_at),
        )
        if acted:
            # It may have done something already, so it is not done again by itself.
            await self._chat(inbound.chat_id).say("telegram.cut_off", key, text=one_line(inbound.text, 80))
        return acted is not None

    async def _seen(self, inbound: Inbound) -> bool:
        """The same message under another update id, or an edit that changed no word."""
        if inbound.kind not in {"message", "edit"}:
            return False
        rows = await self._app.store.all(
            "select update_id, body from telegram_updates where bot_id = ? and update_id < ?"
            " and coalesce(json_extract(body, '$.message.message_id'),"
            " json_extract(body, '$.edited_message.message_id')) = ? order by update_id",
            *(self._bot()[0], inbound.update_id, inbound.message_id),
        )
        before = [one for one in map(self._read, rows) if one.chat_id == inbound.chat_id]
        if inbound.kind == "edit":
            return bool(before) and before[-1].text == inbound.text
        return any(one.kind == "message" for one in before)

    # What is asked

    def _chat(self, chat_id: str) -> Chat:
        if chat_id not in self._chats:
            self._chats[chat_id] = Chat(
                self._app,
                self._line,
                self._timing,
                outbox=self._outbox,
                chat_id=chat_id,
                project=self._channel().project,
                done=self._done,
            )
        return self._chats[chat_id]

    async def _owner(self, inbound: Inbound, questions: dict[str, Question]) -> None:
        chat, key, id = self._chat(inbound.chat_id), self._key(inbound.update_id), inbound.update_id
        age = datetime.now(UTC) - (inbound.sent_at or datetime.now(UTC))
        if inbound.kind not in {"message", "edit"} or inbound.other_bot or not (inbound.text or inbound.file):
            return await self._mark(id, "ignored")
        if inbound.command:
            if age > COMMAND_AGE:
                return await self._mark(id, "ignored")
            if inbound.command in STOPPING and (dropped := questions.pop(inbound.chat_id, None)):
                await self._done(dropped.updates)
            await self._command(inbound.command, chat, key)
            return await self._mark(id, "done")
        if inbound.kind == "edit" and inbound.text.startswith("/"):
            return await self._mark(id, "ignored")
        if said := await self._taken(inbound):
            await self._app.outbox.post(
                Message(channel=self._outbox, to=inbound.chat_id, text=said, markup=False, key=key)
            )
            return await self._mark(id, "done")
        if chat.repeats(inbound.text) and not inbound.file:
            await chat.still_working(key)
            return await self._mark(id, "done")
        question = questions.setdefault(inbound.chat_id, Question(key))
        question.key = key
        question.updates.append(id)
        self._add(question, inbound, age)
        return None

    def answer(self, chat_id: str, text: str, key: str) -> None:
        """The owner chose one of the answers that were offered: it is what they say next."""
        question = Question(key)
        question.texts[0] = text
        self._own(self._chat(chat_id).ask(question), [])

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

    def _add(self, question: Question, inbound: Inbound, age: timedelta) -> None:
        lang = self._app.identity.language
        if inbound.text:
            label = f"{t('telegram.forwarded', lang)}\n" if inbound.forwarded else ""
            question.texts[inbound.message_id] = f"{label}{inbound.text}"
        if inbound.file:
            question.files.append(inbound.file)
        if inbound.quoted:
            question.notes.append(t("telegram.in_reply_to", lang, text=one_line(inbound.quoted, 500)))
        if inbound.kind == "edit":
            question.notes.append(t("telegram.edited", lang))
        if age > WAITED and inbound.sent_at:
            question.notes.append(
                t("telegram.waited", lang, at=f"{inbound.sent_at.astimezone():%d/%m %H:%M}")
            )

    async def _command(self, command: str, chat: Chat, key: str) -> None:
        stopped = command in STOPPING and await chat.stop()
        if command in {"reset", "new"}:
            await chat.reset()
            await chat.say("telegram.fresh", key)
        elif command == "stop":
            await chat.say("telegram.stopped" if stopped else "telegram.nothing_runs", key)
        else:
            await chat.say("telegram.hello", key, name=self._app.identity.now.agent_name)

    # Who is not the owner

    async def _claim(self, inbound: Inbound) -> None:
        assert inbound.user_id is not None
        store, claim = self._app.store, await telegram_people.claim_of(self._app.store, self._name)
        declined = claim is not None and claim.state == "declined" and claim.user_id == inbound.user_id
        if declined or (claim is not None and claim.state == "open" and claim.user_id != inbound.user_id):
            return await self._refuse(inbound)
        if claim is None or claim.user_id != inbound.user_id:
            claim = Claim(inbound.user_id, inbound.name, inbound.chat_id)
            await telegram_people.keep_claim(store, self._name, claim)
            await self._say(inbound, "telegram.claimed")
            self._app.bus.emit(
                OwnerClaimed(channel=self._name, user_id=inbound.user_id, user_name=inbound.name)
            )
        return None

    async def _refuse(self, inbound: Inbound) -> None:
        """Once per person: a sentence to them, a line to the owner. Nothing of theirs is read or fetched."""
        assert inbound.user_id is not None
        if await telegram_people.first_refusal(self._app.store, self._name, inbound.user_id, inbound.name):
            await self._say(inbound, "telegram.not_for_you")
            self._app.bus.emit(
                StrangerRefused(channel=self._name, user_id=inbound.user_id, user_name=inbound.name)
            )
            key = f"telegram/stranger/{self._name}/{inbound.user_id}"
            await self._tell_owner("telegram.stranger", key, name=inbound.name, id=inbound.user_id)

    async def _say(self, inbound: Inbound, text_key: str) -> None:
        text = t(text_key, self._app.identity.language, name=self._app.identity.now.agent_name)
        key = self._key(inbound.update_id)
        await self._app.outbox.post(Message(channel=self._outbox, to=inbound.chat_id, text=text, key=key))

    async def _tell_owner(self, text_key: str, key: str, **values: object) -> None:
        if telegram_people.owner_chat(self._channel()):
            text = t(text_key, self._app.identity.language, **values)
            await self._app.outbox.post(Message(channel=self._outbox, text=text, key=key))

    # Buttons

    async def _press(self, inbound: Inbound, verdict: Who) -> None:
        lang, toast, pressed = self._app.identity.language, "telegram.expired", None
        if verdict is not Who.OWNER or inbound.user_id is None:
            toast = "telegram.not_your_button"
        else:
            pressed = await telegram_buttons.press(
                self._app.store,
                inbound.data,
                channel=self._name,
                chat=inbound.chat_id,
                user_id=inbound.user_id,
            )
        act = self._presses.get(pressed.kind) if pressed else None
        if pressed is None or act is None or inbound.user_id is None:
            await self._toast(inbound, t(toast, lang))
            return await self._mark(inbound.update_id, "done")
        work = asyncio.ensure_future(act(pressed.payload, inbound.user_id))
        try:
            finished, _ = await asyncio.wait({work}, timeout=self._timing.press_s)
            if not finished:
                await self._toast(inbound, t("telegram.working", lang))
            try:
                text = await work
            except ApxError as error:
                text = str(error)
                if not isinstance(error, OutcomeUnknown):
                    await telegram_buttons.release(self._app.store, pressed)
                    pressed = None
        finally:
            work.cancel()
        if finished:
            await self._toast(inbound, text)
        if pressed:
            await self._without_buttons(inbound, pressed.message_id)
        return await self._mark(inbound.update_id, "done")

    async def _toast(self, inbound: Inbound, text: str) -> None:
        await self._courtesy("answerCallbackQuery", callback_query_id=inbound.press_id, text=text[:200])

    async def _without_buttons(self, inbound: Inbound, message_id: str) -> None:
        keyboard = await telegram_buttons.left(self._app.store, message_id)
        await self.redraw(inbound.chat_id, inbound.message_id, keyboard)

    async def redraw(self, chat: str, telegram_id: int, keyboard: dict[str, Any]) -> None:
        """Show the buttons that are left under a message; without any, the keyboard goes."""
        markup = {"reply_markup": keyboard} if keyboard["inline_keyboard"] else {}
        await self._courtesy("editMessageReplyMarkup", chat_id=chat, message_id=telegram_id, **markup)

    async def _courtesy(self, method: str, **values: Any) -> None:
        try:
            await self._line.call(method, **values)
        except BotError as error:
            log.info("%s was not taken: %s", method, error)
