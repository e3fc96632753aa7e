"""Which model answers and which may stand in: two lists to order, and what is in force now in plain words."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.errors import ApxError
from core.runs.complexity import Level
from desktop import pieces, when
from desktop.fold import Fold
from desktop.pieces import Chip
from desktop.settings.editors import Suggested, Switch
from desktop.settings.form import Row
from desktop.settings.ordered import Ordered
from desktop.settings.plain import Now, Set
from desktop.settings.screen import Heading
from desktop.slots import slot
from desktop.words import Words

Explain = Callable[[], Awaitable[Mapping[str, Any]]]


class StandIns(QWidget):
    """The lists of models that may stand in for one that cannot answer."""

    def __init__(self, words: Words, offered: tuple[str, ...], *, now: Now, change: Set) -> None:
        super().__init__()
        self._now = now

        async def switch(value: Any) -> None:
            await change("super_agent.model_fallback.enabled", value)

        async def list_quota(value: Any) -> None:
            await change("super_agent.model_fallback.models", value)

        async def list_all(value: Any) -> None:
            await change("llm_routing.fallback", value)

        self.enabled = Row(words, "settings.fallback.enabled", Switch(), switch, side=True)
        self.quota = Row(words, "settings.fallback.models", Ordered(words, offered), list_quota)
        self.general = Row(words, "settings.fallback.general", Ordered(words, offered), list_all)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(16)
        for row in (self.enabled, self.quota, self.general):
            column.addWidget(row)
        self.refresh()

    def refresh(self) -> None:
        settings = self._now()
        fallback = settings.super_agent.model_fallback
        self.enabled.put(fallback.enabled)
        self.quota.put(fallback.models)
        self.general.put(settings.llm_routing.fallback)
        self.quota.setVisible(fallback.enabled or bool(fallback.models))


class Weighed(QWidget):
    """Who weighs a question, and who answers each kind of it."""

    def __init__(self, words: Words, offered: tuple[str, ...], *, now: Now, change: Set) -> None:
        super().__init__()
        self._now = now
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(16)
        self.rows: dict[str, Row] = {}
        for name in ("enabled", "model", *Level):
            if name == "enabled":
                editor: QWidget = Switch()
            else:
                editor = Suggested(offered, words("settings.super_agent.model.example"))
                editor.setMaximumWidth(420)
            apply = partial(change, f"llm_routing.classifier.{name}")
            self.rows[name] = Row(words, f"settings.classifier.{name}", editor, apply, side=name == "enabled")
            column.addWidget(self.rows[name])
        self.refresh()

    def refresh(self) -> None:
        classifier = self._now().llm_routing.classifier
        for name, row in self.rows.items():
            row.put(getattr(classifier, name))
            row.setVisible(name == "enabled" or classifier.enabled)


class Route(QWidget):
    """Who answers first, who stands in, who does not and why, and who is left alone for now."""

    def __init__(self, words: Words, explain: Explain) -> None:
        super().__init__()
        self._words, self._explain = words, explain
        self.told: Mapping[str, Any] = {}
        self.head = Heading(words, "settings.route", "settings.route.help")
        self.lines = QVBoxLayout()
        self.lines.setSpacing(8)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        column.addWidget(self.head)
        column.addLayout(self.lines)
        words.changed.connect(self.look)

    @slot()
    async def look(self) -> None:
        """Ask again what is in force; no model is asked."""
        try:
            told = await self._explain()
        except ApxError as error:
            pieces.clear(self.lines)
            self.lines.addWidget(pieces.label(str(error), "error", wrap=True))
            return
        self.told = told
        self._draw(told)

    def _draw(self, told: Mapping[str, Any]) -> None:
        said = self._words
        pieces.clear(self.lines)
        if told["problem"]:
            self.lines.addWidget(pieces.label(told["problem"], "error", wrap=True))
        paused = {one["target"]: one for one in told["cooling"]}
        if told["primary"]:
            by = said.known(f"settings.route.by.{told['selected_by']}", told["selected_by"])
            self._rung(1, told["primary"], said("settings.route.first", by=by), paused)
        for place, rung in enumerate(told["fallback"], 2):
            via = said.known(f"settings.route.via.{rung['via']}", rung["via"])
            where = said.known(f"settings.route.where.{rung['granted_by']}", rung["granted_by"])
            note = said("settings.route.stands_in", list=via, where=where)
            self._rung(place, rung["target"], note, paused)
        if told["primary"] and not told["fallback"]:
            self.lines.addWidget(pieces.label(said("settings.route.nobody"), "small", wrap=True))
        for one in told["narrowed"]:
            text = said("settings.route.not", model=one["target"], why=one["reason"])
            self.lines.addWidget(pieces.label(text, "small", wrap=True))
        known = {told["primary"], *(rung["target"] for rung in told["fallback"])}
        for one in told["cooling"]:
            if one["target"] not in known:
                self._rung(0, one["target"], one["why"], paused)
        self.lines.addWidget(Fold(self._details, said("settings.route.details")))

    def _rung(self, place: int, model: str, note: str, paused: Mapping[str, Any]) -> None:
        line = pieces.row(gap=10)
        if place:
            line.addWidget(pieces.label(f"{place}.", "muted"))
        line.addWidget(pieces.Elided(model, "strong"), 1)
        if model in paused:
            until = when.clock(datetime.fromisoformat(paused[model]["until"]))
            line.addWidget(Chip(self._words("settings.route.paused", until=until), "warn"))
        text = pieces.label(note, "small", wrap=True)
        text.setContentsMargins(24 if place else 0, 0, 0, 0)
        column = QVBoxLayout()
        column.setSpacing(2)
        column.addLayout(line)
        column.addWidget(text)
        self.lines.addLayout(column)

    def _details(self, column: QVBoxLayout) -> None:
        said, told = self._words, self.told
        limits, texts = told["limits"], list[str]()
        if told.get("local"):
            texts.append(said("settings.route.local"))
        auxiliary = told["auxiliary"]
        if auxiliary["model"] or auxiliary["problem"]:
            texts.append(auxiliary["problem"] or said("settings.route.auxiliary", model=auxiliary["model"]))
        texts += self._weighed(told["classifier"])
        for number, rule in enumerate(told["rules"], 1):
            conditions = ", ".join(f"{name}: {value}" for name, value in rule["when"].items())
            texts.append(said("settings.route.rule", n=number, model=rule["model"], when=conditions or "…"))
        texts.append(
            said(
                "settings.route.limits",
                same=limits["same_target_retries"],
                turn=limits["retries_per_turn"],
                minutes=limits["quota_cooldown_min"],
            )
        )
        for provider, seconds in told["circuits"].items():
            texts.append(said("settings.route.circuit", provider=provider, seconds=round(seconds)))
        if told["managed"]:
            texts.append(said("settings.route.managed", path=told["managed"]))
        for text in texts:
            column.addWidget(pieces.label(text, "small", wrap=True))

    def _weighed(self, told: Mapping[str, Any]) -> list[str]:
        said = self._words
        if not told["enabled"] or told["problem"]:
            return [told["problem"]] if told["problem"] else []
        levels = [
            said(
                f"settings.route.level.{one['why']}",
                level=said(f"settings.route.level.name.{level}"),
                model=one["target"],
            )
            for level, one in told["levels"].items()
        ]
        return [said("settings.route.classifier", model=told["model"]), *levels]
