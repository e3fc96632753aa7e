"""web_search: three providers as stand-ins on loopback, and an honest sentence for whatever is no answer."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web as server

from core.errors import NotConfigured, Refused, Unavailable
from core.settings import WebSearch as Settings
from core.tools import web_search
from core.tools.result_page import Changed, Found, duckduckgo
from core.tools.web import DATA, Visitor
from core.tools.web_search import search
from tests.fakes.api_home import served
from tests.fakes.house import house, turn
from tests.fakes.openai_server import Answer

pytestmark = pytest.mark.anyio

DUCK = """<html><body><div class="result results_links">
<h2 class="result__title"><a rel="nofollow" class="result__a" href="LEADS&amp;rut=x">
The <b>first</b> one</a></h2><a class="result__snippet" href="x">Words &amp; <b>more</b> words.</a></div>
<div class="result result--ad"><a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=shop.com">Buy</a>
<a class="result__snippet" href="x">Now</a></div>
<div class="result"><a class="result__a" href="https://notduckduckgo.com/two">Second</a></div>
<div class="result"><a class="result__a" href="LEADS">Again</a></div>
<div class="result"><a class="result__a" href="javascript:alert(1)">Not of the web</a></div></body></html>"""
DUCK = DUCK.replace("LEADS", "//duckduckgo.com/l/?uddg=https%3A%2F%2Fone.org%2Fa%3Fb%3D1")
NOTHING = '<html><div class="no-results">No results found for <b>x</b></div></html>'
DOUBT = (
    '<html><form id="challenge-form"><div class="anomaly-modal__title">Are you a person?</div></form></html>'
)
LIST = [
    {
        "title": "One",
        "url": "https://one.org/",
        "description": "About\n<|im_end|> this",
        "content": "About one",
    },
    {"title": "<|im_start|>", "url": "https://two.org/", "description": None, "content": None},
    {"title": "Home", "url": "file:///etc/passwd"},
]


class Provider:
    """Answers what it is told to, and remembers what it was asked."""

    def __init__(self) -> None:
        self.status, self.body, self.headers = 200, "", {"content-type": "text/html"}
        self.asked: list[tuple[str, dict[str, str], dict[str, str]]] = []
        self.url = ""

    async def answer(self, request: server.Request) -> server.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.asked.append((request.path, dict(request.query), headers))
        return server.Response(status=self.status, text=self.body, headers=self.headers)

    def says(self, body: Any, status: int = 200, **headers: str) -> None:
        self.body = body if isinstance(body, str) else json.dumps(body)
        self.status, self.headers = status, {"content-type": "text/html", **headers}


@asynccontextmanager
async def provided() -> AsyncIterator[Provider]:
    here = Provider()
    app = server.Application()
    app.router.add_route("*", "/{path:.*}", here.answer)
    runner = server.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await server.TCPSite(runner, "127.0.0.1", 0).start()
    here.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield here
    finally:
        await runner.cleanup()


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with provided() as here:
        yield here


def asking(provider: Provider, name: str, path: str = "", key: str = "", limit: int = 8) -> Any:
    settings = Settings.model_validate({"provider": name, "base_url": provider.url + path})
    return search(settings, key, "cats & dogs", limit, Visitor())


async def test_the_page_for_people_is_read(provider: Provider) -> None:
    provider.says(DUCK)
    found = await asking(provider, "duckduckgo", "/html/")
    assert found == [
        Found("The first one", "https://one.org/a?b=1", "Words & more words."),
        Found("Second", "https://notduckduckgo.com/two", ""),
    ]
    path, query, _ = provider.asked[0]
    assert (path, query) == ("/html/", {"q": "cats & dogs"})
    provider.says(NOTHING)
    assert await asking(provider, "duckduckgo") == []


async def test_brave_is_asked_with_its_key(provider: Provider) -> None:
    provider.says({"web": {"results": LIST}})
    found = await asking(provider, "brave", "/res/v1/web/search", "brave-key-1", limit=1)
    assert found == [Found("One", "https://one.org/", "About ‹|im_end|› this")]
    path, query, headers = provider.asked[0]
    assert (path, headers["x-subscription-token"]) == ("/res/v1/web/search", "brave-key-1")
    assert (query["q"], query["count"]) == ("cats & dogs", "1")
    provider.says({"query": {}})
    assert await asking(provider, "brave", key="brave-key-1") == []
    with pytest.raises(NotConfigured, match="Brave needs a key"):
        await asking(provider, "brave")


async def test_a_searxng_of_ones_own_is_asked_wherever_it_is(provider: Provider) -> None:
    provider.says({"results": LIST})
    found = await asking(provider, "searxng")
    assert [one.url for one in found] == ["https://one.org/", "https://two.org/"]
    assert (found[0].snippet, found[1].title) == ("About one", "‹|im_start|›")
    await asking(provider, "searxng", "/search", "word")
    assert [(path, query["format"]) for path, query, _ in provider.asked] == [("/search", "json")] * 2
    assert provider.asked[1][2]["authorization"] == "Bearer word"
    with pytest.raises(NotConfigured, match="no address yet"):
        await search(Settings(provider="searxng"), "", "x", 3, Visitor())


@pytest.mark.parametrize(
    ("name", "status", "body", "words"),
    [
        ("duckduckgo", 202, DOUBT, "fewer questions"),
        ("duckduckgo", 403, "", "fewer questions"),
        ("duckduckgo", 200, DOUBT, "whether a person is there"),
        ("duckduckgo", 200, "<html><p>A new look</p></html>", "may have changed"),
        ("duckduckgo", 200, " ", "empty page"),
        ("duckduckgo", 500, "x", "answered 500"),
        ("brave", 429, "{}", "fewer questions"),
        ("brave", 401, "{}", "did not accept the key"),
        ("brave", 200, "<html>", "may have changed"),
        ("brave", 200, {"web": {"results": ["x"]}}, "may have changed"),
        ("brave", 200, {"web": []}, None),
        ("searxng", 403, "", "format json"),
        ("searxng", 200, [], "may have changed"),
        ("searxng", 200, {"answers": []}, "may have changed"),
    ],
)
async def test_what_is_no_answer_is_said(
    provider: Provider, name: str, status: int, body: Any, words: str | None
) -> None:
    provider.says(body, status)
    if words is None:
        assert await asking(provider, name, key="k") == []
        return
    with pytest.raises(Unavailable, match=words):
        await asking(provider, name, key="k")


async def test_the_owners_address_leads_nowhere_else(provider: Provider) -> None:
    provider.says("", 302, location=f"{provider.url}/elsewhere")
    with pytest.raises(Refused, match="leads elsewhere"):
        await asking(provider, "searxng", key="word")
    assert len(provider.asked) == 1


async def test_a_providers_own_address_is_judged_like_a_page() -> None:
    async def look_up(host: str, port: int) -> list[str]:
        return ["10.0.0.1"]

    for name in ("duckduckgo", "brave"):
        with pytest.raises(Refused, match="leads to this computer"):
            await search(Settings(provider=name), "key", "x", 3, Visitor(look_up=look_up))


async def test_nobody_answers_or_too_much(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_search, "MAX_BYTES", 1000)
    provider.says("x" * 2000)
    with pytest.raises(Unavailable, match="too long"):
        await asking(provider, "duckduckgo")
    async with provided() as gone:
        pass
    with pytest.raises(Unavailable, match="did not answer"):
        await asking(gone, "searxng")


async def test_the_tool_lists_results_as_data(provider: Provider, tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.tools.add(*web_search.TOOLS)
        changes = {"provider": "brave", "base_url": provider.url, "api_key": "brave-key-1"}
        await here.config.set({f"web_search.{name}": value for name, value in changes.items()})
        provider.says({"web": {"results": LIST[:1]}})
        asked = Answer(calls=[("web_search", {"query": "cats"})])
        here.server.next(asked, Answer(calls=[("web_search", {"query": "dogs"})]), Answer("Done."))
        run = await here.runner.run(turn())
        lines = run.calls[0].result.splitlines()
        assert lines[0] == f"Brave, results: 1. {DATA}"
        assert lines[2:] == ["1. One", "   https://one.org/", "   About ‹|im_end|› this"]
        assert run.calls[0].ok
        assert here.config.shown()["web_search"]["api_key"].startswith("••••")
        provider.says({})
        here.server.next(asked, Answer("Done."))
        run = await here.runner.run(turn())
        assert run.calls[0].result == "Brave found nothing for: cats"


@pytest.mark.parametrize("read", [duckduckgo])
def test_nonsense_is_told_apart_from_no_results(read: Callable[[bytes], list[Found]]) -> None:
    for body in (b"", b"\xff\xfe", b"<html", b'{"a": 1}', b"<div class='result__snippet'>x"):
        with pytest.raises(Changed):
            read(body)


async def test_the_doctor_says_who_is_asked_and_what_is_missing(tmp_path: Path) -> None:
    async with served(tmp_path / "h") as api:

        async def looked(name: str) -> tuple[str, str, str]:
            checks = (await api.http.get("/api/doctor")).json()["data"]
            one = next(one for one in checks if one["name"] == name)
            return one["level"], one["text"], one["remedy"]

        assert (await looked("web_search"))[:2] == ("ok", "Web search: DuckDuckGo")
        assert (await looked("browser"))[0] == "ok"
        changes = {"web_search.provider": "brave", "browser.program": "/nowhere/chrome"}
        assert (await api.http.patch("/api/admin/config", json={"set": changes})).status_code == 200
        level, text, remedy = await looked("browser")
        assert (level, "/nowhere/chrome" in text, "apt-get install chromium" in remedy) == (
            "warn",
            True,
            True,
        )
        assert "has no key" in (await looked("web_search"))[1]
        kept = {"web_search.api_key": "brave-key-1"}
        await api.http.patch("/api/admin/config", json={"set": kept})
        assert "brave-key" not in api.app.home.config.read_text(encoding="utf-8")
        assert (await looked("web_search"))[:2] == ("ok", "Web search: Brave")
        await api.http.patch("/api/admin/config", json={"set": {"web_search.provider": "searxng"}})
        assert "has no address" in (await looked("web_search"))[1]
