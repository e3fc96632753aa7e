"""What goes out: the outbox through the real library to the stand-in server, with everything that can go wrong."""

import logging
from pathlib import Path

import pytest

from bridge.simulator.bot_api import bot_api
from bridge.simulator.bot_faults import (
    cannot_parse,
    dropped,
    failing,
    fine,
    gateway,
    hang,
    limited,
    unauthorized,
)
from core.channels.telegram_desk import send_test, status
from core.channels.telegram_files import dimensions, is_photo
from core.channels.telegram_wire import BotError, connected, redacted
from core.events import ChannelState
from core.outbox import Button, Message, Receipt
from tests.core.telegram_kit import OWNER, TOKEN, Desk, desk, talking
from tests.core.test_delivery import GIF, JPEG, WEBP, png

pytestmark = pytest.mark.anyio


async def post(one: Desk, text: str = "", **more: object) -> Receipt:
    message = Message(**{"channel": "telegram", "text": text} | more)  # type: ignore[arg-type]
    return await one.app.outbox.wait(await one.app.outbox.post(message), 30)


async def test_a_message_reaches_the_owner_with_its_receipt(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        receipt = await post(one, "**Ana** wrote <hola> & more", markup=True)
        sent = one.api.sent[0]
        assert (receipt.state, receipt.receipts) == ("delivered", (str(sent.message_id),))
        assert (sent.chat_id, sent.text, sent.parse_mode) == (OWNER, "Ana wrote <hola> & more", "HTML")
        assert sent.entities == [{"type": "bold", "offset": 0, "length": 3}]
        await post(one, "**as it is**")
        assert one.api.sent[1].text == "**as it is**"


async def test_a_long_report_arrives_in_order_and_whole(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        text = "\n".join(f"line {n} 😀" for n in range(2000))
        receipt = await post(one, text)
        assert receipt.state == "delivered"
        assert len(receipt.receipts) == len(one.api.sent) > 5
        assert "\n".join(one.texts()) == text


@pytest.mark.parametrize("fault", [limited(1), limited(), failing(500), failing(502)])
async def test_a_refusal_without_effect_is_tried_again_and_arrives_once(
    tmp_path: Path, fault: object
) -> None:
    async with talking(tmp_path) as one:
        one.api.script("sendMessage", fault)  # type: ignore[arg-type]
        id = await one.app.outbox.post(Message(channel="telegram", text="hola"))
        while (await one.app.outbox.wait(id, 0.02)).state != "delivered":
            one.app.outbox.hurry("telegram")
        assert [call.method for call in one.api.calls].count("sendMessage") == 2
        assert one.texts() == ["hola"]


@pytest.mark.parametrize("fault", [dropped(), gateway(502), gateway(504)])
async def test_an_ambiguous_send_is_unknown_and_not_repeated(tmp_path: Path, fault: object) -> None:
    async with talking(tmp_path) as one:
        one.api.script("sendMessage", fault)  # type: ignore[arg-type]
        receipt = await post(one, "once")
        assert receipt.state == "unknown"
        assert "may have arrived" in receipt.reason
        assert (await post(one, "next")).state == "delivered"
        assert one.texts() == ["once", "next"]


async def test_an_answer_that_never_comes_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with bot_api(TOKEN) as api:
        line = connected(TOKEN, api.base_url, poll_s=1, slack_s=1, answer_s=0.1)
        api.script("sendMessage", hang())
        with pytest.raises(BotError) as silence:
            await line.call("sendMessage", chat_id=7, text="x")
        assert silence.value.effect
        await line.hang_up()


async def test_a_server_that_is_away_gets_the_message_when_it_is_back(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        port = int(one.api.base_url.rpartition(":")[2])
        await one.api.until(lambda: one.api.calls)
        await one.api.stop()
        id = await one.app.outbox.post(Message(channel="telegram", text="after the cut"))
        while "cannot be reached" not in (await one.app.outbox.wait(id, 0.02)).reason:
            pass
        assert (await one.app.outbox.state(id)).state in {"queued", "attempted"}
        await one.api.start(port)
        assert (await one.app.outbox.wait(id, 30)).state == "delivered"
        assert one.texts() == ["after the cut"]


async def test_a_429_in_the_middle_of_a_report_and_a_restart_lose_and_repeat_nothing(tmp_path: Path) -> None:
    text = "\n".join("x" * 3000 + str(n) for n in range(4))
    async with bot_api(TOKEN) as api:
        async with desk(tmp_path, api) as one:
            api.script("sendMessage", fine(), limited(2))
            id = await one.app.outbox.post(Message(channel="telegram", text=text))
            while not (await one.app.outbox.wait(id, 0.02)).reason.startswith("Telegram asks"):
                pass
            assert len(api.sent) == 1
        async with desk(tmp_path, api) as one:
            assert (await one.app.outbox.wait(id, 30)).state == "delivered"
        assert "\n".join(sent.text for sent in api.sent) == text


async def test_formatting_that_is_not_understood_goes_plain_once(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        one.api.script("sendMessage", cannot_parse())
        assert (await post(one, "**bold** & co", markup=True)).state == "delivered"
        assert [(sent.text, sent.parse_mode) for sent in one.api.sent] == [("bold & co", "")]


async def test_a_blocked_bot_and_a_chat_that_is_gone_say_why(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        one.api.blocked.add(OWNER)
        receipt = await post(one, "hola")
        assert receipt.state == "rejected"
        assert "blocked by the user" in receipt.reason


async def test_without_an_owner_nothing_is_attempted(tmp_path: Path) -> None:
    async with talking(tmp_path, channel={}) as one:
        receipt = await post(one, "hola")
        assert receipt.state == "not_attempted"
        assert "no owner" in receipt.reason
        assert one.api.sent == []


async def test_telegram_switched_off_says_so_and_new_messages_go_when_it_is_on(tmp_path: Path) -> None:
    async with talking(tmp_path, **{"telegram.enabled": False}) as one:
        assert (await post(one, "lost")).reason == "Telegram is switched off (telegram.enabled)."
        await one.app.config.set({"telegram.enabled": True})
        await one.api.until(lambda: any(call.method == "getUpdates" for call in one.api.calls))
        assert (await post(one, "there")).state == "delivered"
        assert one.texts() == ["there"]
        await one.app.config.set({"telegram.channels.0.bot_token": ""})
        while not (receipt := await post(one, "x")).reason.startswith("Telegram has no bot token"):
            assert receipt.state in {"delivered", "unknown"}


async def test_a_token_in_the_environment_or_the_vault_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", TOKEN)
    async with talking(tmp_path / "a", **{"telegram.channels": []}) as one:
        await one.api.until(lambda: any(call.method == "getUpdates" for call in one.api.calls))
    monkeypatch.delenv("TELEGRAM_BOT_TOKEN")
    async with talking(tmp_path / "b") as one:
        await one.app.vault.keep("TELEGRAM", TOKEN)
        await one.app.config.set({"telegram.channels.0.bot_token": "vault:TELEGRAM"})
        assert (await send_test(one.app)).state == "delivered"
        assert (await send_test(one.app, "main")).state == "delivered"
        await one.app.config.set({"telegram.channels.0.bot_token": "vault:GONE"})
        while "GONE" not in (await post(one, "x")).reason:
            pass


async def test_one_bot_is_asked_by_one_channel_and_every_other_says_why(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        main = {"name": "main", "bot_token": TOKEN, "owner_user_id": OWNER}
        others = [{"name": "twin", "bot_token": TOKEN}, {"name": "empty", "chat_id": OWNER}]
        await one.app.config.set({"telegram.channels": [main, *others]})
        for name, why in (("twin", "token of another channel"), ("empty", "no bot token")):
            while why not in (await post(one, "x", channel=f"telegram:{name}")).reason:
                pass
        assert (await post(one, "hola")).state == "delivered"
        assert [row["state"] for row in await status(one.app)][1:] == ["off", "off"]


async def test_a_wrong_token_is_named_and_waits_for_another(tmp_path: Path) -> None:
    async with bot_api("999:another") as api, desk(tmp_path, api) as one:
        await one.until(lambda: any(event.state == "unauthorized" for event in one.seen(ChannelState)))
        id = await one.app.outbox.post(Message(channel="telegram", text="hola"))
        while "token" not in (await one.app.outbox.wait(id, 0.02)).reason:
            pass
        await one.app.config.set({"telegram.channels.0.bot_token": "999:another"})
        assert (await one.app.outbox.wait(id, 30)).state == "delivered"
        assert (await status(one.app))[0]["owner_user_id"] == OWNER


@pytest.mark.parametrize(
    ("data", "photo"),
    [
        (png(100, 50), True),
        (JPEG, True),
        (WEBP, True),
        (GIF, False),
        (png(20_001, 1), False),
        (png(9000, 2000), False),
        (png(210, 10), False),
        (JPEG + b"\0" * (10 * 1024 * 1024), False),
        (b"BM", False),
    ],
)
def test_only_what_telegram_takes_as_a_photo_goes_as_one(data: bytes, photo: bool) -> None:
    assert is_photo(data) is photo


def test_dimensions_are_read_from_the_file() -> None:
    assert [dimensions(data) for data in (png(3, 4), GIF, JPEG, b"")] == [(3, 4), (1, 1), (1, 1), None]


async def test_a_picture_goes_as_a_photo_with_its_caption_and_the_rest_follows(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        path = tmp_path / "chart.png"
        path.write_bytes(png(4, 4))
        receipt = await post(one, "<" * 1025, kind="photo", path=str(path), name="Ventas.png")
        photo, *rest = one.api.sent
        assert receipt.state == "delivered"
        assert (photo.method, photo.file, photo.file_name) == ("sendPhoto", png(4, 4), "Ventas.png")
        assert "".join(sent.text for sent in one.api.sent) == "<" * 1025
        assert all(sent.method == "sendMessage" for sent in rest)


async def test_a_picture_that_telegram_refuses_as_a_photo_goes_as_a_document(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        path = tmp_path / "long.png"
        path.write_bytes(png(20_001, 1))
        await post(one, kind="photo", path=str(path), name="long.png")
        path.write_bytes(JPEG)
        one.api.script("sendPhoto", type(limited())(400, "Bad Request: IMAGE_PROCESS_FAILED"))
        await post(one, kind="photo", path=str(path), name="odd.jpg")
        assert [sent.method for sent in one.api.sent] == ["sendDocument", "sendDocument"]


async def test_files_that_cannot_go_say_why(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        big = tmp_path / "big.zip"
        with big.open("wb") as file:
            file.truncate(51 * 1024 * 1024)
        receipt = await post(one, kind="document", path=str(big), name="big.zip")
        assert (receipt.state, "51.0 MB" in receipt.reason, "50 MB" in receipt.reason) == (
            "rejected",
            True,
            True,
        )
        gone = await post(one, kind="document", path=str(tmp_path / "gone.pdf"), name="gone.pdf")
        assert (gone.state, gone.reason) == ("rejected", "gone.pdf is not there any more.")
        kept = one.app.home.media_out / f"{'0' * 16}.png"
        kept.write_bytes(png())
        changed = await post(one, kind="photo", path=str(kept), name="a.png")
        assert "not the file that was checked" in changed.reason
        assert one.api.sent == []


async def test_a_server_without_a_method_refuses_only_what_needs_it(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        one.api.missing |= {"sendDocument", "sendChatAction", "editMessageReplyMarkup", "answerCallbackQuery"}
        path = tmp_path / "a.txt"
        path.write_bytes(b"hola")
        assert (await post(one, kind="document", path=str(path), name="a.txt")).state == "rejected"
        assert (await post(one, "hola", buttons=((Button("a", "k"),),))).state == "delivered"


async def test_a_migrated_group_is_written_to_at_its_new_place(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        moved = type(limited())(400, "Bad Request: group chat was upgraded", {"migrate_to_chat_id": -1009})
        one.api.script("sendMessage", moved)
        assert (await post(one, "hola", to="-5")).state == "delivered"
        assert one.api.sent[0].chat_id == -1009


async def test_the_token_is_in_no_log_and_no_reason(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with talking(tmp_path) as one:
        one.api.script("sendMessage", dropped(), unauthorized())
        first = await post(one, "a")
        await one.app.config.set({"telegram.api_base": "http://127.0.0.1:9"})
        id = await one.app.outbox.post(Message(channel="telegram", text="b"))
        while not (receipt := await one.app.outbox.wait(id, 0.02)).reason:
            pass
    assert TOKEN not in caplog.text
    assert TOKEN.partition(":")[2] not in caplog.text + first.reason + receipt.reason
    assert (
        redacted(f"POST https://api.telegram.org/bot{TOKEN}/getMe")
        == "POST https://api.telegram.org/bot[token]/getMe"
    )
