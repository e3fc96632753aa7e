"""The models client and its real worker, with the real library, in front of a stand-in provider on loopback."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.config import Config
from core.errors import ModelUnavailable, NotConfigured
from core.events import Bus
from core.paths import Home
from core.runs.llm import Models
from core.runs.request import Reply, Request
from tests.fakes.house import WORKER
from tests.fakes.openai_server import Answer, OpenAIServer, fault

pytestmark = pytest.mark.anyio

KEY = "sk-standin-a1b2c3d4e5f6g7h8"
TOOLS = [
    {"type": "function", "function": {"name": "leave", "description": "x", "parameters": {"type": "object"}}}
]


class Here(SimpleNamespace):
    config: Config
    models: Models
    server: OpenAIServer


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def world(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Here]:
    """One worker for the whole module: it takes seconds to import the library."""
    home = Home(tmp_path_factory.mktemp("models"))
    home.make()
    config = Config(home, Bus())
    async with OpenAIServer() as server:
        changes = {
            "user.language": "en",
            "engines.standin.base_url": server.url,
            "engines.standin.api_key": KEY,
        }
        await config.set(changes)
        models = Models(
            config, environment={**os.environ, "STANDIN_SECRET": "do-not-pass", "ENVKEY_API_KEY": "k-env"}
        )
        yield Here(config=config, models=models, server=server)
        await models.aclose()


@pytest.fixture
def here(world: Here) -> Here:
    world.server.reset()
    return world


def ask(target: str = "standin:small", **changes: object) -> Request:
    values = {"target": target, "messages": [{"role": "user", "content": "hi"}]} | changes
    return Request(**values)  # type: ignore[arg-type]


async def failure(models: Models, request: Request) -> ModelUnavailable:
    with pytest.raises(ModelUnavailable) as caught:
        await models.complete(request)
    return caught.value


async def test_a_plain_answer(here: Here) -> None:
    here.server.next(Answer("Hello world"))
    reply = await here.models.complete(ask(max_tokens=9, temperature=0.5))
    assert reply == Reply("Hello world", [], 11, 7, "stop")
    (seen,) = here.server.requests
    assert seen.body == {
        "model": "small",
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 9,
        "temperature": 0.5,
    }
    assert seen.headers["authorization"] == f"Bearer {KEY}"


async def test_a_streamed_answer_arrives_in_pieces(here: Here) -> None:
    said: list[str] = []
    here.server.next(Answer("Hello world"))
    reply = await here.models.complete(ask(stream=True), said.append)
    assert (reply.text, said) == ("Hello world", ["Hell", "o wo", "rld"])
    assert (reply.tokens_in, reply.tokens_out) == (11, 7)


@pytest.mark.parametrize("stream", [True, False])
async def test_tool_calls_are_put_together(here: Here, stream: bool) -> None:
    here.server.next(Answer("", calls=[("leave", {"reason": "año"}), ("leave", {"n": 1})]))
    reply = await here.models.complete(ask(stream=stream, tools=TOOLS))
    assert [(call.name, call.id) for call in reply.calls] == [("leave", "call_0"), ("leave", "call_1")]
    assert [call.args_json for call in reply.calls] == ['{"reason": "a\\u00f1o"}', '{"n": 1}']
    assert reply.finish == "tool_calls"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("broken", "kind"),
    [
        ("auth", "auth"),
        ("permission", "permission"),
        ("not_found", "not_found"),
        ("invalid", "invalid"),
        ("rate_limit", "rate_limit"),
        ("quota", "quota"),
        ("server", "server"),
        ("overloaded", "overloaded"),
        ("closed", "network"),
    ],
)
async def test_each_failure_has_its_class_and_is_tried_once(
    here: Here, broken: str, kind: str, stream: bool
) -> None:
    here.server.next(fault(broken))
    error = await failure(here.models, ask(stream=stream))
    assert error.kind == kind
    assert KEY not in str(error)
    assert "litellm" not in str(error).lower()
    assert len(here.server.requests) == 1


async def test_the_provider_says_when_to_come_back(here: Here) -> None:
    here.server.next(fault("rate_limit", retry_after=7))
    assert (await failure(here.models, ask())).retry_after_s == 7


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("code", [429, 4.5, True, ["a"], {"n": 1}, "insufficient_everything"])
async def test_a_code_that_is_no_word_changes_nothing(here: Here, code: object, stream: bool) -> None:
    here.server.next(fault("rate_limit", code=code))
    assert (await failure(here.models, ask(stream=stream))).kind == "rate_limit"


@pytest.mark.parametrize(("wait", "kind"), [(30, "rate_limit"), (5820, "quota"), (None, "quota")])
async def test_a_limit_that_passes_in_a_moment_is_no_quota_whatever_it_is_called(
    here: Here, wait: float | None, kind: str
) -> None:
    here.server.next(fault("passing_quota", retry_after=wait))
    assert (await failure(here.models, ask())).kind == kind


async def test_an_answer_that_is_not_json_is_the_servers_fault(here: Here) -> None:
    here.server.next(fault("not_json"))
    assert (await failure(here.models, ask())).kind == "server"


async def test_a_stream_that_breaks_off_is_not_an_answer(here: Here) -> None:
    said: list[str] = []
    here.server.next(fault("cut"))
    with pytest.raises(ModelUnavailable) as caught:
        await here.models.complete(ask(stream=True), said.append)
    assert (caught.value.kind, said) == ("network", ["Half"])


async def test_nobody_listening_is_a_network_failure(here: Here) -> None:
    async with OpenAIServer() as gone:
        await here.config.set({"engines.gone.base_url": gone.url})
    assert (await failure(here.models, ask("gone:x"))).kind == "network"


async def test_a_provider_that_does_not_answer_in_time(here: Here) -> None:
    here.server.next(fault("hang"))
    error = await failure(here.models, ask(timeout_s=0.3))
    assert error.kind == "timeout"
    await here.server.left.wait()


async def test_a_plain_answer_to_a_stream_is_asked_for_once(here: Here) -> None:
    said: list[str] = []
    here.server.next(Answer("Whole", plain=True))
    assert (await here.models.complete(ask(stream=True), said.append)).text == "".join(said) == "Whole"
    here.server.next(Answer("", calls=[("leave", {"n": 1})], plain=True))
    reply = await here.models.complete(ask(stream=True, tools=TOOLS))
    assert [call.args_json for call in reply.calls] == ['{"n": 1}']
    assert len(here.server.requests) == 2


async def test_a_server_that_refuses_streams_is_asked_without(here: Here) -> None:
    said: list[str] = []
    here.server.next(Answer("Plain", refuses_stream=True))
    reply = await here.models.complete(ask("standin:no-stream", stream=True), said.append)
    assert reply.text == "".join(said) == "Plain"
    here.server.next(Answer("Again", refuses_stream=True))
    await here.models.complete(ask("standin:no-stream", stream=True))
    assert [bool(one.body.get("stream")) for one in here.server.requests] == [True, False, False]


@pytest.mark.parametrize(
    ("prefix", "written"), [("/v1", ""), ("/v1", "/v1"), ("/v1", "/v1/"), ("", ""), ("", "/v1")]
)
async def test_an_address_works_with_and_without_its_version(here: Here, prefix: str, written: str) -> None:
    async with OpenAIServer(prefix=prefix) as server:
        await here.config.set({"engines.bare.base_url": server.root + written})
        assert (await here.models.complete(ask("bare:x"))).text == "ready"
        assert (await here.models.complete(ask("bare:x", stream=True))).text == "ready"
        assert len(server.requests) == 2


async def test_a_known_provider_at_another_address(here: Here) -> None:
    await here.config.set({"engines.openai.base_url": here.server.root})
    assert (await here.models.complete(ask("openai:gpt-x"))).text == "ready"
    await here.config.set({}, unset=["engines.openai"])


async def test_many_requests_at_once_do_not_mix(here: Here) -> None:
    here.server.default = lambda body: Answer(body["messages"][0]["content"].upper())
    asked = [ask(messages=[{"role": "user", "content": f"n{n}"}], stream=bool(n % 2)) for n in range(8)]
    replies = await asyncio.gather(*(here.models.complete(one) for one in asked))
    assert [reply.text for reply in replies] == [f"N{n}" for n in range(8)]


async def test_a_cancelled_request_is_cancelled_at_the_provider(here: Here) -> None:
    here.server.next(fault("hang"))
    waiting = asyncio.create_task(here.models.complete(ask()))
    await here.server.arrived.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await here.server.left.wait()
    assert (await here.models.complete(ask())).text == "ready"


async def test_the_key_is_in_no_place_of_the_process(here: Here) -> None:
    await here.models.complete(ask())
    process = Path(f"/proc/{here.models.pid}")
    seen = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
    for secret in (KEY, "do-not-pass", "k-env"):
        assert secret.encode() not in seen


async def test_a_key_of_the_environment_is_used_when_the_configuration_has_none(here: Here) -> None:
    await here.config.set({"engines.envkey.base_url": here.server.url})
    await here.models.complete(ask("envkey:x"))
    assert here.server.requests[0].headers["authorization"] == "Bearer k-env"


async def test_a_missing_key_names_the_command_that_stores_one(here: Here) -> None:
    with pytest.raises(NotConfigured, match="apx model key groq"):
        await here.models.complete(ask("groq:llama"))
    with pytest.raises(NotConfigured, match=r"engines\.custom:mine\.base_url"):
        await here.models.complete(ask("custom:mine:llama"))


async def test_a_provider_that_nobody_knows(here: Here) -> None:
    assert (await failure(here.models, ask("nosuchprovider:x"))).kind == "not_found"


async def test_the_test_button_says_what_answers(here: Here) -> None:
    assert await here.models.test("standin:small") == "standin:small answers."
    assert await here.models.test("standin:small", "es") == "standin:small responde."
    assert await here.models.test("practice:rules") == "practice:rules answers."


async def test_what_failed_last_is_known_until_it_answers(here: Here) -> None:
    here.server.next(fault("overloaded"))
    await failure(here.models, ask("standin:flaky"))
    assert here.models.last_failure == here.models.last_failure | {"standin:flaky": "overloaded"}
    await here.models.complete(ask("standin:flaky"))
    assert "standin:flaky" not in here.models.last_failure


# The rest needs no library: a program that dies, one that hangs, one that is idle.


@pytest.fixture
def config(tmp_path: Path) -> Config:
    home = Home(tmp_path)
    home.make()
    home.config.write_text(
        '{"user": {"language": "en"}, "engines": {"a": {"base_url": "http://127.0.0.1:9"}}}'
    )
    return Config(home, Bus())


HANGS = 'import sys; print(\'{"event": "ready"}\', flush=True); [None for _ in sys.stdin]; import time'
CRASHES = "import sys; sys.stdin.readline(); sys.exit('it broke')"


async def test_a_worker_that_dies_is_replaced_and_the_question_asked_again(config: Config) -> None:
    async with OpenAIServer() as server:
        await config.set({"engines.a.base_url": server.url})
        models = Models(config, command=WORKER)
        server.next(fault("hang"))
        waiting = asyncio.create_task(models.complete(ask("a:b")))
        await server.arrived.wait()
        old = models.pid
        assert old
        os.kill(old, signal.SIGKILL)
        assert (await waiting).text == "ready"
        assert models.pid not in (old, None)
        await models.aclose()


async def test_a_process_that_hangs_is_killed_past_the_deadline(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.runs.llm.GRACE_S", 0.1)
    models = Models(config, command=(sys.executable, "-c", HANGS))
    error = await failure(models, ask("a:b", timeout_s=0.1))
    assert error.kind == "timeout"
    assert models.status == "off"
    await models.aclose()


async def test_a_process_that_keeps_crashing_is_a_failure_and_not_a_loop(config: Config) -> None:
    models = Models(config, command=(sys.executable, "-c", CRASHES))
    assert (await failure(models, ask("a:b"))).kind == "server"
    await models.aclose()


async def test_an_idle_process_is_ended(config: Config) -> None:
    models = Models(config, command=WORKER, idle_s=0)
    assert (await failure(models, ask("a:b"))).kind == "network"
    while models.status != "off":  # noqa: ASYNC110  nothing is announced, the process is just let go
        await asyncio.sleep(0)
    await models.aclose()


async def test_closing_twice_and_closing_unused_is_fine(config: Config) -> None:
    models = Models(config)
    await models.aclose()
    await models.aclose()
    assert (await failure(models, ask("a:b"))).kind == "server"
