"""The agents at work, above the composer: who, at what, since when, and below each what it has handed on.

It takes no room when nobody works.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from PySide6.QtCore import QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from core.errors import ApxError
from desktop import blobs, pieces, theme, when
from desktop.pieces import Chip, Elided
from desktop.slots import slot
from desktop.words import Words

FACE = 22
INDENT = 26
TALLEST = 172
SMALL_TALLEST = 66
ROOMY = 560  # narrower, the tooltip says whether somebody waits


@dataclass(frozen=True, slots=True)
class Working:
    """One agent at work. `waited` says that whoever asked waits for it."""

    job_id: str
    who: str
    asked_by: str
    icon: str
    what: str
    since: datetime
    waited: bool
    below: tuple["Working", ...] = ()

    @property
    def count(self) -> int:
        """How many are at work here, with those below."""
        return 1 + sum(one.count for one in self.below)


Read = Callable[[], Awaitable[Sequence[Working]]]
Stop = Callable[[str], Awaitable[None]]


class Workers(QObject):
    """Who is at work, read again whenever a hand-over begins, goes to the background, or ends."""

    changed = Signal()
    failed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.tree: tuple[Working, ...] = ()
        self.opened: set[str] = set()  # whose chain is shown, in every place that shows it
        self._read: Read | None = None
        self._stop: Stop | None = None
        self._reading = self._again = False

    def serve(self, read: Read | None, stop: Stop | None) -> None:
        """Where they are read and stopped; None when the core is closed."""
        self._read, self._stop = read, stop
        if read is None:
            self._take(())

    @slot()
    async def refresh(self) -> None:
        """Read again; what happens meanwhile is read once more afterwards."""
        if self._reading:
            self._again = True
            return
        self._reading = True
        try:
            self._again = True
            while self._again and self._read is not None:
                self._again = False
                self._take(tuple(await self._read()))
        finally:
            self._reading = False

    @slot(str)
    async def stop(self, job_id: str) -> None:
        """Stop one; whoever asked for it is told that it is not done."""
        if self._stop is None:
            return
        try:
            await self._stop(job_id)
        except ApxError as error:
            self.failed.emit(str(error))
        await self.refresh()

    def toggle(self, job_id: str) -> None:
        """Show or hide what an agent has handed on."""
        self.opened ^= {job_id}
        self.changed.emit()

    def _take(self, tree: tuple[Working, ...]) -> None:
        if tree != self.tree:
            self.tree = tree
            self.changed.emit()


class Line(QFrame):
    """One agent at work."""

    def __init__(self, one: Working, depth: int, workers: Workers, words: Words) -> None:
        super().__init__()
        self.one, self._words = one, words
        self.face = QLabel()
        self.face.setFixedSize(FACE, FACE)
        self.face.setPixmap(blobs.pixmap(one.icon, FACE, "working", self.devicePixelRatioF()))
        self.who = pieces.short(Elided(one.who, "strong"), 200)
        self.what = Elided(one.what, "small")
        self.how = Chip()
        self.since = pieces.label(role="small")
        self.fold = pieces.button("quiet", press=lambda: workers.toggle(one.job_id))
        self.fold.setVisible(bool(one.below))
        opened = one.job_id in workers.opened
        theme.current().dress(self.fold, "chevron-down" if opened else "chevron-right", "muted")
        self.end = pieces.button("quiet", "stop", lambda: self._stop(workers))
        for button in (self.fold, self.end):
            button.setProperty("tiny", True)
            button.setIconSize(QSize(16, 16))
        self.end.setFixedSize(28, 26)
        line = QHBoxLayout(self)
        line.setContentsMargins(10 + depth * INDENT, 2, 6, 2)
        line.setSpacing(8)
        line.addWidget(self.face)
        line.addWidget(self.who)
        line.addWidget(self.what, 1)
        for widget in (self.fold, self.how, self.since, self.end):
            line.addWidget(widget)
        self.retitle()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.how.setVisible(self.width() >= ROOMY)
        pieces.short(self.who, max(80, min(200, self.width() // 4)))

    def retitle(self) -> None:
        said, one = self._words, self.one
        self.how.say(said("handed.waiting" if one.waited else "handed.background"), "info")
        self.fold.setText(str(one.count - 1))
        pieces.name(self.fold, said("work.below", n=one.count - 1), tip=True)
        pieces.name(self.end, said("work.stop", who=one.who), tip=True)
        self.setAccessibleName(said("work.line", who=one.who, asked_by=one.asked_by, what=one.what))
        self.setToolTip(
            f"{said('work.line', who=one.who, asked_by=one.asked_by, what=one.what)}\n{self.how.text()}"
        )
        self.tick()

    def tick(self) -> None:
        """For how long it has been at it."""
        self.since.setText(when.span(max(0, int((datetime.now(UTC) - self.one.since).total_seconds()))))

    def _stop(self, workers: Workers) -> None:
        self.end.setEnabled(False)
        workers.stop(self.one.job_id)


class Strip(QWidget):
    """The lines of all of them in a quiet frame; many of them scroll."""

    def __init__(self, workers: Workers, words: Words, *, margin: int, small: bool = False) -> None:
        super().__init__()
        self._workers, self._words, self._small = workers, words, small
        self.lines: list[Line] = []
        self.title = pieces.label(role="small")
        self.wrong = pieces.label(role="error", wrap=True)
        inside = QWidget()
        self.column = QVBoxLayout(inside)
        self.column.setContentsMargins(0, 0, 0, 4)
        self.column.setSpacing(0)
        self.area = QScrollArea()
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setWidget(inside)
        self.frame = QFrame()
        self.frame.setProperty("quiet", True)
        framed = QVBoxLayout(self.frame)
        framed.setContentsMargins(0, 0, 0, 0)
        framed.setSpacing(0)
        self.title.setContentsMargins(12, 7, 12, 3)
        self.wrong.setContentsMargins(12, 0, 12, 6)
        for widget in (self.title, self.area, self.wrong):
            framed.addWidget(widget)
        outside = QVBoxLayout(self)
        outside.setContentsMargins(margin, 0, margin, 6)
        outside.addWidget(self.frame)
        self._clock = QTimer(self)
        self._clock.setInterval(1000)
        self._clock.timeout.connect(self._tick)
        workers.changed.connect(self.draw)
        workers.failed.connect(self._fail)
        words.changed.connect(self.draw)
        self.draw()

    def draw(self) -> None:
        """Show who is at work now."""
        pieces.clear(self.column)
        self.lines = []
        tree = self._workers.tree
        for one in tree:
            self._add(one, 0)
        self.column.addStretch()
        n = sum(one.count for one in tree)
        self.title.setText(self._words("work.one") if n == 1 else self._words("work.many", n=n))
        tall = sum(line.sizeHint().height() for line in self.lines) + 4
        self.area.setFixedHeight(min(tall, SMALL_TALLEST if self._small else TALLEST))
        self.wrong.hide()
        self.setVisible(bool(tree))
        if tree:
            self._clock.start()
        else:
            self._clock.stop()

    def _add(self, one: Working, depth: int) -> None:
        line = Line(one, min(depth, 3), self._workers, self._words)
        self.lines.append(line)
        self.column.addWidget(line)
        if one.job_id in self._workers.opened:
            for below in one.below:
                self._add(below, depth + 1)

    def _tick(self) -> None:
        if self.isVisible():
            for line in self.lines:
                line.tick()

    def _fail(self, why: str) -> None:
        self.wrong.setText(why)
        self.wrong.show()
