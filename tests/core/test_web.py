"""fetch: the public web and nothing near home, each address judged, each name looked up once."""

import asyncio
import gzip
import ipaddress
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web as server

from core.errors import Invalid, Refused, Unavailable
from core.tools import web
from core.tools.addresses import Address, public, target
from core.tools.page import as_text
from core.tools.web import Answer, Visitor, checked, shown, words
from tests.fakes.house import house, turn
from tests.fakes.openai_server import Answer as Said

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
        ),
        *(
            "255.255.255.255",
            "240.0.0.1",
            "192.0.2.1",
            "198.18.0.1",
            "192.88.99.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
        ),
        *(
            "ff02::1",
            "2001:db8::1",
            "::ffff:127.0.0.1",
            "::ffff:a9fe:a9fe",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
        ),
        *("2002:7f00:1::", "2001:0:1::1", "::127.0.0.1", "fec0::1"),
    ],
)
def test_addresses_near_home(address: str) -> None:
    assert not public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "64:ff9b::101:101", "::ffff:1.1.1.1"]
)
def test_public_addresses(address: str) -> None:
    assert public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        *(
            "ftp://x.org",
            "file:///etc/passwd",
            "javascript:1",
            "//x.org",
            "",
            "http://",
            "http:///x",
            "http://[::1",
        ),
        *(
            "http://2130706433/",
            "http://0x7f.1/",
            "http://127.1/",
            "http://0177.0.0.1/",
            "http://0x7f000001/",
        ),
        *(
            "http://1.2.3.4.5/",
            "http://256.1.1.1/",
            "http://localhost./",
            "http://localhost/",
            "http://x.localhost/",
        ),
        *(
            "http://router.lan/",
            "http://intranet/",
            "http://a.internal/",
            "http://u:p@x.org/",
            "http://u@x.org/",
        ),
        *(
            "http://x.org:22/",
            "http://x.org:0/",
            "http://x.org:99999/",
            "http://x.org/a b",
            "http://x.org/\r\nX: y",
        ),
        *(
            "http://x.org\\@evil.org/",
            "http://１２７.0.0.1:25/",
            "http://ⓛocalhost/",
            "http://[zz]/",
            "http://a%2eb/",
        ),
        *("http://x" + "y" * 4000, "http://" + "ñ" * 80 + ".org/"),
    ],
)
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(Refused):
        target(url)


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://Example.org./a?b#c", "https://example.org/a?b"),
        ("http://ñandú.org/", "http://xn--and-6ma2c.org/"),
        ("http://[2606:4700::1111]:8080/", "http://[2606:4700::1111]:8080/"),
        ("http://1.1.1.1/", "http://1.1.1.1/"),
        ("http://１.1.1.1/", "http://1.1.1.1/"),
    ],
)
def test_addresses_in_one_form(url: str, clean: str) -> None:
    assert target(url).geturl() == clean


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "x"},
        {"content-length": "1"},
        {"Proxy-Authorization": "x"},
        {"A": "b\r\nc"},
        {"A b": "c"},
        {"A": "ñ€"},
    ],
)
def test_headers_that_are_not_sent(headers: dict[str, str]) -> None:
    with pytest.raises(Invalid):
        checked(headers)


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "::1"])
async def test_a_name_that_leads_home_is_refused(address: str) -> None:
    async def look_up(host: str, port: int) -> list[str]:
        return ["1.1.1.1", address]

    with pytest.raises(Refused, match="leads to this computer"):
        await Visitor(look_up=look_up).get("http://127.0.0.1.nip.io/", {})


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/", "http://[::ffff:a9fe:a9fe]/", "http://[::]/", "http://169.254.169.254/"]
)
async def test_an_address_that_is_home_is_refused(url: str) -> None:
    with pytest.raises(Refused):
        await Visitor().get(url, {})


class Site:
    """Two hosts on one loopback port, told apart by their names."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self.looked_up: list[str] = []
        self.visitor = Visitor(look_up=self._look_up, allowed=self._allowed, total_s=10)

    async def _look_up(self, host: str, port: int) -> list[str]:
        self.looked_up.append(host)
        if host == "rebound.org" and self.looked_up.count(host) > 1:
            return ["127.0.0.2"]
        return ["10.0.0.1"] if host == "inside.org" else ["127.0.0.1"]

    def _allowed(self, address: Address, port: int) -> bool:
        return str(address) == "127.0.0.1" and port == self.port

    def url(self, path: str, host: str = "one.org") -> str:
        return f"http://{host}:{self.port}{path}"


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    here: Site

    async def answer(request: server.Request) -> server.StreamResponse:
        here.seen.append((request.host, request.path, {k.lower(): v for k, v in request.headers.items()}))
        path = request.path
        if path == "/to":
            raise server.HTTPFound(request.query["url"])
        if path == "/loop":
            raise server.HTTPFound("/loop")
        if path == "/big":
            return server.Response(body=b"x" * 3_000_000, content_type="text/plain")
        if path == "/bomb":
            body = gzip.compress(b"0" * 50_000_000)
            return server.Response(
                body=body, headers={"content-encoding": "gzip", "content-type": "text/plain"}
            )
        if path == "/odd":
            return server.Response(body=b"x", headers={"content-encoding": "br"})
        if path == "/broken":
            return server.Response(body=b"not gzip", headers={"content-encoding": "gzip"})
        if path == "/echo":
            return server.Response(text=str(dict(request.headers)))
        if path == "/slow":
            response = server.StreamResponse()
            await response.prepare(request)
            for _ in range(1000):
                await response.write(b"x")
                await asyncio.sleep(0.05)
            return response
        return server.Response(
            text="<html><title>T</title><p>Hello <a href='/x'>there</a>", content_type="text/html"
        )

    app = server.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = server.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    listening = server.TCPSite(runner, "127.0.0.1", 0)
    await listening.start()
    here = Site(runner.addresses[0][1])
    try:
        yield here
    finally:
        await runner.cleanup()


async def test_a_page_is_read_under_its_own_name() -> None:
    async with site() as here:
        answer = await here.visitor.get(here.url("/a"), {"X-One": "1"})
        assert here.seen[0][0] == f"one.org:{here.port}"
        assert here.seen[0][2]["x-one"] == "1"
        assert "accept-encoding" in here.seen[0][2]
        assert words(answer) == f"T\n\nHello there <http://one.org:{here.port}/x>"
        assert here.looked_up == ["one.org"]


async def test_a_redirect_home_is_not_followed() -> None:
    async with site() as here:
        for url in (
            "http://127.0.0.1:1/",
            here.url("/", "inside.org"),
            "http://2130706433/",
            "file:///etc/passwd",
        ):
            with pytest.raises(Refused):
                await here.visitor.get(here.url(f"/to?url={url}"), {})
        assert all(path == "/to" for _, path, _ in here.seen)


async def test_a_name_that_changes_its_meaning_is_judged_again() -> None:
    async with site() as here:
        with pytest.raises(Refused):
            await here.visitor.get(here.url(f"/to?url={here.url('/x', 'rebound.org')}", "rebound.org"), {})


async def test_credentials_do_not_follow_to_somebody_else() -> None:
    secret = {"Authorization": "Bearer abcdefgh", "Cookie": "a=b", "X-Api-Key": "k", "Accept": "text/plain"}
    async with site() as here:
        await here.visitor.get(here.url(f"/to?url={here.url('/x', 'two.org')}"), secret)
        await here.visitor.get(here.url("/to?url=/x"), secret)
        far, near = here.seen[1][2], here.seen[3][2]
        assert not {"authorization", "cookie", "x-api-key"} & far.keys()
        assert far["accept"] == "text/plain"
        assert near["authorization"] == "Bearer abcdefgh"


async def test_a_certificate_is_asked_for() -> None:
    async with site() as here:
        with pytest.raises(Unavailable):  # no TLS here: the certificate of the name is what counts
            await here.visitor.get(here.url("/").replace("http:", "https:"), {})


async def test_bounds_in_bytes_hops_and_time() -> None:
    async with site() as here:
        small = Visitor(look_up=here._look_up, allowed=here._allowed, max_bytes=1000, total_s=30)
        big = await small.get(here.url("/big"), {})
        assert (len(big.body), big.cut) == (1000, True)
        bomb = await small.get(here.url("/bomb"), {})
        assert (len(bomb.body), bomb.cut) == (1000, True)
        for path in ("/odd", "/broken"):
            with pytest.raises(Unavailable, match="packed"):
                await here.visitor.get(here.url(path), {})
        with pytest.raises(Unavailable, match="leads on"):
            await here.visitor.get(here.url("/loop"), {})
        hasty = Visitor(look_up=here._look_up, allowed=here._allowed, max_bytes=1000, total_s=1)
        with pytest.raises(Unavailable, match="within 1 s"):
            await hasty.get(here.url("/slow"), {})


async def test_nothing_answers() -> None:
    async with site() as here:
        port = here.port
        visitor = here.visitor
    with pytest.raises(Unavailable, match="did not answer"):
        await visitor.get(f"http://one.org:{port}/", {})


async def test_names_that_nobody_knows() -> None:
    with pytest.raises(Unavailable, match="not known"):
        await web.look_up("does-not-exist.invalid", 80)
    assert "127.0.0.1" in await web.look_up("127.0.0.1", 80)


async def test_the_tool_says_what_it_is_and_hides_what_was_sent(tmp_path: Path) -> None:
    async with site() as here, house(tmp_path) as home:
        home.tools.add(*web.TOOLS)
        home.runner._services = {Visitor: here.visitor}
        args = {"url": here.url("/echo"), "headers": {"Authorization": "Bearer hunter2hunter2"}}
        home.server.next(
            Said(calls=[("fetch", args)]),
            Said(calls=[("fetch", {"url": "http://localhost/"})]),
            Said("Done."),
        )
        run = await home.runner.run(turn())
        assert "answered 200" in run.calls[0].result
        assert web.DATA in run.calls[0].result
        assert "hunter2" not in run.calls[0].result
        assert "not fetched" in run.calls[1].result


def test_long_texts_go_on() -> None:
    answer = Answer("http://x.org/", 200, "text/plain", b"a" * 20_000, cut=True)
    text = shown(answer, {}, 0)
    assert "go on with from_char=12000" in text
    assert "the rest was not read" in text
    assert "go on" not in shown(answer, {}, 12_000)


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("image/png", b"\x89PNG", "[image/png, 4 bytes, not text]"),
        ("text/plain; charset=latin-1", b"\xf1", "ñ"),
        ("text/plain; charset=nonsense", "ñ".encode(), "ñ"),
        ("application/json", b'{"a": NaN}', '{"a": NaN}'),
        ("", b"<html><p>x", "x"),
        ("text/html", b'<meta charset="latin-1"><p>\xf1', "ñ"),
        ("text/plain", b"a\0b", "[text/plain, 3 bytes, not text]"),
    ],
)
def test_kinds_of_answers(kind: str, body: bytes, text: str) -> None:
    assert words(Answer("http://x.org/", 200, kind, body, cut=False)) == text


def test_a_page_becomes_text() -> None:
    html = (
        "<head><title>A &amp; B</title><style>x{}</style></head><body><script>evil()</script><h2>Head</h2>"
        "<ul><li>one<li>two</ul><table><tr><td>1<td>2</table><img alt='cat'><br/>"
        "<a href='javascript:x'>no</a> <a href='http://[bad'>b</a> <svg>s</svg></p></script>end"
    )
    text = as_text(html, "http://x.org/")
    assert text.startswith("A & B\n\n## Head")
    assert "- one\n- two" in text.replace("\n\n", "\n")
    assert "evil" not in text
    assert "[cat]" in text
    assert "javascript" not in text
    assert text.endswith("end")
