"""Pressed buttons: every press is answered, and a button that means nothing any more goes away."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from core.channels import telegram_buttons
from core.channels.telegram_poll import Timing
from core.channels.telegram_update import Inbound
from core.channels.telegram_wire import Line, courtesy
from core.errors import ApxError
from core.message import OutcomeUnknown
from core.texts import t

if TYPE_CHECKING:
    from core.app import App

ButtonPress = Callable[[dict[str, str], int], Awaitable[str]]


class Presses:
    """The presses of one bot. `takers` says who takes a kind of button."""

    def __init__(
        self, app: "App", line: Line, timing: Timing, *, name: str, takers: Mapping[str, ButtonPress]
    ) -> None:
        self._app, self._line, self._timing = app, line, timing
        self._name, self._takers = name, takers

    async def refused(self, inbound: Inbound) -> None:
        """Somebody else pressed."""
        await self._toast(inbound, t("telegram.not_your_button", self._app.identity.language))

    async def foreign(self, inbound: Inbound) -> bool:
        """A button that is none of ours, put there by another program with this bot's token."""
        if telegram_buttons.ours(inbound.data) or not inbound.label:
            return False
        await self._toast(inbound, "")
        return True

    async def press(self, inbound: Inbound) -> None:
        """The owner pressed: whoever takes this kind of button decides what is said to it."""
        lang = self._app.identity.language
        assert inbound.user_id is not None
        pressed = await telegram_buttons.press(
            self._app.store,
            inbound.data,
            channel=self._name,
            chat=inbound.chat_id,
            user_id=inbound.user_id,
        )
        act = self._takers.get(pressed.kind) if pressed else None
        if pressed is None or act is None:
            await self._toast(inbound, t("telegram.expired", lang))
            await self._stale(inbound, pressed)
            return
        work = asyncio.ensure_future(act(pressed.payload, inbound.user_id))
        try:
            finished, _ = await asyncio.wait({work}, timeout=self._timing.press_s)
            if not finished:
                await self._toast(inbound, t("telegram.working", lang))
            try:
                text = await work
            except ApxError as error:
                text = str(error)
                if not isinstance(error, OutcomeUnknown):
                    await telegram_buttons.release(self._app.store, pressed)
                    pressed = None
        finally:
            work.cancel()
        if finished:
            await self._toast(inbound, text)
        if pressed:
            await self._without(inbound, pressed.message_id)

    async def redraw(self, chat: str, telegram_id: int, keyboard: dict[str, Any]) -> None:
        """Show the buttons that are left under a message; without any, the keyboard goes."""
        markup = {"reply_markup": keyboard} if keyboard["inline_keyboard"] else {}
        await courtesy(self._line, "editMessageReplyMarkup", chat_id=chat, message_id=telegram_id, **markup)

    async def _toast(self, inbound: Inbound, text: str) -> None:
        await courtesy(self._line, "answerCallbackQuery", callback_query_id=inbound.press_id, text=text[:200])

    async def _stale(self, inbound: Inbound, pressed: telegram_buttons.Pressed | None) -> None:
        """What is left of a message's buttons, after one of them turned out to mean nothing."""
        message_id = pressed.message_id if pressed else ""
        if not message_id:
            message_id = await telegram_buttons.message_of(
                self._app.store, inbound.data, channel=self._name, chat=inbound.chat_id
            )
        if message_id:
            await self._without(inbound, message_id)
        elif telegram_buttons.ours(inbound.data) and inbound.label:
            await self.redraw(inbound.chat_id, inbound.message_id, {"inline_keyboard": []})

    async def _without(self, inbound: Inbound, message_id: str) -> None:
        keyboard = await telegram_buttons.left(self._app.store, message_id)
        await self.redraw(inbound.chat_id, inbound.message_id, keyboard)
