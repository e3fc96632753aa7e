"""Postures of contacts, over HTTP and as they are typed."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bridge.parts import phone_tools, tools
from bridge.verbs import add
from core.cli.group import LazyGroup, Programs
from tests.fakes.api_home import Served, served

PATH = "/api/whatsapp/contacts"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path, {"port": 0, "phone": {"adb_port": 1}}, [phone_tools]) as one:
        yield one


@pytest.mark.anyio
async def test_contacts_are_listed_set_and_taken_away(api: Served) -> None:
    empty = (await api.http.get(PATH)).json()
    assert (empty["data"], empty["default"], empty["quiet_now"]) == ([], "draft", False)
    first = await api.http.post(
        PATH, json={"name": "Ana", "number": "+34 600 200 201", "posture": "auto", "note": "sister"}
    )
    assert (first.status_code, first.json()["new"]) == (201, True)
    again = await api.http.post(PATH, json={"number": "34600200201", "posture": "read_only"})
    assert (again.status_code, again.json()["new"]) == (200, False)
    assert (again.json()["name"], again.json()["note"]) == ("Ana", "sister")
    assert [one.posture for one in api.app.config.now.whatsapp.contacts] == ["read_only"]
    for wrong in ({"posture": "auto"}, {"name": "x", "number": "12", "posture": "auto"}):
        answer = await api.http.post(PATH, json=wrong)
        assert (answer.status_code, answer.json()["error"][-1]) == (400, ".")
    assert (await api.http.post(PATH, json={"name": "x", "posture": "loud"})).status_code == 422
    assert (await api.http.delete(PATH, params={"name": "Nobody"})).status_code == 404
    gone = await api.http.delete(PATH, params={"number": "34600200201"})
    assert gone.json()["removed"]["name"] == "Ana"
    assert (await api.http.get(PATH)).json()["data"] == []


@pytest.mark.anyio
async def test_a_device_sees_the_rules_and_a_bridge_does_not(api: Served) -> None:
    _, client = await api.paired("client")
    _, bridge = await api.paired("bridge")
    assert (await api.bare.get(PATH, headers=client)).status_code == 200
    assert (await api.bare.get(PATH, headers=bridge)).status_code == 403
    for headers in (client, bridge):
        body = {"name": "Ana", "posture": "auto"}
        assert (await api.bare.post(PATH, headers=headers, json=body)).status_code == 403
        assert (await api.bare.delete(PATH, headers=headers, params={"name": "Ana"})).status_code == 403


def apx(*words: str) -> Result:
    group = LazyGroup("apx")
    add(group)
    return CliRunner().invoke(group, words, obj=Programs(tools, ()))


def test_apx_whatsapp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APX_HOME", str(tmp_path / "apx"))
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    done = apx("whatsapp", "set", "Ana", "auto", "--number", "+34 600 200 201", "--note", "sister")
    assert done.exit_code == 0, done.output
    assert apx("whatsapp", "set", "+34 600-200-202", "never").exit_code == 0
    told = json.loads(apx("whatsapp", "contacts", "--json").stdout)
    assert [(one["name"], one["number"], one["posture"]) for one in told["data"]] == [
        ("Ana", "+34 600 200 201", "auto"),
        ("", "+34 600-200-202", "never"),
    ]
    assert "draft" in apx("whatsapp", "contacts").output
    assert apx("whatsapp", "set", "Ana", "loud").exit_code == 2
    assert apx("whatsapp", "unset", "34600200201").exit_code == 0
    refused = apx("whatsapp", "unset", "Ana")
    assert (refused.exit_code, "no rule" in refused.stderr) == (1, True)
