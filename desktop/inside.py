"""One run from within: what was said and done, every attempt at a model, what the model was given, what it cost."""

import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any

from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.errors import ApxError
from core.texts import t
from desktop import money, pieces, when
from desktop.approvals import command
from desktop.code import Code
from desktop.flow import Wrap
from desktop.fold import Fold
from desktop.pieces import Card, Chip
from desktop.ran import Inside, Ran
from desktop.rows import Prose
from desktop.slots import slot
from desktop.words import Words

TONES = {
    "running": "info",
    "completed": "accent",
    "failed": "danger",
    "lost": "warn",
    "budget_exceeded": "warn",
}
LINES = 14

Read = Callable[[str], Awaitable[Inside]]
Given = Callable[[str], Awaitable[Mapping[str, Any]]]
Stop = Callable[[str], object]


def state_chip(one: Ran, words: Words) -> Chip:
    """How a run stands."""
    return Chip(words(f"run.state.{one.status}"), TONES.get(one.status, ""))


def title(one: Ran, words: Words) -> str:
    """What a run is called: the first words of its question, whose chat it was about, or where it came from."""
    return " ".join(one.asked.split()) or one.about or words("activity.untitled", channel=channel(one, words))


def channel(one: Ran, words: Words) -> str:
    name = words.known(f"channel.{one.channel}", one.channel)
    return name[:1].upper() + name[1:]


class RunDetail(Card):
    """Everything about one run; attempts and the request are folded away."""

    def __init__(self, words: Words, read: Read, given: Given, stop: Stop) -> None:
        super().__init__(gap=10)
        self._words, self._read, self._given, self._stop = words, read, given, stop
        self.one: Ran | None = None
        self._drawn: object = None
        self.title = pieces.label(role="strong", wrap=True)
        self.end = pieces.button("danger", "stop", self._press)
        head = pieces.row(gap=12)
        head.addWidget(self.title, 1)
        head.addWidget(self.end)
        self.facts = QVBoxLayout()
        self.body = QVBoxLayout()
        self.body.setSpacing(10)
        self.column.addLayout(head)
        self.column.addLayout(self.facts)
        self.column.addLayout(self.body)

    async def show_run(self, one: Ran) -> None:
        """Read and draw it; what is drawn already stays as it is, opened folds with it."""
        inside = await self._read(one.id)
        drawn = (one, len(inside.lines), inside.attempts.get("requests"), self._words.lang)
        if drawn == self._drawn:
            return
        self.one, self._drawn = one, drawn
        self.title.setText(title(one, self._words)[:400])
        self.end.setText(self._words("activity.stop"))
        self.end.setVisible(one.status == "running")
        self.end.setEnabled(True)
        pieces.clear(self.facts)
        self.facts.addWidget(Wrap(*self._facts(one)))
        pieces.clear(self.body)
        self._said(one, inside)
        self._attempts(inside.attempts)
        if one.target:
            self.folded_request = Fold(self._request, self._words("activity.request"))
            self.body.addWidget(self.folded_request)

    def _press(self) -> None:
        if self.one is not None:
            self.end.setEnabled(False)
            self._stop(self.one.id)

    def _facts(self, one: Ran) -> list[QWidget]:
        said = self._words
        today = datetime.now().astimezone().date()
        facts = [
            f"{channel(one, said)} · {when.day(one.started_at, said, today)} {when.clock(one.started_at)}",
        ]
        if one.seconds is not None:
            facts.append(took(one.seconds))
        if one.agent:
            facts.append(one.agent)
        if one.target:
            facts.append(one.target)
        if one.tokens_in or one.tokens_out:
            into, out = money.count(one.tokens_in, said), money.count(one.tokens_out, said)
            facts.append(said("activity.tokens", into=into, out=out))
            facts.append(money.dollars(one.cost_micros, said, floor=not one.priced))
        return [state_chip(one, said), *(Chip(fact) for fact in facts)]

    def _heading(self, key: str) -> None:
        rule = pieces.label(self._words(key), "small")
        self.body.addSpacing(4)
        self.body.addWidget(rule)

    def _said(self, one: Ran, inside: Inside) -> None:
        self._heading("activity.said")
        if not inside.lines:
            self.body.addWidget(pieces.label(self._words("activity.nothing_kept"), "muted", wrap=True))
        for line in inside.lines:
            if line["kind"] != "failure":  # the attempts below say more about it
                self.body.addWidget(self._line(line))
        answered = any(line["kind"] in {"assistant", "note"} and line.get("role") for line in inside.lines)
        if one.text and not answered:
            self.body.addWidget(pieces.label(one.text, "error" if one.status == "failed" else "", wrap=True))
        if one.status == "lost":
            self.body.addWidget(pieces.label(self._words("activity.lost"), "muted", wrap=True))

    def _line(self, line: Mapping[str, Any]) -> QWidget:
        kind, text = line["kind"], str(line.get("text") or "")
        if kind == "user":
            own = Card(pad=12)
            own.setProperty("card", None)
            own.setProperty("own", True)
            own.column.addWidget(pieces.label(text, wrap=True))
            return own
        if kind == "assistant":
            prose = Prose()
            prose.put_markdown(text)
            return prose
        if kind == "tool":
            return self._tool(line)
        failed = (line.get("meta") or {}).get("status") == "failed"
        return pieces.label(text, "error" if failed else "small", wrap=True)

    def _tool(self, line: Mapping[str, Any]) -> Fold:
        said = self._words
        ok = bool(line.get("ok", True))
        facts = [said.tool(str(line.get("tool", "")))]
        if not ok:
            facts.append(said("tool.failed"))
        if line.get("seconds") is not None:
            facts.append(took(float(line["seconds"])))

        def fill(column: QVBoxLayout) -> None:
            if args := line.get("args"):
                column.addWidget(Code(command(args), LINES))
            if result := str(line.get("result") or ""):
                column.addWidget(Code(result, LINES))

        return Fold(fill, " · ".join(facts), tool=True)

    def _attempts(self, told: Mapping[str, Any]) -> None:
        rows = told.get("attempts") or ()
        if not rows:
            return
        self._heading("activity.attempts")
        for row in rows:
            self.body.addWidget(_Attempt(row, self._words))
        if told.get("repeated"):
            most = told.get("repeats_most")
            text = self._words("activity.repeated", n=told["repeated"], most=most)
            self.body.addWidget(pieces.label(text, "small", wrap=True))

    @slot(QVBoxLayout)
    async def _request(self, column: QVBoxLayout) -> None:
        if self.one is None:
            return
        try:
            told = await self._given(self.one.id)
        except ApxError as error:
            column.addWidget(pieces.label(str(error), "small", wrap=True))
            return
        column.addWidget(pieces.label(self._words("activity.request.help"), "small", wrap=True))
        for request in told["requests"][-1:]:
            for message in request["messages"]:
                content = message.get("content")
                text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
                role = self._words.known(f"activity.role.{message['role']}", message["role"])
                column.addWidget(pieces.label(role, "small"))
                column.addWidget(Code(text or json.dumps(message, ensure_ascii=False), LINES))
            names = [tool.get("function", {}).get("name", "") for tool in request["tools"]]
            if names:
                column.addWidget(pieces.label(self._words("activity.tools"), "small"))
                column.addWidget(Wrap(*(Chip(name) for name in names)))


class _Attempt(QWidget):
    """One request to a model: whom, how it went, and why it went on or stopped."""

    def __init__(self, row: Mapping[str, Any], words: Words) -> None:
        super().__init__()
        kind = str(row["class"])
        good = kind == "ok"
        chip = Chip(words.known(f"attempt.{kind}", kind), "accent" if good else "warn")
        seconds = took(float(row["seconds"])) if row.get("seconds") is not None else ""
        line = pieces.row(chip, gap=10)
        line.addWidget(pieces.Elided(str(row.get("target", "")), "strong"), 1)
        line.addWidget(pieces.label(seconds, "small"))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addLayout(line)
        if row.get("purpose") == "classify":
            column.addWidget(pieces.label(str(row.get("reason", "")), "small", wrap=True))
        elif not good:
            column.addWidget(pieces.label(_why(row, words), "small", wrap=True))


def _why(row: Mapping[str, Any], words: Words) -> str:
    reason = str(row.get("reason", "")).rstrip(".") + "."
    why = str(row.get("why", ""))
    if row.get("action") == "advance" or why in {"missing", "advance"}:
        return f"{reason} {words('activity.advanced')}"
    # The window has a place for what the terminal has a command for.
    if here := words.known(f"attempt.why.{why}", ""):
        return f"{reason} {here}"
    try:
        told = t(f"routing.why.{why}", words.lang, target=row.get("target", ""), next="", reason=reason)
    except KeyError:
        return reason
    return f"{reason} {told}"


def took(seconds: float) -> str:
    """How long it took, as exactly as it matters."""
    return f"{seconds:.1f} s" if seconds < 10 else when.span(round(seconds))
