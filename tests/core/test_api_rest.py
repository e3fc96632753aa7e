"""Identity, settings, files, runs and events over HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.events import AlertReceived, ConfigRejected, IdentityChanged
from core.store import now
from tests.fakes.api_home import PRACTICE, Served, served

pytestmark = pytest.mark.anyio
CONFIG = "/api/admin/config"
KEY = "sk-test-0123456789abcdef"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as one:
        yield one


async def test_the_identity_changes_field_by_field_and_is_told_once(api: Served) -> None:
    told: list[IdentityChanged] = []
    api.app.bus.subscribe(IdentityChanged, told.append)
    answer = await api.http.patch("/api/identity", json={"agent_name": "Nube", "owner_name": "Sam"})
    assert (answer.json()["agent_name"], answer.json()["owner_name"]) == ("Nube", "Sam")
    assert [(event.agent_name, event.icon) for event in told] == [("Nube", "noche")]
    assert (await api.http.get("/api/identity")).json() == answer.json()
    assert (await api.http.patch("/api/identity", json={"agent_name": ""})).status_code == 400
    assert len(told) == 1


async def test_the_icon_comes_from_the_catalogue_and_is_told(api: Served) -> None:
    told: list[IdentityChanged] = []
    api.app.bus.subscribe(IdentityChanged, told.append)
    icons = (await api.http.get("/api/icons")).json()
    other = next(one["key"] for one in icons["data"] if one["key"] != icons["current"])
    assert (await api.http.patch("/api/identity", json={"icon": other})).json()["icon"] == other
    assert [event.icon for event in told] == [other]
    assert api.app.config.now.super_agent.icon == other
    assert (await api.http.patch("/api/identity", json={"icon": "nope"})).status_code == 400


async def test_settings_change_all_or_none(api: Served) -> None:
    changed = await api.http.patch(CONFIG, json={"set": {"whatsapp.max_chats": 7, "user.language": "es"}})
    assert changed.json()["config"]["whatsapp"]["max_chats"] == 7
    before = api.app.home.config.read_text()
    wrong = await api.http.patch(CONFIG, json={"set": {"whatsapp.max_chats": 8, "nope.x": 1}})
    assert (wrong.status_code, wrong.json()["fields"]) == (400, ["nope"])
    assert api.app.home.config.read_text() == before
    back = await api.http.patch(CONFIG, json={"unset": ["whatsapp.max_chats"]})
    assert back.json()["config"]["whatsapp"]["max_chats"] == 30
    assert (await api.http.patch(CONFIG, json={"change": {}})).status_code == 422


async def test_a_secret_is_kept_in_the_vault_shown_as_a_marker_and_kept_by_it(api: Served) -> None:
    body = {"set": {"engines": {"openai": {"api_key": KEY, "base_url": "http://127.0.0.1:1"}}}}
    answer = await api.http.patch(CONFIG, json=body)
    shown = answer.json()["config"]["engines"]["openai"]
    assert KEY not in answer.text + api.app.home.config.read_text()
    assert await api.app.config.secret(api.app.config.now.engines["openai"].api_key) == KEY
    again = await api.http.patch(
        CONFIG, json={"set": {"engines": {"openai": shown | {"base_url": "http://127.0.0.1:2"}}}}
    )
    assert again.status_code == 200
    assert await api.app.config.secret(api.app.config.now.engines["openai"].api_key) == KEY
    assert api.app.config.now.engines["openai"].base_url == "http://127.0.0.1:2"


async def test_bots_keep_their_own_tokens_when_their_list_is_reordered(api: Served) -> None:
    tokens = {"a": "111111:" + "a" * 35, "b": "222222:" + "b" * 35}
    await api.http.patch(
        CONFIG, json={"set": {"telegram.channels": [{"name": n, "bot_token": t} for n, t in tokens.items()]}}
    )
    shown = (await api.http.get(CONFIG)).json()["config"]["telegram"]["channels"]
    assert (await api.http.patch(CONFIG, json={"set": {"telegram.channels": shown[::-1]}})).status_code == 200
    kept = {
        one.name: await api.app.config.secret(one.bot_token) for one in api.app.config.now.telegram.channels
    }
    assert kept == tokens


async def test_a_change_that_does_not_hold_leaves_the_vault_as_it_was(api: Served) -> None:
    await api.http.patch(CONFIG, json={"set": {"engines.openai.api_key": KEY}})
    wrong = {
        "engines.openai.api_key": "sk-another-0123456789",
        "engines.groq.api_key": "gsk-x",
        "port": "many",
    }
    assert (await api.http.patch(CONFIG, json={"set": wrong})).status_code == 400
    assert await api.app.vault.names() == ["engines.openai.api_key"]
    assert await api.app.config.secret(api.app.config.now.engines["openai"].api_key) == KEY


async def test_a_broken_file_is_said_with_its_line_and_the_last_good_one_stays(api: Served) -> None:
    rejected = asyncio.Event()
    api.app.bus.subscribe(ConfigRejected, lambda _: rejected.set())
    api.app.home.config.write_text('{\n  "port": 0,\n  "whatsapp": {"max_chats": "many"}\n}')
    await asyncio.wait_for(rejected.wait(), 10)
    answer = (await api.http.get(CONFIG)).json()
    assert "line 3" in answer["problem"]
    assert answer["config"]["super_agent"]["model"] == "practice:rules"


async def test_a_device_reads_and_asks_but_does_not_administer(api: Served) -> None:
    client_id, client = await api.paired("client")
    for path in ("/api/identity", "/api/runs", "/api/alerts", "/api/icons", "/api/projects", "/api/models"):
        assert (await api.bare.get(path, headers=client)).status_code == 200
    refused = [
        ("GET", CONFIG, None), ("PATCH", CONFIG, {"set": {"super_agent.permission_mode": "total"}}),
        ("POST", "/api/token/rotate", None), ("POST", "/api/pair/init", {}), ("GET", "/api/pair/list", None),
        ("DELETE", f"/api/pair/{client_id}", None), ("POST", "/api/models/test", {}), ("GET", "/api/doctor", None),
        ("POST", "/api/projects", {"path": "/"}), ("POST", "/api/telegram/send", {"text": "x"}),
        ("POST", "/api/telegram/unhook", {}),
    ]  # fmt: skip
    for method, path, body in refused:
        answer = await api.bare.request(method, path, headers=client, json=body)
        assert (path, answer.status_code) == (path, 403)
    assert api.app.config.now.super_agent.permission_mode == "automatico"


async def test_pairing_needs_a_code_and_nothing_else(api: Served) -> None:
    for body in (b"", b"{}", b"[]", b"{", b'{"pairing_id": "x", "code": "y"}'):
        answer = await api.bare.post(
            "/api/pair/confirm", content=body, headers={"content-type": "application/json"}
        )
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    _, headers = await api.paired("client")
    assert (await api.bare.get("/api/identity", headers=headers)).status_code == 200


async def test_the_owners_token_is_rotated_and_never_said(api: Served) -> None:
    answer = await api.http.post("/api/token/rotate")
    fresh = api.app.home.token.read_text().strip()
    assert (fresh != api.token, fresh in answer.text) == (True, False)
    assert (await api.http.get("/api/identity")).status_code == 401
    assert (
        await api.bare.get("/api/identity", headers={"authorization": f"Bearer {fresh}"})
    ).status_code == 200


async def keep_file(api: Served, media_id: str, mime: str, *, path: str = "", name: str = "a.png") -> None:
    if not path:
        (api.app.home.media_out / media_id).write_bytes(b"0123456789")
    await api.app.store.run(
        "insert into media (id, path, name, kind, mime, size, sha256, direction, created_at)"
        " values (?, ?, ?, 'image', ?, 10, '', 'out', ?)",
        media_id,
        path or str(api.app.home.media_out / media_id),
        name,
        mime,
        now(),
    )


@pytest.mark.parametrize(
    ("mime", "shown"),
    [
        ("image/png", True),
        ("audio/ogg", True),
        ("video/mp4", True),
        ("image/svg+xml", False),
        ("text/html", False),
        ("application/pdf", False),
    ],
)
async def test_only_pictures_sound_and_film_are_shown_in_place(api: Served, mime: str, shown: bool) -> None:
    await keep_file(api, "med_1", mime, name='a"\r\nb ñ.png')
    answer = await api.http.get("/api/media/med_1")
    assert (answer.status_code, answer.content) == (200, b"0123456789")
    assert answer.headers["content-disposition"].startswith("inline" if shown else "attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-type"] == (mime if shown else "application/octet-stream")
    part = await api.http.get("/api/media/med_1", headers={"range": "bytes=2-4"})
    assert (part.status_code, part.content) == (206, b"234")


async def test_a_file_is_found_by_id_below_media_and_nowhere_else(api: Served, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (api.app.home.media_out / "link").symlink_to(tmp_path / "secret")
    await keep_file(api, "med_1", "image/png", path=str(tmp_path / "secret"))
    await keep_file(api, "med_2", "image/png", path="../owner.token")
    await keep_file(api, "med_3", "image/png", path=str(api.app.home.media_out / "link"))
    await keep_file(api, "med_4", "image/png", path=str(api.app.home.media_out / "gone"))
    for media_id in ("med_1", "med_2", "med_3", "med_4", "med_5", "..%2fowner.token", "%2e%2e"):
        assert (await api.http.get(f"/api/media/{media_id}")).status_code == 404


async def test_runs_are_listed_read_and_filtered(api: Served) -> None:
    answer = await api.http.post(
        "/api/projects/0/super-agent/chat", json={"prompt": "hello", "channel": "web"}
    )
    run_id = answer.json()["run_id"]
    (row,) = (
        await api.http.get("/api/runs", params={"status": "completed,failed", "channel": "web"})
    ).json()["data"]
    assert row["id"] == run_id
    assert (await api.http.get("/api/runs", params={"status": ["failed"]})).json()["data"] == []
    assert (await api.http.get("/api/runs", params={"status": "sleeping"})).status_code == 400
    lines = (await api.http.get(f"/api/runs/{run_id}/transcript")).json()["data"]
    assert (lines[0]["text"], lines[-1]["text"]) == ("hello", answer.json()["text"])
    manifest = (await api.http.get(f"/api/runs/{run_id}/manifest")).json()
    assert manifest["requests"]
    for part in ("", "/transcript", "/manifest"):
        assert (await api.http.get(f"/api/runs/run_none{part}")).status_code == 404


async def test_a_run_that_reached_no_model_has_no_manifest(tmp_path: Path) -> None:
    async with served(tmp_path, {}) as api:
        failed = await api.http.post("/api/projects/0/super-agent/chat", json={"prompt": "x"})
        assert (await api.http.get(f"/api/runs/{failed.json()['run_id']}/manifest")).status_code == 404


async def read(answer: httpx.Response, count: int) -> list[dict[str, Any]]:
    """The next events of a stream: id, name and data."""
    got: list[dict[str, Any]] = []
    one: dict[str, Any] = {}
    async for line in answer.aiter_lines():
        field, _, value = line.partition(": ")
        if field in {"id", "event"}:
            one[field] = value
        elif field == "data":
            got.append(one | {"data": json.loads(value)})
            one = {}
            if len(got) == count:
                break
    return got


async def ready(answer: httpx.Response) -> None:
    async for line in answer.aiter_lines():
        if line == ": ready":
            return


def tell(api: Served, *ids: str) -> None:
    for alert_id in ids:
        api.app.bus.emit(AlertReceived(alert_id=alert_id))


async def test_events_arrive_with_id_name_and_fields(api: Served) -> None:
    async with api.http.stream("GET", "/api/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.aiter_lines()
        assert await anext(lines) == ": ready"
        tell(api, "a1")
        await anext(lines)
        got = [await anext(lines) for _ in range(3)]
    assert got[0].startswith("id: ")
    assert got[1] == "event: alert_received"
    data = json.loads(got[2].removeprefix("data: "))
    assert (data["alert_id"], data["project_id"], data["run_id"]) == ("a1", "default", None)
    assert data["at"]


async def test_who_comes_back_gets_what_was_missed(api: Served) -> None:
    tell(api, "a1", "a2", "a3")
    async with api.http.stream("GET", "/api/events") as answer:
        tell(api, "a4")
        (fresh,) = await read(answer, 1)
    assert fresh["data"]["alert_id"] == "a4"  # without a last id only what is new
    boot, _, number = fresh["id"].partition("-")
    async with api.http.stream(
        "GET", "/api/events", headers={"last-event-id": f"{boot}-{int(number) - 3}"}
    ) as answer:
        missed = await read(answer, 3)
    assert [one["data"]["alert_id"] for one in missed] == ["a2", "a3", "a4"]


@pytest.mark.parametrize("last", ["1-1", "nonsense", "-", "١", "999999999999999999999"])
async def test_a_last_id_of_another_start_resumes_nothing(api: Served, last: str) -> None:
    tell(api, "a1")
    async with api.http.stream("GET", "/api/events", headers={"last-event-id": last.encode()}) as answer:  # type: ignore[dict-item]
        tell(api, "a2")
        (one,) = await read(answer, 1)
    assert one["data"]["alert_id"] == "a2"


async def test_a_stream_ends_with_its_token(api: Served) -> None:
    client_id, client = await api.paired("client")
    async with (
        api.bare.stream("GET", "/api/events", headers=client) as theirs,
        api.http.stream("GET", "/api/events") as mine,
    ):
        await api.http.delete(f"/api/pair/{client_id}")
        assert await read(theirs, 1) == []
        rotated = await api.app.store.one("select 1")
        assert rotated is not None
        await api.http.post("/api/token/rotate")
        assert await read(mine, 1) == []


async def test_a_reader_who_falls_behind_is_sent_away_and_nobody_waits_for_it(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.api.feed.BEHIND", 5)
    async with api.http.stream("GET", "/api/events") as answer:
        tell(api, *(f"a{n}" for n in range(20)))
        got = await read(answer, 100)
    assert [one["data"]["alert_id"] for one in got] == [f"a{n}" for n in range(5)]


async def test_the_app_closes_while_somebody_listens(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        reading = asyncio.create_task(_drain(api))
        tell(api, "a1")
        await asyncio.sleep(0)
    assert await asyncio.wait_for(reading, 10) is None


async def _drain(api: Served) -> None:
    try:
        async with api.http.stream("GET", "/api/events") as answer:
            await read(answer, 100)
    except (httpx.HTTPError, RuntimeError):
        pass


async def test_telegram_that_is_off_says_so(api: Served) -> None:
    assert (await api.http.get("/api/telegram/status")).json() == {"enabled": False, "data": []}
    sent = (await api.http.post("/api/telegram/send", json={"text": "x"})).json()
    assert sent["state"] in {"queued", "not_attempted"}
    assert (
        await api.http.post("/api/telegram/claim", json={"user_id": 1, "accept": True})
    ).status_code == 404
    assert (await api.http.post("/api/telegram/test", json={"channel": "nope"})).status_code == 409
    assert (await api.http.post("/api/telegram/unhook", json={})).status_code == 409


async def test_a_router_of_a_part_is_served_behind_the_same_door(tmp_path: Path) -> None:
    from contextlib import asynccontextmanager

    from fastapi import APIRouter

    from core.app import App

    router = APIRouter()

    @router.get("/api/extra")
    async def extra() -> dict[str, bool]:
        return {"extra": True}

    @asynccontextmanager
    async def part(app: App) -> AsyncIterator[None]:
        app.routers.append(lambda: router)
        yield

    async with served(tmp_path, PRACTICE, [part]) as api:
        assert (await api.http.get("/api/extra")).json() == {"extra": True}
        assert (await api.bare.get("/api/extra")).status_code == 401
