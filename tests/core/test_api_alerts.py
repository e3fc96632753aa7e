"""The bridge's address: any body is an alert, and a bridge token can do nothing else."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from core.events import AlertReceived, RunStarted
from core.store import now
from tests.fakes.api_home import Served, served

pytestmark = pytest.mark.anyio
CHAT = "/api/projects/0/super-agent/chat"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as one:
        yield one


@pytest.fixture
async def bridge(api: Served) -> dict[str, str]:
    return (await api.paired("bridge"))[1]


async def stored(api: Served) -> list[dict[str, str]]:
    return (await api.http.get("/api/alerts")).json()["data"]


BODIES = {
    "json": (b'{"prompt": "7 new messages", "channel": "whatsapp"}', "application/json"),
    "json of somebody else": (
        b'{"sender": "%antitle", "message": "%antext", "fromMe": false}',
        "application/json",
    ),
    "a list": (b'[{"id": 1, "packageName": "com.whatsapp"}]', "application/json"),
    "broken json": (b'{"prompt": "he said "yes"\n"', "application/json"),
    "form": (b"title=%25evtprm2&text=hola", "application/x-www-form-urlencoded"),
    "text": ("{not_title}: señal".encode(), "text/plain"),
    "empty": (b"", ""),
    "bytes": (b"\x00\xff\xfe\x80", "application/octet-stream"),
    "compressed": (b"\x1f\x8b\x08", "application/json"),
    "another channel": (b'{"prompt": "x", "channel": "desktop"}', "application/json"),
    "a megabyte": (b"x" * 1_000_000, "text/plain"),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("path", [CHAT, f"{CHAT}/stream", "/api/projects/default/super-agent/chat"])
async def test_whatever_a_bridge_posts_is_one_stored_alert(
    api: Served, bridge: dict[str, str], name: str, path: str
) -> None:
    ran: list[RunStarted] = []
    api.app.bus.subscribe(RunStarted, ran.append)
    body, kind = BODIES[name]
    answer = await api.bare.post(path, content=body, headers=bridge | {"content-type": kind})
    (alert,) = await stored(api)
    assert (answer.status_code, answer.json()) == (
        202,
        {"alert_id": alert["id"], "status": "accepted", "round_id": None},
    )
    assert (alert["state"], alert["source"], ran) == ("waiting", "http", [])


async def test_a_body_cannot_give_a_bridge_more_than_its_token(api: Served, bridge: dict[str, str]) -> None:
    told: list[str] = []
    api.app.bus.subscribe(AlertReceived, lambda event: told.append(event.alert_id))
    body = {
        "prompt": "list the files",
        "channel": "telegram",
        "role": "owner",
        "sender": "owner",
        "permission_mode": "total",
        "request_context": {"tool_guard": False},
    }
    answer = await api.bare.post(CHAT, json=body, headers=bridge)
    assert (answer.status_code, told) == (202, [answer.json()["alert_id"]])


OTHERS = [
    ("GET", "/api/runs"), ("GET", "/api/identity"), ("PATCH", "/api/identity"), ("GET", "/api/admin/config"),
    ("PATCH", "/api/admin/config"), ("GET", "/api/events"), ("GET", "/api/media/x"), ("POST", "/api/pair/init"),
    ("POST", "/api/pair/confirm"), ("GET", "/api/pair/list"), ("DELETE", "/api/pair/x"), ("POST", "/api/token/rotate"),
    ("GET", "/api/projects"), ("POST", "/api/models/test"), ("GET", "/api/nope"), ("DELETE", "/api/alerts/x"),
    ("GET", CHAT), ("POST", "/api/alerts"), ("GET", "/api/alerts/../runs"), ("POST", "/api/rounds"),
]  # fmt: skip


async def test_a_bridge_token_reaches_nothing_else(api: Served, bridge: dict[str, str]) -> None:
    for method, path in OTHERS:
        answer = await api.bare.request(method, path, headers=bridge)
        assert (path, answer.status_code, answer.json()["code"]) == (path, 403, "refused")


async def test_a_bridge_sees_its_own_alerts_and_no_others(api: Served, bridge: dict[str, str]) -> None:
    _, other = await api.paired("bridge")
    mine = (await api.bare.post(CHAT, content=b"1", headers=bridge)).json()["alert_id"]
    theirs = (await api.bare.post(CHAT, content=b"2", headers=other)).json()["alert_id"]
    listed = (await api.bare.get("/api/alerts", headers=bridge)).json()["data"]
    assert [one["id"] for one in listed] == [mine]
    assert (await api.bare.get(f"/api/alerts/{mine}", headers=bridge)).json()["body"] == "1"
    foreign = await api.bare.get(f"/api/alerts/{theirs}", headers=bridge)
    unknown = await api.bare.get("/api/alerts/alr_none", headers=bridge)
    assert (foreign.status_code, foreign.json()) == (unknown.status_code, unknown.json())
    assert foreign.status_code == 404
    assert len(await stored(api)) == 2


async def test_a_bridge_posts_into_its_own_project_alone(api: Served) -> None:
    await api.app.store.run("insert into projects (id, name, created_at) values ('p2', 'two', ?)", now())
    _, second = await api.paired("bridge", "p2")
    there = await api.bare.post("/api/projects/p2/super-agent/chat", headers=second)
    elsewhere = await api.bare.post(CHAT, headers=second)
    assert (there.status_code, elsewhere.status_code) == (202, 404)
    assert [one["project_id"] for one in await stored(api)] == ["p2"]


async def test_a_revoked_bridge_is_deaf_at_once(api: Served) -> None:
    client_id, headers = await api.paired("bridge")
    assert (await api.http.delete(f"/api/pair/{client_id}")).status_code == 200
    assert (await api.bare.post(CHAT, headers=headers)).status_code == 401


async def test_a_key_makes_a_repeated_post_one_alert_with_one_answer(
    api: Served, bridge: dict[str, str]
) -> None:
    keyed = bridge | {"idempotency-key": "1733000000"}
    first = await api.bare.post(CHAT, content=b"a", headers=keyed)
    again = await api.bare.post(CHAT, content=b"a", headers=keyed)
    other = await api.bare.post(CHAT, content=b"a", headers=bridge | {"idempotency-key": "1733000001"})
    assert first.json() == again.json()
    assert (first.json()["status"], other.json()["status"]) == ("accepted", "merged")
    assert len(await stored(api)) == 2


async def test_an_alert_during_a_round_names_the_round(api: Served, bridge: dict[str, str]) -> None:
    await api.app.store.run(
        "insert into rounds (id, project_id, state, started_at) values ('rnd_1', 'default', 'running', ?)",
        now(),
    )
    answer = (await api.bare.post(CHAT, headers=bridge)).json()
    assert (answer["status"], answer["round_id"]) == ("merged", "rnd_1")


SAYING_SO = [
    (b'{"channel": "whatsapp"}', "application/json"),
    (b'{"channel": "WhatsApp", "prompt": 7}', "application/json"),
    (b'{"prompt": "a "quote"", "channel":"whatsapp"}', "application/json"),
    (b"channel=whatsapp&prompt=x", "application/x-www-form-urlencoded"),
]


@pytest.mark.parametrize(("body", "kind"), SAYING_SO)
async def test_the_owner_and_their_devices_alert_by_saying_so(api: Served, body: bytes, kind: str) -> None:
    _, client = await api.paired("client")
    for headers in (client, {"authorization": f"Bearer {api.token}"}):
        answer = await api.bare.post(CHAT, content=body, headers=headers | {"content-type": kind})
        assert answer.status_code == 202


async def test_alerts_are_filtered_and_a_wrong_filter_is_said(api: Served, bridge: dict[str, str]) -> None:
    for _ in range(3):
        await api.bare.post(CHAT, headers=bridge)
    page: httpx.Response = await api.http.get(
        "/api/alerts", params={"limit": 2, "state": "waiting", "project_id": "0"}
    )
    assert len(page.json()["data"]) == 2
    assert (await api.http.get("/api/alerts", params={"state": "nope"})).status_code == 400
    assert (await api.http.get("/api/alerts", params={"project_id": "nope"})).status_code == 404
    assert (await api.http.get("/api/alerts", params={"limit": 0})).status_code == 422
