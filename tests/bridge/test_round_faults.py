"""Every fault that a round can meet: it ends in a report or a named result, never a hang, a wrong chat or silence."""

from pathlib import Path

import pytest

from bridge.simulator.casts import empty
from bridge.simulator.phone import SimPhone
from bridge.simulator.scenes import SCENES
from tests.fakes.town import house

pytestmark = pytest.mark.anyio

# name, value, how often; what strikes for ever must end in a relay, what passes must cost nothing
PASSING: list[tuple[str, object, int | None]] = [
    ("latency", 0.03, None),
    ("jitter", 0.05, None),
    ("crlf", True, None),
    ("invalid_utf8", True, 2),
    ("stderr_mixed", True, None),
    ("no_shell_v2", True, None),
    ("exit_code_lies", True, None),
    ("command_not_found", "grep", None),
    ("not_idle", True, 2),
    ("null_root", True, 3),
    ("empty_dump", True, 2),
    ("killed", True, 2),
    ("stale_file", True, 2),
    ("late_write", True, 2),
    ("truncated_xml", True, 2),
    ("glued_line", True, None),
    ("bad_characters", True, None),
    ("emoji_dots", True, None),
    ("stale_screen", True, 3),
    ("mixed_frames", True, None),
    ("offscreen_pages", True, None),
    ("override_size", "1080x2376", None),
    ("large_font", 1.6, None),
    ("opens_in_last_chat", True, None),
    ("opens_in", "search", None),
    ("opens_in", "selection", None),
    ("opens_in", "viewer", None),
    ("backup_offer", True, None),
    ("reorder_before_tap", True, 1),
    ("arrives_while_reading", "¿Sigues ahí?", 1),
    ("badge_without_number", True, None),
    ("deleted_after_alert", True, 1),
    ("tap_swallowed", True, 1),
    ("inertia", 60, 1),
    ("keyboard_covers", True, None),
    ("battery_saver", True, None),
    ("update_storm", 5, None),
    ("noise_records", True, None),
    ("dumpsys_timeout", True, None),
]
STOPPING: list[tuple[str, object]] = [
    ("offline", True),
    ("update_required", True),
    ("two_step_pin", True),
    ("app_lock", True),
    ("no_ids", True),
    ("null_root", True),
    ("already_registered", True),
    ("inject_events", True),
    ("reboot", True),
    ("window_on_top", "call"),
]
SENDING: list[tuple[str, object, str]] = [
    ("prefill_ignored", True, "Sin responder"),
    ("prefill_appended", True, ""),
    ("not_on_whatsapp", True, "Sin responder"),
    ("opens_business", True, "Sin responder"),
    ("send_does_nothing", True, "Sin responder"),
    ("pending", True, "en camino"),
]


def greeting() -> SimPhone:
    """One person who says hello, one who asks for a price; the practice rules answer the first."""
    phone = empty("es")
    for name, number, text in (
        ("Ana", "34600200201", "Hola"),
        ("Beto", "34600200202", "¿Cuánto sale la clase?"),
    ):
        phone.receive(phone.whatsapp.add(name, number=number).id, text)
    return phone


@pytest.mark.parametrize(
    ("fault", "value", "times"), PASSING, ids=[f"{name}-{value}" for name, value, _ in PASSING]
)
async def test_a_fault_that_passes_costs_no_chat(
    tmp_path: Path, fault: str, value: object, times: int | None
) -> None:
    phone = greeting()
    async with house(tmp_path, phone) as home:
        phone.faults.set(fault, value, times=times)
        text = await home.round(90)
        assert "Ana" in text
        assert "Beto" in text
        assert phone.violations == []
        assert not phone.in_front
        assert {sent.title for sent in phone.sent} <= {"Ana", "Beto"}
        assert len(phone.sent) == len({sent.title for sent in phone.sent})


@pytest.mark.parametrize(("fault", "value"), STOPPING, ids=[name for name, _ in STOPPING])
async def test_a_fault_that_stays_ends_in_one_honest_telegram(
    tmp_path: Path, fault: str, value: object
) -> None:
    phone = greeting()
    async with house(tmp_path, phone) as home:
        phone.faults.set(fault, value)
        if fault == "offline":
            await home.device.drop()
        text = await home.round(120)
        assert text.startswith("WhatsApp")
        assert "Por qué" in text or "No pude" in text or "Tuve que parar" in text
        assert len(home.bot.sent) == 1
        assert phone.violations == []
        assert phone.sent == []


@pytest.mark.parametrize(("fault", "value", "said"), SENDING, ids=[name for name, _, _ in SENDING])
async def test_a_send_that_cannot_be_proven_is_said_as_what_it_is(
    tmp_path: Path, fault: str, value: object, said: str
) -> None:
    phone = greeting()
    async with house(tmp_path, phone) as home:
        phone.faults.set(fault, value)
        text = await home.round(120)
        assert said in text
        assert phone.violations == []
        assert len(phone.sent) <= 2
        rows = await home.app.store.all("select state, payload from outbox where channel = 'whatsapp'")
        assert all(row["state"] in ("delivered", "not_attempted", "rejected", "unknown") for row in rows)
        delivered = [row for row in rows if row["state"] == "delivered"]
        assert len(delivered) == len(phone.sent)


@pytest.mark.parametrize("scene", SCENES)
async def test_whatever_the_chats_contain_each_unread_one_is_named(tmp_path: Path, scene: str) -> None:
    phone = empty("es")
    SCENES[scene](phone)
    unread = [chat for chat in phone.whatsapp.chats if chat.unread and not chat.archived]
    async with house(tmp_path, phone, whatsapp={"archived": scene == "F67"}) as home:
        text = await home.round(120)
        assert [chat.title for chat in unread if chat.title and chat.title not in text] == []
        assert phone.violations == []
        assert not phone.in_front
