"""Work that agents handed to one another: what goes on, what ended and how; what was lost is said plainly."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QLabel, QStackedWidget, QVBoxLayout

from core.errors import ApxError
from desktop import blobs, pieces, when
from desktop.code import Code
from desktop.flow import Wrap
from desktop.following import Following
from desktop.handed import TONES
from desktop.pieces import Card, Chip, Notice, Press
from desktop.rows import Prose
from desktop.settings.editors import Choice
from desktop.slots import slot
from desktop.words import Words

PAGE = 60
STATES = ("", "open", "ended")
ANSWERED = "done"


@dataclass(frozen=True, slots=True)
class Job:
    """A job as people read it: names and not addresses."""

    id: str
    who: str
    icon: str
    asked_by: str
    status: str
    waited: bool
    body: str
    result: str
    created_at: datetime
    closed_at: datetime | None

    @property
    def seconds(self) -> int:
        return max(0, int(((self.closed_at or datetime.now(UTC)) - self.created_at).total_seconds()))


Read = Callable[[str, int], Awaitable[Sequence[Job]]]  # which, how many
Stop = Callable[[str], Awaitable[None]]


def state_chip(one: Job, words: Words) -> Chip:
    """How a job stands; one that goes on says whether somebody waits for it."""
    if one.status == "running":
        return Chip(words("handed.waiting" if one.waited else "handed.background"), "info")
    return Chip(words(f"handed.{one.status}"), TONES.get(one.status, ""))


class JobCard(Press):
    """One job of the list."""

    def __init__(self, one: Job, words: Words) -> None:
        super().__init__()
        self.setProperty("card", True)
        face = QLabel()
        face.setFixedSize(28, 28)
        mood = "working" if one.status == "running" else "idle"
        face.setPixmap(blobs.pixmap(one.icon, 28, mood, self.devicePixelRatioF()))
        today = datetime.now().astimezone().date()
        at = f"{when.day(one.created_at, words, today)} {when.clock(one.created_at)}"
        head = pieces.row(face, gap=10)
        names = QVBoxLayout()
        names.setSpacing(1)
        names.addWidget(pieces.Elided(one.who, "strong"))
        names.addWidget(pieces.Elided(one.body, "small"))
        head.addLayout(names, 1)
        line = pieces.row(state_chip(one, words), gap=8)
        line.addWidget(pieces.Elided(f"{at} · {when.span(one.seconds)}", "small"), 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 12, 14, 12)
        column.setSpacing(8)
        column.addLayout(head)
        column.addLayout(line)
        said = words(f"handed.{one.status}") if one.status != "running" else words("jobs.running")
        pieces.name(self, f"{one.who}: {said}, {at}. {one.body[:200]}")

    def choose(self, chosen: bool) -> None:
        pieces.put(self, "tone", "accent" if chosen else "")


class JobDetail(Card):
    """Everything about one job: who asked whom, for what, and what came of it."""

    def __init__(self, words: Words, stop: Stop) -> None:
        super().__init__(gap=10)
        self._words, self._stop = words, stop
        self.one: Job | None = None
        self._drawn: object = None
        self.title = pieces.label(role="strong", wrap=True)
        self.end = pieces.button("danger", "stop", self.press)
        self.wrong = pieces.label(role="error", wrap=True)
        head = pieces.row(gap=12)
        head.addWidget(self.title, 1)
        head.addWidget(self.end)
        self.body = QVBoxLayout()
        self.body.setSpacing(10)
        self.column.addLayout(head)
        self.column.addWidget(self.wrong)
        self.column.addLayout(self.body)

    def show_job(self, one: Job) -> None:
        """Draw it; what is drawn already stays as it is."""
        if (one, self._words.lang) == self._drawn:
            return
        self.one, self._drawn = one, (one, self._words.lang)
        said = self._words
        self.title.setText(said("jobs.title", who=one.who, asked_by=one.asked_by))
        self.end.setText(said("activity.stop"))
        self.end.setVisible(one.status == "running")
        self.end.setEnabled(True)
        self.wrong.hide()
        pieces.clear(self.body)
        today = datetime.now().astimezone().date()
        at = f"{when.day(one.created_at, said, today)} {when.clock(one.created_at)}"
        self.body.addWidget(Wrap(state_chip(one, said), Chip(at), Chip(when.span(one.seconds)), Chip(one.id)))
        self._heading("jobs.asked")
        self.body.addWidget(Code(one.body, 10))
        self._heading("jobs.came")
        if one.status == ANSWERED:
            prose = Prose()
            prose.put_markdown(one.result)
            self.body.addWidget(prose)
            return
        self.body.addWidget(pieces.label(said(f"jobs.why.{one.status}"), wrap=True))
        if one.result and one.status == "failed":
            self.body.addWidget(Code(one.result, 10))

    def _heading(self, key: str) -> None:
        self.body.addSpacing(4)
        self.body.addWidget(pieces.label(self._words(key), "small"))

    @slot()
    async def press(self) -> None:
        """Stop it."""
        if self.one is None or not self.end.isEnabled():
            return
        self.end.setEnabled(False)
        try:
            await self._stop(self.one.id)
        except ApxError as error:
            self.wrong.setText(str(error))
            self.wrong.show()


class JobsScreen(Following):
    """The list at the left and what is chosen in it at the right, read again whenever a job changes."""

    def __init__(self, words: Words, *, read: Read, stop: Stop) -> None:
        super().__init__(words, "jobs")
        self._read = read
        self._shown: tuple[Job, ...] | None = None
        self._limit, self._chosen, self._failure = PAGE, "", ""
        self.cards: dict[str, JobCard] = {}
        self.state = Choice([(key, "") for key in STATES])
        self.state.setFixedWidth(172)
        self.state.changed.connect(self._from_start)
        self.bar.addWidget(self.state)
        self.notice = Notice("agents")
        self.notice.pressed.connect(self._help)
        self.list = QVBoxLayout()
        self.list.setSpacing(8)
        self.more = pieces.button("quiet", press=self._further)
        self.list.addWidget(self.more)
        self.list.addStretch()
        self.detail = JobDetail(words, stop)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.notice)
        self.stack.addWidget(self.columns(self.list, self.detail, above=20))
        self.column.addWidget(self.stack, 1)
        words.changed.connect(self.follow)
        self.retitle()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.follow()

    def follow(self) -> None:
        """Something about a job happened; nobody looks at a list that is not on the screen."""
        if self.isVisible():
            super().follow()

    def retitle(self) -> None:
        super().retitle()
        said = self.words
        self.state.offer([(key, said(f"jobs.state.{key or 'all'}")) for key in STATES])
        pieces.name(self.state, said("activity.state"))
        self.more.setText(said("activity.more"))
        self._shown = None
        self._say()

    def _say(self) -> None:
        said = self.words
        if self._failure:
            self.notice.say(said("jobs.failed"), self._failure, said("rounds.retry"), icon="warning")
        elif self._shown is None:
            self.notice.say(said("jobs.loading"), "")
        elif self.state.value():
            self.notice.say(said("jobs.none_so"), said("jobs.none_so.why"), said("activity.clear"))
        else:
            self.notice.say(said("jobs.empty"), said("jobs.empty.why"), icon="agents")

    def _help(self) -> None:
        self.state.put("")
        self._from_start()

    def _from_start(self) -> None:
        self._limit = PAGE
        self.refresh()

    def _further(self) -> None:
        self._limit += PAGE
        self.refresh()

    def failed(self, why: str) -> None:
        self._failure = why
        self._say()
        self.stack.setCurrentWidget(self.notice)

    async def read(self) -> None:
        found = tuple(await self._read(self.state.value() or "", self._limit))
        self._failure = ""
        if found != self._shown:
            self._shown = found
            self._list(found)
        self._say()
        self.stack.setCurrentIndex(1 if found else 0)
        if found:
            self.detail.show_job(next((one for one in found if one.id == self._chosen), found[0]))

    def _list(self, found: Sequence[Job]) -> None:
        for card in self.cards.values():
            self.list.removeWidget(card)
            card.hide()
            card.deleteLater()
        self.cards = {}
        for place, one in enumerate(found):
            card = JobCard(one, self.words)
            card.clicked.connect(lambda key=one.id: self.choose(key))
            self.cards[one.id] = card
            self.list.insertWidget(place, card)
        self.more.setVisible(len(found) >= self._limit)
        self._mark()

    def choose(self, job_id: str) -> None:
        """Show that job at the right."""
        self._chosen = job_id
        self._mark()
        self.refresh()

    def _mark(self) -> None:
        chosen = self._chosen if self._chosen in self.cards else next(iter(self.cards), "")
        for key, card in self.cards.items():
            card.choose(key == chosen)
