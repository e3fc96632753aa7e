"""What a provider's refusal means: one class of failure from a status and the words around it.

Pure, and used on both sides of the worker's pipe, so it imports no model library.
"""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

RETRYABLE = frozenset({"rate_limit", "concurrency", "overloaded", "server", "network"})

_QUOTA = re.compile(
    r"insufficient[_ ]quota|insufficient (balance|credit|fund)|exceeded your current quota|quota (has been )?exceeded"
    r"|usage limit|credit balance|payment required|out of credits|(spending|plan|key) limit"
    # The bare word stands in many a message: a field of an address, the name of a page.
    r"|billing[ _](hard[ _])?(limit|not[ _]active|account|issue|problem|is not)|(requires?|enable|check your) billing",
    re.IGNORECASE,
)
# Its own field says that it passes, whatever the words call it.
_PASSES = re.compile(
    r"[\"'](code|type|status)[\"']:\s*[\"']rate_limit(_exceeded|_error)?[\"']", re.IGNORECASE
)
_SPENT = re.compile(r"insufficient[_ ]|billing_|credit|payment", re.IGNORECASE)
PASSES_S = 120.0  # a limit that is over by then is one of the moment
_PASSING_QUOTA = re.compile(r"per[-_ ]?minute|per[-_ ]?second", re.IGNORECASE)
_CONCURRENCY = re.compile(r"concurrency[_ ]limit|too many concurrent|concurrent request", re.IGNORECASE)
_RATE = re.compile(r"too many requests|rate[_ ]limit (reached|exceeded)", re.IGNORECASE)
# Faults of the server that some send with the status of a bad request.
_SERVERS_FAULT = re.compile(
    r"(parse|parsing|load|compile|initiali[sz]e)\b.{0,20}\bgrammar|failed_generation|failed to call a function"
    r"|provider returned error|upstream (error|connect|request)|bad gateway",
    re.IGNORECASE,
)
_OVERLOADED = re.compile(
    r"overloaded|over capacity|temporarily unavailable|no healthy upstream", re.IGNORECASE
)
_REFUSED_KEY = re.compile(
    r"(invalid|incorrect|missing|expired|no)\b.{0,20}\bapi[_ ]?key|unauthorized", re.IGNORECASE
)
_TIMED_OUT = re.compile(r"timed? ?out", re.IGNORECASE)

_BY_STATUS = {
    400: "invalid",
    401: "auth",
    402: "quota",
    403: "permission",
    404: "not_found",
    408: "timeout",
    409: "overloaded",
    413: "invalid",
    422: "invalid",
    425: "overloaded",
    429: "rate_limit",
    501: "invalid",
    503: "overloaded",
    529: "overloaded",
}

_SECRET = re.compile(
    r"(?i:bearer|basic)\s+[\w.~+/=-]{6,}"
    r"|\b(?:sk|pk|rk|gsk|xai|ghp|gho|key|tok|AIza|hf|r8|nvapi|pplx)[-_]?[A-Za-z0-9*][\w*.-]{7,}"
    r"|\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9_-]{32,}\b"
)
_NAMED = re.compile(
    r"((?:api[_-]?key|access[_-]?token|secret|password|authorization)[\"']?\s*[=:]\s*[\"']?)(?!Bearer|Basic|•)[^\s\"',;&}]{4,}",
    re.IGNORECASE,
)
_CLASSES = re.compile(
    r"^(?:(?:litellm\.)?\w+: )?(?:\w+Exception - )?(?:\w+Error: )*|\b\w*(?:Exception|Error) - "
)
_LINK = re.compile(r"https?://[^\s\"'<>]+")


def classify(
    status: int | None, text: str, *, connection: bool = False, retry_after_s: float | None = None
) -> str:
    """The kind of `ModelUnavailable` for an HTTP status and the provider's words.

    An account at its limit answers 429 like a passing rate limit does: fields and the wait that was asked for tell
    them apart first, words last.
    """
    if status in (429, 503) and _CONCURRENCY.search(text):
        return "concurrency"
    if status in (400, 402, 403, 429) and _QUOTA.search(text):
        return "rate_limit" if status == 429 and _of_the_moment(text, retry_after_s) else "quota"
    if status == 400 and _REFUSED_KEY.search(text):
        return "auth"
    if status == 400 and _RATE.search(text):
        return "rate_limit"
    if status == 400 and _SERVERS_FAULT.search(text):
        return "server"
    if connection or status is None:
        return "timeout" if _TIMED_OUT.search(text) else "network"
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return "overloaded" if _OVERLOADED.search(text) else "server"
    return "invalid" if status >= 400 else "server"


def _of_the_moment(text: str, retry_after_s: float | None) -> bool:
    """Some call the limit of this minute a quota, too."""
    if _PASSING_QUOTA.search(text):
        return True
    if _SPENT.search(text):
        return False
    return bool(_PASSES.search(text)) or (retry_after_s is not None and retry_after_s <= PASSES_S)


def redact(text: str, *secrets: str) -> str:
    """`text` without credentials: those given, and whatever looks like one."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, "•••")
    return _NAMED.sub(r"\1•••", _SECRET.sub("•••", text))


def detail(text: str, *secrets: str, limit: int = 200) -> str:
    """The provider's own words, short, on one line, without credentials, addresses or class names."""
    text = _CLASSES.sub("", " ".join(_LINK.sub("", text).split()))
    text = redact(text, *secrets).strip(" .-")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def seconds(retry_after: str | None, *, at: datetime | None = None) -> float | None:
    """The pause a `Retry-After` asks for, as seconds or as a date; the past and nonsense count as none."""
    text = (retry_after or "").strip()
    if re.fullmatch(r"\d+\.?\d*|\.\d+", text):
        value = float(text)
        return value if value < 86_400 else None
    try:
        value = (parsedate_to_datetime(text) - (at or datetime.now(UTC))).total_seconds()
    except (ValueError, TypeError):
        return None
    return value if 0 < value < 86_400 else None
