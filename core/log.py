"""The log of a program: one rotating file, and no secret in it whoever wrote the line."""

import logging
import re
from contextlib import suppress
from logging.handlers import RotatingFileHandler

from core.paths import Home

MAX_BYTES = 2_000_000
HIDDEN = "[hidden]"

# The first group, if there is one, is what may stay.
_SECRETS = (
    re.compile(r"apx_(?:owner|client|bridge|agent)_[A-Za-z0-9_-]{16,}"),
    re.compile(r"(?<!\d)\d{6,12}:[A-Za-z0-9_-]{30,}"),  # a Telegram bot, in its URLs too
    re.compile(
        r"\b(?:sk|pk|rk|gsk|xai|xox[abeprs]|gh[opsu]|github_pat|hf|AIza|ya29)[-_.][-A-Za-z0-9_.]{12,}"
    ),
    re.compile(r"\bAIza[-A-Za-z0-9_]{30,}"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    re.compile(
        r"(?i)(authorization['\"]?\s*[:=,]\s*(?:b(?=['\"]))?['\"]?(?:(?:bearer|basic|token)\s+)?)[^\s'\",})]+"
    ),
    re.compile(r"(?i)(\bbearer\s+)[^\s'\",})]{8,}"),
    re.compile(
        r"(?i)((?:api[_-]?key|bot_token|access_token|refresh_token|password|secret)['\"]?\s*[:=]\s*['\"]?)[^\s'\",}&)]+"
    ),
    re.compile(r"(?i)([?&](?:token|key|ticket)=)[^\s&'\"]+"),
)


def redacted(text: str) -> str:
    """The text without anything that looks like a secret."""
    for shape in _SECRETS:
        text = shape.sub(rf"\1{HIDDEN}" if shape.groups else HIDDEN, text)
    return text


class Redacting(logging.Formatter):
    """Formats a record as a whole, traceback included, then takes the secrets out."""

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))


def to_file(home: Home, level: str) -> None:
    """Send everything that is logged to `logs/apx.log`, readable by the owner alone."""
    home.logs.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = RotatingFileHandler(
        home.logs / "apx.log", maxBytes=MAX_BYTES, backupCount=3, encoding="utf-8", delay=True
    )
    file.setFormatter(Redacting("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(file)
    root.setLevel(level.upper())
    with suppress(OSError):
        path = home.logs / "apx.log"
        path.touch(mode=0o600)
        path.chmod(0o600)
    for chatty in ("uvicorn", "httpx", "httpcore", "telegram", "aiosqlite", "asyncio"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, root.level))
