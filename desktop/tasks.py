"""What is to be done: the owner's list and the agent's, with what was said about each."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Protocol

from PySide6.QtCore import QDate
from PySide6.QtWidgets import QLineEdit, QStackedWidget, QVBoxLayout

from core.errors import ApxError
from desktop import money, pieces, when
from desktop.following import Following
from desktop.pieces import Card, Chip, Notice, Press
from desktop.settings.editors import Choice, Line, Lines
from desktop.settings.form import Row
from desktop.slots import slot
from desktop.words import Words

STATES = ("open", "done", "dropped")
STATUSES = ("pending", "running", "in_review", "blocked")
TONES = {"running": "info", "in_review": "warn", "blocked": "danger"}


class Task(Protocol):
    """One task, as the core keeps it."""

    @property
    def id(self) -> int: ...
    @property
    def title(self) -> str: ...
    @property
    def body(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def due(self) -> str | None: ...
    @property
    def author(self) -> str: ...
    @property
    def comments(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Tasks:
    """What the screen asks of the core."""

    listed: Callable[[str], Awaitable[Sequence[Task]]]  # of a state
    thread: Callable[[int], Awaitable[Sequence[Any]]]
    create: Callable[[str, str | None], Awaitable[Task]]  # title, due
    change: Callable[[int, Mapping[str, Any]], Awaitable[Task]]
    comment: Callable[[int, str], Awaitable[object]]


def due_chip(task: Task, words: Words) -> Chip | None:
    """Until when, and whether that has passed."""
    if not task.due:
        return None
    day = date.fromisoformat(task.due[:10])
    today = datetime.now().astimezone().date()
    shown = money.locale(words).toString(QDate(day.year, day.month, day.day), "d MMM")
    text = words("when.today") if day == today else shown
    late = task.state == "open" and day < today
    return Chip(words("tasks.late" if late else "tasks.until", day=text), "danger" if late else "")


class TaskCard(Press):
    """One task of the list."""

    def __init__(self, task: Task, words: Words) -> None:
        super().__init__()
        self.setProperty("card", True)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 12, 16, 12)
        column.setSpacing(6)
        column.addWidget(pieces.Elided(task.title, "strong"))
        line = pieces.row(gap=6)
        if task.status != "pending" and task.state == "open":
            line.addWidget(Chip(words(f"tasks.status.{task.status}"), TONES.get(task.status, "")))
        if (due := due_chip(task, words)) is not None:
            line.addWidget(due)
        facts = []
        if task.author != "owner":
            facts.append(task.author)
        if task.comments:
            facts.append(
                words("tasks.comments.one" if task.comments == 1 else "tasks.comments", n=task.comments)
            )
        line.addWidget(pieces.Elided(" · ".join(facts), "small"), 1)
        column.addLayout(line)
        pieces.name(self, task.title)

    def choose(self, chosen: bool) -> None:
        pieces.put(self, "tone", "accent" if chosen else "")


class TaskDetail(Card):
    """Everything about one task; changes apply at once."""

    def __init__(self, words: Words, tasks: Tasks) -> None:
        super().__init__(gap=14)
        self._words, self._tasks = words, tasks
        self.task: Task | None = None
        self._said: object = None
        self.done = pieces.button("primary", "check", lambda: self._to("done"))
        self.drop = pieces.button("danger", press=lambda: self._to("dropped"))
        self.again = pieces.button("", press=lambda: self._to("open"))
        self.wrong = pieces.label(role="error", wrap=True)
        self.wrong.hide()

        def field(name: str) -> Callable[[Any], Awaitable[object]]:
            async def apply(value: Any) -> None:
                if self.task is not None:
                    await tasks.change(self.task.id, {name: value})

            return apply

        self.title = Row(words, "tasks.title", Line(), field("title"))
        self.body = Row(words, "tasks.body", Lines(), field("body"))
        self.status = Row(words, "tasks.status", Choice([(one, "") for one in STATUSES]), field("status"))
        self.due = Row(words, "tasks.due", Line(), field("due"))
        self.due.editor.setMaximumWidth(200)
        self.status.editor.setMaximumWidth(200)
        self.comments = QVBoxLayout()
        self.comments.setSpacing(8)
        self.field = QLineEdit()
        self.field.returnPressed.connect(self._comment)
        for widget in (self.title, self.body, self.status, self.due):
            self.column.addWidget(widget)
        self.column.addLayout(pieces.row(self.done, self.again, self.drop, 1))
        self.column.addWidget(self.wrong)
        self.column.addLayout(self.comments)
        self.column.addWidget(self.field)
        words.changed.connect(self.retitle)
        self.retitle()

    def retitle(self) -> None:
        said = self._words
        self.done.setText(said("tasks.finish"))
        self.drop.setText(said("tasks.drop"))
        self.again.setText(said("tasks.reopen"))
        self.field.setPlaceholderText(said("tasks.comment"))
        pieces.name(self.field, said("tasks.comment"))
        editor = self.status.editor
        assert isinstance(editor, Choice)
        editor.offer([(one, said(f"tasks.status.{one}")) for one in STATUSES])

    async def show_task(self, task: Task) -> None:
        """Show a task; what is being written in a field stays."""
        if self.task is None or self.task.id != task.id:
            self.field.clear()
            self.wrong.hide()
        self.task = task
        self.title.put(task.title)
        self.body.put(task.body)
        self.status.put(task.status)
        self.due.put(task.due)
        self.done.setVisible(task.state == "open")
        self.drop.setVisible(task.state == "open")
        self.again.setVisible(task.state != "open")
        self.status.setVisible(task.state == "open")
        thread = tuple(await self._tasks.thread(task.id))
        if thread != self._said:
            self._said = thread
            pieces.clear(self.comments)
            for one in thread:
                moment = datetime.fromisoformat(one.at)
                who = self._words("tasks.you") if one.author == "owner" else one.author
                today = datetime.now().astimezone().date()
                at = f"{who} · {when.day(moment, self._words, today)} {when.clock(moment)}"
                self.comments.addWidget(pieces.label(at, "small"))
                self.comments.addWidget(pieces.label(one.text, wrap=True))

    @slot(str)
    async def _to(self, state: str) -> None:
        if self.task is not None:
            await self._try(self._tasks.change(self.task.id, {"state": state}))

    @slot()
    async def _comment(self) -> None:
        text = self.field.text().strip()
        if self.task is not None and text and await self._try(self._tasks.comment(self.task.id, text)):
            self.field.clear()

    async def _try(self, change: Awaitable[object]) -> bool:
        self.wrong.hide()
        try:
            await change
        except ApxError as error:
            self.wrong.setText(str(error))
            self.wrong.show()
            return False
        return True


class TasksScreen(Following):
    """Reads through callables, again whenever a task changes."""

    def __init__(self, words: Words, tasks: Tasks) -> None:
        super().__init__(words, "tasks")
        self._tasks = tasks
        self._shown: tuple[Task, ...] | None = None
        self._chosen, self._failure = 0, ""
        self.cards: dict[int, TaskCard] = {}
        self.state = Choice([(one, "") for one in STATES])
        self.state.setFixedWidth(160)
        self.state.changed.connect(self.refresh)
        self.bar.addWidget(self.state)
        self.field = QLineEdit()
        self.field.returnPressed.connect(self.note)
        self.add = pieces.button("primary", "plus", self.note)
        self.wrong = pieces.label(role="error", wrap=True)
        self.wrong.hide()
        top = QVBoxLayout()
        top.setContentsMargins(24, 16, 24, 0)
        line = pieces.row(gap=8)
        line.addWidget(self.field, 1)
        line.addWidget(self.add)
        top.addLayout(line)
        top.addWidget(self.wrong)
        self.notice = Notice("tasks")
        self.list = QVBoxLayout()
        self.list.setSpacing(8)
        self.list.addStretch()
        self.detail = TaskDetail(words, tasks)
        body = self.columns(self.list, self.detail, above=16)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.notice)
        self.stack.addWidget(body)
        self.column.addLayout(top)
        self.column.addWidget(self.stack, 1)
        words.changed.connect(self._soon.start)
        self.retitle()
        self.follow()

    def retitle(self) -> None:
        super().retitle()
        said = self.words
        self.state.offer([(one, said(f"tasks.state.{one}")) for one in STATES])
        self.field.setPlaceholderText(said("tasks.new"))
        self.add.setText(said("tasks.add"))
        pieces.name(self.field, said("tasks.new"))
        pieces.name(self.state, said("activity.state"))
        self._shown = None
        self._say()

    def _say(self) -> None:
        said = self.words
        if self._failure:
            self.notice.say(said("tasks.failed"), self._failure, icon="warning")
        elif self._shown is None:
            self.notice.say(said("tasks.loading"), "")
        else:
            state = self.state.value()
            self.notice.say(said(f"tasks.none.{state}"), said("tasks.none.why"), icon="tasks")

    async def read(self) -> None:
        found = tuple(await self._tasks.listed(self.state.value()))
        self._failure = ""
        if found != self._shown:
            self._shown = found
            self._list(found)
        self._say()
        self.stack.setCurrentIndex(1 if found else 0)
        if found:
            await self.detail.show_task(next((one for one in found if one.id == self._chosen), found[0]))

    def failed(self, why: str) -> None:
        self._failure = why
        self._say()
        self.stack.setCurrentIndex(0)

    def _list(self, found: Sequence[Task]) -> None:
        for card in self.cards.values():
            self.list.removeWidget(card)
            card.hide()
            card.deleteLater()
        self.cards = {}
        for place, task in enumerate(found):
            card = TaskCard(task, self.words)
            card.clicked.connect(lambda key=task.id: self.choose(key))
            self.cards[task.id] = card
            self.list.insertWidget(place, card)
        self._mark()

    def choose(self, task_id: int) -> None:
        """Show that task at the right."""
        self._chosen = task_id
        self._mark()
        self.refresh()

    def _mark(self) -> None:
        chosen = self._chosen if self._chosen in self.cards else next(iter(self.cards), 0)
        for key, card in self.cards.items():
            card.choose(key == chosen)

    @slot()
    async def note(self) -> None:
        """The task that is written in the field."""
        title = self.field.text().strip()
        if not title or not self.add.isEnabled():
            return
        self.add.setEnabled(False)
        self.wrong.hide()
        try:
            self._chosen = (await self._tasks.create(title, None)).id
            self.field.clear()
            self.state.put("open")
        except ApxError as error:
            self.wrong.setText(str(error))
            self.wrong.show()
        finally:
            self.add.setEnabled(True)
        self.refresh()
