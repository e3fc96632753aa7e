"""Amounts as people write them: dollars of what is known, and a word where some of it is not."""

from PySide6.QtCore import QLocale

from desktop.words import Words

MILLION = 1_000_000


def dollars(micros: int, words: Words, *, floor: bool = False) -> str:
    """Two decimals, and more of them where two would say nothing."""
    amount = micros / MILLION
    decimals = 2 if amount >= 0.1 or micros == 0 else 4
    text = f"US$ {locale(words).toString(amount, 'f', decimals)}"
    if not floor:
        return text
    return words("money.unknown") if micros == 0 else words("money.at_least", amount=text)


def count(number: int, words: Words) -> str:
    """A number with its thousands apart."""
    return locale(words).toString(number)


def locale(words: Words) -> QLocale:
    return QLocale(words.lang.replace("-", "_"))
