"""What the models cost: caps that are looked at before a request, and thirty days as bars."""

from collections.abc import Awaitable, Callable
from datetime import date
from functools import partial
from typing import Any

from PySide6.QtCore import QDate
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from core.errors import ApxError
from desktop import money, pieces
from desktop.settings.chart import Bars, Key, keys
from desktop.settings.editors import Line
from desktop.settings.form import Row
from desktop.settings.plain import Now, Set
from desktop.settings.screen import Page
from desktop.slots import slot
from desktop.spent import SPLITS, Limit, Spent
from desktop.words import Words

CAPS = ("day_usd", "month_usd", "run_usd")


class Amount(Line):
    """An amount of dollars, or nothing; what is no number is handed on as it is, so that it is refused in words."""

    def value(self) -> Any:
        text = super().value().replace("US$", "").strip()
        if not text:
            return None
        plain = text.replace(",", ".")
        return float(plain) if plain.replace(".", "", 1).isdigit() else text

    def put(self, value: Any) -> None:
        super().put(None if value is None else f"{value:g}")


class SpendingPage(Page):
    """`agent` is the assistant's name; `read` gives thirty days apart by model, agent or channel."""

    def __init__(
        self,
        words: Words,
        *,
        now: Now,
        change: Set,
        read: Callable[[str], Awaitable[Spent]],
        agent: Callable[[], str],
    ) -> None:
        super().__init__(words)
        self._now, self._read, self._agent, self.split = now, read, agent, "model"
        self.spent: Spent | None = None
        self.meters = {period: Meter(words) for period in ("day", "month")}
        totals = QWidget()
        totals.setLayout(pieces.row(*self.meters.values(), gap=24))
        self.card(totals)
        self.bars = Bars(lambda micros: money.dollars(micros, words), self._day, self._name)
        self.choices: dict[str, pieces.Button] = {}
        group = QButtonGroup(self)
        choose = pieces.row(gap=6)
        for split in SPLITS:
            button = pieces.button(press=partial(self.choose, split))
            button.setCheckable(True)
            button.setProperty("small", True)
            button.setProperty("segment", True)
            group.addButton(button)
            choose.addWidget(button)
            self.choices[split] = button
        choose.addStretch()
        self.choices["model"].setChecked(True)
        self.none = pieces.label(role="muted", wrap=True)
        self.legend = QVBoxLayout()
        self.legend.setSpacing(6)
        chart = self.card(title="settings.spending.days", help="settings.spending.days.help")
        chart.column.addLayout(choose)
        chart.column.addWidget(self.bars)
        chart.column.addWidget(self.none)
        chart.column.addLayout(self.legend)
        self.rows: dict[str, Row] = {}
        caps = self.card(title="settings.budgets", help="settings.budgets.help")
        for name in CAPS:

            async def take(value: Any, name: str = name) -> None:
                await change(f"budgets.{name}", value)

            editor = Amount(words("settings.budgets.none"))
            editor.setMaximumWidth(200)
            self.rows[name] = Row(words, f"settings.budgets.{name}", editor, take)
            self.rows[name].applied.connect(self.look)
            caps.column.addWidget(self.rows[name])
        words.changed.connect(self.retitle)
        self.retitle()
        self.refresh()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.look()

    def retitle(self) -> None:
        for split, button in self.choices.items():
            button.setText(self.words(f"settings.spending.by.{split}"))
        self._draw()

    def refresh(self) -> None:
        for name, row in self.rows.items():
            row.put(getattr(self._now().budgets, name))

    def choose(self, split: str) -> None:
        """Models, agents or channels."""
        self.split = split
        self.look()

    @slot()
    async def look(self) -> None:
        """Read what was spent."""
        try:
            self.spent = await self._read(self.split)
        except ApxError as error:
            self.none.setText(str(error))
            self.none.show()
            return
        self._draw()

    def _day(self, day: date) -> str:
        return money.locale(self.words).toString(QDate(day.year, day.month, day.day), "d MMM")

    def _draw(self) -> None:
        pieces.clear(self.legend)
        spent = self.spent
        self.none.setText(self.words("settings.spending.none"))
        self.none.setVisible(spent is not None and not spent.slices)
        self.bars.setVisible(spent is None or bool(spent.slices))
        if spent is None:
            return
        self.bars.put(spent.days, spent.slices)
        for limit in spent.limits:
            self.meters[limit.period].put(limit)
        for place, key in enumerate(keys(spent.slices)):
            self.legend.addLayout(self._part(place, key, spent))

    def _name(self, key: str) -> str:
        if self.split == "channel":
            return self.words.known(f"channel.{key}", key)
        return key or self._agent()

    def _part(self, place: int, key: str, spent: Spent) -> QHBoxLayout:
        parts = [one for one in spent.slices if one.key == key]
        name = self._name(key)
        cost, floor = sum(one.cost_micros for one in parts), any(one.floor for one in parts)
        line = pieces.row(Key(place), gap=10)
        line.addWidget(pieces.Elided(name), 1)
        line.addWidget(
            pieces.label(money.dollars(cost, self.words, floor=floor), "muted" if floor else "strong")
        )
        return line


class Meter(QWidget):
    """Today or this month: what is spent, and how much of its cap that is."""

    def __init__(self, words: Words) -> None:
        super().__init__()
        self._words = words
        self.name = pieces.label(role="small")
        self.amount = pieces.label(role="title")
        self.of = pieces.label(role="small", wrap=True)
        self.bar = QProgressBar()
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        for widget in (self.name, self.amount, self.bar, self.of):
            column.addWidget(widget)
        column.addStretch()

    def put(self, limit: Limit) -> None:
        said = self._words
        self.name.setText(said(f"settings.spending.{limit.period}"))
        self.amount.setText(money.dollars(limit.spent_micros, said, floor=limit.floor))
        self.bar.setVisible(limit.limit_micros is not None)
        if limit.limit_micros is None:
            self.of.setText(said("settings.spending.no_cap"))
            return
        share = limit.spent_micros / limit.limit_micros if limit.limit_micros else 1
        self.bar.setValue(min(1000, round(share * 1000)))
        pieces.put(self.bar, "full", share >= 1)
        self.of.setText(said("settings.spending.of", cap=money.dollars(limit.limit_micros, said)))
