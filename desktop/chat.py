"""The conversation with the agent behind window and bubble: what is sent, what is said, what it is doing about it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from desktop.feed import Feed
from desktop.messages import Entry, File, Kind, Messages
from desktop.words import Words

if TYPE_CHECKING:  # the core is imported once the window is painted
    from core import events
    from core.runs.turn import Run, Turn

THREAD = "desktop"
DRAW_EVERY_MS = 40

Ask = Callable[["Turn"], Awaitable["Run"]]
FindFile = Callable[[str], Awaitable[Path | None]]


class Chat(QObject):
    """Two views, one conversation. Until `open` it keeps quiet and says why."""

    changed = Signal()

    def __init__(self, words: Words, feed: Feed, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self.messages = Messages(self)
        self.why = "composer.opening"
        self._ask: Ask | None = None
        self._find: FindFile | None = None
        self._task: asyncio.Task[None] | None = None
        self._fetching: set[asyncio.Task[None]] = set()
        self._runs: dict[str, list[Entry]] = {}
        self._calls: dict[str, Entry] = {}
        self._stale: list[Entry] = []
        # Pieces come faster than anybody reads: many of them are one drawing.
        self._drawing = QTimer(self)
        self._drawing.setSingleShot(True)
        self._drawing.setInterval(DRAW_EVERY_MS)
        self._drawing.timeout.connect(self._draw)
        feed.run_started.connect(self._started)
        feed.said.connect(self._said)
        feed.tool_started.connect(self._tool_started)
        feed.tool_finished.connect(self._tool_finished)
        feed.file_delivered.connect(self._file)
        feed.run_closed.connect(self._closed)

    @property
    def working(self) -> bool:
        """Whether an answer is on its way."""
        return self._task is not None and not self._task.done()

    def open(self, ask: Ask, find: FindFile, history: Sequence[Entry]) -> None:
        """The core is there: show what was said before, and take what is said now."""
        self._ask, self._find, self.why = ask, find, ""
        self.messages.load(history)
        self.changed.emit()

    def refuse(self, why: str) -> None:
        """Nothing can be sent; `why` is the key of the reason."""
        self._ask, self.why = None, why
        self.changed.emit()

    async def close(self) -> None:
        """Stop what is on its way and wait until it has ended."""
        tasks = [*self._fetching, *([self._task] if self._task else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.refuse("composer.closing")

    def send(self, text: str) -> None:
        """Ask the agent; a second message waits in its field while the first is answered."""
        if self._ask is None or self.working or not text.strip():
            return
        self._task = asyncio.ensure_future(self._answer(self._ask, text.strip()))
        self._task.add_done_callback(lambda _: self.changed.emit())
        self.changed.emit()

    def again(self, entry: Entry) -> None:
        """Send once more what the entry of a failure was about."""
        if not self.working and self._ask is not None:
            self.messages.remove(entry)
            self.send(entry.result)

    def stop(self) -> None:
        """Stop the answer that is on its way."""
        if self._task is not None:
            self._task.cancel()

    def note(self, text: str) -> None:
        """A quiet remark of the app."""
        self.messages.add(Entry(Kind.NOTE, text, at=_now()))

    async def _answer(self, ask: Ask, text: str) -> None:
        from core.runs.turn import Status, Turn

        self.messages.add(Entry(Kind.OWNER, text, at=_now()))
        try:
            run = await ask(Turn(text=text, channel=THREAD, thread=THREAD, sender="owner", can_ask=True))
        except asyncio.CancelledError:
            self._settle()
            self.note(self._words("chat.stopped"))
            return
        self._settle()
        if run.status is Status.DONE:
            self._finish(run.id, run.text)
        elif run.status is Status.CANCELLED:
            self.note(self._words("chat.stopped"))
        elif run.status is Status.BUDGET_EXCEEDED and run.text:
            self._finish(run.id, run.text)
            self.note(self._words("chat.budget"))
        else:
            setup = run.error_kind in {"not_configured", "auth", "not_found"}
            self.messages.add(
                Entry(
                    Kind.ERROR,
                    run.text or self._words("chat.failed"),
                    at=_now(),
                    run_id=run.id,
                    result=text,
                    action="models" if setup else "again",
                )
            )

    def _finish(self, run_id: str, text: str) -> None:
        """The closing text is the truth: what was streamed gives way to it where they differ."""
        entries = [entry for entry in self._runs.pop(run_id, []) if entry.text]
        streamed = "".join(entry.text for entry in entries)
        if streamed.strip().endswith(text.strip()) or not text:
            return
        if entries and self.messages.entries and self.messages.entries[-1] is entries[-1]:
            entries[-1].text = text
            self.messages.touch(entries[-1])
        else:
            self.messages.add(Entry(Kind.AGENT, text, at=_now(), run_id=run_id))

    def _settle(self) -> None:
        self._draw()
        for entry in self._calls.values():  # what never came back
            entry.ok = False
            self.messages.touch(entry)
        self._calls.clear()

    def _started(self, event: "events.RunStarted") -> None:
        if event.thread == THREAD and event.run_id:
            self._runs[event.run_id] = []

    def _said(self, event: "events.Said") -> None:
        entries = self._runs.get(event.run_id or "")
        if entries is None:
            return
        last = self.messages.entries[-1] if self.messages.entries else None
        if not entries or entries[-1] is not last:
            entry = Entry(Kind.AGENT, at=_now(), run_id=event.run_id or "", streaming=True)
            entries.append(entry)
            self.messages.add(entry)
        entries[-1].text += event.text
        if entries[-1] not in self._stale:
            self._stale.append(entries[-1])
        if not self._drawing.isActive():
            self._drawing.start()

    def _draw(self) -> None:
        self._drawing.stop()
        stale, self._stale = self._stale, []
        for entry in stale:
            self.messages.touch(entry)

    def _tool_started(self, event: "events.ToolStarted") -> None:
        if (event.run_id or "") not in self._runs:
            return
        self._draw()
        entry = Entry(
            Kind.TOOL,
            event.tool,
            at=_now(),
            run_id=event.run_id or "",
            call_id=event.call_id,
            args=event.args,
        )
        self._calls[event.call_id] = entry
        self.messages.add(entry)

    def _tool_finished(self, event: "events.ToolFinished") -> None:
        entry = self._calls.pop(event.call_id, None)
        if entry is not None:
            entry.ok, entry.result, entry.seconds = event.ok, event.result, event.seconds
            self.messages.touch(entry)

    def _file(self, event: "events.FileDelivered") -> None:
        if (event.run_id or "") not in self._runs:
            return
        file = File(event.name, event.kind, event.size, None, event.caption)
        entry = Entry(Kind.FILE, event.name, at=_now(), run_id=event.run_id or "", file=file)
        self.messages.add(entry)
        task = asyncio.ensure_future(self._fetch(entry, file, event.media_id))
        self._fetching.add(task)
        task.add_done_callback(self._fetching.discard)

    async def _fetch(self, entry: Entry, file: File, media_id: str) -> None:
        if self._find is None:
            return
        path = await self._find(media_id)
        entry.file = File(file.name, file.kind, file.size, path, file.caption)
        self.messages.touch(entry)

    def _closed(self, event: "events.RunClosed") -> None:
        """A run of this thread that somebody else began, such as a routine, ends here."""
        if self.working or (event.run_id or "") not in self._runs:
            return
        self._settle()
        if event.status == "completed":
            self._finish(event.run_id or "", event.text)
        with suppress(KeyError):
            del self._runs[event.run_id or ""]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
