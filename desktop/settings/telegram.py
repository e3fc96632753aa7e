"""The Telegram bot: its token, whose it is, and a message to see that it works.

Nobody becomes the owner by writing first: whoever does is shown here, and the person at this screen decides.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.errors import ApxError
from desktop import pieces
from desktop.pieces import Card, Chip
from desktop.settings.editors import Secret
from desktop.settings.form import Form, Row
from desktop.settings.plain import Now, Set, under
from desktop.settings.screen import Page, Trial
from desktop.slots import slot
from desktop.words import Words

TONES = {
    "online": "accent",
    "conflict": "danger",
    "unauthorized": "danger",
    "failed": "danger",
    "offline": "warn",
}


@dataclass(frozen=True, slots=True)
class Claim:
    """Somebody who wrote to a bot without an owner."""

    user_id: int
    user_name: str
    channel: str = "default"


class TelegramPage(Page):
    """`decide` makes the claimant the owner or refuses them; `attempt` sends a message and says how that went."""

    def __init__(
        self,
        words: Words,
        *,
        now: Now,
        change: Set,
        keep: Callable[[str], Awaitable[object]],
        decide: Callable[[Claim, bool], Awaitable[object]],
        attempt: Callable[[], Awaitable[str]],
    ) -> None:
        super().__init__(words)
        self._now, self._decide, self._attempt = now, decide, attempt
        self._claim: Claim | None = None
        self._state = ("", "")
        settings = now().telegram
        self.state = Chip()
        self.why = pieces.label(role="small", wrap=True)  # who else, and what to do: all of it is needed
        head = QWidget()
        column = QVBoxLayout(head)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(pieces.row(self.state, 1))
        column.addWidget(self.why)

        async def token(value: str) -> None:
            await keep(value)

        self.enabled = Form(words, settings, under("telegram", change), names=("enabled",))
        secret = Secret(words("settings.secret.show"), words("settings.secret.stored"))
        self.token = Row(words, "settings.telegram.token", secret, token)
        self.server = Form(words, settings, under("telegram", change), names=("api_base",))
        self.claim_card = self._claims()
        self.card(head, self.enabled, self.token)
        self.owner = pieces.label(wrap=True)
        self.trial = Trial(words, "settings.telegram.test", "send", self.test)
        self.card(
            self.owner, self.trial, title="settings.telegram.owner", help="settings.telegram.owner.help"
        )
        self.card(self.server)
        words.changed.connect(self.retitle)
        self.retitle()
        self.refresh()

    def _claims(self) -> Card:
        card = self.card()
        card.tone("warn")
        self.claimant = pieces.label(role="strong", wrap=True)
        self.claim_help = pieces.label(role="small", wrap=True)
        self.yes = pieces.button("primary", press=lambda: self.decide(True))
        self.no = pieces.button("danger", press=lambda: self.decide(False))
        card.column.addWidget(self.claimant)
        card.column.addWidget(self.claim_help)
        card.column.addLayout(pieces.row(self.yes, self.no, 1))
        card.hide()
        return card

    def retitle(self) -> None:
        said = self.words
        self.yes.setText(said("settings.telegram.confirm"))
        self.no.setText(said("settings.telegram.refuse"))
        self.claim_help.setText(said("settings.telegram.claim.help"))
        self.refresh()

    def claimed(self, claim: Claim | None) -> None:
        """Somebody asks to be the owner; or nobody does any more."""
        self._claim = claim
        self.claim_card.setVisible(claim is not None)
        if claim is not None:
            who = claim.user_name or str(claim.user_id)
            self.claimant.setText(self.words("settings.telegram.claim", name=who, id=claim.user_id))

    def tell(self, state: str, detail: str) -> None:
        """The channel's own word on how it is."""
        self._state = (state, detail)
        self.refresh()

    def refresh(self) -> None:
        settings = self._now().telegram
        channel = settings.channels[0] if settings.channels else None
        self.enabled.take(settings)
        self.server.take(settings)
        self.token.put(channel.bot_token if channel else "")
        if channel is not None and channel.owner_user_id:
            self.owner.setText(self.words("settings.telegram.owner.is", id=channel.owner_user_id))
        else:
            self.owner.setText(self.words("settings.telegram.owner.none"))
        self.trial.setEnabled(bool(channel and channel.owner_user_id and settings.enabled))
        state, detail = self._state
        if not settings.enabled:
            state, detail = "off", ""
        elif channel is None or not channel.bot_token:
            state, detail = "no_token", ""
        self.state.say(self.words(f"settings.telegram.state.{state or 'starting'}"), TONES.get(state, ""))
        self.why.setText(detail)
        self.why.setVisible(bool(detail))
        self.claimed(self._claim)

    @slot(bool)
    async def decide(self, yes: bool) -> None:
        """The owner's word on the claim."""
        claim = self._claim
        if claim is None:
            return
        self.claimed(None)
        try:
            await self._decide(claim, yes)
        except ApxError as error:
            self.claimed(claim)
            self.claim_help.setText(str(error))
        self.refresh()

    @slot()
    async def test(self) -> None:
        """One message to the owner, and its receipt."""
        if not self.trial.begin():
            return
        try:
            self.trial.end(await self._attempt())
        except ApxError as error:
            self.trial.end(str(error), wrong=True)
