"""The last look at a reply before it is typed: code that no model can talk out of it.

A code, a card or a key that was seen anywhere, an amount of money, and the words of another conversation never
leave through a chat. What is refused here goes to the owner as a draft instead.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

MAX_CHARS = 1500
RUN_WORDS = 5  # words in a row that two conversations do not share by accident,
RUN_CHARS = 24  # if they are this long together

_CODE_WORDS = re.compile(
    r"c[oó]digo|clave|contrase[nñ]a|verifica|token|pin\b|otp\b|code\b|password|passcode|2fa|senha|verif|acceso|autoriza",
    re.IGNORECASE,
)
_DIGIT_CODE = re.compile(r"(?<![\d])\d(?:[ \-.\u00a0\u202f]?\d){3,9}(?![\d])")
# "your password is mariposa22", "clave: PEPE"
_TOLD = re.compile(
    r"(?:c[oó]digo|clave|contrase[nñ]a|password|passcode|senha|pin|code)\b[^\n.!?]{0,40}?(?:\bes\b|\bis\b|é|[:=])\s*"
    r"[\"'«“]?([^\s\"'»”,;]{4,40})",
    re.IGNORECASE,
)
_WORD_CODE = re.compile(r"\b(?=[A-Z0-9-]{5,12}\b)(?=[A-Z-]*\d)(?=[\d-]*[A-Z])[A-Z0-9]+(?:-[A-Z0-9]+)*\b")
_CARD = re.compile(r"(?<!\d)(?:\d[ \-]?){13,19}(?!\d)")
_KEY = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|xox[abp])[-_][A-Za-z0-9_\-]{12,}|\bAKIA[0-9A-Z]{12,}|\beyJ[A-Za-z0-9_\-]{20,}"
    r"|-----BEGIN|\b\d{6,10}:[A-Za-z0-9_\-]{30,}|\b[A-Fa-f0-9]{32,}\b"
)
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}\b|(?<!\d)\d{22}(?!\d)")
_MONEY = re.compile(
    r"[$€£¥₿]\s?\d|\d\s?(?:[$€£¥]|usd|eur|ars|mxn|clp|cop|pen|brl|u\$s|d[oó]lar|euro|peso|luca|reais|real\b|soles|pounds?\b)",
    re.IGNORECASE,
)
_HIDDEN = re.compile(r"[\u0000-\u0008\u000b-\u001f\u007f\u200b\u202a-\u202e\u2060\u2066-\u2069\ufeff]")


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reason` is a key of the catalogue (`guard.<reason>`); empty when the reply may go."""

    reason: str = ""

    @property
    def passes(self) -> bool:
        return not self.reason


def check(reply: str, *, own: Sequence[str], others: Iterable[str], seen: Iterable[str] = ()) -> Verdict:
    """Whether `reply` may be typed into the conversation whose messages are `own`.

    `others` are messages of other conversations, `seen` every text in which a code may have been read
    (this conversation's too: a code does not go back through the chat it came in).
    """
    if not reply.strip():
        return Verdict("empty")
    if len(reply) > MAX_CHARS:
        return Verdict("too_long")
    if _HIDDEN.search(reply):
        return Verdict("hidden_characters")
    if _KEY.search(reply) or _IBAN.search(reply) or any(_luhn(found) for found in _CARD.findall(reply)):
        return Verdict("secret")
    if _MONEY.search(reply):
        return Verdict("money")
    others = list(others)
    if _gives_away(reply, own=own, others=others, seen=seen):
        return Verdict("code")
    if _shares(reply, own, others):
        return Verdict("other_chat")
    return Verdict()


def codes(text: str) -> set[str]:
    """The one-time codes and passwords that a message brings, without separators."""
    text = _folded(text)
    if not _CODE_WORDS.search(text):
        # Without a word that says so, only a bare code alone on its line counts: "482913".
        alone = text.strip()
        return {_plain(alone)} if _DIGIT_CODE.fullmatch(alone) and len(_plain(alone)) >= 4 else set()
    told = {_plain(found[1]) for found in _TOLD.finditer(text)}
    return {one for one in _candidates(text) | told if len(one) >= 4}


def numbers(text: str) -> set[str]:
    """Every run of digits as long as a code, whatever stands around it."""
    return {one for found in _DIGIT_CODE.findall(_folded(text)) if 4 <= len(one := _plain(found)) <= 8}


def has_code(text: str) -> bool:
    """Whether a message brings a code, so that screens can mask it."""
    return bool(codes(text))


def masked(text: str, known: Set[str] = frozenset()) -> str:
    """The text with its codes covered, and those `known` from elsewhere: for screens and for replays."""
    hidden = codes(text) | known
    if not hidden:
        return text
    for pattern in (_DIGIT_CODE, _WORD_CODE):
        text = pattern.sub(lambda found: "••••••" if _plain(found[0]) in hidden else found[0], text)
    return text


def _gives_away(reply: str, *, own: Sequence[str], others: Sequence[str], seen: Iterable[str]) -> bool:
    """Whether the reply holds a code that came anywhere, or a number of another chat, however it is spelled."""
    folded = _folded(reply)
    known = {code for text in (*seen, *own, *others) for code in codes(text)}
    if known & {_plain(word) for word in re.findall(r"[^\W_]+(?:[-.][^\W_]+)*", folded)}:
        return True
    foreign = {n for text in others for n in numbers(text)} - {n for text in own for n in numbers(text)}
    if (known | foreign) & (_candidates(folded) | numbers(folded)):
        return True
    # "4-8-2, then 9-1-3": the digits alone, in their order. Short codes would be found in any long number.
    digits = "".join(char for char in folded if char.isdigit())
    return any(code.isdigit() and len(code) >= 5 and code in digits for code in known | foreign)


def _folded(text: str) -> str:
    """Full-width and other scripts' digits as plain ones."""
    folded = unicodedata.normalize("NFKC", text)
    return "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in folded)


def _candidates(text: str) -> set[str]:
    found = [*_DIGIT_CODE.findall(text), *_WORD_CODE.findall(text)]
    return {_plain(one) for one in found}


def _plain(code: str) -> str:
    return re.sub(r"[\W_]", "", code).upper()


def _luhn(number: str) -> bool:
    digits = [int(char) for char in number if char.isdigit()]
    total = sum(digits[-1::-2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return 13 <= len(digits) <= 19 and total % 10 == 0


def _words(text: str) -> list[str]:
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return re.findall(r"\w+", plain)


def _runs(words: list[str], other: list[str]) -> list[list[str]]:
    """The longest stretches of `words` that stand in `other` word by word."""
    text = f" {' '.join(other)} "
    found: list[list[str]] = []
    start = 0
    while start < len(words):
        end = start + 1
        while end <= len(words) and f" {' '.join(words[start:end])} " in text:
            end += 1
        if end - 1 > start:
            found.append(words[start : end - 1])
        start = max(end - 1, start + 1)
    return found


def _shares(reply: str, own: Sequence[str], others: Iterable[str]) -> bool:
    mine = _words(reply)
    said = f" {' '.join(' '.join(_words(text)) for text in own)} "
    for other in others:
        for run in _runs(mine, _words(other)):
            joined = " ".join(run)
            if len(run) >= RUN_WORDS and len(joined) >= RUN_CHARS and f" {joined} " not in said:
                return True
    return False
