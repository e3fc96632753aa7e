"""The process that talks to model providers: JSON lines in, JSON lines out, and nothing else of the product.

The model library takes seconds to import and hundreds of megabytes, and a provider may hang. Here that costs nobody
anything: the app starts at once, and this process can be killed. The key in use arrives with each request and is
kept nowhere; errors leave here already without it. `core/runs/llm.py` is the only client.

In:   {"op": "complete", "id", "engine", "model", "messages", "tools", "stream", "timeout_s", ...}
      {"op": "embed", "id", "engine", "model", "texts", "timeout_s", ...}
      {"op": "cancel", "id"}
Out:  {"event": "ready"}, then for each id any number of "delta", and one "done" or "failed"
"""

import asyncio
import contextlib
import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from core.runs.failures import classify, detail, seconds
from core.runs.llm_plain import tell_as_stream

ENOUGH = 2  # requests for a stream that got none, before no more are made

Send = Callable[[dict[str, Any]], None]


class NoStream(Exception):
    """The server took a request for a stream and sent none."""


def _library() -> Any:
    """Import the model library, quiet and without its own network habits."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import logging

    import litellm

    litellm.telemetry = False
    litellm.drop_params = True
    litellm.num_retries = 0
    litellm.suppress_debug_info = True
    litellm.disable_streaming_logging = True
    litellm.turn_off_message_logging = True
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "httpx", "openai"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return litellm


def bases(url: str) -> list[str]:
    """The addresses a chat-completions server may mean by `url`, the likeliest first."""
    url = url.strip().rstrip("/").removesuffix("/chat/completions").rstrip("/")
    last = urlsplit(url).path.rstrip("/").rsplit("/", 1)[-1]
    if not urlsplit(url).path:
        return [f"{url}/v1", url]
    if last[:1] == "v" and last[1:2].isdigit():
        return [url, url.rsplit("/", 1)[0]]
    return [url, f"{url}/v1"]


class Completions:
    """Every request of this process; each is a task that can be cancelled."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._running: dict[str, asyncio.Task[None]] = {}
        self._library: Any = None
        self._http: Any = None
        self._loading = asyncio.Lock()
        self._base: dict[str, str] = {}  # what answered at a base_url
        self._streamless: Counter[str] = Counter()  # how often an engine, address and model sent no stream

    def take(self, line: bytes) -> None:
        """Start or stop what a line asks for."""
        message = json.loads(line)
        if message["op"] == "cancel":
            if task := self._running.get(message["id"]):
                task.cancel()
            return
        task = asyncio.create_task(self._ready() if message["op"] == "warm" else self._complete(message))
        self._running[message["id"]] = task
        task.add_done_callback(lambda _: self._running.pop(message["id"], None))

    async def close(self) -> None:
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ready(self) -> None:
        async with self._loading:
            if self._library is None:
                self._library = await asyncio.to_thread(_library)
                self._send({"event": "ready"})

    async def _complete(self, ask: dict[str, Any]) -> None:
        await self._ready()
        try:
            async with asyncio.timeout(ask["timeout_s"]):
                answer = await self._somewhere(ask)
        except TimeoutError:
            self._fail(ask, "timeout", f"no answer in {ask['timeout_s']:g} s", None)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001  the library raises whatever its many clients raise
            self._failed(ask, error)
        else:
            self._send({"event": "done", "id": ask["id"], **answer})

    def _failed(self, ask: dict[str, Any], error: Exception) -> None:
        error = getattr(error, "original_exception", None) or error
        status = getattr(error, "status_code", None)
        text = f"{error} {getattr(error, 'body', '') or ''}"
        headers = getattr(getattr(error, "response", None), "headers", None) or {}
        headers = headers or getattr(error, "litellm_response_headers", None) or {}
        pause = seconds(headers.get("retry-after"))
        names = {kind.__name__ for kind in type(error).__mro__}
        if "LiteLLMUnknownProvider" in names or "LLM Provider NOT provided" in text:
            kind = "not_found"
        elif names & {"Timeout", "APITimeoutError", "TimeoutException"}:
            kind = "timeout"
        elif "ContextWindowExceededError" in names:
            kind = "invalid"
        else:
            # The library gives a lost connection the status of a server's fault.
            lost = bool(_causes(error) & {"APIConnectionError", "TransportError", "ClientConnectionError"})
            code = status if isinstance(status, int) else None
            kind = classify(code, text, connection=lost, retry_after_s=pause)
        self._fail(ask, kind, str(error), pause)

    def _fail(self, ask: dict[str, Any], kind: str, words: str, retry_after_s: float | None) -> None:
        self._send(
            {
                "event": "failed",
                "id": ask["id"],
                "kind": kind,
                "detail": detail(words, ask.get("api_key") or ""),
                "retry_after_s": retry_after_s,
            }
        )

    async def _somewhere(self, ask: dict[str, Any]) -> dict[str, Any]:
        """Ask at the address that is meant: with and without `/v1`, as servers of this kind differ."""
        url, engine = ask.get("base_url") or "", ask["engine"]
        known = engine in {str(getattr(name, "value", name)) for name in self._library.provider_list}
        if url and not known:
            engine = "openai"
        if not url or engine != "openai":
            return await self._once(ask, engine, url)
        candidates = [self._base[url]] if url in self._base else bases(url)
        for place in candidates[:-1]:
            try:
                answer = await self._once(ask, engine, place)
            except self._library.NotFoundError as error:
                if "model" in str(getattr(error, "body", "") or "").lower():
                    raise  # the server is there; what it lacks is the model
                continue
            self._base[url] = place
            return answer
        answer = await self._once(ask, engine, candidates[-1])
        self._base[url] = candidates[-1]
        return answer

    async def _once(self, ask: dict[str, Any], engine: str, url: str) -> dict[str, Any]:
        options: dict[str, Any] = {
            "model": f"{engine}/{ask['model']}",
            "timeout": ask["timeout_s"],
            "api_key": ask.get("api_key") or ("none" if url else None),
            "num_retries": 0,
            "max_retries": 0,
        }
        if url:
            options["api_base"] = url
        if url and engine == "openai":
            options["client"] = self._client(url, options["api_key"])
        if ask["op"] == "embed":
            return await self._embedded(options, ask["texts"])
        options["messages"] = ask["messages"]
        for name in ("tools", "max_tokens", "temperature"):
            if ask.get(name) not in (None, []):
                options[name] = ask[name]
        name = f"{engine} {url} {ask['model']}"
        if ask["stream"] and self._streamless[name] < ENOUGH:
            try:
                return await self._streamed(ask["id"], options)
            except NoStream:
                self._streamless[name] += 1
            except self._library.BadRequestError as error:
                if "stream" not in str(error).lower():
                    raise
                self._streamless[name] = ENOUGH
        reply = await self._library.acompletion(**options, stream=False)
        answer = _whole(reply)
        if ask["stream"] and answer["text"]:
            self._send({"event": "delta", "id": ask["id"], "text": answer["text"]})
        return answer

    async def _embedded(self, options: dict[str, Any], texts: list[str]) -> dict[str, Any]:
        reply = await self._library.aembedding(**options, input=texts, encoding_format="float")
        rows = [one if isinstance(one, dict) else one.model_dump() for one in reply.data]
        vectors = [one["embedding"] for one in sorted(rows, key=lambda one: one["index"])]
        used = int(getattr(getattr(reply, "usage", None), "prompt_tokens", 0) or 0)
        return {"vectors": vectors, "tokens_in": used}

    def _client(self, url: str, key: str) -> Any:
        """A client for a server of unknown make; all of them share one pool of connections."""
        import openai

        if self._http is None:
            self._http = openai.DefaultAsyncHttpxClient(event_hooks={"response": [tell_as_stream]})
        return openai.AsyncOpenAI(api_key=key, base_url=url, max_retries=0, http_client=self._http)

    async def _streamed(self, id: str, options: dict[str, Any]) -> dict[str, Any]:
        stream = await self._library.acompletion(
            **options, stream=True, stream_options={"include_usage": True}
        )
        text, finish, usage = [], "", None
        calls: dict[int, dict[str, str]] = {}
        async for chunk in stream:
            usage = getattr(chunk, "usage", None) or usage
            if not chunk.choices:
                continue
            choice = chunk.choices[0]
            finish = choice.finish_reason or finish
            if piece := choice.delta.content:
                text.append(piece)
                self._send({"event": "delta", "id": id, "text": piece})
            for part in choice.delta.tool_calls or ():
                call = calls.setdefault(part.index or 0, {"id": "", "name": "", "args_json": ""})
                call["id"] = part.id or call["id"]
                call["name"] += part.function.name or ""
                call["args_json"] += part.function.arguments or ""
        if not text and not calls and not getattr(usage, "completion_tokens", 0):
            raise NoStream
        return _answer("".join(text), [calls[index] for index in sorted(calls)], usage, finish)


def _causes(error: BaseException) -> set[str]:
    """The class names of what led to an error, its own first-hand classes left out of the library's renaming."""
    names: set[str] = set()
    cause: BaseException | None = error
    while cause is not None:
        if not type(cause).__module__.startswith("litellm.exceptions") or not hasattr(cause, "status_code"):
            names |= {kind.__name__ for kind in type(cause).__mro__}
        cause = cause.__cause__ or cause.__context__
    return names


def _whole(reply: Any) -> dict[str, Any]:
    if not reply.choices:
        return _answer("", [], getattr(reply, "usage", None), "")
    message = reply.choices[0].message
    calls = [
        {"id": call.id or "", "name": call.function.name or "", "args_json": call.function.arguments or ""}
        for call in message.tool_calls or ()
    ]
    finish = reply.choices[0].finish_reason or ""
    return _answer(message.content or "", calls, getattr(reply, "usage", None), finish)


def _answer(text: str, calls: list[dict[str, str]], usage: Any, finish: str) -> dict[str, Any]:
    return {
        "text": text,
        "calls": calls,
        "tokens_in": int(getattr(usage, "prompt_tokens", 0) or 0),
        "tokens_out": int(getattr(usage, "completion_tokens", 0) or 0),
        "finish": finish,
    }


async def serve() -> None:
    """Answer until the input ends; whoever started this process ends it by closing the pipe."""
    # Whatever the library prints must not end up between the JSON lines.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)

    def send(message: dict[str, Any]) -> None:
        out.write(json.dumps(message, ensure_ascii=True).encode() + b"\n")

    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()

    def read() -> None:
        # A thread, because not every platform's loop can wait on an inherited pipe.
        for line in sys.stdin.buffer:
            loop.call_soon_threadsafe(lines.put_nowait, line)
        loop.call_soon_threadsafe(lines.put_nowait, None)

    threading.Thread(target=read, daemon=True, name="stdin").start()
    completions = Completions(send)
    while (line := await lines.get()) is not None:
        completions.take(line)
    await completions.close()


def main() -> None:
    """Serve, then leave at once: client sessions of the library have nothing worth waiting for."""
    with contextlib.suppress(AttributeError, OSError):
        os.nice(5)  # loading the library takes seconds of a processor that the window and the API need
    asyncio.run(serve())
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
