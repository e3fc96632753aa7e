"""The owner's decisions over Telegram: a press answers a question, and so do the words that follow "write another".

A question that was answered elsewhere loses its buttons here.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from bridge.owner_questions import KIND, Questions
from core.app import App
from core.channels.telegram import Telegram
from core.channels.telegram_buttons import Unsettled
from core.events import QuestionAnswered
from core.message import Message
from core.store import now
from core.texts import t

WRITING = "question.writing"
PATIENCE = timedelta(minutes=30)  # later words are for the assistant again


class OwnerTelegram:
    """Between Telegram's buttons and the questions."""

    def __init__(self, app: App, telegram: Telegram, questions: Questions) -> None:
        self._app = app
        self._telegram = telegram
        self._questions = questions
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Take presses and words until the block is left."""
        leave = (
            self._telegram.on_button(KIND, self.pressed),
            self._telegram.on_words(self.taken),
            self._app.bus.subscribe(QuestionAnswered, self._answered),
        )
        try:
            yield
        finally:
            for one in leave:
                one()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def pressed(self, payload: Mapping[str, str], user_id: int) -> str:
        """The toast for a press."""
        id, answer = payload["question_id"], payload["answer"]
        lang = self._app.identity.language
        if answer == "write":
            title = await self._questions.title_of(id)
            await self._wait_for(id)
            asked = t("question.write_to", lang, title=title)
            await self._app.outbox.post(
                Message(channel="telegram", text=asked, markup=False, origin={"question_id": id})
            )
            raise Unsettled(t("question.write", lang))
        await self._questions.answer(id, answer, by="telegram")
        return t("question.taken", lang)

    async def taken(self, text: str, user_id: int) -> str:
        """The owner's words, if a question waits for them: they are the answer. Empty if none does."""
        row = await self._app.store.one("select value from settings where key = ?", WRITING)
        if row is None:
            return ""
        waiting = json.loads(row["value"])
        await self._wait_for(None)
        if datetime.now(UTC) - datetime.fromisoformat(waiting["at"]) > PATIENCE:
            return ""
        await self._questions.answer(waiting["id"], "write", text=text, by="telegram")
        return t("question.taken", self._app.identity.language)

    async def _wait_for(self, id: str | None) -> None:
        if id is None:
            await self._app.store.run("delete from settings where key = ?", WRITING)
            return
        await self._app.store.run(
            "insert into settings (key, value) values (?, ?)"
            " on conflict (key) do update set value = excluded.value",
            *(WRITING, json.dumps({"id": id, "at": now()})),
        )

    def _answered(self, event: QuestionAnswered) -> None:
        task = asyncio.create_task(self._settle(event.question_id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _settle(self, id: str) -> None:
        """Nobody waits for words about it any more, and its buttons go."""
        await self._app.store.run(
            "delete from settings where key = ? and json_extract(value, '$.id') = ?", WRITING, id
        )
        await self._telegram.withdraw(KIND, "question_id", id)
