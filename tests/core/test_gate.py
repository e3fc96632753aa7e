"""The gate: every decision, and what counts as a file that holds credentials."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from core.paths import Home
from core.runs.gate import Policy, Verdict, decide, holds_credentials, touches_credentials
from core.tool import Context, Effect, Tool


class Nothing(BaseModel):
    pass


async def never(args: Nothing, ctx: Context) -> str:
    raise AssertionError("the gate runs nothing")


def tool(effect: Effect, *, name: str = "act", group: str = "files") -> Tool:
    return Tool(name=name, about="", args=Nothing, run=never, effect=effect, group=group)


@pytest.mark.parametrize("can_ask", [True, False])
@pytest.mark.parametrize(
    ("mode", "effect", "asks"),
    [
        ("total", Effect.READ, False),
        ("total", Effect.WRITE, False),
        ("total", Effect.SEND, False),
        ("total", Effect.DANGER, False),
        ("automatico", Effect.READ, False),
        ("automatico", Effect.WRITE, False),
        ("automatico", Effect.SEND, True),
        ("automatico", Effect.DANGER, True),
        ("permiso", Effect.READ, True),
        ("permiso", Effect.WRITE, True),
        ("permiso", Effect.SEND, True),
        ("permiso", Effect.DANGER, True),
    ],
)
def test_modes_and_effects(mode: str, effect: Effect, asks: bool, can_ask: bool) -> None:
    policy = Policy(mode, frozenset(), can_ask)  # type: ignore[arg-type]
    expected = (Verdict.ASK if can_ask else Verdict.REFUSE) if asks else Verdict.ALLOW
    assert decide(tool(effect), touches_credentials=False, policy=policy) is expected


@pytest.mark.parametrize("mode", ["automatico", "permiso"])
@pytest.mark.parametrize("effect", list(Effect))
def test_an_allowed_tool_is_not_asked_for(mode: str, effect: Effect) -> None:
    policy = Policy(mode, frozenset({"act"}), False)  # type: ignore[arg-type]
    assert decide(tool(effect), touches_credentials=False, policy=policy) is Verdict.ALLOW


@pytest.mark.parametrize("mode", ["total", "automatico", "permiso"])
@pytest.mark.parametrize("allowed", [frozenset(), frozenset({"act"})])
def test_credentials_are_a_floor_under_every_mode_and_list(mode: str, allowed: frozenset[str]) -> None:
    asked = Policy(mode, allowed, True)  # type: ignore[arg-type]
    mute = Policy(mode, allowed, False)  # type: ignore[arg-type]
    assert decide(tool(Effect.WRITE), touches_credentials=True, policy=asked) is Verdict.ASK
    assert decide(tool(Effect.WRITE), touches_credentials=True, policy=mute) is Verdict.REFUSE


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "user" / ".apx")
    home.make()
    return home


@pytest.fixture
def user(tmp_path: Path) -> Path:
    return tmp_path / "user"


@pytest.mark.parametrize(
    "path",
    [
        "work/.env",
        "work/.env.production",
        "work/auth.json",
        "work/credentials.json",
        "work/credentials-prod.json",
        ".ssh/authorized_keys",
        ".ssh/config",
        "work/id_ed25519",
        "work/server.pem",
        "work/private.KEY",
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".aws/credentials",
        ".kube/config",
        ".docker/config.json",
        ".config/gcloud/anything",
        "work/service-account-1.json",
        ".apx/config.json",
        ".apx/config.json.broken-20260101",
        ".apx/owner.token",
        ".apx/vault.key",
        ".apx/apx.db",
        ".apx/apx.db-wal",
        ".apx/identity.json",
        ".apx/projects/a/config.json",
        ".apx/projects/a/mcps.json",
    ],
)
def test_files_that_hold_credentials(path: str, home: Home, user: Path) -> None:
    assert holds_credentials(user / path, home, user)


@pytest.mark.parametrize(
    "path",
    [
        "work/notes.md",
        "work/config.json",
        "work/.env.example",
        "work/credentials.json.sample",
        "work/id_rsa.pub",
        "work/keyboard.txt",
        ".apx",
        ".apx/memory.md",
        ".apx/media/out/a.png",
        ".apx/projects/a/readme.md",
    ],
)
def test_files_that_do_not(path: str, home: Home, user: Path) -> None:
    assert not holds_credentials(user / path, home, user)


def test_a_link_is_what_it_points_to(home: Home, user: Path) -> None:
    link = user / "innocent.txt"
    link.symlink_to(home.config)
    assert holds_credentials(link, home, user)


def test_a_home_reached_through_a_link_is_the_home(home: Home, user: Path) -> None:
    (user / "elsewhere").symlink_to(home.root)
    assert holds_credentials(user / "elsewhere" / "config.json", home, user)


def test_relative_paths_count_from_the_working_folder(home: Home, user: Path) -> None:
    write = tool(Effect.WRITE)
    assert touches_credentials(write, {"path": "config.json"}, home, user=user, cwd=home.root)
    assert not touches_credentials(write, {"path": "config.json"}, home, user=user, cwd=user)
    assert touches_credentials(write, {"path": "../.apx/./config.json"}, home, user=user, cwd=user / ".apx")


def test_every_argument_is_looked_at_however_deep(home: Home, user: Path) -> None:
    args = {"edits": [{"to": "~/.apx/config.json"}], "count": 3}
    assert touches_credentials(tool(Effect.DANGER, group="mcp"), args, home, user=user, cwd=user)
    harmless = {"count": 3, "edits": [{"to": "a.txt"}, None]}
    assert not touches_credentials(tool(Effect.DANGER, group="mcp"), harmless, home, user=user, cwd=user)


def test_reading_is_not_gated_and_neither_are_tools_with_a_place_of_their_own(home: Home, user: Path) -> None:
    args = {"path": "~/.apx/config.json"}
    assert not touches_credentials(tool(Effect.READ), args, home, user=user, cwd=user)
    assert not touches_credentials(tool(Effect.WRITE, group="owner"), args, home, user=user, cwd=user)


def test_the_text_of_a_file_is_not_a_path(home: Home, user: Path) -> None:
    args = {"path": "a.txt", "content": "one\n.env", "more": "x" * 5000}
    assert not touches_credentials(tool(Effect.WRITE), args, home, user=user, cwd=user)


@pytest.mark.parametrize(
    "command",
    [
        "echo x > ~/.apx/config.json",
        "cd ~/.apx && echo x > config.json",
        "cd $HOME/.apx; echo x > c",
        "install -m600 x ${APX_HOME}/config.json",
        "curl -o ~/.apx/config.json http://x",
        "dd of=$APX_HOME/owner.token",
        "tee .env < x",
        "echo 'unbalanced > ~/.ssh/config",
    ],
)
def test_a_shell_line_that_names_credentials(command: str, home: Home, user: Path) -> None:
    shell = tool(Effect.DANGER, group="shell")
    assert touches_credentials(shell, {"command": command}, home, user=user, cwd=user)


def test_a_harmless_shell_line(home: Home, user: Path) -> None:
    shell = tool(Effect.DANGER, group="shell")
    assert not touches_credentials(shell, {"command": "ls ~ && cat notes.md"}, home, user=user, cwd=user)


def test_defaults_are_the_users_own_folders(home: Home) -> None:
    assert touches_credentials(tool(Effect.WRITE), {"path": "~/.ssh/config"}, home)
