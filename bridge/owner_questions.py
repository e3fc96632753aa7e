"""Decisions that wait for the owner: asked once, answered once, wherever the first answer comes from.

An answer is delivered into the chat it was asked about, proven like any other send, and confirmed to the owner.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from bridge import journal
from bridge.carry import Carrier, Outcome
from bridge.handset import Handset
from bridge.journal import Conversation
from bridge.report import Question, sentence
from bridge.walk import known_as
from core.app import App
from core.errors import Invalid, NotFound, PhoneUnreachable, Refused
from core.events import QuestionAnswered, QuestionAsked
from core.message import Button, Message
from core.store import new_id, now
from core.texts import t

KIND = "question"
ANSWERS = ("send", "write", "leave")


class Questions:
    """The open decisions of a home's conversations."""

    def __init__(self, app: App, handset: Handset) -> None:
        self._app = app
        self._handset = handset
        self._deliveries: set[asyncio.Task[None]] = set()

    async def ask(self, chat: Conversation) -> str:
        """Open the question of a conversation; one that is open already stays the one."""
        store = self._app.store
        if row := await store.one("select id from questions where conversation_id = ?", chat.id):
            return str(row["id"])
        id = new_id("qst")
        # An older open question about the same chat is overtaken by this one.
        async with store.transaction() as db:
            await db.execute(
                "update questions set state = 'expired' where state = 'open' and conversation_id in"
                " (select id from conversations where title = ? and number = ?)",
                (chat.title, chat.number),
            )
            await db.execute(
                "insert into questions (id, kind, conversation_id, round_id, question, draft, asked_at)"
                " values (?, 'conversation', ?, ?, ?, ?, ?)",
                (
                    id,
                    chat.id,
                    chat.round_id,
                    chat.args.get("question", ""),
                    chat.args.get("draft", ""),
                    now(),
                ),
            )
        self._app.bus.emit(QuestionAsked(question_id=id))
        return id

    async def of_round(self, round_id: str) -> list[Question]:
        """The open questions of a round, in the order of its conversations."""
        rows = await self._app.store.all(
            "select q.id, q.conversation_id, q.question, q.draft from questions q join conversations c"
            " on c.id = q.conversation_id where q.round_id = ? and q.state = 'open' order by c.position",
            round_id,
        )
        return [Question(row["id"], row["conversation_id"], row["question"], row["draft"]) for row in rows]

    async def open_ones(self) -> list[dict[str, Any]]:
        """Every question that waits, oldest first, with the chat it is about."""
        rows = await self._app.store.all(
            "select q.*, c.title from questions q join conversations c on c.id = q.conversation_id"
            " where q.state = 'open' order by q.asked_at"
        )
        return [dict(row) for row in rows]

    async def title_of(self, id: str) -> str:
        """The chat that an open question is about; `Refused` when it is not open any more."""
        row = await self._app.store.one(
            "select q.state, c.title from questions q join conversations c on c.id = q.conversation_id"
            " where q.id = ?",
            id,
        )
        if row is None:
            raise NotFound(f"There is no question {id}.")
        if row["state"] != "open":
            raise Refused(t(f"question.{row['state']}", self._lang))
        return str(row["title"])

    def buttons(self, questions: Sequence[Question], lang: str) -> tuple[tuple[Button, ...], ...]:
        """One row of buttons for each question, numbered like the report."""
        rows = []
        for n, question in enumerate(questions, 1):
            choices = [one for one in ANSWERS if one != "send" or question.draft]
            rows.append(
                tuple(
                    Button(t(f"button.{one}", lang, n=n), KIND, {"question_id": question.id, "answer": one})
                    for one in choices
                )
            )
        return tuple(rows)

    async def answer(self, id: str, answer: str, *, text: str = "", by: str) -> None:
        """Take the owner's answer: the first one wins, and is on disk before anything is typed."""
        if answer not in ANSWERS:
            raise Invalid(f"The answers are {', '.join(ANSWERS)}.")
        store = self._app.store
        row = await store.one("select * from questions where id = ?", id)
        if row is None:
            raise NotFound(f"There is no question {id}.")
        said = {"send": row["draft"], "write": text.strip(), "leave": ""}[answer]
        if answer != "leave" and not said:
            raise Invalid("There is no text to send.")
        taken = await store.run(
            "update questions set state = 'answered', answer = ?, answered_by = ?, answered_at = ?"
            " where id = ? and state = 'open'",
            *(said or "leave", by, now(), id),
        )
        if not taken:
            raise Refused(t(f"question.{row['state'] if row['state'] != 'open' else 'answered'}", self._lang))
        self._app.bus.emit(QuestionAnswered(question_id=id, answer=answer))
        if said:
            task = asyncio.create_task(self._deliver(id, row["conversation_id"], said))
            self._deliveries.add(task)
            task.add_done_callback(self._deliveries.discard)

    @property
    def _lang(self) -> str:
        return self._app.identity.language

    async def _deliver(self, id: str, conversation_id: str, text: str) -> None:
        app = self._app
        chat = await journal.conversation(app.store, conversation_id)
        if chat is None:
            return
        try:
            async with self._handset.held(owner_wait_s=app.config.now.whatsapp.owner_wait_s) as hold:
                # The owner's own words: no guard, and what arrived meanwhile is theirs to judge.
                outcome = await Carrier(hold.whatsapp, app.store, app.outbox).send(
                    chat, known_as(chat), text, key=f"whatsapp:answer:{id}", anew=False
                )
        except PhoneUnreachable as error:
            outcome = Outcome("not_sent", f"phone.{error.state}")
        chat.outcome, chat.outcome_why = outcome.state, outcome.why
        await journal.done(app.store, chat)
        said = t(f"question.{outcome.state}", self._lang, title=chat.title, text=text,
                 why=sentence(outcome.why, self._lang))  # fmt: skip
        await app.outbox.post(
            Message(
                channel="telegram", text=said, markup=False, key=f"answer:{id}", origin={"question_id": id}
            )
        )

    async def resume(self) -> None:
        """Answers that were taken but not delivered before a stop are delivered now."""
        rows = await self._app.store.all(
            "select q.id, q.conversation_id, q.answer from questions q where q.state = 'answered' and"
            " q.kind = 'conversation' and q.answer != 'leave'"
            " and not exists (select 1 from outbox o where o.key = 'answer:' || q.id)"
        )
        for row in rows:
            await self._deliver(row["id"], row["conversation_id"], row["answer"])

    async def aclose(self) -> None:
        """Wait for deliveries that are under way: a half-typed answer is worse than a slow goodbye."""
        if self._deliveries:
            await asyncio.wait(self._deliveries, timeout=60)
        for task in self._deliveries:
            task.cancel()
