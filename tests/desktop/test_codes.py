"""Codes are covered, prices and dates are not."""

import pytest

from desktop.codes import mask


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Tu código es 483921", "Tu código es ••••••"),
        (
            "Tu código de verificación es 483 921. No lo des.",
            "Tu código de verificación es ••••••. No lo des.",
        ),
        ("G-482913 is your Google verification code", "••••••• is your Google verification code"),
        ("Clave: 1234", "Clave: ••••"),
        ("482913", "••••••"),
    ],
)
def test_codes_are_covered(text: str, shown: str) -> None:
    assert mask(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Sale 8.000, va de regalo",
        "nos vemos 10:30",
        "a las 1900",
        "el 12/05/2026",
        "llamame al 11 5555-1234",
    ],
)
def test_other_numbers_are_not(text: str) -> None:
    assert mask(text) == text
