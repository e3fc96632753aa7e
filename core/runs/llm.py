"""The only client of the model worker: starts it when it is needed, ends it when it is not, survives its death."""

import asyncio
import contextlib
import itertools
import json
import logging
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.config import Config
from core.errors import Invalid, ModelUnavailable, NotConfigured
from core.paths import PACKAGE
from core.runs import practice
from core.runs.failures import redact
from core.runs.request import Embedded, Reply, Request, ToolCall
from core.runs.targets import KEYED, PRACTICE, Target, key_variable, parse
from core.texts import system_language, t

log = logging.getLogger(__name__)

Say = Callable[[str], None]

START_S = 60.0  # the import of the model library on a busy machine
GRACE_S = 5.0  # after a request's own deadline, before the process counts as hung
MAX_LINE = 64 * 1024 * 1024

# The worker is given the machine's settings, and no variable that could hold a secret or redirect a request.
_PASSED = re.compile(
    r"(PATH|HOME|LANG|LC_\w+|TZ|TMPDIR|TEMP|TMP|SYSTEMROOT|APPDATA|LOCALAPPDATA|USERPROFILE|LD_LIBRARY_PATH"
    r"|VIRTUAL_ENV|PYTHON\w+|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|(https?|all|no)_proxy)",
    re.IGNORECASE,
)


class WorkerGone(Exception):
    """The process ended, or was ended, while a request was in it."""


@dataclass(slots=True)
class _Pending:
    say: Say | None
    answer: asyncio.Future[dict[str, Any]]
    said: bool = False


@dataclass(slots=True)
class _Worker:
    """One living process and the requests inside it."""

    process: asyncio.subprocess.Process
    pending: dict[str, _Pending] = field(default_factory=dict)
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    ending: bool = False
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    last_words: deque[str] = field(default_factory=lambda: deque(maxlen=20))

    def tell(self, message: Mapping[str, Any]) -> None:
        if self.process.stdin is None or self.process.stdin.is_closing():
            raise WorkerGone
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    async def listen(self) -> None:
        """Hand every line to the request it belongs to, until the process ends."""
        assert self.process.stdout is not None
        try:
            async for line in self.process.stdout:
                self._take(json.loads(line))
        finally:
            self.ending = True
            for one in self.pending.values():
                if not one.answer.done():
                    one.answer.set_exception(WorkerGone())
            self.ready.set()

    def _take(self, message: dict[str, Any]) -> None:
        if message["event"] == "ready":
            self.ready.set()
            return
        one = self.pending.get(message["id"])
        if one is None or one.answer.done():
            return  # cancelled meanwhile
        if message["event"] == "delta":
            one.said = True
            if one.say:
                one.say(message["text"])
        else:
            one.answer.set_result(message)

    async def overhear(self) -> None:
        """Keep the last lines of the error stream, so that a crash can be told from a death by our hand."""
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            self.last_words.append(redact(line.decode(errors="replace").rstrip()))

    def kill(self) -> None:
        self.ending = True
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    def dismiss(self) -> None:
        """Let it end by itself: it leaves when its input closes."""
        self.ending = True
        if self.process.stdin:
            self.process.stdin.close()

    async def gone(self) -> None:
        code = await self.process.wait()
        await asyncio.gather(*self.tasks)
        if code not in (0, -9) and self.last_words:
            log.warning("The model process ended with code %s: %s", code, " | ".join(self.last_words))


class Models:
    """Asks models, one request at a time or many; whatever fails there is a `ModelUnavailable` here."""

    def __init__(
        self,
        config: Config,
        *,
        idle_s: float = 300.0,
        command: Sequence[str] = (sys.executable, "-m", "core.runs.llm_worker"),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._config = config
        self._idle_s = idle_s
        self._command = tuple(command)
        self._environment = os.environ if environment is None else environment
        self._worker: _Worker | None = None
        self._starting = asyncio.Lock()
        self._numbers = itertools.count(1)
        self._idle: asyncio.TimerHandle | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        self._closed = False
        self.last_failure: dict[str, str] = {}  # target -> kind, until it answers again

    @property
    def status(self) -> str:
        """How the worker stands: off, starting, ready, or busy."""
        if self._worker is None or self._worker.ending:
            return "off"
        if not self._worker.ready.is_set():
            return "starting"
        return "busy" if self._worker.pending else "ready"

    @property
    def pid(self) -> int | None:
        """The worker's process, while there is one."""
        return self._worker.process.pid if self._worker and not self._worker.ending else None

    async def complete(self, request: Request, say: Say | None = None) -> Reply:
        """One answer of one model; pieces of its text go to `say` as they arrive when the request streams."""
        target = parse(request.target)
        if target.provider == PRACTICE:
            return practice.complete(request, say)
        body = {
            "op": "complete",
            "messages": request.messages,
            "tools": request.tools,
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "stream": request.stream,
            "timeout_s": request.timeout_s,
        }
        answer = await self._ask(body, target, self._language(request), say)
        calls = [ToolCall(**call) for call in answer["calls"]]
        return Reply(answer["text"], calls, answer["tokens_in"], answer["tokens_out"], answer["finish"])

    async def embed(self, target: str, texts: Sequence[str], *, timeout_s: float, lang: str = "") -> Embedded:
        """The vectors of some texts, in their order."""
        lang = lang or self._config.now.user.language or system_language()
        body = {"op": "embed", "texts": list(texts), "timeout_s": timeout_s}
        answer = await self._ask(body, parse(target), lang, None)
        if len(answer["vectors"]) != len(texts):
            raise _failure(parse(target), lang, "invalid", "")
        return Embedded(answer["vectors"], answer["tokens_in"])

    async def configured(self, target: str, lang: str = "") -> None:
        """`NotConfigured` when what a target needs is not there. Asks nobody."""
        one = parse(target)
        if one.provider != PRACTICE:
            await self._engine(one, lang or self._config.now.user.language or system_language())

    async def warm(self, target: str) -> None:
        """Have the process of this model loaded, so that no answer's time is spent on that. Failing is quiet."""
        with contextlib.suppress(
            WorkerGone, TimeoutError, OSError, Invalid
        ):  # the request itself says what is wrong
            if parse(target).provider == PRACTICE:
                return
            worker = await self._living()
            try:
                worker.tell({"op": "warm", "id": f"q{next(self._numbers)}"})
                async with asyncio.timeout(START_S):
                    await worker.ready.wait()
            finally:
                self._rest(worker)

    async def test(self, target: str, lang: str = "") -> str:
        """A tiny request, for a button: the sentence that says it worked, or `ModelUnavailable`."""
        hello = [{"role": "user", "content": "Answer with the one word: ready"}]
        request = Request(
            target=target, messages=hello, max_tokens=64, timeout_s=30, purpose="test", lang=lang
        )
        await self.complete(request)
        return t("model.answers", self._language(request), target=str(parse(target)))

    async def aclose(self) -> None:
        """End the worker and everything in it."""
        self._closed = True
        if self._idle:
            self._idle.cancel()
        if worker := self._worker:
            self._worker = None
            worker.dismiss()
            try:
                async with asyncio.timeout(2):
                    await worker.process.wait()
            except TimeoutError:
                worker.kill()
            await worker.gone()
        if self._leaving:
            await asyncio.gather(*self._leaving)

    def _language(self, request: Request) -> str:
        return request.lang or self._config.now.user.language or system_language()

    async def _engine(self, target: Target, lang: str) -> dict[str, str]:
        """The key and address of a provider: the configuration's, else the environment's."""
        engine = self._config.now.engines.get(target.provider)
        base_url = engine.base_url if engine else ""
        key = await self._config.secret(engine.api_key) if engine and engine.api_key else ""
        key = key or self._environment.get(key_variable(target.provider), "")
        if not key and not base_url and target.engine in KEYED:
            raise NotConfigured(t("model.no_key", lang, provider=target.provider))
        if not base_url and target.provider.startswith("custom:"):
            raise NotConfigured(t("model.no_address", lang, provider=target.provider))
        return {"api_key": key, "base_url": base_url}

    async def _ask(self, ask: dict[str, Any], target: Target, lang: str, say: Say | None) -> dict[str, Any]:
        """What the process answers, or `ModelUnavailable`, which is remembered until this model answers again."""
        body = ask | {"engine": target.engine, "model": target.model} | await self._engine(target, lang)
        try:
            answer = await self._asked(body, target, lang, say)
            if answer["event"] == "failed":
                raise _failure(target, lang, answer["kind"], answer["detail"], answer["retry_after_s"])
        except ModelUnavailable as error:
            self.last_failure[str(target)] = error.kind
            raise
        self.last_failure.pop(str(target), None)
        return answer

    async def _asked(
        self, body: dict[str, Any], target: Target, lang: str, say: Say | None
    ) -> dict[str, Any]:
        for last in (False, True):
            one = _Pending(say, asyncio.get_running_loop().create_future())
            try:
                return await self._through(await self._living(), one, body)
            except WorkerGone:
                # Another request may have made us kill it. What has said nothing yet can simply be asked again.
                if last or one.said or self._closed:
                    raise _failure(target, lang, "server", t("model.worker_gone", lang)) from None
        raise AssertionError("unreachable")

    async def _through(self, worker: _Worker, one: _Pending, body: dict[str, Any]) -> dict[str, Any]:
        """Put one request through a process that may die or hang; a hung one is killed, with whatever is in it."""
        id = f"q{next(self._numbers)}"
        worker.pending[id] = one
        try:
            worker.tell({**body, "id": id})
            async with asyncio.timeout(START_S):
                await worker.ready.wait()
            async with asyncio.timeout(body["timeout_s"] + GRACE_S):
                return await one.answer
        except TimeoutError:
            worker.kill()
            return {"event": "failed", "kind": "timeout", "detail": "", "retry_after_s": None}
        except asyncio.CancelledError:
            with contextlib.suppress(WorkerGone):
                worker.tell({"op": "cancel", "id": id})
            raise
        finally:
            one.answer.cancel()
            del worker.pending[id]
            self._rest(worker)

    async def _living(self) -> _Worker:
        async with self._starting:
            if self._closed:
                raise WorkerGone
            if self._worker is None or self._worker.ending:
                self._worker = await self._start()
            if self._idle:
                self._idle.cancel()
                self._idle = None
            return self._worker

    async def _start(self) -> _Worker:
        given = {name: value for name, value in self._environment.items() if _PASSED.fullmatch(name)}
        given["PYTHONPATH"] = os.pathsep.join(filter(None, (str(PACKAGE.parent), given.get("PYTHONPATH"))))
        given["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=MAX_LINE,
            env=given,
        )
        worker = _Worker(process)
        worker.tasks = [asyncio.create_task(worker.listen()), asyncio.create_task(worker.overhear())]
        leaving = asyncio.create_task(worker.gone())
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)
        return worker

    def _rest(self, worker: _Worker) -> None:
        """Nothing is asked any more: end the process after a while."""
        if worker.pending or worker.ending or worker is not self._worker or self._closed:
            return
        if self._idle:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(self._idle_s, worker.dismiss)


def _failure(
    target: Target, lang: str, kind: str, words: str, retry_after_s: float | None = None
) -> ModelUnavailable:
    sentence = t(f"model.failed.{kind}", lang, target=str(target), provider=target.provider)
    return ModelUnavailable(kind, f"{sentence} ({words})" if words else sentence, retry_after_s=retry_after_s)
