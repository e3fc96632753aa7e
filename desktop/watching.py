"""Whether the phone itself tells of new messages: one switch, and how it stands."""

from collections.abc import Awaitable, Callable
from typing import Any

from desktop import pieces
from desktop.pieces import Card, Chip
from desktop.settings.editors import Switch
from desktop.settings.form import Row
from desktop.words import Words

TONES = {"online": "accent", "offline": "warn"}

State = Callable[[], tuple[str, str]]


class WatchCard(Card):
    """`state` answers off, offline or online, and why; `change` writes a setting."""

    def __init__(
        self,
        words: Words,
        *,
        on: Callable[[], bool],
        change: Callable[[str, Any], Awaitable[object]],
        state: State,
    ) -> None:
        super().__init__(gap=10)
        self._words, self._on, self._state = words, on, state

        async def take(value: Any) -> None:
            await change("whatsapp.watch", value)

        self.row = Row(words, "settings.whatsapp.watch", Switch(), take, side=True)
        self.chip = Chip()
        self.why = pieces.label(role="small", wrap=True)
        line = pieces.row(self.chip, gap=10)
        line.addWidget(self.why, 1)
        self.column.addWidget(self.row)
        self.column.addLayout(line)
        words.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the setting and what came of it."""
        said = self._words
        self.row.put(self._on())
        state, why = self._state()
        shown = self._on() and state != "off"
        self.chip.setVisible(shown)
        self.why.setVisible(shown)
        if shown:
            self.chip.say(said(f"watching.{state}"), TONES[state])
            text = said("watching.online.why") if state == "online" else said.known(f"phone.{why}.short", why)
            self.why.setText(text[:1].upper() + text[1:])
