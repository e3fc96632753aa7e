"""Work that was handed to an agent, as one line of the conversation: waiting, waited, or in the background."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout

from desktop import pieces, when
from desktop.messages import Handed
from desktop.pieces import Chip, Press
from desktop.rows import TEXT_WIDTH, Row

TOOLS = frozenset({"call_agent", "send_to_agent"})
TONES = {
    "waiting": "info",
    "background": "info",
    "done": "accent",
    "failed": "danger",
    "timed_out": "danger",
    "lost": "warn",
    "refused": "warn",
}


def told(handed: Handed, ok: bool | None, background: bool) -> str:
    """The state that is shown: how the work ended where that is known, else how it was handed over."""
    if handed.ended:
        return handed.ended
    if ok is None:
        return "handing" if background else "waiting"
    return handed.state if ok else "refused"


class HandoverRow(Row):
    """Who works, and how that stands; pressing it opens what was asked and what came back."""

    def build(self) -> None:
        self.line = Press()
        inside = QHBoxLayout(self.line)
        inside.setContentsMargins(0, 2, 0, 2)
        inside.setSpacing(8)
        self.chip = Chip()
        self.text = pieces.Elided(role="small")
        inside.addWidget(self.chip)
        inside.addWidget(self.text, 1)
        self.line.clicked.connect(self.toggle)
        self.details = pieces.label(role="code", wrap=True)
        self.details.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.details.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 2, 0, 4)
        column.setSpacing(4)
        column.addWidget(pieces.at_most(self.line, TEXT_WIDTH))
        column.addWidget(pieces.at_most(self.details, TEXT_WIDTH))

    def show_entry(self) -> None:
        entry, said = self.entry, self.words
        handed = entry.handed or Handed("")
        state = told(handed, entry.ok, bool(entry.args.get("background")))
        self.chip.say(said(f"handed.{state}"), TONES.get(state, ""))
        facts = [handed.who]
        if state in {"waited", "no_result"} and entry.seconds >= 1:
            facts.append(when.span(round(entry.seconds)))
        message = " ".join(str(entry.args.get("message") or entry.args.get("prompt") or "").split())
        self.text.say(" · ".join(filter(None, [*facts, message])))
        pieces.name(self.line, f"{said(f'handed.{state}')}: {handed.who}. {message[:200]}")
        result = entry.result if len(entry.result) <= 4000 else entry.result[:4000] + "…"
        asked = str(entry.args.get("message") or entry.args.get("prompt") or "")
        self.details.setText(f"{asked}\n\n{result}".strip())

    def toggle(self) -> None:
        self.details.setVisible(self.details.isHidden())
