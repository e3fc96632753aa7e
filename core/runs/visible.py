"""Text as it really is: what cannot be seen, what turns the line around, and what looks like another letter.

Whoever approves a command has to read what will run, so a sign that hides is shown by its number: ⟨U+200B⟩. A
letter that only looks like a Latin one keeps its shape and gets its number beside it.
"""

import re
import unicodedata

# Letters that are not marks of any kind and still show as nothing.
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Plain letters of Spanish and of everyday writing that happen to fold to ASCII.
_MEANT = frozenset("ªº²³¹")
# Letters of other scripts that most typefaces draw like a Latin one.
_TWINS = frozenset(
    "АВЕЅІЈКМНОРСТХУаеѕіјорсухԁԛԝһҮүӀ"  # Cyrillic
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαικνορυχγ"  # Greek
    "ՕՍոսցհօ"  # Armenian
    "ⅠⅤⅩⅬⅭⅮⅯⅰⅴⅹⅼⅽⅾⅿ"
    "ꓐꓓꓔꓖꓗꓙꓚꓝꓠꓡꓢꓣꓤꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ"  # Lisu
    "ıȷɑɡɩʋᴄᴏᴛᴜᴠᴡᴢ"
)
# Marks that are drawn like a sign of the shell.
_SIGNS = frozenset("‐‑‒–−∕⁄⧸╱ǀ∣⏐｜；＆＄＞＜′‵ʹˋ՝；։∶꞉․‚٫")
_WORD = re.compile(r"\S+")


def _number(letter: str) -> str:
    return f"⟨U+{ord(letter):04X}⟩"


def hides(letter: str) -> bool:
    """The sign shows as nothing, or changes how its neighbours are shown."""
    if letter in "\n\t":
        return False
    point = ord(letter)
    return (
        unicodedata.category(letter) in _HIDDEN
        or letter in _BLANK
        or 0xFE00 <= point <= 0xFE0F
        or 0xE0100 <= point <= 0xE01EF
        or (letter != " " and unicodedata.category(letter) == "Zs")
    )


def _folds(letter: str) -> bool:
    """Another way to write an ASCII sign: full width, mathematical, circled."""
    plain = unicodedata.normalize("NFKC", letter)
    return letter not in _MEANT and not letter.isascii() and len(plain) == 1 and plain.isascii()


def _disguised(word: str) -> frozenset[str]:
    """The letters of a word that pass for Latin ones: in a word that has Latin letters, or that has no others."""
    foreign = [one for one in word if one.isalpha() and not one.isascii()]
    twins = frozenset(one for one in foreign if one in _TWINS)
    mixed = any(one.isascii() and one.isalpha() for one in word)
    return twins if mixed or (twins and all(one in _TWINS for one in foreign)) else frozenset()


def visible(text: str) -> str:
    """`text` with everything that hides shown by its number, and look-alikes marked; nothing is left out."""

    def shown(found: re.Match[str]) -> str:
        word = found.group()
        twins = _disguised(word)
        return "".join(
            _number(one)
            if hides(one)
            else f"{one}{_number(one)}"
            if one in twins or one in _SIGNS or _folds(one)
            else one
            for one in word
        )

    # Blanks that are not the plain ones are matched as blanks, and hide as well.
    return "".join(_number(one) if hides(one) else one for one in _WORD.sub(shown, text))


def deceives(text: str) -> bool:
    """Some of the text is not what it looks like."""
    return visible(text) != text
