"""How WhatsApp is treated: rounds, quiet hours, how chats are read, and who is answered how."""

from typing import Any

from desktop.settings.form import Form, Row
from desktop.settings.people import People, QuietHours
from desktop.settings.plain import Now, Set, under
from desktop.settings.screen import Page
from desktop.words import Words

TREATMENT = ("posture",)
ROUNDS = ("enabled", "watch", "read", "archived")
NUMBERS = ("quiet_s", "cap_s", "max_chats", "max_messages")


class WhatsAppPage(Page):
    """Everything under `whatsapp` that is for people."""

    def __init__(self, words: Words, *, now: Now, change: Set) -> None:
        super().__init__(words)
        self._now = now
        settings, apply = now().whatsapp, under("whatsapp", change)
        self.forms = {
            names: Form(words, settings, apply, names=names) for names in (ROUNDS, TREATMENT, NUMBERS)
        }

        async def quiet(value: Any) -> None:
            await change("whatsapp.quiet_hours", value)

        async def contacts(value: Any) -> None:
            await change("whatsapp.contacts", value)

        self.quiet = Row(words, "settings.whatsapp.quiet_hours", QuietHours(words), quiet)
        self.people = Row(words, "settings.contacts", People(words), contacts)
        self.people.title.setProperty("role", "strong")
        self.card(self.forms[ROUNDS], self.quiet, title="settings.whatsapp")
        self.card(self.forms[TREATMENT], self.people)
        self.card(self.forms[NUMBERS], title="settings.whatsapp.pace")
        self.refresh()

    def refresh(self) -> None:
        settings = self._now().whatsapp
        for form in self.forms.values():
            form.take(settings)
        self.quiet.put(settings.quiet_hours)
        self.people.put(settings.contacts)
