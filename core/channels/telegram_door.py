"""Whoever is not the owner: one sentence for them, one line for the owner, and a claim that only the app can accept."""

from typing import TYPE_CHECKING

from core.channels import telegram_people
from core.channels.telegram_people import Claim
from core.channels.telegram_update import Inbound
from core.events import OwnerClaimed, StrangerRefused
from core.message import Message
from core.settings import Channel
from core.texts import t

if TYPE_CHECKING:
    from core.app import App


class Door:
    """The entrance of one bot. Nothing that a stranger sends is read or fetched."""

    def __init__(self, app: "App", name: str) -> None:
        self._app, self._name = app, name

    async def claim(self, inbound: Inbound, channel: Channel, key: str) -> None:
        """Nobody owns the bot: whoever writes in private is proposed, and decides nothing by it."""
        assert inbound.user_id is not None
        store, claim = self._app.store, await telegram_people.claim_of(self._app.store, self._name)
        declined = claim is not None and claim.state == "declined" and claim.user_id == inbound.user_id
        if declined or (claim is not None and claim.state == "open" and claim.user_id != inbound.user_id):
            return await self.refuse(inbound, channel, key)
        if claim is None or claim.user_id != inbound.user_id:
            claim = Claim(inbound.user_id, inbound.name, inbound.chat_id)
            await telegram_people.keep_claim(store, self._name, claim)
            await self._say(inbound, "telegram.claimed", key)
            self._app.bus.emit(
                OwnerClaimed(channel=self._name, user_id=inbound.user_id, user_name=inbound.name)
            )
        return None

    async def refuse(self, inbound: Inbound, channel: Channel, key: str) -> None:
        """Once per person: a sentence to them, a line to the owner."""
        assert inbound.user_id is not None
        if await telegram_people.first_refusal(self._app.store, self._name, inbound.user_id, inbound.name):
            await self._say(inbound, "telegram.not_for_you", key)
            self._app.bus.emit(
                StrangerRefused(channel=self._name, user_id=inbound.user_id, user_name=inbound.name)
            )
            told = f"telegram/stranger/{self._name}/{inbound.user_id}"
            await self.tell_owner(channel, "telegram.stranger", told, name=inbound.name, id=inbound.user_id)

    async def tell_owner(self, channel: Channel, text_key: str, key: str, **values: object) -> None:
        """A sentence of ours for the owner, if there is one."""
        if telegram_people.owner_chat(channel):
            text = t(text_key, self._app.identity.language, **values)
            await self._app.outbox.post(Message(channel=f"telegram:{self._name}", text=text, key=key))

    async def _say(self, inbound: Inbound, text_key: str, key: str) -> None:
        text = t(text_key, self._app.identity.language, name=self._app.identity.now.agent_name)
        channel = f"telegram:{self._name}"
        await self._app.outbox.post(Message(channel=channel, to=inbound.chat_id, text=text, key=key))
