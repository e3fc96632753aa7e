"""No secret reaches the log, whoever wrote the line."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.api.access import Scope, fresh_token
from core.log import HIDDEN, Redacting, redacted, to_file
from core.paths import Home

BOT = "1234567890:AAF" + "x" * 32
SECRETS = [
    fresh_token(Scope.OWNER),
    fresh_token(Scope.BRIDGE),
    BOT,
    "sk-ant-api03-" + "a" * 30,
    "sk-" + "b" * 40,
    "gsk_" + "c" * 30,
    "ghp_" + "d" * 36,
    "AIza" + "e" * 35,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_123",
]


@pytest.mark.parametrize("secret", SECRETS, ids=range(len(SECRETS)))
@pytest.mark.parametrize("around", ["{}", "the key {} is wrong", "GET https://host/{}/x", '{{"x": "{}"}}'])
def test_what_looks_like_a_secret_is_hidden_wherever_it_stands(secret: str, around: str) -> None:
    text = redacted(around.format(secret))
    assert secret not in text
    assert HIDDEN in text


@pytest.mark.parametrize(
    "line",
    [
        "Authorization: Bearer {}", "{{'authorization': 'Bearer {}'}}", "(b'authorization', b'Bearer {}')",
        "api_key={}", '"api_key": "{}"', "GET /api/events?token={} HTTP/1.1", "bot_token: {}", "bearer {}",
        "Authorization: Basic {}",
    ],
)  # fmt: skip
def test_what_stands_where_a_secret_stands_is_hidden(line: str) -> None:
    text = redacted(line.format("hunter2hunter2"))
    assert "hunter2" not in text


@pytest.mark.parametrize(
    "line",
    ["The API answers on port 7430", "run_1a22c113eb937b9efea0704 done in 12:30:01",
     "2026-11-30 10:47:34,144 INFO x: y", "the token is missing", "+54 9 11 5555-1234 wrote 1234"],
)  # fmt: skip
def test_ordinary_lines_stay_as_they_are(line: str) -> None:
    assert redacted(line) == line


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield root
    for handler in root.handlers[:]:
        if handler not in before:
            root.removeHandler(handler)
            handler.close()
    root.setLevel(level)


def test_a_traceback_in_the_file_is_redacted_and_the_file_is_the_owners(
    tmp_path: Path, root: logging.Logger
) -> None:
    home = Home(tmp_path / "apx")
    to_file(home, "info")
    try:
        raise RuntimeError(f"https://api.telegram.org/bot{BOT}/getUpdates failed")
    except RuntimeError:
        logging.getLogger("core.channels").exception("polling %s", BOT)
    text = (home.logs / "apx.log").read_text()
    assert "Traceback" in text
    assert BOT not in text
    assert (home.logs / "apx.log").stat().st_mode & 0o777 == 0o600


def test_arguments_of_a_record_are_redacted_too() -> None:
    record = logging.LogRecord("x", logging.INFO, "", 1, "key %s", ("sk-" + "z" * 40,), None)
    assert Redacting("%(message)s").format(record) == f"key {HIDDEN}"
