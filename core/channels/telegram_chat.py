"""One chat with the owner: one turn at a time, the newest question wins, and each question gets one answer."""

import asyncio
import logging
import time
import unicodedata
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core import filetypes
from core.channels.telegram_poll import Timing
from core.channels.telegram_update import InboundFile
from core.channels.telegram_wire import BotError, Line
from core.message import Button, Buttons, Message
from core.runs.spoken import without_thinking
from core.runs.turn import Attachment, Run, Status, Turn
from core.store import new_id, now
from core.texts import t

if TYPE_CHECKING:
    from core.app import App

log = logging.getLogger(__name__)

MB = 1024 * 1024
DOWNLOAD_BYTES = 20 * MB
REPEAT_S = 600.0
ANSWER = "answer"  # buttons that stand for what the owner would write
ENDINGS = {
    "photo": "jpg",
    "voice": "ogg",
    "audio": "mp3",
    "video": "mp4",
    "video_note": "mp4",
    "animation": "mp4",
}


@dataclass(slots=True)
class Question:
    """What the owner wrote since the last answer; `updates` are the rows that it settles.

    `texts` are kept by message, so that an edit takes the place of what it edits.
    """

    key: str
    updates: list[int] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    files: list[InboundFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    begun: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.texts.values())

    def take(self, before: "Question") -> None:
        """Answer an earlier question together with this one, in its order."""
        self.updates = before.updates + self.updates
        self.texts = before.texts | self.texts
        self.files = before.files + self.files
        self.notes = before.notes + self.notes


def same(one: str, other: str) -> bool:
    """The same words; case, accents and punctuation do not make another question."""

    def bare(text: str) -> str:
        letters = unicodedata.normalize("NFKD", text.casefold())
        return "".join(letter for letter in letters if letter.isalnum())

    return bool(bare(one)) and bare(one) == bare(other)


class Chat:
    """Runs the turns of one chat. `done` is told which updates are settled."""

    def __init__(
        self,
        app: "App",
        line: Line,
        timing: Timing,
        *,
        outbox: str,
        chat_id: str,
        project: str,
        done: Callable[[list[int]], Awaitable[None]],
    ) -> None:
        self._app, self._line, self._timing = app, line, timing
        self._outbox, self._chat_id, self._project, self._done = outbox, chat_id, project, done
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
        self._task = asyncio.create_task(work, name=f"telegram chat {self._chat_id}")
        return self._task

    async def stop(self) -> bool:
        """Give up the running turn; False if there was none."""
        if not self.busy or self._task is None:
            return False
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        if self._question:
            await self._done(self._question.updates)
        return True

    async def leave(self) -> None:
        """The app closes: the turn ends and its updates stay open for the next start."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def say(self, text_key: str, key: str, **values: object) -> None:
        """A sentence of ours."""
        text = t(text_key, self._app.identity.language, **values)
        await self._app.outbox.post(Message(channel=self._outbox, to=self._chat_id, text=text, key=key))

    async def thread(self) -> str:
        """The thread of this chat; a reset begins another one."""
        row = await self._app.store.one("select value from settings where key = ?", self._thread_key)
        return f"telegram:{self._chat_id}" + (f"#{row['value']}" if row else "")

    async def reset(self) -> None:
        """Begin a new thread."""
        await self._app.store.run(
            "insert into settings (key, value) values (?, '2')"
            " on conflict (key) do update set value = cast(value as integer) + 1",
            self._thread_key,
        )

    @property
    def _thread_key(self) -> str:
        return f"telegram.thread.{self._chat_id}"

    async def _turn(
        self, question: Question, running: asyncio.Task[None] | None, before: Question | None
    ) -> None:
        if running is not None:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        if before is not None:
            if before.begun:
                await self._done(before.updates)  # its words are in the thread
            else:
                question.take(before)
        async with self._typing():
            attachments = [one for file in question.files if (one := await self._fetch(file, question))]
            run = None
            if question.text or attachments:
                question.begun = True
                run = await self._app.runner.run(await self._asked(question, attachments))
        if run is not None:
            await self._answer(question, run)
        await self._done(question.updates)

    async def _asked(self, question: Question, attachments: list[Attachment]) -> Turn:
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
            context_note="\n".join(question.notes),
            attachments=tuple(attachments),
            can_ask=True,
            # Where work that outlives this turn tells what came of it.
            origin={"channel": self._outbox, "to": self._chat_id, "thread": thread},
        )

    async def _answer(self, question: Question, run: Run) -> None:
        text = without_thinking(run.text)
        if not text and not run.files:
            text = t("telegram.no_words", self._app.identity.language)
        origin, markup = {"run_id": run.id}, run.status in {Status.DONE, Status.BUDGET_EXCEEDED}
        if text:
            await self._app.outbox.post(
                Message(
                    channel=self._outbox,
                    to=self._chat_id,
                    text=text,
                    markup=markup,
                    buttons=self._answers(run),
                    key=question.key,
                    origin=origin,
                )
            )
        for place, file in enumerate(run.files):
            await self._app.outbox.post(
                Message(
                    channel=self._outbox,
                    to=self._chat_id,
                    kind="photo" if file.kind == "image" else "document",
                    text=file.caption,
                    path=str(file.path),
                    name=file.name,
                    key=question.key if not text and place == 0 else f"{question.key}/{place}",
                    origin=origin,
                )
            )

    def _answers(self, run: Run) -> Buttons:
        """A button for each answer that a single question offers; other questions are answered in words."""
        if len(run.questions) != 1 or run.questions[0].multiple:
            return ()
        where = {"channel": self._outbox.removeprefix("telegram:"), "chat": self._chat_id, "run_id": run.id}
        return tuple((Button(one, ANSWER, {**where, "text": one}),) for one in run.questions[0].options)

    @asynccontextmanager
    async def _typing(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._type())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _type(self) -> None:
        while True:
            try:
                await self._line.call("sendChatAction", chat_id=self._chat_id, action="typing")
            except BotError as error:
                # It is a courtesy, and the first thing to go when the server wants to be left alone.
                log.debug("No typing shown: %s", error)
                return
            await asyncio.sleep(self._timing.typing_s)

    async def _fetch(self, file: InboundFile, question: Question) -> Attachment | None:
        """The file under a name of ours; what the sender calls it is only remembered."""
        key = f"{question.key}/{file.id[:40]}"
        if file.size is not None and file.size > DOWNLOAD_BYTES:
            await self.say("telegram.incoming_too_big", key, name=file.name, size=f"{file.size / MB:.1f}")
            return None
        try:
            data = await self._line.fetch(file.id, DOWNLOAD_BYTES)
        except BotError as error:
            await self.say("telegram.incoming_failed", key, name=file.name, why=error.description)
            return None
        claimed = filetypes.extension(file.name)
        ending = claimed if claimed in filetypes.TYPES else ENDINGS.get(file.kind, "bin")
        type = filetypes.TYPES.get(ending)
        id = new_id("med")
        path = self._app.home.media_in / f"{id}.{ending}"
        await asyncio.to_thread(path.write_bytes, data)
        kind, mime = (type.kind, type.mime) if type else ("document", "application/octet-stream")
        await self._app.store.run(
            "insert into media (id, path, name, kind, mime, size, sha256, direction, created_at)"
            " values (?, ?, ?, ?, ?, ?, ?, 'in', ?)",
            *(id, str(path), file.name, kind, mime, len(data), filetypes.digest(data), now()),
        )
        return Attachment(id, path, file.name, kind, mime, len(data))
