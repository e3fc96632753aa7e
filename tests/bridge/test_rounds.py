"""Rounds on real parts, from the alert to the one Telegram, with no model or with the practice rules."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from bridge import journal
from bridge.carry import key_of
from bridge.simulator.casts import Author, empty
from bridge.simulator.phone import SimPhone
from bridge.simulator.stage import connect, simulated_phone, small_town
from core.events import ConversationRead, RoundStarted, RunClosed
from core.message import Message
from tests.fakes.town import House, house

pytestmark = pytest.mark.anyio
NO_MODEL = {"super_agent": {"enabled": False}}


def two_chats() -> SimPhone:
    """A greeting and a question about money, from people with numbers."""
    phone = empty("es")
    for name, number, text in (
        ("Ana", "34600200201", "Hola"),
        ("Beto", "34600200202", "¿Cuánto sale la clase?"),
    ):
        phone.receive(phone.whatsapp.add(name, number=number).id, text)
    return phone


async def test_one_alert_becomes_one_telegram_that_names_every_unread_chat(tmp_path: Path) -> None:
    town = small_town("es")
    unread = [chat.title for chat in town.whatsapp.chats if chat.unread and not chat.archived]
    async with house(tmp_path, town) as home:
        text = await home.round()
        assert len(unread) == 7
        assert [title for title in unread if title not in text] == []
        assert "WhatsApp en segundo plano: sí" in text
        assert len(home.bot.sent) == 1
        assert not town.in_front
        assert town.violations == []
        typed = {
            row["title"]: row["decision_args"] for row in (await home.chats()).values() if row["outcome"]
        }
        assert {sent.title for sent in town.sent} == set(typed)
        # The code is for the owner alone.
        assert "482 913" in text
        assert not any("482" in sent.text for sent in town.sent)


async def test_a_burst_of_alerts_is_one_round(tmp_path: Path) -> None:
    async with house(tmp_path, two_chats(), **NO_MODEL, whatsapp={"quiet_s": 0.3, "cap_s": 3}) as home:
        for _ in range(5):
            await home.alert()
        await home.closed(1)
        await asyncio.sleep(0.5)
        assert len([event for event in home.events if isinstance(event, RoundStarted)]) == 1
        states = await home.app.store.all("select distinct state from alerts")
        assert [row["state"] for row in states] == ["worked"]


async def test_alerts_during_a_round_become_one_more_round(tmp_path: Path) -> None:
    async with house(tmp_path, two_chats(), **NO_MODEL) as home:
        reading = asyncio.Event()
        home.app.bus.subscribe(ConversationRead, lambda _: reading.set())
        await home.alert()
        await asyncio.wait_for(reading.wait(), 30)
        for _ in range(3):
            await home.alert()
        await home.closed(2)
        await asyncio.sleep(0.3)
        assert len([event for event in home.events if isinstance(event, RoundStarted)]) == 2
        assert len(home.bot.sent) == 1  # the second found nothing new


async def test_nothing_new_is_nothing_sent(tmp_path: Path) -> None:
    async with house(tmp_path, empty("es")) as home:
        assert await home.round() == ""
        assert home.bot.sent == []
        assert not home.phone.in_front


async def test_without_a_model_it_reads_and_reports(tmp_path: Path) -> None:
    async with house(tmp_path, two_chats(), **NO_MODEL) as home:
        text = await home.round()
        assert "Ana" in text
        assert "¿Cuánto sale la clase?" in text
        assert text.count("Sin responder: no hay un modelo configurado") == 2
        assert home.phone.sent == []


async def test_a_model_that_is_no_name_costs_the_answers_and_not_the_round(tmp_path: Path) -> None:
    async with house(tmp_path, two_chats(), super_agent={"model": "nobody knows this"}) as home:
        text = await home.round()
        assert "Ana" in text
        assert text.count("Sin responder") == 2
        assert not home.phone.in_front


async def test_under_draft_nothing_is_typed_and_the_owner_is_asked(tmp_path: Path) -> None:
    async with house(tmp_path, two_chats(), whatsapp={"posture": "draft"}) as home:
        text = await home.round()
        assert home.phone.sent == []
        assert "Para que decidas" in text
        assert len(await home.questions.open_ones()) == 2
        assert home.bot.sent[-1].buttons


async def test_postures_of_contacts_hold(tmp_path: Path) -> None:
    contacts = [{"name": "Ana", "posture": "never"}, {"number": "+34 600 200 202", "posture": "read_only"}]
    async with house(tmp_path, two_chats(), whatsapp={"contacts": contacts}) as home:
        text = await home.round()
        assert home.phone.sent == []
        assert home.phone.read_chats == [home.phone.whatsapp.find("Beto").id]
        assert "me pediste no abrirlo" in text
        assert "me pediste solo leerlo" in text


async def test_the_same_conversation_is_not_answered_twice(tmp_path: Path) -> None:
    async with house(tmp_path, two_chats()) as home:
        await home.round()
        first = list(home.phone.sent)
        assert first
        home.phone.whatsapp.find("Ana").unread = 1  # marked again, nothing new in it
        await home.alert()
        await home.closed(2)
        assert home.phone.sent == first


async def test_the_phone_is_left_as_it_was_found(tmp_path: Path) -> None:
    phone = two_chats()
    ime = phone.ime
    phone.sleep()
    async with house(tmp_path, phone) as home:
        await home.round()
        assert not phone.awake
        assert phone.ime == ime
        assert not phone.in_front


async def test_the_app_in_front_comes_back(tmp_path: Path) -> None:
    phone = two_chats()
    phone.foreground = "com.android.chrome/com.google.android.apps.chrome.Main"
    async with house(tmp_path, phone, **NO_MODEL) as home:
        await home.round()
        assert phone.foreground.startswith("com.android.chrome")


async def test_the_owners_app_in_front_does_not_stop_the_answers(tmp_path: Path) -> None:
    phone = two_chats()
    phone.foreground = "com.android.chrome/com.google.android.apps.chrome.Main"
    async with house(tmp_path, phone, whatsapp={"owner_wait_s": 5}) as home:
        text = await home.round()
        assert "estabas usando el teléfono" not in text
        assert phone.sent
        assert phone.foreground.startswith("com.android.chrome")


async def test_where_keys_are_forbidden_the_launcher_is_started_instead(tmp_path: Path) -> None:
    phone = two_chats()
    phone.faults.set("inject_events")
    async with house(tmp_path, phone) as home:
        text = await home.round()
        assert "no permite toques" in text
        assert not phone.in_front


# Out of reach: one relay with the alert's own words and the reason


OUT_OF_REACH = {
    "unauthorized": "no autorizó a esta computadora",
    "absent": "no está conectado",
    "other": "otro teléfono conectado",
    "no_server": "no está en marcha",
}


@asynccontextmanager
async def something_else() -> AsyncIterator[int]:
    """A port on which something listens that is no adb server."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.parametrize("how", OUT_OF_REACH)
async def test_out_of_reach_the_alert_is_relayed_with_its_words_and_the_reason(
    tmp_path: Path, how: str
) -> None:
    async with AsyncExitStack() as stack:
        home = await stack.enter_async_context(house(tmp_path, two_chats()))
        serial = home.device.address
        if how == "unauthorized":
            home.device.faults.set("unauthorized")
            await home.device.drop()
        elif how == "no_server":
            port = await stack.enter_async_context(something_else())
            await home.app.config.set({"phone.adb_port": port})
        else:
            await home.device.stop()
        if how == "other":
            other = await stack.enter_async_context(simulated_phone(phone=two_chats(), serial_name="SIM0002"))
            await connect(home.adb_port, other.address)
            await home.app.config.set({"phone.serial": "R58PINNED"})
            serial = other.address
        await home.alert(b'{"sender": "Ana", "message": "Llamame", "channel": "whatsapp"}')
        await home.closed(1)
        await home.bot.until(lambda: home.bot.sent)
        assert len(home.bot.sent) == 1
        assert "Ana: Llamame" in home.bot.sent[0].text
        assert OUT_OF_REACH[how] in home.bot.sent[0].text
        assert serial
        assert home.phone.sent == []


async def test_a_locked_phone_is_reported_from_its_notifications(tmp_path: Path) -> None:
    phone = two_chats()
    phone.keyguard = "secure"
    phone.sleep()
    async with house(tmp_path, phone) as home:
        await home.alert(b"%evtprm3")
        await home.closed(1)
        await home.bot.until(lambda: home.bot.sent)
        text = home.bot.sent[0].text
        assert "desde las notificaciones" in text
        assert "el teléfono está bloqueado" in text
        assert "¿Cuánto sale la clase?" in text
        assert phone.read_chats == []
        assert not phone.awake


async def test_the_same_state_is_told_once_in_its_window_and_nothing_is_lost(tmp_path: Path) -> None:
    phone = two_chats()
    phone.keyguard = "secure"
    phone.sleep()
    async with house(tmp_path, phone) as home:
        await home.alert(b"%evtprm3")
        await home.closed(1)
        await home.alert(b'{"sender": "Caro", "message": "Y esto?"}')
        await asyncio.sleep(1)
        assert len(home.of(RoundStarted)) == 1
        phone.keyguard = "none"
        await home.alert(b"%evtprm3")  # the phone is open now: a round takes what waited
        await home.closed(2)
        await home.bot.until(lambda: len(home.bot.sent) == 2)
        assert "desde las notificaciones" in home.bot.sent[0].text
        assert "WhatsApp · 2 chats con novedades" in home.bot.sent[1].text
        assert [
            row["state"] for row in await home.app.store.all("select distinct state from alerts order by 1")
        ] == [
            "relayed",
            "worked",
        ]


async def test_a_fault_of_ours_ends_the_round_with_the_alert_and_not_the_worker(tmp_path: Path) -> None:
    async with house(tmp_path, two_chats(), **NO_MODEL) as home:
        refuse = "create trigger no before insert on conversations begin select raise(abort, 'no'); end"
        await home.app.store.run(refuse)
        home.phone.notifications.clear()
        await home.alert(b'{"sender": "Ana", "message": "Llamame"}')
        await home.closed(1)
        await home.bot.until(lambda: home.bot.sent)
        assert "Ana: Llamame" in home.bot.sent[0].text
        assert "algo falló" in home.bot.sent[0].text
        assert not home.phone.in_front
        await home.app.store.run("drop trigger no")
        assert "2 chats con novedades" in await home.round()


async def test_whatsapp_missing_is_relayed(tmp_path: Path) -> None:
    phone = empty("es")
    phone.installed.pop("com.whatsapp")
    async with house(tmp_path, phone) as home:
        await home.alert(b'{"prompt": "7 new messages"}')
        await home.closed(1)
        await home.bot.until(lambda: home.bot.sent)
        assert "WhatsApp no está instalado" in home.bot.sent[0].text
        assert "7 new messages" in home.bot.sent[0].text


# Between the decision and the tap


async def test_when_the_title_changes_nothing_is_typed(tmp_path: Path) -> None:
    async with house(tmp_path, two_chats()) as home:
        app = home.phone.whatsapp

        def rename(_: RunClosed) -> None:
            for chat in app.chats:
                chat.title = f"Otra {chat.title}" if not chat.title.startswith("Otra") else chat.title

        home.app.bus.subscribe(RunClosed, rename)
        text = await home.round()
        assert home.phone.sent == []
        assert not any(chat.draft for chat in app.chats)
        assert "Sin responder" in text


async def test_what_arrives_before_the_answer_is_answered_instead(tmp_path: Path) -> None:
    phone = empty("es")
    ana = phone.whatsapp.add("Ana", number="34600200201")
    phone.receive(ana.id, "Hola")
    async with house(tmp_path, phone) as home:
        told: list[bool] = []

        def more(_: RunClosed) -> None:
            if not told:
                told.append(True)
                phone.receive(ana.id, "¿Me prestas 200 euros?")

        home.app.bus.subscribe(RunClosed, more)
        text = await home.round()
        assert "¿Me prestas 200 euros?" in text
        assert (await home.chats())["Ana"]["decision"] == "ask_owner"
        assert all("Hola" not in sent.text for sent in phone.sent)


# The owner's answer


async def answered(home: House, id: str) -> str:
    await home.bot.until(lambda: len(home.bot.sent) >= 2, 30)
    row = await home.app.store.one("select state, answer from questions where id = ?", id)
    assert row is not None
    return f"{row['state']}: {row['answer']}"


async def test_a_button_on_telegram_sends_the_draft_into_the_right_chat(tmp_path: Path) -> None:
    phone = empty("es")
    phone.receive(phone.whatsapp.add("Ana", number="34600200201").id, "Hola")
    async with house(tmp_path, phone, whatsapp={"posture": "draft"}) as home:
        await home.round()
        [question] = await home.questions.open_ones()
        await home.bot.press(home.bot.sent[0].buttons[0])
        assert await answered(home, question["id"]) == f"answered: {question['draft']}"
        assert [(sent.title, sent.text) for sent in phone.sent] == [("Ana", question["draft"])]
        assert "Se lo envié a Ana" in home.bot.sent[1].text
        assert not phone.in_front


async def test_the_first_answer_wins(tmp_path: Path) -> None:
    phone = empty("es")
    phone.receive(phone.whatsapp.add("Ana", number="34600200201").id, "Hola")
    async with house(tmp_path, phone, whatsapp={"posture": "draft"}) as home:
        await home.round()
        [question] = await home.questions.open_ones()
        results = await asyncio.gather(
            home.questions.answer(question["id"], "write", text="¡Buenas! 👋", by="window"),
            home.questions.answer(question["id"], "leave", by="telegram"),
            return_exceptions=True,
        )
        assert [type(result).__name__ for result in results] == ["NoneType", "Refused"]
        assert await answered(home, question["id"]) == "answered: ¡Buenas! 👋"
        assert [sent.text for sent in phone.sent] == ["¡Buenas! 👋"]


async def test_the_answer_goes_out_below_the_line_that_said_it_was_being_asked(tmp_path: Path) -> None:
    phone = empty("es")
    phone.receive(phone.whatsapp.add("Ana", number="34600200201").id, "¿Cuánto sale la clase?")
    async with house(tmp_path, phone) as home:
        await home.round()
        [question] = await home.questions.open_ones()
        await home.questions.answer(
            question["id"], "write", text="Sale 20, la primera es gratis", by="window"
        )
        await home.bot.until(lambda: len(home.bot.sent) == 2, 30)
        assert [sent.text for sent in phone.sent][1:] == ["Sale 20, la primera es gratis"]
        assert "Se lo envié a Ana" in home.bot.sent[1].text


# Interrupted rounds go on where they were


async def test_a_chat_that_was_opened_and_not_kept_is_read_after_a_restart(tmp_path: Path) -> None:
    phone = two_chats()
    author = Author(phone)
    author.said(phone.whatsapp.find("Ana"), 1, "¿Estás?")
    phone.whatsapp.find("Ana").unread = 0  # opened, and then the process was gone
    async with house(tmp_path, phone, whatsapp={"enabled": False}) as home:
        store = home.app.store
        await home.alert()
        await store.run(
            "insert into rounds (id, project_id, state, started_at) values ('rnd_1', 'default', 'running', '2026')"
        )
        await store.run("update alerts set state = 'taken', round_id = 'rnd_1'")
        await store.run(
            "insert into conversations (id, round_id, position, title, unread, state, found_at, posture)"
            " values ('cnv_1', 'rnd_1', 0, 'Ana', 2, 'found', '2026', 'auto')"
        )
    async with house(tmp_path, phone) as home:
        await home.closed(1)
        await home.bot.until(lambda: home.bot.sent)
        text = home.bot.sent[0].text
        assert "¿Estás?" in text
        assert "Ana (2 mensajes)" in text
        assert "Beto" in text
        assert len(home.bot.sent) == 1


async def test_a_text_that_a_stopped_process_left_in_the_composer_is_taken_out_and_said(
    tmp_path: Path,
) -> None:
    phone = empty("es")
    ana = phone.whatsapp.add("Ana", number="34600200201")
    Author(phone).said(ana, 1, "Hola")
    text = "Hola, ¿cómo estás?"
    ana.draft = text
    async with house(tmp_path, phone, whatsapp={"enabled": False}) as home:
        store = home.app.store
        await home.alert()
        await store.run(
            "insert into rounds (id, project_id, state, started_at) values ('rnd_1', 'default', 'running', '2026')"
        )
        await store.run("update alerts set state = 'taken', round_id = 'rnd_1'")
        await store.run(
            "insert into conversations (id, round_id, position, title, number, unread, state, decision, decision_args,"
            " found_at, posture) values ('cnv_1', 'rnd_1', 0, 'Ana', '34600200201', 1, 'decided', 'reply', ?, '2026',"
            " 'auto')",
            json.dumps({"text": text}),
        )
        await store.run(
            "insert into phone_messages (conversation_id, position, direction, kind, text)"
            " values ('cnv_1', 0, 'in', 'text', 'Hola')"
        )
        chat = await journal.conversation(store, "cnv_1")
        assert chat is not None
        await home.app.outbox.record(
            Message(channel="whatsapp", to="34600200201", text=text, key=key_of(chat, "reply")),
            state="attempted",
        )
    async with house(tmp_path, phone) as home:
        await home.closed(1)
        await home.bot.until(lambda: home.bot.sent)
        assert phone.sent == []
        assert ana.draft == ""
        assert "el programa se detuvo antes de enviarlo" in home.bot.sent[0].text
