"""Quiet hours, the reading that opens nothing, and the rules of contacts, against a simulated phone."""

from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.postures import found, put, without
from bridge.quiet import local, within
from bridge.simulator.casts import empty
from bridge.simulator.phone import SimPhone
from bridge.walk import posture_of
from core.errors import Invalid, NotFound
from core.settings import Contact, WhatsApp
from tests.fakes.town import house

FAR = "Pacific/Kiritimati"  # fourteen hours ahead: no machine's own time


@pytest.mark.parametrize(
    ("span", "at", "quiet"),
    [
        ("", "03:00", False),
        ("22:00-07:30", "22:00", True),
        ("22:00-07:30", "21:59", False),
        ("22:00-07:30", "00:00", True),
        ("22:00-07:30", "07:29", True),
        ("22:00-07:30", "07:30", False),
        ("13:00-15:00", "14:00", True),
        ("13:00-15:00", "15:00", False),
        ("13:00-15:00", "03:00", False),
        ("09:00-09:00", "09:00", False),
    ],
)
def test_hours_may_go_over_midnight(span: str, at: str, quiet: bool) -> None:
    assert within(span, time.fromisoformat(at)) is quiet


@given(st.times(), st.integers(0, 1439), st.integers(0, 1439))
def test_a_moment_is_in_a_span_or_in_the_rest_of_the_day(at: time, begins: int, ends: int) -> None:
    def clock(minutes: int) -> str:
        return f"{minutes // 60:02d}:{minutes % 60:02d}"

    span, rest = f"{clock(begins)}-{clock(ends)}", f"{clock(ends)}-{clock(begins)}"
    assert (begins == ends) or (within(span, at) is not within(rest, at))


def test_the_owner_is_where_the_identity_says() -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert local(noon, FAR, "Europe/Madrid").hour == 2
    assert local(noon, "", "Europe/Madrid").hour == 13
    assert local(noon, "Nowhere/Land", "Europe/Madrid").hour == 13
    assert local(noon, "", "").tzinfo is not None


def around_now(before: timedelta, after: timedelta) -> str:
    here = datetime.now(ZoneInfo(FAR))
    return f"{here - before:%H:%M}-{here + after:%H:%M}"


def two_chats() -> SimPhone:
    phone = empty("es")
    for name, number, text in (
        ("Ana", "34600200201", "Hola"),
        ("Beto", "34600200202", "¿Cuánto sale la clase?"),
    ):
        phone.receive(phone.whatsapp.add(name, number=number).id, text)
    return phone


@pytest.mark.anyio
async def test_in_quiet_hours_nothing_is_typed_and_the_report_says_so(tmp_path: Path) -> None:
    async with house(tmp_path, two_chats()) as home:
        await home.app.identity.set(timezone=FAR)
        span = around_now(timedelta(hours=1), timedelta(hours=1))
        await home.app.config.set({"whatsapp.quiet_hours": span})
        text = await home.round()
        assert home.phone.sent == []
        assert home.phone.violations == []
        assert text.count("son tus horas de silencio") == 2
        assert "Borrador" in text
        asked = await home.questions.open_ones()
        assert {one["title"] for one in asked} == {"Ana", "Beto"}
        drafts = {one["title"]: one["draft"] for one in asked}
        # Outside of them it answers again by itself.
        await home.app.config.set(
            {"whatsapp.quiet_hours": around_now(timedelta(hours=3), timedelta(hours=-2))}
        )
        home.phone.receive(home.phone.whatsapp.find("Ana").id, "Buen día")
        await home.round()
        assert drafts["Ana"]
        assert [sent.title for sent in home.phone.sent] == ["Ana"]


@pytest.mark.anyio
async def test_hours_that_begin_between_decision_and_typing_hold_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path, two_chats()) as home:
        from bridge import rounds

        looked: list[bool] = []

        def clock(app: object) -> bool:
            # Two decisions before they begin, and everything after it in them.
            looked.append(len(looked) >= 2)
            return looked[-1]

        monkeypatch.setattr(rounds, "quiet", clock)
        text = await home.round()
        assert home.phone.sent == []
        assert "son tus horas de silencio" in text


@pytest.mark.anyio
async def test_reading_from_notifications_opens_nothing(tmp_path: Path) -> None:
    async with house(tmp_path, two_chats(), whatsapp={"read": "notifications"}) as home:
        text = await home.round()
        assert "desde las notificaciones" in text
        assert "Ana" in text
        assert "¿Cuánto sale la clase?" in text
        assert "No pude abrir" not in text  # nobody wanted to
        assert home.phone.read_chats == []  # no blue ticks
        assert home.phone.sent == []
        assert not home.phone.in_front
        assert await home.questions.open_ones() == []


@pytest.mark.anyio
async def test_reading_from_notifications_tells_when_the_phone_is_away(tmp_path: Path) -> None:
    whatsapp = {"read": "notifications"}
    async with house(tmp_path, two_chats(), whatsapp=whatsapp, phone={"serial": "not-there"}) as home:
        text = await home.round()
        assert "2 new messages" in text


ANA = Contact(name="Ana", number="+34 600 200 201", posture="auto", note="sister")
BETO = Contact(name="Beto", posture="never")


def test_a_rule_is_found_by_number_and_else_by_name() -> None:
    rules = [ANA, BETO]
    assert found(rules, "Somebody", "34600200201") == 0
    assert found(rules, "Ana", "34600999999") is None  # a namesake
    assert found(rules, "Beto", "34600999999") == 1
    assert found(rules, "", "") is None


def test_rules_are_set_and_taken_away() -> None:
    changed, new = put([ANA, BETO], Contact(number="34600200201", posture="draft"))
    assert (new, changed[0].name, changed[0].posture) == (False, "Ana", "draft")
    changed, new = put(changed, Contact(name="Caro", posture="auto"))
    assert (new, len(changed)) == (True, 3)
    left, gone = without(changed, "Beto", "")
    assert (gone.name, [one.name for one in left]) == ("Beto", ["Ana", "Caro"])
    assert posture_of(WhatsApp(contacts=tuple(left)), "Caro", "")[0] == "auto"
    with pytest.raises(NotFound):
        without(left, "Beto", "")
    for nobody in (Contact(), Contact(number="12"), Contact(name=" ")):
        with pytest.raises(Invalid):
            put(left, nobody)
