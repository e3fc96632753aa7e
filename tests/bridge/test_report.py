"""The one Telegram: everything new is named, and every outcome is said as what it is."""

import pytest

from bridge import report
from bridge.alerts import Heard
from bridge.journal import Conversation, Line, Round
from bridge.report import Question


def chat(title: str, *texts: str, **values: object) -> Conversation:
    lines = [Line("in", "text", text) for text in texts]
    given: dict[str, object] = {"state": "done", "unread": len(texts), "lines": lines} | values
    return Conversation(f"cnv_{title}", "rnd_1", 0, title, **given)  # type: ignore[arg-type]


def a_round(**values: object) -> Round:
    given: dict[str, object] = {"in_background": True} | values
    return Round("rnd_1", "default", "closed", **given)  # type: ignore[arg-type]


def test_nothing_new_is_nothing_said() -> None:
    assert report.written(a_round(), [], "en") == ""
    assert (
        report.written(a_round(), [chat("Ana", unread=1, decision="leave", reason="nothing_new")], "en") == ""
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"decision": "reply", "args": {"text": "Sí"}, "outcome": "sent"}, "Respondí: «Sí» ✓ enviado"),
        ({"decision": "reply", "args": {"text": "Sí"}, "outcome": "sent", "outcome_why": "pending"}, "en camino"),
        ({"decision": "reply", "args": {"text": "Sí"}, "outcome": "unknown"}, "no pude confirmar"),
        ({"decision": "reply", "args": {"text": "Sí"}, "outcome": "not_sent", "outcome_why": "phone.offline"},
         "Sin responder: el teléfono está conectado pero no responde"),
        ({"decision": "leave", "reason": "model:network"}, "Sin responder: no se puede llegar al servidor del modelo"),
        ({"decision": "leave", "reason": "no_model"}, "Sin responder: no hay un modelo configurado"),
        ({"decision": "leave", "reason": "publicidad"}, "Lo dejé en paz: publicidad"),
        ({"decision": "forward", "args": {"text": "hola"}}, "Es para ti"),
        ({"decision": "ask_owner", "args": {"question": "¿Vas?", "draft": "Voy", "holding_reply": "Le pregunto"},
          "outcome": "sent"}, "Le avisé que te estoy consultando: «Le pregunto»"),
        ({"decision": "ask_owner", "args": {"question": "¿Vas?", "holding_reply": "Le pregunto"},
          "outcome": "not_sent", "outcome_why": "guard.code"}, "No pude avisarle"),
        ({"decision": "ask_owner", "reason": "guard.money", "args": {"question": "?", "draft": "Son $5"}},
         "mencionaba un monto de dinero"),
        ({"state": "failed", "outcome_why": "phone.timeout"}, "Este no lo pude leer: el teléfono tardó demasiado"),
    ],
)  # fmt: skip
def test_each_outcome_in_its_own_words(values: dict[str, object], expected: str) -> None:
    text = report.written(a_round(), [chat("Ana", "hola", **values)], "es")
    assert "Ana (1 mensaje)" in text
    assert expected in text
    assert text.endswith("WhatsApp en segundo plano: sí")


@pytest.mark.parametrize(("left", "said"), [(True, "yes"), (False, "no."), (None, "could not check")])
def test_where_whatsapp_was_left_is_said_honestly(left: bool | None, said: str) -> None:
    assert said in report.background(left, "en")


def test_questions_are_numbered_like_their_buttons() -> None:
    asked = chat("Marina", "¿cuánto sale?", decision="ask_owner", args={"question": "¿Cuánto?", "draft": "8"})
    text = report.written(a_round(), [chat("Ana", "hola", decision="leave"), asked], "es",
                          questions=[Question("qst_1", asked.id, "¿Cuánto?", "8")])  # fmt: skip
    assert "1. Marina" in text
    assert "• Ana" in text


def test_kinds_senders_and_quotes_are_named() -> None:
    lines = [
        Line("in", "voice", sender="Pepe", seconds=72),
        Line("in", "text", "voy", sender="Ana", quoted="¿quién va?", edited=True),
        Line("in", "unknown"),
    ]
    text = report.written(
        a_round(), [chat("Fútbol", lines=lines, unread=3, kind="group", decision="leave")], "es"
    )
    assert "Pepe: [nota de voz 1:12]" in text
    assert "Ana: voy (sobre «¿quién va?») (editado)" in text
    assert "[un mensaje que no reconozco]" in text


def test_a_round_that_had_to_stop_says_why_and_what_it_read() -> None:
    text = report.written(
        a_round(why="offline", in_background=None), [chat("Ana", "hola", decision="leave")], "en"
    )
    assert "Ana" in text
    assert "I had to stop: the phone is connected but does not answer" in text


def test_a_relay_carries_the_alert_and_the_reason() -> None:
    text = report.relayed([Heard("Ana", "Hola"), Heard("Ana", "Hola")], "absent", "es")
    assert "el teléfono no está conectado" in text
    assert text.count("Ana: Hola") == 1
    assert "(no text)" in report.relayed([Heard()], "absent", "en")
    assert "(no text)" in report.relayed([], "absent", "en")


STATES = [
    "no_adb",
    "absent",
    "unauthorized",
    "offline",
    "no_permissions",
    "other_phone",
    "locked",
    "busy",
    "whatsapp_missing",
    "whatsapp_stuck",
    "input_forbidden",
    "timeout",
    "not_configured",
    "failed",
    "unreadable",
]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("lang", ["en", "es"])
def test_every_state_of_the_phone_has_words(state: str, lang: str) -> None:
    assert report.why_not(state, lang) not in (state, f"phone.{state}")
