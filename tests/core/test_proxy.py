"""The browser's way out: every address is judged, and the one that was judged is reached."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from core.tools.proxy import Proxy
from tests.fakes.sites import Sites, sites

pytestmark = pytest.mark.anyio


@pytest.fixture
async def web() -> AsyncIterator[Sites]:
    async with sites() as here:
        yield here


@pytest.fixture
async def proxy(web: Sites) -> AsyncIterator[Proxy]:
    async with Proxy(web.visitor).open() as proxy:
        yield proxy


async def say(proxy: Proxy, *pieces: str) -> str:
    """Everything that comes back for these bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    for piece in pieces:
        writer.write(piece.encode())
        await writer.drain()
    try:
        return (await reader.read()).decode()
    finally:
        writer.close()


@pytest.mark.parametrize(
    "where",
    [
        *(
            "127.0.0.1:HOME",
            "localhost:HOME",
            "[::1]:HOME",
            "169.254.169.254:80",
            "inside.org:443",
            "0.0.0.0:HOME",
        ),
        *("2130706433:80", "one.org:22", "[::ffff:127.0.0.1]:HOME", "127.1:HOME", "u@one.org:443"),
    ],
)
async def test_nothing_near_home_is_reached(web: Sites, proxy: Proxy, where: str) -> None:
    where = where.replace("HOME", str(web.home))
    tunnel = await say(proxy, f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n\r\n")
    plain = await say(proxy, f"GET http://{where}/secret HTTP/1.1\r\nHost: {where}\r\n\r\n")
    assert tunnel.startswith("HTTP/1.1 403 ")
    assert plain.startswith("HTTP/1.1 403 ")
    assert web.pried == []
    assert len(proxy.refused) == 1


async def test_a_request_goes_to_the_address_that_was_judged(web: Sites, proxy: Proxy) -> None:
    where = f"one.org:{web.port}"
    head = f"POST http://{where}/echo?a=1 HTTP/1.1\r\nHost: evil.org\r\n"
    head += "Connection: keep-alive\r\nContent-Length: 4\r\n\r\n"
    said = await say(proxy, head, "bo", "dy")
    assert said.startswith("HTTP/1.1 200 OK\r\n")
    assert "Connection: close" in said
    assert said.endswith("POST /echo?a=1 body")
    assert web.seen == [(where, "/echo")]
    assert web.looked_up == ["one.org"]


async def test_a_second_request_on_a_connection_goes_nowhere_else(web: Sites, proxy: Proxy) -> None:
    first = f"GET http://one.org:{web.port}/echo HTTP/1.1\r\nHost: x\r\n\r\n"
    second = f"GET http://127.0.0.1:{web.home}/secret HTTP/1.1\r\nHost: x\r\n\r\n"
    said = await say(proxy, first + second)
    assert said.startswith("HTTP/1.")
    assert web.pried == []


async def test_a_tunnel_carries_both_ways(web: Sites, proxy: Proxy) -> None:
    where = f"one.org:{web.port}"
    asked = (
        f"CONNECT {where} HTTP/1.1\r\n\r\nGET /echo HTTP/1.1\r\nHost: {where}\r\nConnection: close\r\n\r\n"
    )
    said = await say(proxy, asked)
    assert said.startswith("HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK")
    assert said.endswith("GET /echo ")


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ("GET /echo HTTP/1.1\r\n\r\n", "400"),
        ("GET ftp://one.org/ HTTP/1.1\r\n\r\n", "400"),
        ("nonsense\r\n\r\n", "400"),
        ("GET http://one.org/ HTTP/1.1\r\n folded: x\r\n\r\n", "400"),
        ("CONNECT one.org:99999 HTTP/1.1\r\n\r\n", "403"),
        ("CONNECT nobody.org:CLOSED HTTP/1.1\r\n\r\n", "502"),
    ],
)
async def test_what_cannot_be_done_is_said(web: Sites, asked: str, status: str) -> None:
    async with sites() as gone:
        closed = gone.port
    web.port = closed  # allowed, and nobody is there any more
    async with Proxy(web.visitor).open() as proxy:
        assert (await say(proxy, asked.replace("CLOSED", str(closed)))).startswith(f"HTTP/1.1 {status} ")


async def test_leaving_ends_the_connections(web: Sites) -> None:
    async with Proxy(web.visitor).open() as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(f"CONNECT one.org:{web.port} HTTP/1.1\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
    assert await reader.read() == b""
    writer.close()


async def test_only_the_latest_refusals_are_kept(
    web: Sites, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.tools.proxy.MAX_KEPT", 2)
    for host in ("a.lan", "b.lan", "a.lan", "c.lan"):
        await say(proxy, f"CONNECT {host}:443 HTTP/1.1\r\n\r\n")
    assert list(proxy.refused) == ["a.lan", "c.lan"]
