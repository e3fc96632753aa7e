"""Meanings for the memory: asks the configured model for vectors, pays for them, and makes nobody wait.

Facts get theirs after they were written, in the background. A question gets its own while the words are looked up;
whoever looks decides how long that may take. What belongs to a local conversation is not sent elsewhere.
"""

import asyncio
import logging
from collections.abc import Sequence

from core.config import Config
from core.errors import ApxError, ModelUnavailable
from core.memory_broker import TOP, UNSET, Meant
from core.memory_vectors import Unread, Vectors
from core.runs import history
from core.runs.llm import Models
from core.runs.request import Reply, Request
from core.runs.router import Router
from core.runs.spending import Spending
from core.runs.targets import PRACTICE, parse
from core.runs.turn import Run, Status, Turn
from core.store import Store
from core.texts import t

log = logging.getLogger(__name__)

BATCH = 64
BATCH_S = 60.0
QUESTION_S = 5.0
QUESTION_CHARS = 2000
PURPOSE = "embed"
CHANNEL = "memory"


class Embeddings:
    """`meaning` is for the broker, `catch_up` for whoever keeps the memory fresh; `problem` is why it is behind."""

    def __init__(
        self, store: Store, config: Config, models: Models, router: Router, spending: Spending
    ) -> None:
        self._store, self._config, self._models = store, config, models
        self._router, self._spending = router, spending
        self._vectors = Vectors(store)
        self._catching_up = asyncio.Lock()
        self.problem = ""

    @property
    def model(self) -> str:
        """The configured model; empty where facts are found by their words alone."""
        model = self._config.now.memory.embeddings
        return "" if not model or parse(model).provider == PRACTICE else model

    async def status(self) -> dict[str, object]:
        """Whether facts are found by their meaning, and how far that has come."""
        model = self.model
        count = await self._vectors.count(model) if model else 0
        return {"model": model, "with_meaning": count, "problem": self.problem if model else ""}

    def _leaves(self, target: str) -> bool:
        """Whether what belongs to a conversation with this target would leave the machine."""
        return bool(target) and self._router.is_private(target) and not self._router.runs_here(self.model)

    async def meaning(self, run: Run) -> Meant:
        """The facts that are closest in meaning to a question; why not, where there are none to be had."""
        model = self.model
        if not model:
            return Meant(why=UNSET)
        if self._leaves(run.target):
            return Meant(why="local", model=model)
        try:
            (vector,) = await self._of(model, [run.turn.text[:QUESTION_CHARS]], run, QUESTION_S)
            return Meant(tuple(await self._vectors.nearest(model, vector, limit=TOP)), model=model)
        except ApxError as error:
            return Meant(why=error.kind if isinstance(error, ModelUnavailable) else error.code, model=model)

    async def catch_up(self) -> None:
        """Give every fact its vector that has none; what fails is said in the log and tried with the next news."""
        async with self._catching_up:
            await self._catch_up()

    async def _catch_up(self) -> None:
        if not (model := self.model):
            return
        waiting = [one for one in await self._vectors.missing(model) if not self._leaves(self._source(one))]
        try:
            if waiting:
                await self._models.configured(model)
            for start in range(0, len(waiting), BATCH):
                if self.model != model:
                    return
                await self._index(model, waiting[start : start + BATCH])
        except ApxError as error:
            self.problem = str(error)
            log.warning("Facts have no meaning yet and are found by their words: %s", error)
        else:
            self.problem = ""

    def _source(self, fact: Unread) -> str:
        """Whose conversation a fact is from: its run's model, else the one that the owner talks to."""
        return fact.target or self._config.now.super_agent.model or self._config.now.model

    async def _index(self, model: str, facts: Sequence[Unread]) -> None:
        """One request, with a run of its own so that it is seen and paid like any other."""
        turn = Turn(
            text=t("memory.indexed", self._config.now.user.language or "en", count=len(facts)),
            channel=CHANNEL,
            thread="",
            sender="owner",
            sealed=True,
        )
        run = await history.begin(self._store, turn)
        run.target = model
        try:
            vectors = await self._of(model, [one.text for one in facts], run, BATCH_S)
            await self._vectors.keep(model, zip((one.id for one in facts), vectors, strict=True))
            run.status, run.text = Status.DONE, turn.text
        except ApxError as error:
            run.status, run.text = Status.FAILED, str(error)
            run.error_kind = error.kind if isinstance(error, ModelUnavailable) else error.code
            raise
        finally:
            if run.status is Status.RUNNING:
                run.status = Status.CANCELLED
            await history.close(self._store, run)

    async def _of(self, model: str, texts: Sequence[str], run: Run, timeout_s: float) -> list[list[float]]:
        """The vectors of some texts, weighed against the caps before and paid after, like every request."""
        target, free = parse(model), self._router.is_free(model)
        lang = self._config.now.user.language or "en"
        request = Request(
            target=model,
            messages=[{"role": "user", "content": text} for text in texts],
            max_tokens=1,
            purpose=PURPOSE,
        )
        async with self._spending.allowed(run, request, target, free=free, unattended=True, lang=lang):
            found = await self._models.embed(model, texts, timeout_s=timeout_s)
            reply = Reply(tokens_in=found.tokens_in)
            await self._spending.cost(run, target, request, reply, free=free)
        return found.vectors
