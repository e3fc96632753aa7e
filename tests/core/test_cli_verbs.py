"""The verbs, with no app running: each opens the home for itself and ends with the right code."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from core.cli.main import VERBS, group
from core.cli.words import language
from core.paths import Home


@pytest.fixture(autouse=True)
def _english(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    language.cache_clear()


@pytest.fixture
def home() -> Home:
    home = Home.find()
    home.make()
    home.config.write_text(json.dumps({"super_agent": {"enabled": True, "model": "practice:rules"}}))
    return home


def apx(*args: str, stdin: str | None = None) -> Result:
    result = CliRunner().invoke(group, list(args), input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def data(*args: str) -> Any:
    result = apx(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_help_names_every_verb() -> None:
    text = apx("--help").stdout
    for name in VERBS:
        assert f"\n  {name} " in text


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_has_help_and_an_unknown_word_is_a_usage_error(name: str) -> None:
    assert apx(name, "--help").exit_code == 0
    assert apx(name, "--no-such-option").exit_code == 2


def test_exec_prints_the_answer_alone_and_the_rest_beside_it(home: Home) -> None:
    home.identity.write_text(json.dumps({"agent_name": "Nube"}))
    result = apx("exec", "hello")
    assert result.exit_code == 0
    assert result.stdout.strip()
    first, *_, last = result.stderr.strip().splitlines()
    assert first == "Nube · practice:rules"
    assert last.startswith("# ")
    assert " tok in / " in last
    assert "super-agent" not in result.output.lower()


@pytest.mark.parametrize(
    ("args", "stdin"),
    [(("exec", "-"), "hello\n"), (("exec",), "hello"), (("exec", "--", "--hello", "you"), None)],
)
def test_exec_takes_its_question_from_anywhere(home: Home, args: tuple[str, ...], stdin: str | None) -> None:
    assert apx(*args, stdin=stdin).exit_code == 0
    (row,) = data("run", "list")
    assert row["channel"] == "cli"
    (question, *_) = data("run", "transcript", row["id"])
    assert question["text"] == ("hello" if stdin else "--hello you")


def test_exec_without_a_question_is_a_usage_error(home: Home) -> None:
    assert apx("exec", stdin="").exit_code == 2


def test_exec_without_a_model_is_not_configured_and_says_the_command(home: Home) -> None:
    home.config.write_text("{}")
    result = apx("exec", "hello")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "apx config set --global super_agent" in result.stderr


@pytest.mark.parametrize(
    "args", [("exec", "-a", "nobody", "x"), ("exec", "--project", "nope", "x"), ("run", "show", "run_none"),
             ("config", "get", "nope"), ("project", "remove", "nope"), ("token", "revoke", "nope")],
)  # fmt: skip
def test_what_is_not_there_fails_with_a_sentence(home: Home, args: tuple[str, ...]) -> None:
    result = apx(*args)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1


def test_a_bot_that_is_not_connected_cannot_be_taken_back(home: Home) -> None:
    result = apx("telegram", "unhook")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "no connected Telegram channel" in result.stderr


def test_a_setting_is_set_read_and_put_back(home: Home) -> None:
    assert apx("config", "set", "--global", "whatsapp.max_chats", "7").exit_code == 0
    assert apx("config", "get", "whatsapp.max_chats").stdout == "7\n"
    assert json.loads(home.config.read_text())["whatsapp"] == {"max_chats": 7}
    assert apx("config", "unset", "whatsapp.max_chats", "--global").exit_code == 0
    assert apx("config", "get", "whatsapp.max_chats").stdout == "30\n"
    assert "super_agent.model" in apx("config", "show").stdout
    assert data("config", "show", "--only-set") == {
        "super_agent": {"enabled": True, "model": "practice:rules"},
        "whatsapp": {},
    }


def test_text_that_looks_like_a_number_stays_text_where_text_is_taken(home: Home) -> None:
    assert apx("config", "set", "user.locale", "123").exit_code == 0
    assert json.loads(home.config.read_text())["user"]["locale"] == "123"


@pytest.mark.parametrize(
    ("key", "value"),
    [("port", "70000"), ("nope", "1"), ("super_agent.permission_mode", "all"), ("port.x", "1")],
)
def test_a_wrong_setting_is_named_and_changes_nothing(home: Home, key: str, value: str) -> None:
    before = home.config.read_text()
    result = apx("config", "set", key, value)
    assert result.exit_code == 1
    assert key.split(".")[0] in result.stderr
    assert home.config.read_text() == before


def test_a_broken_file_is_named_with_its_line_and_kept(home: Home) -> None:
    home.config.write_text('{\n  "port": "many"\n}')
    result = apx("config", "show")
    assert "line 2" in result.stderr
    assert apx("config", "set", "port", "7431").exit_code == 1
    assert home.config.read_text() == '{\n  "port": "many"\n}'


def test_a_key_goes_to_the_vault_and_is_never_shown(home: Home) -> None:
    secret = "sk-test-0123456789abcdef"
    assert apx("model", "key", "openai", stdin=f"{secret}\n").exit_code == 0
    assert (
        json.loads(home.config.read_text())["engines"]["openai"]["api_key"] == "vault:engines.openai.api_key"
    )
    for args in (("config", "show"), ("config", "get", "engines.openai.api_key"), ("model", "status")):
        result = apx(*args)
        assert result.exit_code == 0
        assert secret not in result.output
    for path in (home.config, home.db):
        assert secret.encode() not in path.read_bytes()


def test_a_marker_that_comes_back_keeps_the_secret(home: Home) -> None:
    apx("model", "key", "openai", stdin="sk-test-0123456789abcdef\n")
    shown = apx("config", "get", "engines.openai.api_key").stdout.strip()
    assert apx("config", "set", "engines.openai.api_key", shown).exit_code == 0
    assert (
        json.loads(home.config.read_text())["engines"]["openai"]["api_key"] == "vault:engines.openai.api_key"
    )


def test_no_key_given_is_said(home: Home) -> None:
    assert apx("model", "key", "openai", stdin="\n").exit_code == 1


def test_a_model_is_set_and_tried(home: Home) -> None:
    home.config.write_text("{}")
    assert apx("model", "test").exit_code == 3
    assert apx("model", "set", "nonsense").exit_code == 2
    assert apx("model", "set", "practice:rules").exit_code == 0
    known = data("model", "status")
    assert (known["enabled"], known["model"]) == (True, "practice:rules")
    assert "practice:rules" in apx("model", "test").stdout


def test_the_identity_is_set_field_by_field_and_by_the_wizard(home: Home) -> None:
    assert apx("identity", "set", "agent_name", "Ada").exit_code == 0
    assert apx("identity", "set", "nickname", "x").exit_code == 2
    assert apx("identity", "set", "agent_name", "").exit_code == 1
    assert apx("identity", "wizard", stdin="\nSam\n\n\nes-AR\n\n").exit_code == 0
    known = data("identity", "show")
    assert (known["agent_name"], known["owner_name"], known["language"]) == ("Ada", "Sam", "es-AR")
    assert apx("identity", "set", "icon", "nope").exit_code == 1


def test_the_permission_mode_is_set_with_what_it_allows(home: Home) -> None:
    assert apx("permission", "set", "permiso", "--allow", "remember", "--allow", "send_file").exit_code == 0
    assert data("permission", "show") == {"mode": "permiso", "allowed_tools": ["remember", "send_file"]}
    assert apx("permission", "set", "everything").exit_code == 2


def test_a_token_is_made_listed_and_closed(home: Home) -> None:
    token = apx("token", "pair", "--label", "phone").stdout.strip()
    assert token.startswith("apx_bridge_")
    (row,) = data("token", "list")
    assert (row["scope"], row["label"]) == ("bridge", "phone")
    assert apx("token", "revoke", row["id"]).exit_code == 0
    assert data("token", "list") == []
    assert len(data("token", "pair", "--code")["code"]) == 8


def test_the_owners_token_is_rotated(home: Home) -> None:
    data("identity", "show")
    before = home.token.read_text()
    assert apx("token", "rotate").exit_code == 0
    assert home.token.read_text() != before
    assert apx("identity", "show").exit_code == 0


def test_a_project_is_added_once_and_used(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "Año Nuevo"
    folder.mkdir()
    made = data("project", "add", str(folder))
    assert (made["id"], made["name"]) == ("ano-nuevo", "Año Nuevo")
    assert data("project", "add", str(folder))["id"] == made["id"]
    assert apx("exec", "--project", "Año Nuevo", "hello").exit_code == 0
    assert data("run", "list", "--project", made["id"])[0]["project_id"] == "ano-nuevo"
    assert apx("project", "remove", "ano-nuevo").exit_code == 1  # it has a run
    assert apx("project", "remove", "default").exit_code == 1
    assert apx("project", "add", str(tmp_path / "nope")).exit_code == 1


def test_runs_are_filtered_and_an_unknown_status_is_refused(home: Home) -> None:
    apx("exec", "hello")
    assert len(data("run", "list", "--status", "completed", "--status", "failed")) == 1
    assert data("run", "list", "--status", "failed") == []
    assert apx("run", "list", "--status", "sleeping").exit_code == 1
    run_id = data("run", "list")[0]["id"]
    assert data("run", "show", run_id)["status"] == "completed"
    assert data("run", "manifest", run_id)["run_id"] == run_id


def test_the_doctor_names_what_is_wrong_and_mends_what_it_can(home: Home) -> None:
    home.config.chmod(0o644)
    home.daemon.write_text(json.dumps({"pid": 2**22 + 1, "port": 1, "started_at": ""}))
    home.daemon.chmod(0o600)
    found = {one["name"]: one for one in json.loads(apx("doctor", "--json").stdout)}
    assert (found["private"]["level"], found["daemon_json"]["level"]) == ("fail", "warn")
    assert found["private"]["remedy"]
    assert apx("doctor").exit_code == 1
    mended = apx("doctor", "--fix")
    assert mended.exit_code == 0
    assert home.config.stat().st_mode & 0o777 == 0o600
    assert not home.daemon.exists()
    assert {"config", "database", "model", "telegram"} <= set(found)


def test_catalogues_have_the_same_sentences_in_both_languages() -> None:
    from core.paths import ASSETS

    for area in ("cli", "doctor"):
        en, es = (json.loads((ASSETS / f"locale/{area}.{lang}.json").read_text()) for lang in ("en", "es"))
        assert en.keys() == es.keys()
        assert not [key for key in en if "!" in en[key] + es[key]]
