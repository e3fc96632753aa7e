"""The way to the app: over HTTP to the one that runs, or opened here for one command when none does.

Address and token are read again on every attempt, because both may have changed since the last one.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx

from core.cli.words import say
from core.errors import AlreadyRunning, ApxError, NotFound
from core.paths import Home

PATIENCE_S = 10.0
ANSWER_S = 120.0
# Loopback without TLS: no proxy of the environment, and no certificates to load.
PLAIN: Any = {"trust_env": False, "verify": False}


class ApiFailed(ApxError):
    """The app said no; the sentence is its own."""

    def __init__(self, sentence: str, *, code: str, status: int, fields: Sequence[str] = ()) -> None:
        super().__init__(sentence)
        self.code = code
        self.status = status
        self.fields = tuple(fields)


def running(home: Home) -> tuple[int, int] | None:
    """Process and port of the app that says it answers; whether it does is another question."""
    try:
        here = json.loads(home.daemon.read_text(encoding="utf-8"))
        pid, port = int(here["pid"]), int(here["port"])
        os.kill(pid, 0)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return pid, port


async def health(port: int) -> dict[str, Any] | None:
    """What answers on that port, if it is the app. No token goes to a port before this."""
    try:
        async with httpx.AsyncClient(**PLAIN, timeout=5) as http:
            answer = (await http.get(f"http://127.0.0.1:{port}/api/health")).json()
    except (httpx.HTTPError, ValueError):
        return None
    return answer if isinstance(answer, dict) and {"status", "version", "uptime_s"} <= set(answer) else None


class Client:
    """Calls of the API, with failures as `ApiFailed`."""

    def __init__(self, home: Home, http: httpx.AsyncClient, port: int, *, fixed: bool) -> None:
        self._home = home
        self._http = http
        self._port = port
        self._fixed = fixed  # opened here: there is no other place to look

    def _request(self, method: str, path: str, body: Any, query: Mapping[str, Any] | None) -> httpx.Request:
        found = None if self._fixed else running(self._home)
        self._port = found[1] if found else self._port
        token = self._home.token.read_text(encoding="utf-8").strip()
        return self._http.build_request(
            method,
            f"http://127.0.0.1:{self._port}{path}",
            json=body,
            params={name: value for name, value in (query or {}).items() if value is not None},
            headers={"authorization": f"Bearer {token}"},
        )

    async def _send(
        self, method: str, path: str, body: Any, query: Mapping[str, Any] | None, stream: bool
    ) -> httpx.Response:
        """One call; repeated only when it certainly had no effect: not connected, or not let in."""
        for last in (False, True):
            try:
                answer = await self._http.send(self._request(method, path, body, query), stream=stream)
            except (httpx.ConnectError, httpx.ConnectTimeout, FileNotFoundError) as error:
                if last:
                    raise ApiFailed(say("gone"), code="unavailable", status=0) from error
            except httpx.HTTPError as error:
                raise ApiFailed(say("broke_off"), code="unavailable", status=0) from error
            else:
                if answer.status_code != 401 or last:
                    return answer
                await answer.aclose()
        raise AssertionError("unreachable")

    async def call(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """The JSON answer of one call."""
        answer = await self._send(method, path, body, query, stream=False)
        if answer.is_success:
            return answer.json()
        raise _failed(answer)

    async def get(self, path: str, **query: Any) -> Any:
        return await self.call("GET", path, **query)

    async def project(self, named: str) -> str:
        """The id of a project that is given by its id or its name."""
        if named in {"0", "default"}:
            return "default"
        rows = (await self.get("/api/projects"))["data"]
        found = [row["id"] for row in rows if row["id"] == named] or [
            row["id"] for row in rows if row["name"] == named
        ]
        if len(found) != 1:
            raise NotFound(say("exec.no_project" if not found else "exec.two_projects", project=named))
        return str(found[0])

    async def data(self, path: str) -> bytes:
        """The bytes of an answer that is not JSON."""
        answer = await self._send("GET", path, None, None, stream=False)
        if answer.is_success:
            return answer.content
        raise _failed(answer)

    async def events(self) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """What happens in the app, by its names on the wire, until the app goes."""
        answer = await self._send("GET", "/api/events", None, None, stream=True)
        name = ""
        try:
            if not answer.is_success:
                await answer.aread()
                raise _failed(answer)
            async for line in answer.aiter_lines():
                field, _, value = line.partition(": ")
                if field == "event":
                    name = value
                elif field == "data":
                    yield name, json.loads(value)
        except httpx.HTTPError as error:
            raise ApiFailed(say("gone"), code="unavailable", status=0) from error
        finally:
            await answer.aclose()

    async def frames(self, path: str, body: Any) -> AsyncIterator[dict[str, Any]]:
        """The lines of a streamed answer as they come."""
        answer = await self._send("POST", path, body, None, stream=True)
        try:
            if not answer.is_success:
                await answer.aread()
                raise _failed(answer)
            async for line in answer.aiter_lines():
                if line.strip():
                    yield json.loads(line)
        except httpx.HTTPError as error:
            raise ApiFailed(say("broke_off"), code="unavailable", status=0) from error
        finally:
            await answer.aclose()


def _failed(answer: httpx.Response) -> ApiFailed:
    try:
        said = answer.json()
        sentence, code, fields = said["error"], said["code"], said.get("fields", ())
    except (ValueError, KeyError, TypeError):
        sentence, code, fields = say("strange", status=answer.status_code), "failed", ()
    if code == "unauthorized":
        sentence = say("unauthorized")
    return ApiFailed(sentence, code=code, status=answer.status_code, fields=fields)


@asynccontextmanager
async def connect(home: Home, tools: Sequence[Any] = ()) -> AsyncIterator[Client]:
    """The app of a home, whoever holds it; opened here with the parts `tools` when nobody does."""
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(
            httpx.AsyncClient(**PLAIN, timeout=httpx.Timeout(ANSWER_S, connect=5, read=None))
        )
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE_S
        while True:
            found = running(home)
            if found and await health(found[1]):
                yield Client(home, http, found[1], fixed=False)
                return
            try:
                port = await stack.enter_async_context(_opened(home, tools))
            except AlreadyRunning:
                # Somebody is starting or ending: in a moment it answers, or the home is free.
                if loop.time() > until:
                    raise
                await asyncio.sleep(0.1)
            else:
                yield Client(home, http, port, fixed=True)
                return


@asynccontextmanager
async def _opened(home: Home, tools: Sequence[Any]) -> AsyncIterator[int]:
    # Slow imports, and only when no app runs.
    from core.api.server import answering
    from core.app import App

    async with App.open(home, tools) as app, answering(app, "127.0.0.1", 0) as port:
        yield port
