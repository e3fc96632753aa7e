"""The conversation with the agent behind window and bubble: what is sent, what is said, what it is doing about it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from desktop import past
from desktop.feed import Feed
from desktop.messages import Asking, Entry, File, Kind, Messages
from desktop.telling import FindFile, JobResult, Telling, now
from desktop.words import Words

if TYPE_CHECKING:  # the core is imported once the window is painted
    from core.runs.pictures import Picture
    from core.runs.turn import Attachment, Run, Turn

THREAD = "desktop"

Ask = Callable[["Turn"], Awaitable["Run"]]
Keep = Callable[["Picture"], Awaitable["Attachment"]]
Unseen = Callable[["Run"], Sequence[str]]


class Chat(QObject):
    """Two views, one conversation. Until `open` it keeps quiet and says why."""

    changed = Signal()
    asked = Signal()  # a card of questions came, or was answered

    def __init__(self, words: Words, feed: Feed, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self.messages = Messages(self)
        self.why = "composer.opening"
        self.thread_name = THREAD
        self.blind = ""  # the model that answers, where it does not see pictures
        self._ask: Ask | None = None
        self._keep: Keep | None = None
        self._unseen: Unseen = lambda run: ()
        self._task: asyncio.Task[None] | None = None
        self._telling = Telling(self.messages, feed, lambda: self.working, self)
        self._telling.thread_name = THREAD
        self._telling.passed = lambda: self._pass("")

    @property
    def working(self) -> bool:
        """Whether an answer is on its way."""
        return self._task is not None and not self._task.done()

    @property
    def waiting(self) -> Entry | None:
        """The card of questions that waits for the owner."""
        for entry in reversed(self.messages.entries):
            if entry.asking is not None:
                return entry if entry.asking.answer is None else None
        return None

    def open(
        self,
        ask: Ask,
        find: FindFile,
        history: Sequence[Entry],
        *,
        keep: Keep | None = None,
        unseen: Unseen = lambda run: (),
        result: JobResult | None = None,
        called: Callable[[str], str] = lambda name: name,
        thread: str = THREAD,
    ) -> None:
        """The core is there: show what was said before, and take what is said now."""
        self._ask, self._keep, self._unseen = ask, keep, unseen
        self._telling.find, self._telling.result, self._telling.called = find, result, called
        self.show_thread(thread, history)

    def show_thread(self, thread: str, history: Sequence[Entry], why: str = "") -> None:
        """Go to another conversation; with `why` it can be read and not answered here."""
        self.thread_name, self.why = thread, why
        self._telling.thread_name = thread
        self._telling.forget()
        self.messages.load(history)
        self.changed.emit()
        self.asked.emit()

    def see(self, blind: str) -> None:
        """Which model answers, where it does not see pictures; empty where it does."""
        self.blind = blind
        self.changed.emit()

    def refuse(self, why: str) -> None:
        """Nothing can be sent; `why` is the key of the reason."""
        self._ask, self.why = None, why
        self.changed.emit()

    async def close(self) -> None:
        """Stop what is on its way and wait until it has ended."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._telling.rest()
        self.refuse("composer.closing")

    def send(self, text: str, pictures: "Sequence[Picture]" = (), files: Sequence[File] = ()) -> bool:
        """Ask the agent; a second message waits in its field while the first is answered.

        `files` are pictures that were kept before: those of a message that is sent once more.
        """
        text = text.strip()
        if self._ask is None or self.why or self.working or not (text or pictures or files):
            return False
        self._task = asyncio.ensure_future(self._answer(self._ask, text, pictures, files))
        self._task.add_done_callback(lambda _: self.changed.emit())
        self.changed.emit()
        return True

    def again(self, entry: Entry) -> None:
        """Send once more what the entry of a failure was about."""
        if not self.working and self._ask is not None:
            self.messages.remove(entry)
            self.send(entry.result, files=entry.files)

    def answer(self, entry: Entry, text: str) -> None:
        """Answer a card of questions, which is one message like any other."""
        if entry is self.waiting:
            self.send(text)

    def stop(self) -> None:
        """Stop the answer that is on its way."""
        if self._task is not None:
            self._task.cancel()

    def note(self, text: str) -> None:
        """A quiet remark of the app."""
        self.messages.add(Entry(Kind.NOTE, text, at=now()))

    def _pass(self, answer: str) -> None:
        """The conversation goes on: a card that waited has its answer, or goes without one."""
        if (entry := self.waiting) is not None and entry.asking is not None:
            entry.asking.answer = answer
            self.messages.touch(entry)
            self.asked.emit()

    async def _answer(
        self, ask: Ask, text: str, pictures: "Sequence[Picture]", files: Sequence[File]
    ) -> None:
        from core.runs.turn import Attachment, Status, Turn

        try:
            kept = [await self._keep(one) for one in pictures] if self._keep else []
        except OSError as error:
            why = self._words("attach.not_kept", why=error.strerror or str(error))
            self.messages.add(Entry(Kind.ERROR, why, at=now(), result=text, action="again"))
            return
        shown = [*files, *(_file(one) for one in kept)]
        attached = [
            Attachment(one.media_id, one.path, one.name, one.kind, one.mime, one.size)
            for one in shown
            if one.path is not None
        ]
        self._pass(text)
        self.messages.add(Entry(Kind.OWNER, text, at=now(), files=tuple(shown)))
        turn = Turn(
            text=text,
            channel="desktop",
            thread=self.thread_name,
            sender="owner",
            can_ask=True,
            attachments=tuple(attached),
        )
        try:
            run = await ask(turn)
        except asyncio.CancelledError:
            self._telling.settle()
            self.note(self._words("chat.stopped"))
            return
        self._telling.settle()
        self._close(run, run.status is Status.DONE, text, tuple(shown))

    def _close(self, run: "Run", done: bool, text: str, files: tuple[File, ...]) -> None:
        """Write down how an answer ended."""
        if run.questions:
            self._card(run)
        elif done:
            self._telling.finish(run.id, run.text)
        elif run.status == "cancelled":
            self.note(self._words("chat.stopped"))
            return
        elif run.status == "budget_exceeded" and run.text:
            self._telling.finish(run.id, run.text)
            self.note(self._words("chat.budget"))
        else:
            setup = run.error_kind in {"not_configured", "auth", "not_found"}
            self.messages.add(
                Entry(
                    Kind.ERROR,
                    run.text or self._words("chat.failed"),
                    at=now(),
                    run_id=run.id,
                    result=text,
                    files=files,
                    action="models" if setup else "again",
                )
            )
            return
        if unseen := self._unseen(run):
            model = run.target.partition(":")[2]
            self.note(self._words("pictures.unseen", model=model, names=", ".join(unseen)))

    def _card(self, run: "Run") -> None:
        asking = Asking(tuple(run.questions))
        self._telling.finish(run.id, past.before(run.text, asking))
        self.messages.add(Entry(Kind.QUESTIONS, run.text, at=now(), run_id=run.id, asking=asking))
        self.asked.emit()


def _file(kept: "Attachment") -> File:
    return File(kept.name, kept.kind, kept.size, Path(kept.path), media_id=kept.media_id, mime=kept.mime)
