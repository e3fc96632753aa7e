"""The outbound guard: what may never leave through a chat, whatever a model says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.guard import check, codes, has_code, masked

BANK = "Tu código de verificación es 482913. No lo compartas."


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("a" * 1501, "too_long"),
        ("hola\u202egnp", "hidden_characters"),
        ("ho\u200bla", "hidden_characters"),
        ("la clave es sk-proj-abcdefghijklmnop", "secret"),
        ("usá 123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", "secret"),
        ("4539 1488 0343 6467", "secret"),
        ("ES91 2100 0418 4502 0005 1332", "secret"),
        ("Sale $8.000 la clase", "money"),
        ("son 20 dólares", "money"),
        ("el código es 482913", "code"),
        ("4 8 2 9 1 3", "code"),
        ("482-913", "code"),
        ("the last code you got was 482 913, right?", "code"),
    ],
)
def test_what_may_not_leave(reply: str, reason: str) -> None:
    assert check(reply, own=["¿me pasás el código?"], others=[BANK]).reason == reason


@pytest.mark.parametrize(
    "reply",
    [
        "Sí, a las 10 te espero.",
        '¿Podés mañana? 100% sí — "ok" $HOME; 😀\n',
        "Dale, 2 personas",
        "hola\nchau",
    ],
)
def test_an_ordinary_answer_passes(reply: str) -> None:
    assert check(reply, own=["¿Podés mañana a las 10?"], others=[BANK]).passes


def test_a_code_does_not_go_back_through_the_chat_it_came_in() -> None:
    assert check("¿Es 482913?", own=[BANK], others=[]).reason == "code"


def test_words_of_another_chat_stay_there() -> None:
    secret = "El médico dijo que la operación de mamá es el jueves a la mañana"
    assert check(
        "Te cuento que la operación de mamá es el jueves a la mañana", own=["¿qué hay?"], others=[secret]
    ).reason
    assert check("Nos vemos el jueves a la mañana", own=["¿el jueves a la mañana?"], others=[secret]).passes


def test_what_the_same_person_wrote_may_be_quoted_back() -> None:
    said = "nos juntamos en la plaza de siempre a las siete de la tarde"
    assert check(f"Perfecto, {said}", own=[said], others=[said]).passes


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (BANK, {"482913"}),
        ("482913", {"482913"}),
        ("Your code: AB12-CD34", {"AB12CD34"}),
        ("123-456 is your WhatsApp code", {"123456"}),
        ("nos vemos a las 1830", set()),
        ("Turno 2024 confirmado", set()),
        ("hola", set()),
    ],
)
def test_codes_are_found(text: str, found: set[str]) -> None:
    assert codes(text) == found
    assert has_code(text) is bool(found)


@pytest.mark.parametrize(
    "reply", ["４８２９１３", "٤٨٢٩١٣", "482*913", "482 then 913", "4-8-2, then 9-1-3", "es el 482913"]
)
@pytest.mark.parametrize("seen", [BANK, "Use 482913 to log in", "BBVA: 482913"])
def test_no_way_of_writing_a_foreign_number_passes(reply: str, seen: str) -> None:
    assert check(reply, own=["¿me pasás el número?"], others=[seen]).reason == "code"


@pytest.mark.parametrize(
    ("seen", "reply"),
    [("la contraseña del wifi es mariposa22", "es mariposa22"), ("Su clave es PEPE", "creo que PEPE")],
)
def test_a_password_in_words_does_not_pass(seen: str, reply: str) -> None:
    assert check(reply, own=["¿cuál es?"], others=[seen]).reason == "code"


def test_a_number_of_this_chat_may_be_said_back() -> None:
    assert check("Sí, el 1830 va bien", own=["¿el bus 1830?"], others=["salimos a las 1830"]).passes


def test_a_sentence_of_another_chat_is_found_by_the_length_of_what_is_shared() -> None:
    other = "How much would you pay for the table? Is 300 ok?"
    reply = "Yes. By the way Joe asks: How much would you pay for the table? Is 300 ok?"
    assert check(reply, own=["what does he ask?"], others=[other]).reason == "other_chat"
    assert check("How much would you like?", own=["hi"], others=[other]).passes


def test_codes_are_masked_and_the_rest_is_not() -> None:
    assert masked(BANK) == "Tu código de verificación es ••••••. No lo compartas."
    assert masked("nos vemos a las 1830") == "nos vemos a las 1830"


@given(st.from_regex(r"\d{4,8}", fullmatch=True), st.sampled_from(["", " ", "-", "."]))
def test_no_spelling_of_a_seen_code_passes(code: str, between: str) -> None:
    seen = f"Tu código es {code}"
    assert check(f"es {between.join(code)} creo", own=["hola"], others=[seen]).reason in ("code", "secret")
