"""What an alert carried: every body that phones send, and none of it taken for the message."""

import pytest

from bridge.alerts import Heard, hear, is_variable


@pytest.mark.parametrize(
    ("body", "who", "what"),
    [
        ('{"prompt": "7 new messages", "channel": "whatsapp"}', "", "7 new messages"),
        ('{"sender": "Marina", "message": "Hola"}', "Marina", "Hola"),
        ('{"sender":"%antitle","message":"%antext","senderNumber":"%annumber"}', "", ""),
        ('{"prompt":"%evtprm3"}', "", ""),
        ('{"title":"{not_title}","text":"[not_text]"}', "", ""),
        ('{"title": "Ana", "text": "{{message}}"}', "Ana", ""),
        ('{"sender":"Ana","text":"line one\nline two"}', "Ana", "line one line two"),
        ('{"sender":"Ana","text":"she said "no" twice"}', "Ana", 'she said "no" twice'),
        ('{"statusBarNotifications":[{"notification":{"title":"Pau","text":"ok"}}]}', "Pau", "ok"),
        ("sender=Ana&text=Hola+qu%C3%A9+tal", "Ana", "Hola qué tal"),
        ("Mensaje de Ana", "", "Mensaje de Ana"),
        ("%evtprm()", "", ""),
        ("", "", ""),
        ("{not json", "", ""),
        ("[" * 100_000, "", ""),
        ('{"text": "bajó al 100% la luz"}', "", "bajó al 100% la luz"),
    ],
)
def test_a_body_is_heard_as_far_as_it_can_be(body: str, who: str, what: str) -> None:
    heard = hear(body)
    assert (heard.who, heard.what) == (who, what) or (body.startswith(("{not", "[[")) and not heard.who)


@pytest.mark.parametrize(
    "text", ["%evtprm3", "%evtprm(1)", "{not_title}", "[not_text]", "{{text}}", "%25evtprm3"]
)
def test_a_variable_nobody_filled_in_is_no_content(text: str) -> None:
    assert is_variable(text)


@pytest.mark.parametrize("text", ["100%", "%", "50% off", "{Hola}", "hola %nombre que tal", ""])
def test_a_real_text_with_a_percent_sign_is_content(text: str) -> None:
    assert not is_variable(text)


def test_a_line_for_people_says_when_there_was_nothing() -> None:
    assert Heard().line("(nothing)") == "(nothing)"
    assert Heard("Ana", "Hola").line("(nothing)") == "Ana: Hola"
    assert Heard(what="7 new messages").line("(nothing)") == "7 new messages"


def test_a_long_body_is_cut_for_people() -> None:
    assert len(hear("a " * 5000).what) <= 600
