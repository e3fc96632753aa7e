"""One conversation of a round: who, what they said, what was done about it, and how sure that is."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QVBoxLayout

from desktop import codes, pieces
from desktop.pieces import Avatar, Chip, Masked
from desktop.questions import Answer, Buttons
from desktop.records import Spoken, Talked
from desktop.words import Words

MOST_LINES = 4


def verdict(talked: Talked) -> tuple[str, str]:
    """The key of what was done, and the tone it has."""
    if talked.question is not None:
        return "done.asks", "warn"
    if talked.answered == "leave":
        return "done.left", "quiet"
    if talked.answered:
        return {
            "sent": ("done.answer_sent", "accent"),
            "unknown": ("done.unknown", "warn"),
            "rejected": ("done.answer_not_sent", "danger"),
            "not_sent": ("done.answer_not_sent", "danger"),
        }.get(talked.outcome, ("done.sending", "info"))
    match talked.decision:
        case "reply":
            return {
                "sent": ("done.sent", "accent"),
                "unknown": ("done.unknown", "warn"),
                "rejected": ("done.rejected", "danger"),
                "not_sent": ("done.not_sent", "danger"),
            }.get(talked.outcome, ("done.sending", "info"))
        case "ask_owner":
            return {
                "sent": ("done.asked_sent", "accent"),
                "unknown": ("done.unknown", "warn"),
                "rejected": ("done.rejected", "danger"),
            }.get(talked.outcome, ("done.asked", "quiet"))
        case "forward":
            return "done.forwarded", "info"
        case "leave":
            return "done.left", "quiet"
    return {
        "failed": ("done.failed", "danger"),
        "found": ("done.found", "quiet"),
        "read": ("done.read", "info"),
    }.get(talked.state, ("done.left", "quiet"))


def reason(kept: str, words: Words) -> str:
    """Why something was left, in words; a model's own reason is words already."""
    kind = kept.partition(":")[2] if kept.startswith("model:") else ""
    if kind:
        return words.known(f"model.{kind}", kept)
    return words.known(f"report.why.{kept}", words.known(kept, kept) if "." in kept else kept)


class TalkedRow(QFrame):
    """What a round did with one conversation; a decision that waits has its buttons here."""

    def __init__(self, talked: Talked, answer: Answer, words: Words) -> None:
        super().__init__()
        self.talked, self._words = talked, words
        column = QVBoxLayout()
        column.setSpacing(5)
        title = pieces.Elided(talked.title, "strong")
        title.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        title.setMinimumWidth(40)
        head = pieces.row(title, pieces.label(self._count(), "small"), 1, gap=6)
        column.addLayout(head)
        for spoken in self._shown():
            column.addWidget(self._line(spoken))
        if not talked.messages and talked.preview:
            column.addWidget(Masked(f"“{talked.preview}”", f"“{codes.mask(talked.preview)}”"))
        if not talked.complete:
            column.addWidget(pieces.label(words("done.incomplete"), "small", wrap=True))
        key, tone = verdict(talked)
        chips = [Chip(words(key), tone)]
        if talked.decided_by.startswith("practice:"):
            chips.append(Chip(words("done.practice")))
        done = pieces.row(*chips, gap=8)
        note = self._note()
        told = Masked(note, codes.mask(note))
        told.setProperty("role", "small")
        done.addWidget(told, 1)
        column.addLayout(done)
        if talked.question is not None:
            column.addWidget(self._asked(talked, answer))
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 12, 0, 12)
        line.setSpacing(14)
        line.addWidget(Avatar(talked.title), 0, Qt.AlignmentFlag.AlignTop)
        line.addLayout(column, 1)

    def _count(self) -> str:
        fresh = len([one for one in self.talked.messages if one.fresh and not one.mine])
        count = fresh or self.talked.unread or 0
        if not count:
            return ""
        return self._words("talked.one") if count == 1 else self._words("talked.many", n=count)

    def _shown(self) -> list[Spoken]:
        fresh = [one for one in self.talked.messages if one.fresh and not one.mine]
        return (fresh or [one for one in self.talked.messages if not one.mine])[-MOST_LINES:]

    def _line(self, spoken: Spoken) -> Masked:
        said = self._words
        if spoken.text and spoken.kind in {"", "text", "link"}:
            text = f"“{spoken.text}”"
        else:
            text = said.known(f"message.{spoken.kind}", said("message.other"))
            if spoken.seconds:
                text += f" {spoken.seconds // 60}:{spoken.seconds % 60:02d}"
            if spoken.text:
                text += f" “{spoken.text}”"
        group = self.talked.kind in {"group", "community"} and spoken.sender
        text = f"{spoken.sender}: {text}" if group else text
        return Masked(text, codes.mask(text))

    def _note(self) -> str:
        talked = self.talked
        if talked.question is not None:
            held = talked.outcome == "sent" and talked.said
            return self._words("done.held", text=talked.said) if held else ""
        if talked.outcome in {"rejected", "not_sent", "unknown"} and talked.outcome_why:
            return self._words.known(talked.outcome_why, talked.outcome_why)
        if talked.answered and talked.answered != "leave":
            return f"“{talked.answered}”"
        if talked.decision in {"reply", "ask_owner"} and talked.said:
            return f"“{talked.said}”"
        return reason(talked.reason, self._words)

    def _asked(self, talked: Talked, answer: Answer) -> QFrame:
        box = QFrame()
        column = QVBoxLayout(box)
        column.setContentsMargins(0, 2, 0, 0)
        column.setSpacing(6)
        question = talked.question
        assert question is not None
        if question.text:
            column.addWidget(pieces.label(question.text, wrap=True))
        if question.draft:
            column.addWidget(
                pieces.label(self._words("card.draft", draft=question.draft), "small", wrap=True)
            )
        column.addWidget(Buttons(question, answer, self._words))
        return box
