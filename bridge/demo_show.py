"""What `apx demo` shows while it works and when it is done, made for a terminal."""

import textwrap
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from core.texts import t

if TYPE_CHECKING:
    from bridge.demo import Facts

WIDTH = 92
INDENT = "  "


class Show:
    """Prints as things happen; quiet when the answer is JSON."""

    def __init__(self, lang: str, *, quiet: bool = False) -> None:
        self.lang = lang
        self._quiet = quiet
        self._began = time.monotonic()
        self._walking = False

    def begin(self) -> None:
        """What is about to be seen."""
        self._say(click.style(t("demo.title", self.lang), bold=True))
        self._say(click.style(t("demo.about", self.lang), dim=True))
        self._say()

    def step(self, key: str, **values: Any) -> None:
        """Something is in its place."""
        shown = {
            name: f"{value:.1f}" if isinstance(value, float) else value for name, value in values.items()
        }
        self._line("•", t(f"demo.step.{key}", self.lang, **shown))

    def event(self, name: str, data: Mapping[str, Any]) -> None:
        """Something happened in the app."""
        if name == "round_started":
            self._line("•", t("demo.event.round_started", self.lang))
        elif name == "conversation_read":
            which = "one" if data["messages"] == 1 else "many"
            count = t(f"report.messages.{which}", self.lang, n=data["messages"])
            self._line(" ", f"{data['title']}: {count}")
        elif name == "conversation_decided" and data["outcome"] == "sent":
            self._line(" ", t("demo.event.sent", self.lang, title=data["title"]))
        elif name == "round_closed":
            self._line("•", t("demo.event.round_closed", self.lang))

    def facts(self, facts: "Facts") -> None:
        """What came of it, and whether all of it is true."""
        self._say()
        for text in facts.telegrams:
            self._framed("Telegram", text)
        self._say(click.style(t("demo.typed", self.lang), bold=True))
        for title, text in facts.typed:
            self._say(f"{INDENT}{title}: “{text}”")
        if not facts.typed:
            self._say(f"{INDENT}{t('demo.typed.nothing', self.lang)}")
        self._say()
        self._say(t(f"report.background.{'yes' if facts.in_background else 'no'}", self.lang))
        self._say()
        for name, holds in facts.checks.items():
            mark = click.style("✓", fg="green") if holds else click.style("✗", fg="red", bold=True)
            self._say(f"{mark} {t(f'demo.check.{name}', self.lang, n=len(facts.unread))}")
        for what in facts.violations:
            self._say(f"{INDENT}{what}")
        self._say()
        ended = "demo.ok" if facts.ok else "demo.failed"
        self._say(t(ended, self.lang, seconds=f"{facts.seconds:.0f}"))

    def leave(self) -> None:
        """How a window that stays is left."""
        self._say(click.style(t("demo.window", self.lang), dim=True))

    def _framed(self, title: str, text: str) -> None:
        edge = click.style("│", fg="cyan")
        self._say(click.style(f"╭─ {title} " + "─" * (WIDTH - len(title) - 4), fg="cyan"))
        for line in text.split("\n"):
            depth = len(line) - len(line.lstrip())
            for piece in textwrap.wrap(line, WIDTH - 2, subsequent_indent=" " * (depth + 2)) or [""]:
                self._say(f"{edge} {piece}".rstrip())
        self._say(click.style("╰" + "─" * (WIDTH - 1), fg="cyan"))
        self._say()

    def _line(self, mark: str, text: str) -> None:
        at = click.style(f"{time.monotonic() - self._began:5.1f} s", dim=True)
        self._say(f"{at}  {mark} {text}")

    def _say(self, text: str = "") -> None:
        if not self._quiet:
            click.echo(text)


def as_json(facts: "Facts") -> dict[str, Any]:
    """The same for programs."""
    return {
        "ok": facts.ok,
        "checks": facts.checks,
        "seconds": round(facts.seconds, 1),
        "unread": facts.unread,
        "telegrams": facts.telegrams,
        "typed": [{"chat": title, "text": text} for title, text in facts.typed],
        "in_background": facts.in_background,
        "violations": facts.violations,
        "round": {name: facts.round.get(name) for name in ("id", "state", "started_at", "closed_at")},
    }
