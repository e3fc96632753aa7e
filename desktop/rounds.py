"""The rounds of the phone: left when they were and what came of them, right every conversation of the chosen one."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from PySide6.QtWidgets import QFrame, QStackedWidget, QVBoxLayout

from core.errors import ApxError
from desktop import pieces, when
from desktop.flow import Wrap
from desktop.following import Following
from desktop.pieces import Card, Chip, Notice, Press
from desktop.questions import Answer
from desktop.records import Round, Step, Talked
from desktop.slots import slot
from desktop.talked import TalkedRow
from desktop.words import Words


def chips(one: Round, words: Words) -> list[Chip]:
    """What came of a round, in a few facts; nothing is said of what did not happen."""
    if one.state == "running":
        return [Chip(words("round.running"), "info")]
    if one.state == "relayed":
        return [Chip(words("round.relayed"), "danger")]
    if one.state == "failed":
        return [Chip(words("round.failed"), "danger")]
    facts: list[tuple[str, int, str]] = [
        ("round.chats", one.chats, ""),
        ("round.replied", one.replied, "accent"),
        ("round.waiting", one.waiting, "warn"),
        ("round.forwarded", one.forwarded, "info"),
        ("round.unsure", one.unsure, "warn"),
        ("round.left", one.left, ""),
    ]
    made = [Chip(words(f"{key}.{'one' if n == 1 else 'many'}", n=n), tone) for key, n, tone in facts if n]
    return made or [Chip(words("round.nothing"))]


class RoundCard(Press):
    """One round of the list."""

    def __init__(self, one: Round, words: Words) -> None:
        super().__init__()
        self.setProperty("card", True)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(16, 14, 16, 14)
        self.column.setSpacing(8)
        today = datetime.now().astimezone().date()
        at = f"{when.day(one.started_at, words, today)} {when.clock(one.started_at)}"
        if one.seconds is not None and one.state == "closed":
            more = f"· {when.span(one.seconds)}"
        elif one.phone_state and one.phone_state != "ready":
            more = f"· {words.known(f'phone.{one.phone_state}.short', one.phone_state)}"
        else:
            more = ""
        head = pieces.row(pieces.label(at, "strong"), gap=4)
        head.addWidget(pieces.Elided(more, "small"), 1)
        self.column.addLayout(head)
        made = chips(one, words)
        self.column.addWidget(Wrap(*made))
        pieces.name(self, f"{at}: {', '.join(chip.text() for chip in made)}")

    def choose(self, chosen: bool) -> None:
        pieces.put(self, "tone", "accent" if chosen else "")


class Detail(Card):
    """Everything about one round."""

    def __init__(
        self, words: Words, answer: Answer, steps: Callable[[str], Awaitable[Sequence[Step]]]
    ) -> None:
        super().__init__(gap=0)
        self._words, self._answer, self._steps = words, answer, steps
        self.one: Round | None = None
        self._drawn: object = None
        self.title = pieces.label(role="strong")
        self.facts = pieces.Elided(role="small")
        self.replay = pieces.button(press=self._toggle)
        self.replay.setProperty("small", True)
        self.replay.setCheckable(True)
        head = pieces.row(self.title, gap=10)
        head.addWidget(self.facts, 1)
        head.addWidget(self.replay)
        self.column.addLayout(head)
        self.column.addSpacing(10)
        self.body = QVBoxLayout()
        self.body.setSpacing(0)
        self.column.addLayout(self.body)
        self.trace = QVBoxLayout()
        self.trace.setSpacing(2)
        self.column.addLayout(self.trace)

    def show_round(self, one: Round, talked: Sequence[Talked]) -> None:
        """Draw a round; one that is drawn already keeps what is being written in it."""
        drawn = (one, tuple(talked), self._words.lang)
        if drawn == self._drawn:
            return
        if self.one is None or self.one.id != one.id:
            self.replay.setChecked(False)
            pieces.clear(self.trace)
        self.one, self._drawn = one, drawn
        said = self._words
        self.title.setText(said("round.title", at=when.clock(one.started_at)))
        self.replay.setText(said("round.replay"))
        facts = [said.known(f"phone.{one.why}.short", said.known(one.why, one.why))] if one.why else []
        if one.source == "notifications":
            facts.append(said("round.from_notifications"))
        if one.report:
            facts.append(said(f"round.report.{one.report}"))
        if one.in_background is not None:
            facts.append(said("round.background" if one.in_background else "round.still_open"))
        self.facts.say(" · ".join(facts))
        pieces.clear(self.body)
        for conversation in talked:
            rule = QFrame()
            rule.setProperty("rule", True)
            self.body.addWidget(rule)
            self.body.addWidget(TalkedRow(conversation, self._answer, said))
        if not talked:
            key = "round.none.running" if one.state == "running" else f"round.none.{one.state}"
            note = pieces.label(said(key), "muted", wrap=True)
            self.body.addWidget(note)

    @slot()
    async def _toggle(self) -> None:
        pieces.clear(self.trace)
        if not self.replay.isChecked() or self.one is None:
            return
        for step in await self._steps(self.one.id):
            detail = " ".join(f"{key}={value}" for key, value in step.detail.items())
            text = f"{step.at.astimezone():%H:%M:%S}  {step.name}  {step.ms} ms  {detail}"
            self.trace.addWidget(pieces.Elided(text, "tool"))


class Rounds(Following):
    """Reads through callables, again whenever something about rounds happens."""

    def __init__(
        self,
        words: Words,
        *,
        rounds: Callable[[], Awaitable[Sequence[Round]]],
        conversations: Callable[[str], Awaitable[Sequence[Talked]]],
        steps: Callable[[str], Awaitable[Sequence[Step]]],
        answer: Answer,
        start: Callable[[], Awaitable[object]],
    ) -> None:
        super().__init__(words, "rounds")
        self._rounds, self._conversations, self._start = rounds, conversations, start
        self._chosen = ""
        self._shown: tuple[Round, ...] | None = None
        self.cards: dict[str, RoundCard] = {}
        self.begin = pieces.button("primary", "play", self._begin)
        self.bar.addWidget(self.begin)
        self.notice = Notice("rounds")
        self.notice.pressed.connect(self._help)
        self.wrong = pieces.label(role="error", wrap=True)
        self.wrong.hide()
        self.wrong.setContentsMargins(24, 8, 24, 0)
        self.list = QVBoxLayout()
        self.list.setSpacing(12)
        self.list.addStretch()
        self.detail = Detail(words, answer, steps)
        body = self.columns(self.list, self.detail, above=20)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.notice)
        self.stack.addWidget(body)
        self.column.addWidget(self.wrong)
        self.column.addWidget(self.stack, 1)
        self._failure = ""
        words.changed.connect(self._soon.start)
        self.retitle()
        self.follow()

    def retitle(self) -> None:
        super().retitle()
        self.begin.setText(self.words("rounds.begin"))
        self._say()
        self._shown = None

    def show_phone(self, text: str, tone: str) -> None:
        """The phone's state, beside the title."""
        self.chip.say(text, tone)
        self.chip.setVisible(bool(text))

    def _say(self) -> None:
        said = self.words
        if self._failure:
            self.notice.say(said("rounds.failed"), self._failure, said("rounds.retry"), icon="warning")
        elif self._shown is None:
            self.notice.say(said("rounds.loading"), "")
        else:
            self.notice.say(
                said("rounds.empty"), said("rounds.empty.why"), said("rounds.begin"), icon="rounds"
            )

    def failed(self, why: str) -> None:
        self._failure = why
        self._say()
        self.begin.hide()
        self.stack.setCurrentWidget(self.notice)

    async def read(self) -> None:
        found = tuple(await self._rounds())
        self._failure = ""
        if found != self._shown:
            self._shown = found
            self._list(found)
        self._say()
        self.stack.setCurrentIndex(1 if found else 0)
        self.begin.setVisible(bool(found))  # with nothing else here, the button is in the middle
        if not found:
            return
        chosen = next((one for one in found if one.id == self._chosen), found[0])
        talked = await self._conversations(chosen.id)
        self.detail.show_round(chosen, talked)

    def _list(self, found: Sequence[Round]) -> None:
        for card in self.cards.values():
            self.list.removeWidget(card)
            card.hide()
            card.deleteLater()
        self.cards = {}
        for place, one in enumerate(found):
            card = RoundCard(one, self.words)
            card.clicked.connect(lambda key=one.id: self.choose(key))
            self.cards[one.id] = card
            self.list.insertWidget(place, card)
        self._mark()

    def choose(self, round_id: str) -> None:
        """Show that round at the right."""
        self._chosen = round_id
        self._mark()
        self.refresh()

    def _mark(self) -> None:
        chosen = self._chosen if self._chosen in self.cards else next(iter(self.cards), "")
        for key, card in self.cards.items():
            card.choose(key == chosen)

    def _help(self) -> None:
        if self._failure:
            self.refresh()
        else:
            self._begin()

    @slot()
    async def _begin(self) -> None:
        if not self.begin.isEnabled():
            return
        self.begin.setEnabled(False)
        self.wrong.hide()
        try:
            await self._start()
            self._chosen = ""
        except ApxError as error:
            self.wrong.setText(str(error))
            self.wrong.show()
        finally:
            self.begin.setEnabled(True)
        self.follow()
