"""Codes in messages are covered on the screen: whoever looks over a shoulder, or at a shared screen, learns nothing."""

import re

_WORDS = re.compile(
    r"c[oó]digo|code|clave|pin\b|otp|token|contraseña|password|passcode|verifica|verification|2fa|\bauth|acceso",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.,/:$€])(?:[A-Z]{1,3}-)?\d(?:[ -]?\d){3,7}(?![\w]|[.,:/]\d)")
_SIX = re.compile(r"(?<![\w.,/:$€+-])(?:[A-Z]{1,3}-)?\d{3}[ -]?\d{3}(?![\w-]|[.,:/]\d)")
DOT = "•"


def mask(text: str) -> str:
    """The text with dots in place of what looks like a code; six digits alone look like one anywhere."""
    pattern = _NUMBER if _WORDS.search(text) else _SIX
    return pattern.sub(lambda found: DOT * len(re.sub(r"[ -]", "", found[0])), text)
