"""One chat with the owner: one turn at a time, the newest question wins, and each question gets one answer."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from core.channels import telegram_heard
from core.channels.telegram_answer import post_answer
from core.channels.telegram_fetch import Downloads
from core.channels.telegram_poll import Timing
from core.channels.telegram_question import Question, same
from core.channels.telegram_update import GENERAL
from core.channels.telegram_wire import BotError, Line, place
from core.message import Message
from core.runs.turn import Attachment, Turn
from core.texts import t

if TYPE_CHECKING:
    from core.app import App

log = logging.getLogger(__name__)

REPEAT_S = 600.0


class Chat:
    """Runs the turns of one chat, or of one topic of it. `done` is told which updates are settled."""

    def __init__(
        self,
        app: "App",
        line: Line,
        timing: Timing,
        *,
        outbox: str,
        address: str,
        project: str,
        done: Callable[[list[int]], Awaitable[None]],
        quiet: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._app, self._line, self._timing = app, line, timing
        self._outbox, self._address, self._project, self._done = outbox, address, project, done
        self._quiet = quiet
        self.downloads = Downloads(app, line)
        self.forum = False
        self._question: Question | None = None
        self._began_at = 0.0
        self._said_busy = False
        self._task: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """A turn is running."""
        return self._task is not None and not self._task.done()

    def repeats(self, text: str) -> bool:
        """The question that is being worked on, asked once more."""
        fresh = time.monotonic() - self._began_at < REPEAT_S
        return self.busy and fresh and self._question is not None and same(text, self._question.text)

    async def still_working(self, key: str) -> None:
        """Say once per turn that it goes on."""
        if not self._said_busy:
            self._said_busy = True
            await self.say("telegram.still_working", key)

    def ask(self, question: Question) -> asyncio.Task[None]:
        """Begin a turn; a running one is given up for it."""
        work = self._turn(question, self._task, self._question if self.busy else None)
        self._question, self._began_at, self._said_busy = question, time.monotonic(), False
        self._task = asyncio.create_task(work, name=f"telegram chat {self._address}")
        return self._task

    async def stop(self) -> bool:
        """Give up the running turn; False if there was none."""
        if not self.busy or self._task is None:
            return False
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        if self._question:
            await self._done(self._question.updates)
            self.downloads.forget(self._question.files)
        return True

    async def leave(self) -> None:
        """The app closes: the turn ends and its updates stay open for the next start."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.downloads.leave()

    async def say(self, text_key: str, key: str, **values: object) -> None:
        """A sentence of ours."""
        text = t(text_key, self._app.identity.language, **values)
        await self._app.outbox.post(Message(channel=self._outbox, to=self._address, text=text, key=key))

    async def thread(self) -> str:
        """The thread of this chat; a reset begins another one."""
        row = await self._app.store.one("select value from settings where key = ?", self._thread_key)
        return f"telegram:{self._address}" + (f"#{row['value']}" if row else "")

    async def reset(self) -> None:
        """Begin a new thread."""
        await self._app.store.run(
            "insert into settings (key, value) values (?, '2')"
            " on conflict (key) do update set value = cast(value as integer) + 1",
            self._thread_key,
        )

    @property
    def _thread_key(self) -> str:
        return f"telegram.thread.{self._address}"

    async def _turn(
        self, question: Question, running: asyncio.Task[None] | None, before: Question | None
    ) -> None:
        if running is not None:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        if before is not None:
            if before.begun and not question.belongs_to(before):
                await self._done(before.updates)  # its words are in the thread
                self.downloads.forget(before.files)
            else:
                question.take(before)
        async with self._typing():
            attachments = await self._files(question)
            run = None
            if question.text or attachments:
                question.begun = True
                heard = await telegram_heard.notes(self._app.store, self._outbox, self._address)
                run = await self._app.runner.run(await self._asked(question, attachments, heard.values()))
                await telegram_heard.forget(self._app.store, self._outbox, self._address, heard)
        if run is not None:
            await post_answer(self._app, run, channel=self._outbox, to=self._address, key=question.key)
        await self._done(question.updates)
        self.downloads.forget(question.files)

    async def _files(self, question: Question) -> list[Attachment]:
        """The files that came; each that did not is told to the owner, and to the turn."""
        limit = self._timing.fetch_s if question.groups else None
        came, lost = await self.downloads.ended(question.files, limit)
        for file, why in lost:
            key = f"{question.key}/{file.id[:40]}"
            await self._app.outbox.post(Message(channel=self._outbox, to=self._address, text=why, key=key))
            question.notes.append(t("telegram.incoming_missing", self._app.identity.language, why=why))
        return came

    async def _asked(self, question: Question, attachments: list[Attachment], heard: Iterable[str]) -> Turn:
        lang, project = self._app.identity.language, self._project
        if await self._app.store.one("select 1 from projects where id = ?", project) is None:
            project = "default"
        files = [t("telegram.came_with", lang, name=one.name, path=one.path) for one in attachments]
        thread = await self.thread()
        return Turn(
            text="\n".join([question.text, *files]).strip(),
            channel="telegram",
            thread=thread,
            sender="owner",
            project_id=project,
            context_note="\n".join([*question.notes, *heard]),
            attachments=tuple(attachments),
            can_ask=True,
            # Where work that outlives this turn tells what came of it.
            origin={"channel": self._outbox, "to": self._address, "thread": thread},
        )

    @asynccontextmanager
    async def _typing(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._type())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _type(self) -> None:
        where = place(self._address)
        if self.forum:
            where.setdefault(
                "message_thread_id", GENERAL
            )  # sends go without it, and this does not show without it
        while not self._quiet(self._address):
            try:
                await self._line.call("sendChatAction", **where, action="typing")
            except BotError as error:
                # It is a courtesy, and the first thing to go when the server wants to be left alone.
                log.debug("No typing shown: %s", error)
                return
            await asyncio.sleep(self._timing.typing_s)
