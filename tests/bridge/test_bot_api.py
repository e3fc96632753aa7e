"""The stand-in Bot API answers as the real one does where programs have come to depend on it."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from bridge.simulator.bot_api import BotApi, bot_api
from bridge.simulator.bot_text import CannotParse, parse_html

pytestmark = pytest.mark.anyio


class Client:
    def __init__(self, api: BotApi, http: httpx.AsyncClient) -> None:
        self.api, self.http = api, http

    async def __call__(self, method: str, files: Any = None, **values: Any) -> Any:
        url = f"{self.api.base_url}/bot{self.api.token}/{method}"
        answer = await self.http.post(url, data=values, files=files)
        return answer.json()


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with bot_api() as api, httpx.AsyncClient(trust_env=False) as http:
        yield Client(api, http)


async def test_it_is_one_bot_and_knows_its_token(client: Client) -> None:
    assert (await client("getMe"))["result"]["id"] == 123456
    url = f"{client.api.base_url}/bot1:other/getMe"
    assert (await client.http.get(url)).json()["error_code"] == 401
    assert (await client("getNothing"))["error_code"] == 404


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"text": "😀" * 2049}, "message is too long"),
        ({"text": "   "}, "message text is empty"),
        ({"text": "<b>x", "parse_mode": "HTML"}, "can't parse entities: Can't find end tag"),
        ({"text": "<x>x</x>", "parse_mode": "HTML"}, "can't parse entities: Unsupported start tag"),
        ({"text": "1 < 2", "parse_mode": "HTML"}, "can't parse entities: Unsupported start tag"),
        ({"text": "</b>", "parse_mode": "HTML"}, "can't parse entities: Unexpected end tag"),
        (
            {
                "text": "x",
                "reply_markup": json.dumps({"inline_keyboard": [[{"text": "a", "callback_data": "x" * 65}]]}),
            },
            "BUTTON_DATA_INVALID",
        ),
    ],
)
async def test_it_refuses_what_telegram_refuses(client: Client, values: dict[str, str], why: str) -> None:
    answer = await client("sendMessage", chat_id=7, **values)
    assert answer["error_code"] == 400
    assert why in answer["description"]
    assert client.api.sent == []


async def test_lengths_are_counted_after_parsing(client: Client) -> None:
    assert (await client("sendMessage", chat_id=7, text="<b>" + "&amp;" * 4096 + "</b>", parse_mode="HTML"))[
        "ok"
    ]
    assert client.api.sent[0].text == "&" * 4096
    assert client.api.sent[0].entities == [{"type": "bold", "offset": 0, "length": 4096}]


async def test_captions_files_and_photo_rules(client: Client) -> None:
    long = await client("sendDocument", files={"document": ("a.pdf", b"x")}, chat_id=7, caption="x" * 1025)
    assert "caption is too long" in long["description"]
    wide = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (20_001).to_bytes(4, "big") + (1).to_bytes(4, "big")
    odd = await client("sendPhoto", files={"photo": ("a.png", wide)}, chat_id=7)
    assert "PHOTO_INVALID_DIMENSIONS" in odd["description"]
    assert "no photo" in (await client("sendPhoto", chat_id=7))["description"]
    assert (
        await client("sendDocument", files={"document": ("ñ.pdf", b"x\r\n--\0")}, chat_id=7, caption="ok")
    )["ok"]
    assert (client.api.sent[0].file_name, client.api.sent[0].file) == ("ñ.pdf", b"x\r\n--\0")


async def test_a_long_poll_waits_and_an_older_one_is_ended(client: Client) -> None:
    older = asyncio.create_task(client("getUpdates", timeout=30))
    await client.api.until(lambda: client.api.calls)
    newer = asyncio.create_task(client("getUpdates", timeout=30))
    assert (await older)["error_code"] == 409
    await client.api.say(7, 7, "hola")
    (update,) = (await newer)["result"]
    assert update["message"]["text"] == "hola"
    assert (await client("getUpdates", offset=update["update_id"] + 1, timeout=0))["result"] == []


async def test_edits_say_when_nothing_changed(client: Client) -> None:
    sent = (await client("sendMessage", chat_id=7, text="a"))["result"]["message_id"]
    same = await client("editMessageText", chat_id=7, message_id=sent, text="a")
    assert "message is not modified" in same["description"]
    assert (await client("editMessageText", chat_id=7, message_id=sent, text="b"))["ok"]
    gone = await client("editMessageText", chat_id=7, message_id=999, text="b")
    assert "message to edit not found" in gone["description"]
    assert client.api.sent[0].text == "b"


async def test_files_are_handed_out_under_the_token(client: Client) -> None:
    await client.api.say(7, 7, photo=b"picture")
    id = client.api.updates[0]["message"]["photo"][0]["file_id"]
    path = (await client("getFile", file_id=id))["result"]["file_path"]
    base = f"{client.api.base_url}/file"
    assert (await client.http.get(f"{base}/bot{client.api.token}/{path}")).content == b"picture"
    assert (await client.http.get(f"{base}/bot1:x/{path}")).status_code == 404
    assert "invalid file_id" in (await client("getFile", file_id="nope"))["description"]


def test_entities_count_utf16_units() -> None:
    text, entities = parse_html('😀 <b>a<i>b</i></b> <a href="https://e.org/?a=1&amp;b=2">x</a>')
    assert text == "😀 ab x"
    assert [(one.type, one.offset, one.length, one.detail) for one in entities] == [
        ("bold", 3, 2, ""),
        ("italic", 4, 1, ""),
        ("text_link", 6, 1, "https://e.org/?a=1&b=2"),
    ]
    with pytest.raises(CannotParse):
        parse_html("<b><i></b></i>")


def items(*kinds: str) -> tuple[str, dict[str, tuple[str, bytes]]]:
    """Files of these kinds as the fields of an album."""
    media = [{"type": kind, "media": f"attach://f{n}"} for n, kind in enumerate(kinds)]
    return json.dumps(media), {f"f{n}": (f"{n}.bin", b"x") for n in range(len(kinds))}


@pytest.mark.parametrize(
    ("kinds", "why"),
    [
        (("document",), "2 to 10"),
        (("document",) * 11, "2 to 10"),
        (("photo", "document"), "can't be mixed"),
        (("document",) * 2, ""),
    ],
)
async def test_an_album_has_two_to_ten_files_of_one_kind(
    client: Client, kinds: tuple[str, ...], why: str
) -> None:
    media, files = items(*kinds)
    answer = await client("sendMediaGroup", chat_id=7, media=media, files=files)
    assert answer["ok"] is (why == "")
    assert why in answer.get("description", "")
    assert len(client.api.sent) == (0 if why else 2)


async def test_topics_reactions_commands_and_web_addresses_are_judged_as_the_real_one_does(
    client: Client,
) -> None:
    nowhere = await client("sendMessage", chat_id=-5, message_thread_id=9, text="x")
    assert nowhere["description"] == "Bad Request: message thread not found"
    client.api.topics.add(9)
    assert (await client("sendMessage", chat_id=-5, message_thread_id=9, text="x"))["ok"]
    odd = json.dumps([{"type": "emoji", "emoji": "🪿"}])
    assert (
        "REACTION_INVALID"
        in (await client("setMessageReaction", chat_id=7, message_id=1, reaction=odd))["description"]
    )
    many = json.dumps([{"command": f"c{n}", "description": "x"} for n in range(101)])
    assert "TOO_MUCH" in (await client("setMyCommands", commands=many))["description"]
    capital = json.dumps([{"command": "Stop", "description": "x"}])
    assert "INVALID" in (await client("setMyCommands", commands=capital))["description"]
    client.api.webhook = "https://example.org/x"
    assert (await client("getUpdates"))["error_code"] == 409
    assert (await client("getWebhookInfo"))["result"]["url"] == "https://example.org/x"
    await client("deleteWebhook")
    assert (await client("getUpdates"))["ok"]
