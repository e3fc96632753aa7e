"""What runs tell while they go on, written into the conversation: words as they come, tools, files, hand-overs."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from desktop import past
from desktop.feed import Feed
from desktop.messages import Entry, File, Kind, Messages

if TYPE_CHECKING:  # the core is imported once the window is painted
    from core import events

DRAW_EVERY_MS = 40

FindFile = Callable[[str], Awaitable[Path | None]]
JobResult = Callable[[str], Awaitable[str]]


class Telling(QObject):
    """Follows the runs of one thread, or of none but those it is given.

    `ours` says whether a run is one whose end somebody here waits for.
    """

    def __init__(self, messages: Messages, feed: Feed, ours: Callable[[], bool], parent: QObject) -> None:
        super().__init__(parent)
        self.messages, self._ours = messages, ours
        self.thread_name = ""
        self.find: FindFile | None = None
        self.result: JobResult | None = None
        self.called: Callable[[str], str] = lambda name: name
        self.passed: Callable[[], object] = lambda: None  # the conversation goes on without an answer
        self._runs: dict[str, list[Entry]] = {}
        self._calls: dict[str, Entry] = {}
        self._stale: list[Entry] = []
        self._tasks: set[asyncio.Task[None]] = set()
        # Pieces come faster than anybody reads: many of them are one drawing.
        self._drawing = QTimer(self)
        self._drawing.setSingleShot(True)
        self._drawing.setInterval(DRAW_EVERY_MS)
        self._drawing.timeout.connect(self.draw)
        feed.run_started.connect(self._started)
        feed.said.connect(self._said)
        feed.tool_started.connect(self._tool_started)
        feed.tool_finished.connect(self._tool_finished)
        feed.file_delivered.connect(self._file)
        feed.run_closed.connect(self._closed)
        feed.job_changed.connect(self._job)

    async def rest(self) -> None:
        """Fetch nothing more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def forget(self) -> None:
        """Another conversation is shown."""
        self._drawing.stop()
        for known in (self._runs, self._calls, self._stale):
            known.clear()

    def follow(self, run_id: str) -> None:
        """A run that was announced otherwise is told too."""
        self._runs[run_id] = []

    def leave(self, run_id: str) -> None:
        """That run is told no more."""
        self._runs.pop(run_id, None)

    def finish(self, run_id: str, text: str) -> None:
        """The closing text is the truth: what was streamed gives way to it where they differ."""
        entries = [entry for entry in self._runs.pop(run_id, []) if entry.text]
        streamed = "".join(entry.text for entry in entries)
        if streamed.strip().endswith(text.strip()) or not text:
            return
        if entries and self.messages.entries and self.messages.entries[-1] is entries[-1]:
            entries[-1].text = text
            self.messages.touch(entries[-1])
        else:
            self.messages.add(Entry(Kind.AGENT, text, at=now(), run_id=run_id))

    def settle(self) -> None:
        """A run has ended: what never came back has failed."""
        self.draw()
        for entry in self._calls.values():
            entry.ok = False
            self.messages.touch(entry)
        self._calls.clear()

    def draw(self) -> None:
        self._drawing.stop()
        stale, self._stale = self._stale, []
        for entry in stale:
            self.messages.touch(entry)

    def _started(self, event: "events.RunStarted") -> None:
        if self.thread_name and event.thread == self.thread_name and event.run_id:
            self._runs[event.run_id] = []
            if not self._ours():
                self.passed()

    def _said(self, event: "events.Said") -> None:
        entries = self._runs.get(event.run_id or "")
        if entries is None:
            return
        last = self.messages.entries[-1] if self.messages.entries else None
        if not entries or entries[-1] is not last:
            entry = Entry(Kind.AGENT, at=now(), run_id=event.run_id or "", streaming=True)
            entries.append(entry)
            self.messages.add(entry)
        entries[-1].text += event.text
        if entries[-1] not in self._stale:
            self._stale.append(entries[-1])
        if not self._drawing.isActive():
            self._drawing.start()

    def _tool_started(self, event: "events.ToolStarted") -> None:
        if (event.run_id or "") not in self._runs or event.tool == past.ASKS:
            return
        self.draw()
        entry = Entry(
            Kind.TOOL,
            event.tool,
            at=now(),
            run_id=event.run_id or "",
            call_id=event.call_id,
            args=event.args,
        )
        if (given := past.handed(event.tool, event.args, self.called)) is not None:
            entry.kind, entry.handed = Kind.HANDOVER, given
        self._calls[event.call_id] = entry
        self.messages.add(entry)

    def _tool_finished(self, event: "events.ToolFinished") -> None:
        entry = self._calls.pop(event.call_id, None)
        if entry is not None:
            entry.ok, entry.result, entry.seconds = event.ok, event.result, event.seconds
            past.outcome(entry)
            self.messages.touch(entry)

    def _job(self, event: "events.BackgroundJob") -> None:
        """Work in the background has ended: its line says so, wherever it stands by now."""
        if event.phase != "end":
            return
        for entry in reversed(self.messages.entries):
            if entry.handed is not None and entry.handed.job_id == event.job_id:
                past.close(entry, event.status, "")
                self.messages.touch(entry)
                self._begin(self._fetch_result(entry, event.job_id, event.status))
                return

    async def _fetch_result(self, entry: Entry, job_id: str, status: str) -> None:
        if self.result is not None:
            past.close(entry, status, await self.result(job_id))
            self.messages.touch(entry)

    def _file(self, event: "events.FileDelivered") -> None:
        if (event.run_id or "") not in self._runs:
            return
        file = File(event.name, event.kind, event.size, None, event.caption)
        entry = Entry(Kind.FILE, event.name, at=now(), run_id=event.run_id or "", file=file)
        self.messages.add(entry)
        self._begin(self._fetch(entry, file, event.media_id))

    def _begin(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _fetch(self, entry: Entry, file: File, media_id: str) -> None:
        if self.find is None:
            return
        path = await self.find(media_id)
        entry.file = File(file.name, file.kind, file.size, path, file.caption)
        self.messages.touch(entry)

    def _closed(self, event: "events.RunClosed") -> None:
        """A run of this thread that somebody else began, such as a routine, ends here."""
        if self._ours() or (event.run_id or "") not in self._runs:
            return
        self.settle()
        if event.status == "completed":
            self.finish(event.run_id or "", event.text)
        with suppress(KeyError):
            del self._runs[event.run_id or ""]


def now() -> str:
    """This moment as it is kept."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
