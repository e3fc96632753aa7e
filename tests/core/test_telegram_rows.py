"""What a bot meets, one row at a time: words, limits and deliveries (1-14). Each test is named by its row.

Rows 15-18, 27, 29 and 30 are in test_telegram_rows_line, the others in test_telegram_rows_talk. What a row needs
besides is shown by tests with names of their own:

    1-6   test_telegram_format                            every cut, measured against the stand-in's own reading
    9     test_a_file_too_big_to_fetch_is_said_and_its_caption_still_counts
    10    test_a_429_in_the_middle_of_a_report_and_a_restart_lose_and_repeat_nothing, test_outbox
    11    test_an_ambiguous_send_is_unknown_and_not_repeated, test_an_answer_that_never_comes_is_unknown
    13    test_a_killed_process_loses_no_question_and_answers_it_once
"""

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bridge.simulator.bot_faults import cannot_parse, dropped, failing, fine, limited
from core.channels.telegram import Telegram
from core.channels.telegram_update import ALLOWED
from core.outbox import Button, Message, Receipt
from tests.core.telegram_kit import FAST, OWNER, Desk, talking
from tests.core.test_delivery import JPEG, png

pytestmark = pytest.mark.anyio
FAMILY = "👨‍👩‍👧‍👦"


async def post(one: Desk, text: str = "", **more: Any) -> Receipt:
    message = Message(**{"channel": "telegram", "text": text} | more)
    return await one.app.outbox.wait(await one.app.outbox.post(message), 30)


async def test_rows_1_to_5_what_is_long_or_formatted_arrives_whole_and_is_never_refused(
    tmp_path: Path,
) -> None:
    """The stand-in refuses what the real one refuses: too long a text, half a letter, a tag that is not closed."""
    code = "\n".join(f"**bold {n} [link](https://e.org/{n}) `x`** and - text" for n in range(200))
    row_1 = {"😀" * 2049: "😀" * 2049}
    row_2 = {"a" * 4095 + "🎩": "a" * 4095 + "🎩", FAMILY * 400: FAMILY * 400}
    row_3 = {"!" * 4096: "!" * 4096, "&" * 4096: "&" * 4096}
    row_4 = {code: "\n".join(f"bold {n} link x and - text" for n in range(200))}
    row_5 = {
        "```\n" + "x" * 10_000 + "\n```": "x" * 10_000,
        "```c++\nint a;\n```": "int a;",
        "```\nopened and never closed": "opened and never closed",
    }
    async with talking(tmp_path) as one:
        for text, read in (row_1 | row_2 | row_3 | row_4 | row_5).items():
            one.api.sent.clear()
            assert (await post(one, text, markup=True)).state == "delivered"
            joint = "\n" if text == code else ""
            assert joint.join(one.texts()) == read
            assert all(part.text == FAMILY * (len(part.text) // 7) for part in one.api.sent if FAMILY in text)
        assert len(one.asked("sendMessage")) > 10
        assert all(call["parse_mode"] == "HTML" for call in one.asked("sendMessage"))


async def test_row_6_formatting_that_is_refused_goes_plain_once_and_emptiness_is_no_success(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path) as one:
        for text in ("*_[", "`", "<b>", "~~x", "---"):
            assert (await post(one, text, markup=True)).state == "delivered"
        one.api.calls.clear()
        one.api.script("sendMessage", cannot_parse())
        assert (await post(one, "**bold** & co", markup=True)).state == "delivered"
        assert ["parse_mode" in call for call in one.asked("sendMessage")] == [True, False]
        for nothing in ("```\n```", "~~~", " \n "):
            assert (await post(one, nothing, markup=True)).state == "rejected"
        one.api.script("sendMessage", cannot_parse(), cannot_parse())
        assert (await post(one, "**x**", markup=True)).state == "rejected"


@pytest.mark.parametrize("caption", ["<" * 1024, "a" * 1025])
async def test_row_7_what_does_not_fit_under_a_file_answers_the_file(tmp_path: Path, caption: str) -> None:
    async with talking(tmp_path / "h") as one:
        path = tmp_path / "a.png"
        path.write_bytes(png(4, 4))
        assert (await post(one, caption, kind="photo", path=str(path))).state == "delivered"
        photo, *rest = one.api.sent
        assert "".join(sent.text for sent in one.api.sent) == caption
        assert [sent.reply_to for sent in rest] == [photo.message_id] * len(rest)
        assert rest


async def test_row_8_pictures_that_are_no_photos_go_as_documents_and_what_is_too_large_says_so(
    tmp_path: Path,
) -> None:
    files = {
        "wide.png": png(20_001, 1),
        "heavy.jpg": JPEG + b"\0" * (10 * 1024 * 1024 + 100_000),
        "fine.png": png(2, 2),
    }
    async with talking(tmp_path / "h") as one:
        for name, data in files.items():
            (tmp_path / name).write_bytes(data)
            assert (await post(one, kind="photo", path=str(tmp_path / name))).state == "delivered"
        assert [sent.method for sent in one.api.sent] == ["sendDocument", "sendDocument", "sendPhoto"]
        with (tmp_path / "film.mp4").open("wb") as file:
            file.truncate(51 * 1024 * 1024)
        refused = await post(one, kind="document", path=str(tmp_path / "film.mp4"))
        assert refused.state == "rejected"
        assert "51.0 MB" in refused.reason
        assert "Compress" in refused.reason


async def test_row_9_a_file_that_is_too_large_is_said_and_kept_by_its_number(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        await one.api.say(OWNER, OWNER, "what is it?", document=("film.mp4", b"x"), file_size=21_000_000)
        await one.api.until(lambda: len(one.api.sent) == 2)
        assert "Bot API server of your own" in one.texts()[0]
        assert "missing" in one.runner.turns[0].context_note
        row = await one.app.store.one("select body from telegram_updates")
        assert row is not None
        assert json.loads(row["body"])["message"]["document"]["file_id"] in one.api.files


@pytest.mark.parametrize("wait", [600, 2, None])
async def test_row_10_the_server_is_left_alone_as_long_as_it_asks_and_nothing_final_is_lost(
    tmp_path: Path, wait: int | None
) -> None:
    async with talking(tmp_path) as one:
        await one.until(one.told)
        one.api.script("sendMessage", limited(wait))
        first = await one.app.outbox.post(Message(channel="telegram", text="final"))
        while not (await one.app.outbox.wait(first, 0.02)).reason.startswith("Telegram asks"):
            pass
        if wait is None:
            assert (await one.app.outbox.wait(first, 30)).state == "delivered"
            return
        # Another queue of the same bot, to the same chat: it does not ask either.
        second = await one.app.outbox.post(Message(channel="telegram:main", to=str(OWNER), text="more"))
        while not (await one.app.outbox.wait(second, 0.02)).reason.startswith("Telegram asks"):
            pass
        assert (await post(one, "elsewhere", channel="telegram:main", to="-5")).state == "delivered"
        assert one.texts() == ["elsewhere"]
        assert len(one.asked("sendMessage")) == 2
        await one.api.say(OWNER, OWNER, "and now?")  # it is worked on, and no bubble is spent on it
        await one.until_states("done")
        assert one.asked("sendChatAction") == []
        row = await one.app.store.one("select not_before from outbox_parts where message_id = ?", first)
        assert row is not None
        assert row["not_before"]


async def test_row_10_a_limit_on_a_courtesy_costs_the_courtesy(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        one.api.script("sendChatAction", limited(600))
        one.api.script("editMessageReplyMarkup", limited(600))
        assert await one.ask("hola") == "echo hola"
        assert len(one.asked("sendChatAction")) == 1
        await post(one, "?", buttons=((Button("a", "k", {"id": "1"}),),))
        await one.app.services[Telegram].withdraw("k", "id", "1")
        assert len(one.asked("editMessageReplyMarkup")) == 1
        assert (await post(one, "goes on")).state == "delivered"


async def test_row_11_only_what_had_no_effect_is_sent_again(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        one.api.script("sendMessage", failing(500), fine(), dropped())
        assert (await post(one, "again")).state == "delivered"
        unknown = await post(one, "once")
        assert unknown.state == "unknown"
        assert "may have arrived" in unknown.reason
        assert one.texts() == ["again", "once"]
        assert len(one.asked("sendMessage")) == 3


async def test_row_12_an_edit_that_changes_nothing_is_done_and_one_of_a_lost_message_costs_nothing(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path) as one:
        await post(one, "?", buttons=((Button("a", "k", {"id": "1"}),),))
        intake = one.app.services[Telegram].connections["main"].intake
        message_id = one.api.sent[0].message_id
        for _ in range(2):
            await intake.redraw(str(OWNER), message_id, {"inline_keyboard": []})
        await intake.redraw(str(OWNER), 9999, {"inline_keyboard": []})
        assert len(one.asked("editMessageReplyMarkup")) == 3
        assert one.api.sent[0].buttons == []
        assert (await post(one, "next")).state == "delivered"
        assert one.texts() == ["?", "next"]


async def test_row_13_only_numbers_that_can_be_offsets_count_and_the_last_one_stored_is_asked_from(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path, timing=replace(FAST, poll_s=0.2)) as one:
        await one.until(one.told)
        body = {"message_id": 1, "date": 1, "chat": {"id": 1, "type": "private"}, "text": "x"}
        real = one.api._getUpdates

        async def strange(_: Any) -> Any:
            one.api._getUpdates = real  # type: ignore[method-assign]
            odd = (-5, True, 2**60, "7", None)
            return [*({"update_id": id, "message": body} for id in odd), {"update_id": 41, "message": body}]

        one.api._getUpdates = strange  # type: ignore[method-assign]
        await one.api.update(poll={})
        one.api.updates.clear()
        await one.api.until(lambda: one.api.calls[-1].params.get("offset") == "42")
        rows = await one.app.store.all("select update_id from telegram_updates")
        assert [row["update_id"] for row in rows] == [41]
        # After a quiet week the server counts anew, maybe from below: what came last is what counts.
        await one.app.store.run("update telegram_updates set received_at = '2020-01-01T00:00:00.000+00:00'")

        async def anew(request: Any) -> Any:
            if "offset" in request.params:
                return []
            one.api._getUpdates = real  # type: ignore[method-assign]
            return [{"update_id": 7, "message": body}]

        one.api._getUpdates = anew  # type: ignore[method-assign]
        await one.api.update(poll={})
        one.api.updates.clear()
        await one.api.until(lambda: one.api.calls[-1].params.get("offset") == "8")


async def test_row_14_one_message_under_two_numbers_is_one_question_and_so_is_its_edit(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path) as one:
        id = await one.api.say(OWNER, OWNER, "once")
        await one.api.until(lambda: len(one.api.sent) == 1)
        await one.api.say(OWNER, OWNER, "once", message_id=id)
        for _ in range(2):
            await one.api.say(OWNER, OWNER, "twice", kind="edited_message", message_id=id)
        await one.until_states("done", "ignored", "done", "ignored")
        assert [turn.text for turn in one.runner.turns] == ["once", "twice"]


async def test_rows_13_and_26_every_kind_is_asked_for_by_name(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        await one.until(one.told)
        asked = one.asked("getUpdates")[0]
        assert json.loads(asked["allowed_updates"]) == list(ALLOWED)
        assert {"message", "edited_message", "callback_query", "message_reaction"} <= set(ALLOWED)


async def test_the_logs_of_a_courtesy_name_what_was_not_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with talking(tmp_path) as one:
        await one.until(one.told)
        one.api.missing.add("editMessageReplyMarkup")
        await one.app.services[Telegram].connections["main"].intake.redraw("7", 1, {"inline_keyboard": []})
    assert "editMessageReplyMarkup was not taken" in caplog.text
