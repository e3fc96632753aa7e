"""The door: who is turned away before any work, and how."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from tests.fakes.api_home import Served, served

pytestmark = pytest.mark.anyio


# One server for all of them: nothing here changes what the next test sees.
@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def api(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    async with served(tmp_path_factory.mktemp("door")) as one:
        yield one


async def raw(api: Served, request: bytes) -> tuple[int, bytes]:
    """One request, byte for byte, and what came back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", api.port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return int(answer.split()[1]), answer


def get(path: str, *headers: str, host: str = "127.0.0.1") -> bytes:
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: close", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def test_health_is_open_and_says_little(api: Served) -> None:
    answer = await api.bare.get("/api/health")
    assert (answer.status_code, sorted(answer.json())) == (200, ["status", "uptime_s", "version"])


async def test_the_description_and_its_page_are_open(api: Served) -> None:
    paths = (await api.bare.get("/api/openapi.json")).json()["paths"]
    page = await api.bare.get("/api/docs")
    assert "/api/projects/{pid}/super-agent/chat" in paths
    assert page.status_code == 200
    assert "http://" not in page.text.replace(f"http://127.0.0.1:{api.port}", "")
    assert "<script" not in page.text


PATHS = [
    "/", "/api", "/api/alerts", "/API/alerts", "/api/ALERTS", "//api/alerts", "/api//alerts", "/api/%2e%2e/x",
    "/api/../api/alerts", "/api;/x", "/api/health/../alerts", "/api/health/", "/api/health%2f", "/api/health%00",
    "/api/healthx", "/api/events", "/api/projects/0/artifacts/report.html", "/api/media/../../owner.token",
    "http://127.0.0.1/api/health", "/api/docs/../alerts", "/%61pi/alerts", "/api/pair/init", "/api/pair/list",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
async def test_without_a_token_no_spelling_of_a_path_is_let_in(api: Served, path: str) -> None:
    status, answer = await raw(api, get(path))
    body = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert (status, body["code"], body["fields"]) == (401, "unauthorized", [])


@pytest.mark.parametrize("path", ["/api/%zz", "/api/alerts/%", "/api/%4"])
async def test_a_percent_sign_that_encodes_nothing_is_a_bad_request(api: Served, path: str) -> None:
    assert (await raw(api, get(path)))[0] == 400
    assert (await raw(api, get(path, f"Authorization: Bearer {api.token}")))[0] == 400


@pytest.mark.parametrize(
    "path", ["/api/nope", "/", "/api/%2e%2e/owner.token", "/API/alerts", "//api/alerts", "/api/alerts/%00"]
)
async def test_with_a_token_the_unknown_is_not_found_as_json(api: Served, path: str) -> None:
    status, answer = await raw(api, get(path, f"Authorization: Bearer {api.token}"))
    assert (status, json.loads(answer.partition(b"\r\n\r\n")[2])["code"]) == (404, "not_found")


async def test_the_wrong_method_is_said(api: Served) -> None:
    answer = await api.http.put("/api/identity", json={})
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


@pytest.mark.parametrize(
    "host",
    [
        "attacker.example",
        "127.0.0.1.evil.tld",
        "localhost.evil",
        "localhost.",
        "",
        "a@127.0.0.1",
        "127.0.0.1:99999",
        "0.0.0.0",
    ],
)
@pytest.mark.parametrize("path", ["/api/health", "/api/alerts"])
async def test_another_host_name_is_refused_even_with_a_good_token(api: Served, host: str, path: str) -> None:
    status, answer = await raw(api, get(path, f"Authorization: Bearer {api.token}", host=host))
    assert status == 403
    assert b"access-control" not in answer.lower()


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "LOCALHOST", "127.0.0.1:7430", "[::1]", "[::1]:80", "localhost:1234"]
)
async def test_this_computers_names_are_let_in_on_any_port(api: Served, host: str) -> None:
    assert (await raw(api, get("/api/alerts", f"Authorization: Bearer {api.token}", host=host)))[0] == 200


@pytest.mark.parametrize(
    "header",
    ["Origin: https://evil.example", "Origin: null", "Origin: ", "Origin: http://localhost:3000",
     "Origin: http://127.0.0.1.evil.tld", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site"],
)  # fmt: skip
async def test_a_web_page_is_refused_before_any_work(api: Served, header: str) -> None:
    for path in ("/api/health", "/api/events", "/api/alerts"):
        status, answer = await raw(api, get(path, header, f"Authorization: Bearer {api.token}"))
        assert (status, b"access-control" in answer.lower()) == (403, False)


async def test_our_own_page_is_let_in(api: Served) -> None:
    own = {"origin": f"http://127.0.0.1:{api.port}", "sec-fetch-site": "same-origin"}
    assert (await api.http.get("/api/identity", headers=own)).status_code == 200


@pytest.mark.parametrize("name", ["token", "access_token", "authorization", "api_key"])
async def test_a_token_in_the_address_opens_nothing(api: Served, name: str) -> None:
    for path in ("/api/events", "/api/alerts"):
        assert (await api.bare.get(path, params={name: api.token})).status_code == 401


async def test_a_websocket_is_not_spoken(api: Served) -> None:
    upgrade = (
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    )
    request = get("/api/events", *upgrade).replace(b"Connection: close", b"Connection: Upgrade")
    reader, writer = await asyncio.open_connection("127.0.0.1", api.port)
    writer.write(request)
    assert (await reader.readline()).split()[1] == b"401"
    writer.close()
    await writer.wait_closed()


async def test_two_authorization_headers_are_refused(api: Served) -> None:
    header = f"Authorization: Bearer {api.token}"
    assert (await raw(api, get("/api/alerts", header, header)))[0] == 400


async def test_ten_wrong_tokens_a_minute_and_the_good_ones_go_on(api: Served) -> None:
    wrong = {"authorization": "Bearer nothing"}
    statuses = [(await api.bare.get("/api/alerts", headers=wrong)).status_code for _ in range(40)]
    assert statuses == [401] * 10 + [429] * 30
    last = await api.bare.get("/api/alerts", headers=wrong)
    assert 0 < int(last.headers["retry-after"]) <= 61
    assert last.json()["code"] == "too_many_attempts"
    assert (await api.http.get("/api/alerts")).status_code == 200


async def test_a_body_over_the_limit_is_refused_by_its_declaration(api: Served) -> None:
    request = get("/api/identity", f"Authorization: Bearer {api.token}", "Content-Length: 200000000")
    assert (await raw(api, request.replace(b"GET", b"PATCH", 1)))[0] == 413


async def test_a_body_over_the_limit_is_refused_as_it_arrives(api: Served) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(1000):
            yield b"x" * 65_536

    answer = await api.http.post("/api/projects/0/super-agent/chat", content=endless())
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert (await api.bare.get("/api/health")).status_code == 200


async def test_nobody_without_a_token_is_listened_to(api: Served) -> None:
    request = get("/api/identity", "Content-Length: 1000000").replace(b"GET", b"PATCH", 1)
    assert (await raw(api, request))[0] == 401


async def test_a_million_brackets_are_a_bad_request(api: Served) -> None:
    json_type = {"content-type": "application/json"}
    for path, method in (("/api/identity", "PATCH"), ("/api/projects/0/super-agent/chat", "POST")):
        answer = await api.http.request(method, path, content=b"[" * 1_000_000, headers=json_type)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid")


@pytest.mark.parametrize(
    "headers",
    [{"content-type": "text/plain"}, {"content-type": "application/json", "content-encoding": "gzip"}, {}],
)
async def test_what_is_not_plain_json_is_an_unsupported_type(api: Served, headers: dict[str, str]) -> None:
    answer = await api.http.patch("/api/identity", content=b'{"agent_name": "Ada"}', headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (415, "not_json")


async def test_broken_json_and_wrong_fields_are_told_apart(api: Served) -> None:
    json_type = {"content-type": "application/json"}
    broken = await api.http.patch("/api/identity", content=b'{"agent_name":', headers=json_type)
    assert (broken.status_code, broken.json()["code"]) == (400, "invalid")
    wrong = await api.http.patch("/api/identity", json={"nickname": "x", "agent_name": 3})
    assert (wrong.status_code, sorted(wrong.json()["fields"])) == (422, ["agent_name", "nickname"])
    assert sorted(wrong.json()) == ["code", "error", "fields"]


async def test_a_slow_head_is_cut_off(api: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.api.listening.HEAD_S", 0.2)
    reader, writer = await asyncio.open_connection("127.0.0.1", api.port)
    writer.write(b"GET /api/hea")
    assert (await reader.read()).startswith(b"HTTP/1.1 408")
    writer.close()
    await writer.wait_closed()


async def test_a_slow_body_is_cut_off(api: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.api.guard.BODY_S", 0.2)
    head = get("/api/identity", f"Authorization: Bearer {api.token}", "Content-Length: 10")
    assert (await raw(api, head.replace(b"GET", b"PATCH", 1) + b"{"))[0] == 408


PROJECTS = [
    "../0", "0/../../etc", "-1", str(10**20), "%D9%A0", "DEFAULT", "..%2f0", "%2e%2e", "a" * 65, "nope", "0%00",
    "%200", "%EF%BC%90", "", "00", "0;x",
]  # fmt: skip


@pytest.mark.parametrize("pid", PROJECTS)
async def test_a_project_that_is_none_is_not_found_and_never_a_path(api: Served, pid: str) -> None:
    for body in ('{"prompt": "hi", "channel": "whatsapp"}', '{"prompt": "hi"}'):
        head = get(
            f"/api/projects/{pid}/super-agent/chat",
            f"Authorization: Bearer {api.token}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
        )
        assert (await raw(api, head.replace(b"GET", b"POST", 1) + body.encode()))[0] == 404
    assert (await api.http.get("/api/alerts")).json()["data"] == []
