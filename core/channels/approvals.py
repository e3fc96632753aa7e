"""The owner's yes and no as a part of the app, and how a question reaches Telegram.

A question asked from Telegram goes there at once. One asked elsewhere goes there when nobody has answered it for a
moment: whoever sits in front of the window needs no message as well.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from core.channels import telegram_people
from core.channels.telegram import Connection, Telegram
from core.channels.telegram_wire import BotError
from core.errors import NotFound, Refused
from core.events import ApprovalDecided, ApprovalRequested
from core.message import Button, Message
from core.runs.approvals import Approvals, Pending
from core.texts import t

if TYPE_CHECKING:
    from core.app import App

log = logging.getLogger(__name__)

KIND = "approval"
UNANSWERED_S = 15.0
ARRIVES_S = 60.0


@asynccontextmanager
async def approvals(app: "App", *, unanswered_s: float = UNANSWERED_S) -> AsyncIterator[None]:
    """The part: runs can ask, `app.services[Approvals]` answers. After Telegram, before whoever shows questions."""
    asked = Approvals(app.store, app.bus, lang=lambda: app.identity.language)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(_OnTelegram(app, asked, unanswered_s).open())
        await stack.enter_async_context(asked.open())
        app.services[Approvals], app.runner.ask = asked, asked.request
        try:
            yield
        finally:
            app.runner.ask = None
            del app.services[Approvals]


class _OnTelegram:
    """Puts open questions into the owner's chat with buttons, and takes the buttons away once answered."""

    def __init__(self, app: "App", asked: Approvals, unanswered_s: float) -> None:
        self._app, self._asked, self._unanswered_s = app, asked, unanswered_s
        self._offers: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """While the block lasts; without Telegram nothing happens."""
        telegram: Telegram | None = self._app.services.get(Telegram)
        leave = [
            self._app.bus.subscribe(ApprovalRequested, self._requested),
            self._app.bus.subscribe(ApprovalDecided, self._decided),
            *([telegram.on_button(KIND, self._pressed)] if telegram else []),
        ]
        try:
            yield
        finally:
            for one in leave:
                one()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _requested(self, event: ApprovalRequested) -> None:
        self._offers[event.approval_id] = self._begin(self._offer(event.approval_id))

    def _decided(self, event: ApprovalDecided) -> None:
        if offer := self._offers.pop(event.approval_id, None):
            offer.cancel()
        self._begin(self._withdraw(event.approval_id))

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (bug := task.exception()):
            log.error("An approval could not be shown on Telegram", exc_info=bug)

    def _connection(self) -> Connection | None:
        """The bot whose owner is known: the first one, as everything that is not an answer to another."""
        telegram: Telegram | None = self._app.services.get(Telegram)
        for connection in telegram.connections.values() if telegram else ():
            return connection if telegram_people.owner_chat(connection.channel()) else None
        return None

    def _expected(self) -> bool:
        """The owner has a bot that knows them. Whether it is connected by now is the outbox's business."""
        telegram: Telegram | None = self._app.services.get(Telegram)
        if telegram is None or not self._app.config.now.telegram.enabled:
            return False
        return any(telegram_people.owner_chat(channel) for channel in telegram.channels()[:1])

    async def _offer(self, id: str) -> None:
        one = await self._asked.find(id)
        if one.channel != "telegram":
            await asyncio.sleep(self._unanswered_s)
            one = await self._asked.find(id)
        if one.state != "open" or not self._expected():
            return
        lang = self._app.identity.language
        await self._app.outbox.post(
            Message(
                channel="telegram",
                text=question(one, lang, self._app.identity.now.agent_name),
                buttons=(buttons(one, lang),),
                key=_key(id),
                origin={"run_id": one.run_id, "approval_id": id},
            )
        )

    async def _withdraw(self, id: str) -> None:
        sent = await self._app.outbox.find(_key(id))
        if sent is None:
            return
        sent = await self._app.outbox.wait(sent.id, ARRIVES_S)
        connection = self._connection()
        if sent.state != "delivered" or not sent.receipts or connection is None:
            return
        chat = telegram_people.owner_chat(connection.channel())
        try:
            await connection.line.call(
                "editMessageReplyMarkup", chat_id=chat, message_id=int(sent.receipts[-1])
            )
        except (BotError, ValueError) as error:
            # A press of an old button is answered with how it was decided.
            log.info("The buttons of approval %s stay: %s", id, error)

    async def _pressed(self, payload: Mapping[str, str], user_id: int) -> str:
        lang = self._app.identity.language
        try:
            one = await self._asked.decide(payload["approval_id"], payload["decision"], "telegram")
        except (Refused, NotFound) as error:
            return str(error)  # its buttons go away all the same
        return t(f"approval.done.{one.decision}", lang)


def _key(id: str) -> str:
    return f"approval:{id}"


def question(one: Pending, lang: str, agent: str) -> str:
    """The whole question as text: who asks, why it is asked, where it would run, and all of what would run."""
    lines = [
        t("approval.asks", lang, agent=one.agent or agent, tool=one.tool),
        one.shown,
        *(t("approval.warning", lang, text=warning) for warning in one.warnings),
        t("approval.where", lang, cwd=one.cwd) if one.cwd else "",
        one.why,
    ]
    return "\n\n".join(line for line in lines if line)


def buttons(one: Pending, lang: str) -> tuple[Button, ...]:
    """One button for each answer there is."""
    return tuple(
        Button(t(f"approval.button.{choice}", lang), KIND, {"approval_id": one.id, "decision": choice})
        for choice in one.choices
    )
