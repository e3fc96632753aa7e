"""A stand-in for a provider with the chat-completions interface: real HTTP on loopback, scripted, and it remembers.

    async with OpenAIServer() as server:
        server.next(Answer("hello"), Answer(calls=[("leave", {"reason": "spam"})]), fault("rate_limit", retry_after=2))
        ... engines.<name>.base_url = server.url

Written on a bare socket, because the faults worth testing are those that a web framework does not let happen.
"""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

_STATUS = {
    "auth": (401, "Incorrect API key provided: {key}. Find your key in your account."),
    "permission": (403, "This project has no access to the model."),
    "not_found": (404, "The model does not exist."),
    "invalid": (400, "Unknown parameter."),
    "rate_limit": (429, "Rate limit reached for requests."),
    "quota": (429, "You exceeded your current quota, please check your plan and billing details."),
    "concurrency": (429, "concurrency_limit_exceeded: too many requests at once."),
    "quota_minute": (429, "Quota exceeded for metric requests, limit: 10 per minute."),
    "passing_quota": (429, "You exceeded your current quota. Please retry later."),
    "server": (500, "The server had an error."),
    "overloaded": (503, "The engine is currently overloaded."),
}


@dataclass(frozen=True)
class Answer:
    """`fault`: a key of the table above, or hang, cut (mid-stream), cut_call (after a call), not_json, closed."""

    text: str = ""
    calls: Sequence[tuple[str, Any]] = ()
    fault: str = ""
    retry_after: float | None = None
    code: Any = None  # of a fault; some providers write a number
    finish: str = ""
    tokens: tuple[int, int] = (11, 7)
    plain: bool = False  # answers plain JSON even when a stream was asked for
    refuses_stream: bool = False  # answers 400 to a request for a stream
    usage: bool = True


def fault(kind: str, **more: Any) -> Answer:
    return Answer(text=more.pop("text", "Half a sen"), fault=kind, **more)


@dataclass
class Seen:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def tools(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.body.get("tools", ())]


@dataclass
class OpenAIServer:
    """`prefix` is where the interface is served; a request elsewhere gets a 404 as a web server gives it."""

    prefix: str = "/v1"
    default: Callable[[dict[str, Any]], Answer] = lambda body: Answer("ready")
    requests: list[Seen] = field(default_factory=list)
    # The vectors of texts, and what becomes of a request for them; those are remembered apart.
    meaning: Callable[[str], Sequence[float]] = lambda text: [1.0, float(len(text)), -1.0]
    embeds: Callable[[dict[str, Any]], Answer] = lambda body: Answer()
    embedded: list[Seen] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)  # somebody gave up on a hanging request
    _answers: deque[Answer] = field(default_factory=deque)
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    async def __aenter__(self) -> "OpenAIServer":
        self._server = await asyncio.start_server(self._client, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return self.root + self.prefix

    def next(self, *answers: Answer) -> None:
        """The next requests get these, in order; after them the default."""
        self._answers.extend(answers)

    def reset(self) -> None:
        self._answers.clear()
        self.requests.clear()
        self.arrived.clear()
        self.left.clear()
        self.default = lambda body: Answer("ready")

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.split("\r\n")
        path = first.split(" ")[1]
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines if line)}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))) or "{}")
        if path == f"{self.prefix}/embeddings":
            self.embedded.append(Seen(path, headers, body))
            answer = self.embeds(body)
            if answer.fault:
                return await self._answer(reader, writer, answer, headers, body)
            await self._send(writer, 200, "application/json", json.dumps(self._vectors(body)).encode())
            return True
        if path != f"{self.prefix}/chat/completions":
            await self._send(writer, 404, "text/html", b"<h1>Not Found</h1>")
            return True
        self.requests.append(Seen(path, headers, body))
        answer = self._answers.popleft() if self._answers else self.default(body)
        self.arrived.set()
        return await self._answer(reader, writer, answer, headers, body)

    def _vectors(self, body: dict[str, Any]) -> dict[str, Any]:
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        data = [
            {"object": "embedding", "index": n, "embedding": list(self.meaning(text))}
            for n, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": 3 * len(texts), "total_tokens": 3 * len(texts)}
        return {"object": "list", "model": body["model"], "data": data[::-1], "usage": usage}

    async def _answer(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answer: Answer,
        headers: dict[str, str],
        body: dict[str, Any],
    ) -> bool:
        if answer.fault == "hang":
            await reader.read(1)  # until the other side gives up
            self.left.set()
            return False
        if answer.fault == "closed":
            return False
        if answer.fault == "not_json":
            await self._send(writer, 200, "application/json", b"{oops")
            return True
        if answer.fault in _STATUS:
            status, words = _STATUS[answer.fault]
            key = headers.get("authorization", "").removeprefix("Bearer ")
            error = {"error": {"message": words.format(key=key), "type": answer.fault, "code": answer.code}}
            if answer.fault == "quota":
                error["error"]["code"] = "insufficient_quota"
            more = {} if answer.retry_after is None else {"Retry-After": f"{answer.retry_after:g}"}
            await self._send(writer, status, "application/json", json.dumps(error).encode(), more)
            return True
        if answer.refuses_stream and body.get("stream"):
            error = {"error": {"message": "stream is not supported", "type": "invalid_request_error"}}
            await self._send(writer, 400, "application/json", json.dumps(error).encode())
            self._answers.appendleft(answer)
            return True
        if body.get("stream") and not answer.plain:
            return await self._stream(writer, answer, body)
        await self._send(writer, 200, "application/json", json.dumps(_whole(answer, body)).encode())
        return True

    async def _send(
        self,
        writer: asyncio.StreamWriter,
        status: int,
        kind: str,
        body: bytes,
        more: dict[str, str] | None = None,
    ) -> None:
        lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in (more or {}).items()]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await writer.drain()

    async def _stream(self, writer: asyncio.StreamWriter, answer: Answer, body: dict[str, Any]) -> bool:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for piece in _pieces(answer, body):
            if answer.fault == "cut_call" and piece["choices"] and piece["choices"][0]["finish_reason"]:
                return False  # the call is there as a whole, the end of the answer is not
            data = b"data: " + json.dumps(piece).encode() + b"\n\n"
            writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            await writer.drain()
            if answer.fault == "cut" and piece["choices"] and piece["choices"][0]["delta"].get("content"):
                return False  # no end of the chunks: the other side sees the connection break
        done = b"data: [DONE]\n\n"
        writer.write(f"{len(done):x}\r\n".encode() + done + b"\r\n0\r\n\r\n")
        await writer.drain()
        return True


def _arguments(args: Any) -> str:
    return args if isinstance(args, str) else json.dumps(args)


def _finish(answer: Answer) -> str:
    return answer.finish or ("tool_calls" if answer.calls else "stop")


def _usage(answer: Answer) -> dict[str, int]:
    return {
        "prompt_tokens": answer.tokens[0],
        "completion_tokens": answer.tokens[1],
        "total_tokens": sum(answer.tokens),
    }


def _whole(answer: Answer, body: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": _arguments(args)}}
            for n, (name, args) in enumerate(answer.calls)
        ]
    whole: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": body.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": _finish(answer)}],
    }
    return whole | ({"usage": _usage(answer)} if answer.usage else {})


def _pieces(answer: Answer, body: dict[str, Any]) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": answer.text[at : at + 4]} for at in range(0, len(answer.text), 4)]
    for n, (name, args) in enumerate(answer.calls):
        text = _arguments(args)
        function = {"name": name, "arguments": ""}
        deltas.append(
            {"tool_calls": [{"index": n, "id": f"call_{n}", "type": "function", "function": function}]}
        )
        for at in range(0, len(text), 5):
            deltas.append({"tool_calls": [{"index": n, "function": {"arguments": text[at : at + 5]}}]})
    shape = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body.get("model")}
    pieces = [{**shape, "choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas]
    pieces.append({**shape, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(answer)}]})
    if answer.usage and (body.get("stream_options") or {}).get("include_usage"):
        pieces.append({**shape, "choices": [], "usage": _usage(answer)})
    return pieces
