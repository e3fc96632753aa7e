"""Rounds, questions and the phone over real HTTP, with a simulated phone behind a real adb server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bridge.doctor import MENDED
from bridge.parts import phone, phone_tools
from bridge.png import check
from bridge.simulator.casts import Author, empty
from bridge.simulator.phone import SimPhone
from bridge.simulator.stage import SimDevice
from core.events import RoundClosed
from core.texts import t
from tests.fakes.api_home import Served, served
from tests.fakes.town import server_and_phone, settings

pytestmark = pytest.mark.anyio
CODE = "482 913"


@dataclass
class Place:
    api: Served
    device: SimDevice
    adb_port: int

    async def round(self) -> dict[str, Any]:
        """A round that the owner asked for, when it is over."""
        closed = asyncio.Event()
        leave = self.api.app.bus.subscribe(RoundClosed, lambda _: closed.set())
        started = await self.api.http.post("/api/rounds")
        assert started.status_code == 202
        await asyncio.wait_for(closed.wait(), 60)
        leave()
        alert = (await self.api.http.get(f"/api/alerts/{started.json()['alert_id']}")).json()
        assert alert["source"] == "owner"
        return (await self.api.http.get(f"/api/rounds/{alert['round_id']}")).json()


def two_chats() -> SimPhone:
    """Somebody with a question, and a bank with a code."""
    phone = empty("es")
    write = Author(phone)
    write.waiting(phone.whatsapp.add("Ana", number="34600100201"), 9, "¿Vienes el viernes?")
    bank = phone.whatsapp.add("Banco Solar", number="34600100202")
    write.waiting(bank, 5, f"Banco Solar: tu código de verificación es {CODE}.")
    return phone


@asynccontextmanager
async def place(tmp_path: Path, *, part: Any = phone, **more: Any) -> AsyncIterator[Place]:
    async with (
        server_and_phone(tmp_path, two_chats()) as (port, device),
        served(tmp_path, settings(None, device.address, port, **more), [part]) as api,
    ):
        yield Place(api, device, port)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Place]:
    async with place(tmp_path, whatsapp={"posture": "draft"}) as one:
        yield one


PATHS = ["/api/rounds", "/api/rounds/rnd_x", "/api/questions", "/api/phone", "/api/phone/screenshot"]


async def test_a_bridge_may_alert_and_read_nothing_of_rounds_or_phone(here: Place) -> None:
    _, bridge = await here.api.paired("bridge")
    for path in PATHS:
        assert (await here.api.bare.get(path, headers=bridge)).status_code == 403, path
    for path in ("/api/rounds", "/api/phone/use", "/api/questions/q"):
        assert (await here.api.bare.post(path, headers=bridge, json={})).status_code == 403, path
    assert (await here.api.bare.get("/api/rounds")).status_code == 401


async def test_a_round_that_was_asked_for_can_be_read_again_with_its_codes_covered(here: Place) -> None:
    whole = await here.round()
    chats = {chat["title"]: chat for chat in whole["conversations"]}
    assert set(chats) == {"Ana", "Banco Solar"}
    assert [alert["source"] for alert in whole["alerts"]] == ["owner"]
    assert whole["steps"]
    assert whole["report"]["id"] == whole["report_id"]
    assert chats["Ana"]["decision"] == "ask_owner"
    assert chats["Ana"]["run"]["target"] == "practice:rules"
    assert CODE not in str(whole)
    assert "••••••" in chats["Banco Solar"]["messages"][-1]["text"]
    assert "••••••" in whole["report"]["text"]
    (listed,) = (await here.api.http.get("/api/rounds?limit=5")).json()["data"]
    assert (listed["id"], listed["conversations"], listed["waiting"]) == (whole["id"], 2, 1)


async def test_only_the_owner_sees_codes(here: Place) -> None:
    path = f"/api/rounds/{(await here.round())['id']}?reveal=1"
    assert CODE in (await here.api.http.get(path)).text
    _, client = await here.api.paired("client")
    assert (await here.api.bare.get(path, headers=client)).status_code == 403
    assert (await here.api.bare.get(path.partition("?")[0], headers=client)).status_code == 200


async def test_a_question_is_answered_once_and_goes_into_its_chat(here: Place) -> None:
    await here.round()
    (open_one,) = (await here.api.http.get("/api/questions")).json()["data"]
    assert open_one["chat"] == "Ana"
    path = f"/api/questions/{open_one['id']}"
    for body, status in (({"answer": "maybe"}, 422), ({"answer": "write", "text": " "}, 400)):
        assert (await here.api.http.post(path, json=body)).status_code == status
    answered = await here.api.http.post(path, json={"answer": "write", "text": "Sí, voy"})
    assert answered.status_code == 202
    again = await here.api.http.post(path, json={"answer": "leave"})
    assert (again.status_code, again.json()["code"]) == (409, "already_answered")
    assert (await here.api.http.get("/api/questions")).json()["data"] == []
    from bridge.owner_questions import Questions

    await here.api.app.services[Questions].aclose()
    assert [(sent.title, sent.text) for sent in here.device.phone.sent] == [("Ana", "Sí, voy")]
    assert (await here.api.http.post("/api/questions/none", json={"answer": "leave"})).status_code == 404


async def test_rounds_that_nobody_would_walk_are_refused_and_keep_no_alert(tmp_path: Path) -> None:
    async with place(tmp_path, whatsapp={"enabled": False}) as here:
        refused = await here.api.http.post("/api/rounds")
        assert (refused.status_code, refused.json()["code"]) == (409, "not_configured")
        assert (await here.api.http.get("/api/alerts")).json()["data"] == []
    (tmp_path / "two").mkdir()
    async with place(tmp_path / "two", part=phone_tools) as here:
        assert (await here.api.http.post("/api/rounds")).status_code == 503
        assert (await here.api.http.get("/api/alerts")).json()["data"] == []


async def test_an_unknown_round_and_a_wrong_limit(here: Place) -> None:
    assert (await here.api.http.get("/api/rounds/rnd_none")).status_code == 404
    assert (await here.api.http.get("/api/rounds?limit=0")).status_code == 422


async def test_the_phone_says_how_it_is_and_shows_itself(here: Place) -> None:
    shown = (await here.api.http.get("/api/phone")).json()
    assert (shown["state"], shown["serial"]) == ("ready", here.device.address)
    assert shown["condition"]["awake"] is True
    assert [one["state"] for one in shown["devices"]] == ["device"]
    picture = await here.api.http.get("/api/phone/screenshot")
    assert picture.headers["content-type"] == "image/png"
    assert picture.headers["cache-control"] == "no-store"
    assert check(picture.content).width == 1080


async def test_the_doctor_says_how_the_phone_is_and_what_to_do(here: Place) -> None:
    async def found() -> tuple[str, str, str]:
        checks = (await here.api.http.get("/api/doctor")).json()["data"]
        (one,) = [one for one in checks if one["name"] == "phone"]
        return one["level"], one["text"], one["remedy"]

    assert await found() == ("ok", "El teléfono está listo.", "")
    here.device.phone.keyguard = "secure"
    level, text, remedy = await found()
    assert (level, "bloqueado" in text, "te llegan" in remedy) == ("warn", True, True)
    await here.api.http.post(
        "/api/phone/use", json={"serial": here.device.address, "package": "com.whatsapp.w4b", "user": 10}
    )
    assert (await found())[:2] == ("fail", "WhatsApp no está instalado en el teléfono.")
    await here.api.http.post("/api/phone/use", json={"serial": ""})
    level, text, remedy = await found()
    assert (level, text) == ("warn", "Todavía no se eligió un teléfono.")
    assert "apx phone use" in remedy


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize("state", [*sorted(MENDED), "else", "locked", "locked.mend"])
def test_every_state_of_the_phone_has_its_remedy(state: str, lang: str) -> None:
    assert t(f"doctor.phone.{state}", lang)


async def test_a_dark_screen_is_no_picture(here: Place) -> None:
    here.device.phone.sleep()
    answer = await here.api.http.get("/api/phone/screenshot")
    assert (answer.status_code, "screen is off" in answer.json()["error"]) == (503, True)


async def test_only_a_connected_phone_can_be_pinned(here: Place) -> None:
    wrong = await here.api.http.post("/api/phone/use", json={"serial": "other"})
    assert (wrong.status_code, here.device.address in wrong.json()["error"]) == (404, True)
    none = (await here.api.http.post("/api/phone/use", json={"serial": ""})).json()
    assert none["state"] == "not_configured"
    body = {"serial": here.device.address, "package": "com.whatsapp.w4b", "user": 10}
    other = (await here.api.http.post("/api/phone/use", json=body)).json()
    assert (other["package"], other["user"], other["state"]) == ("com.whatsapp.w4b", 10, "whatsapp_missing")
    assert (await here.api.http.post("/api/phone/use", json={"serial": "x", "more": 1})).status_code == 422


async def test_a_phone_is_connected_by_its_address(here: Place) -> None:
    wrong = await here.api.http.post("/api/phone/connect", json={"address": "my phone"})
    assert (wrong.status_code, wrong.json()["fields"]) == (400, ["address"])
    found = (await here.api.http.post("/api/phone/connect", json={"address": here.device.address})).json()
    assert found == {"serial": here.device.address, "state": "device", "pinned": True}
    nobody = await here.api.http.post("/api/phone/connect", json={"address": "127.0.0.1:9"})
    assert (nobody.status_code, nobody.json()["code"]) == (409, "phone_unreachable")


async def test_a_pairing_that_fails_says_so(here: Place) -> None:
    wrong = await here.api.http.post("/api/phone/pair", json={"address": "127.0.0.1:9", "code": "12"})
    assert wrong.status_code == 400
    failed = await here.api.http.post("/api/phone/pair", json={"address": "127.0.0.1:9", "code": "123 456"})
    assert failed.status_code == 409


async def test_the_routes_are_described_with_the_others(here: Place) -> None:
    paths = (await here.api.bare.get("/api/openapi.json")).json()["paths"]
    wanted = {"/api/rounds", "/api/rounds/{round_id}", "/api/questions", "/api/questions/{question_id}"}
    wanted |= {f"/api/phone{tail}" for tail in ("", "/use", "/connect", "/pair", "/screenshot")}
    assert wanted <= set(paths)
