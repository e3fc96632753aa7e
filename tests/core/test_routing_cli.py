"""`apx model ...`, `apx debug routing`, `apx spending` and `apx run show`, as they are typed."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from core.cli.main import group


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("APX_HOME", str(tmp_path / "apx"))
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    (tmp_path / "apx").mkdir(mode=0o700)
    agent = {"enabled": True, "model": "openai:gpt-4o"}
    (tmp_path / "apx" / "config.json").write_text(json.dumps({"port": 0, "super_agent": agent}))
    return tmp_path / "apx"


def apx(*words: str) -> Result:
    return CliRunner().invoke(group, words)


def route(*more: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(apx("debug", "routing", "--json", *more).stdout)
    return answer


def ladder() -> list[str]:
    return [one["target"] for one in route()["fallback"]]


def test_the_commands_change_what_the_router_reads() -> None:
    assert apx("model", "order", "groq:b/x", "xai:a").exit_code == 0
    assert ladder() == []
    said = apx("model", "enable")
    assert said.exit_code == 0
    assert "1. groq:b/x stands in" in said.output
    assert ladder() == ["groq:b/x", "xai:a"]
    apx("model", "order", "xai:a", "groq:b/x")
    assert ladder() == ["xai:a", "groq:b/x"]
    status = apx("model", "status")
    assert "openai:gpt-4o answers first" in status.output
    assert "2. groq:b/x stands in" in status.output
    assert json.loads(apx("model", "status", "--json").stdout)["routing"]["model_fallback"]["enabled"] is True
    apx("model", "disable")
    assert ladder() == []
    apx("model", "order")
    assert route()["model_fallback"]["models"] == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["bare"], 1),
        (["a:1", "a:1"], 2),
        ([f"a:{n}" for n in range(9)], 2),
    ],
)
def test_a_bad_order_changes_nothing(words: list[str], code: int) -> None:
    apx("model", "enable")
    apx("model", "order", "xai:a")
    refused = apx("model", "order", *words)
    assert refused.exit_code == code
    assert refused.stderr.strip()
    assert ladder() == ["xai:a"]


def test_debug_routing_explains_and_connects_to_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = {
        "port": 0,
        "model": "ollama:qwen3",
        "small_model": "openai:gpt-4o-mini",
        "llm_routing": {"fallback": [{"providerID": "openai", "modelID": "gpt-4o"}]},
        "super_agent": {
            "enabled": True,
            "routing": {"rules": [{"model": "xai:grok-4", "when": {"has_image": True}}]},
        },
    }
    (home / "config.json").write_text(json.dumps(config))
    real = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        # the command talks to the app it opens, and to nobody else
        assert self.family == getattr(socket, "AF_UNIX", None) or address[0] == "127.0.0.1"
        real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
    told = route()
    assert (told["primary"], told["selected_by"], told["local"]) == ("ollama:qwen3", "model", True)
    assert [(one["target"], one["why"]) for one in told["narrowed"]] == [("openai:gpt-4o", "local")]
    assert "is local" in told["auxiliary"]["problem"]
    assert told["rules"] == [{"model": "xai:grok-4", "when": {"has_image": True}}]
    lines = apx("debug", "routing").output
    assert "not: openai:gpt-4o: the conversation is local, and this model is not" in lines
    assert "rules[0]: xai:grok-4 when has_image=True" in lines
    assert route("--model", "openai:gpt-4o")["selected_by"] == "turn"
    assert route("--model", "xai:grok-4")["auxiliary"]["model"] == "openai:gpt-4o-mini"


def test_headless_without_a_model_demands_one(home: Path) -> None:
    (home / "config.json").write_text(json.dumps({"port": 0, "super_agent": {"enabled": True}}))
    refused = apx("exec", "hello")
    assert refused.exit_code == 3
    assert "--model PROVIDER:MODEL" in refused.stderr
    assert apx("exec", "--model", "practice:rules", "hello").exit_code == 0


def test_a_run_shows_its_attempts_and_spending_shows_its_model() -> None:
    apx("exec", "--model", "practice:rules", "hello")
    (one,) = json.loads(apx("run", "list", "--json").stdout)
    shown = apx("run", "show", one["id"]).output
    assert "practice:rules" in shown
    assert "answered" in shown
    assert "practice:rules" in apx("spending", "--by", "model").output
    told = json.loads(apx("spending", "--by", "channel", "--json").stdout)
    assert [row["key"] for row in told["data"]] == ["cli"]
