"""What hides in a text is shown, and what is meant stays as it is."""

import pytest

from core.runs.visible import deceives, visible


@pytest.mark.parametrize(
    "text",
    [
        "rm -rf build",
        "¿Mañana a las 10? Sí, “claro” – 50 € …".replace("–", "-"),
        "über naïve ñandú ÁÉÍÓÚ 1ª 2º",
        "привет мир",
        "日本語 のファイル",
        "two\nlines\tand a tab",
        "καλημέρα",
    ],
)
def test_ordinary_words_stay_as_they_are(text: str) -> None:
    assert visible(text) == text
    assert not deceives(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rm\u200b -rf", "rm⟨U+200B⟩ -rf"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("a\u2066b", "a⟨U+2066⟩b"),
        ("\ufeffls", "⟨U+FEFF⟩ls"),
        ("a\u00adb", "a⟨U+00AD⟩b"),
        ("x\u3164y", "x⟨U+3164⟩y"),
        ("x\u115fy", "x⟨U+115F⟩y"),
        ("a\u00a0b", "a⟨U+00A0⟩b"),
        ("a\u2003b", "a⟨U+2003⟩b"),
        ("a\x1b[2Jb", "a⟨U+001B⟩[2Jb"),
        ("a\rb", "a⟨U+000D⟩b"),
        ("a\x00b", "a⟨U+0000⟩b"),
        ("a\u2028b", "a⟨U+2028⟩b"),
        ("a\ufe0fb", "a⟨U+FE0F⟩b"),
        ("a\U000e0041b", "a⟨U+E0041⟩b"),
        ("a\ud800b", "a⟨U+D800⟩b"),
        ("ｒｍ -rf", "ｒ⟨U+FF52⟩ｍ⟨U+FF4D⟩ -rf"),
        ("𝗿m", "𝗿⟨U+1D5FF⟩m"),
        ("с\u0064", "с⟨U+0441⟩d"),  # a Cyrillic letter in a Latin word
        ("сор", "с⟨U+0441⟩о⟨U+043E⟩р⟨U+0440⟩"),  # every letter passes for a Latin one
        ("a；b", "a；⟨U+FF1B⟩b"),
        ("a∕b", "a∕⟨U+2215⟩b"),
        ("curl ‐o", "curl ‐⟨U+2010⟩o"),
    ],
)
def test_what_hides_gets_its_number(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert deceives(text)


def test_nothing_is_left_out() -> None:
    text = "".join(map(chr, range(0x20, 0x3000)))
    shown = visible(text)
    assert [one for one in text if one not in shown and f"U+{ord(one):04X}" not in shown] == []
