"""Letters of five by seven dots, so that pictures of the simulated phone can be read.

Each letter is seven rows from the top, a row being one digit in base 32 whose five bits are the dots from the left.
"""

import unicodedata

_SIZE = 7


def _drawn(letters: str, digits: str) -> dict[str, str]:
    packed = digits.replace(" ", "")
    return {letter: packed[i * _SIZE : (i + 1) * _SIZE] for i, letter in enumerate(letters)}


_DRAWN = _drawn(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
    "EHHVHHH UHHUHHU EHGGGHE UHHHHHU VGGUGGV VGGUGGG EHGNHHE HHHVHHH E44444E 72222IC HIKOKIH GGGGGGV HRLLHHH "
    "HHPLJHH EHHHHHE UHHUGGG EHHHLID UHHUKIH FGGE11U V444444 HHHHHHE HHHHHA4 HHHLLLA HHA4AHH HHHA444 V1248GV "
    "00E1FHF GGUHHHU 00EGGHE 11FHHHF 00EHVGE 698S888 0FHHF1E GGUHHHH 40C444E 20622IC GGIKOKI C44444E 00QLLHH "
    "00UHHHH 00EHHHE 00UHUGG 00FHF11 00MPGGG 00FGE1U 88S8896 00HHHJD 00HHHA4 00HHLLA 00HA4AH 00HHF1E 00V248V "
    "EHJLPHE 4C4444E EH1248V V2421HE 26AIV22 VGU11HE 68GUHHE V124888 EHHEHHE EHHF12C",
)
_DRAWN |= _drawn(
    "!\"#$%&'()*+,-./:;<=>?@[\\]^_{|}~¿¡…°€",
    "4444004 AAA0000 AAVAVAA 4FKE5U4 OP248J3 CIK8LID 4480000 2488842 8422248 04LEL40 044V440 0000448 000V000 "
    "00000CC 01248G0 0CC0CC0 0CC0C48 248G842 00V0V00 8421248 EH12404 EH1DLLE E88888E 0G84210 E22222E 4AH0000 "
    "000000V 2448442 4444444 8442448 008L200 4048GHE 4004444 00000LL EAE0000 69U8U96",
)
_MARKS = {"\u0301": "24", "\u0300": "84", "\u0303": "DI", "\u0308": "A0", "\u0302": "4A"}
_UNKNOWN = "0EVVVE0"


def rows(character: str) -> list[int]:
    """The letter's nine rows: two for an accent and seven for the body; emoji are a round dot."""
    base, *marks = list(unicodedata.normalize("NFD", character))
    if base.isspace():
        return [0] * 9
    body = [int(digit, 32) for digit in _DRAWN.get(base, _UNKNOWN)]
    mark = [int(digit, 32) for digit in _MARKS.get(marks[0], "00")] if marks else [0, 0]
    if marks and base.islower():  # a small letter has room above it
        return [0, 0, *mark, *body[2:]]
    return [*mark, *body]
