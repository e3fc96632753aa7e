"""Talking with the owner over the stand-in server: one question, one answer, whatever happens in between."""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bridge.simulator.bot_api import bot_api
from bridge.simulator.bot_faults import conflict, failing, hang, limited
from core.channels import telegram_people
from core.channels.telegram import Telegram
from core.channels.telegram_desk import confirm_claim, send_test, status
from core.errors import Invalid, NotConfigured, NotFound
from core.events import ChannelState, OwnerClaimed, StrangerRefused
from core.outbox import Button, Message
from core.runs.turn import Attachment, Status
from core.store import now
from tests.core.telegram_kit import OWNER, TOKEN, Desk, FakeRunner, desk, talking
from tests.core.test_delivery import png

pytestmark = pytest.mark.anyio
STRANGER = 66
ROOT = Path(__file__).parent.parent.parent


async def ask(one: Desk, text: str, **more: Any) -> str:
    """The owner writes, and the next message that arrives is the answer."""
    count = len(one.api.sent)
    await one.api.say(OWNER, OWNER, text, **more)
    await one.api.until(lambda: len(one.api.sent) > count)
    return one.api.sent[count].text


async def test_the_owner_is_answered_once_and_formatted(tmp_path: Path) -> None:
    runner = FakeRunner(reply=lambda turn: "<think>hm</think>**ready**")
    async with talking(tmp_path, runner=runner) as one:
        assert await ask(one, "hola") == "ready"
        await one.until_states("done")
        assert one.api.sent[0].entities == [{"type": "bold", "offset": 0, "length": 5}]
        (turn,) = runner.turns
        assert (turn.text, turn.channel, turn.thread, turn.sender) == (
            "hola",
            "telegram",
            f"telegram:{OWNER}",
            "owner",
        )


async def test_typing_is_shown_while_a_turn_runs_and_not_after(tmp_path: Path) -> None:
    runner = FakeRunner(hold=asyncio.Event())
    async with talking(tmp_path, runner=runner) as one:
        one.api.missing.add("sendChatAction")
        await one.api.say(OWNER, OWNER, "a")
        await one.api.until(lambda: any(call.method == "sendChatAction" for call in one.api.calls))
        one.api.missing.clear()
        await one.api.say(OWNER, OWNER, "b")
        await one.api.until(lambda: [call.method for call in one.api.calls].count("sendChatAction") > 3)
        assert runner.hold is not None
        runner.hold.set()
        await one.until_states("done", "done")
        await one.api.until(lambda: one.api.sent)
        after = [call.method for call in one.api.calls]
        assert "sendChatAction" not in after[after.index("sendMessage") :]


async def test_with_the_real_runner_the_owner_gets_an_answer_or_the_reason(tmp_path: Path) -> None:
    async with talking(tmp_path, real_runner=True) as one:
        reason = await ask(one, "hola")
        assert reason
        assert "super-agent" not in reason.lower()
        await one.app.config.set({"super_agent.enabled": True, "super_agent.model": "practice:rules"})
        assert await ask(one, "hola de nuevo") not in {"", reason}
        rows = await one.app.store.all("select channel, thread, status from runs order by started_at")
        assert [tuple(row) for row in rows] == [
            ("telegram", "telegram:7", "failed"),
            ("telegram", "telegram:7", "completed"),
        ]


async def test_files_of_a_run_come_with_the_answer(tmp_path: Path) -> None:
    picture, note = tmp_path / "a.png", tmp_path / "a.pdf"
    picture.write_bytes(png())
    note.write_bytes(b"%PDF-1.7 %%EOF")
    runner = FakeRunner(reply=lambda turn: "Here they are")
    runner.files = [
        Attachment("m1", picture, "Ventas.png", "image", "image/png", 10, "November"),
        Attachment("m2", note, "Ventas.pdf", "document", "application/pdf", 10),
    ]
    async with talking(tmp_path / "home", runner=runner) as one:
        await one.api.say(OWNER, OWNER, "the chart")
        await one.api.until(lambda: len(one.api.sent) == 3)
        assert [(sent.method, sent.text, sent.file_name) for sent in one.api.sent] == [
            ("sendMessage", "Here they are", ""),
            ("sendPhoto", "November", "Ventas.png"),
            ("sendDocument", "", "Ventas.pdf"),
        ]


async def test_a_failed_run_says_its_sentence_as_it_is_and_an_empty_one_says_something(
    tmp_path: Path,
) -> None:
    runner = FakeRunner(reply=lambda turn: "The model **x** is out of quota.", status=Status.FAILED)
    async with talking(tmp_path, runner=runner) as one:
        assert await ask(one, "hola") == "The model **x** is out of quota."
        runner.reply, runner.status = lambda turn: "", Status.DONE
        assert await ask(one, "and now?") == "Done, with nothing more to say."


async def test_a_new_message_takes_the_place_of_the_running_turn(tmp_path: Path) -> None:
    runner = FakeRunner(hold=asyncio.Event())
    async with talking(tmp_path, runner=runner) as one:
        await one.api.say(OWNER, OWNER, "count to a million")
        await runner.started.wait()
        runner.hold = None
        assert await ask(one, "never mind, to ten") == "echo never mind, to ten"
        await one.until_states("done", "done")
        assert [turn.text for turn in runner.cancelled] == ["count to a million"]
        assert len(one.api.sent) == 1


async def test_the_same_words_again_do_not_interrupt(tmp_path: Path) -> None:
    runner = FakeRunner(hold=asyncio.Event())
    async with talking(tmp_path, runner=runner) as one:
        await one.api.say(OWNER, OWNER, "¿Qué hay de nuevo?")
        await runner.started.wait()
        assert await ask(one, "que hay de nuevo") == "Still working on that."
        await one.api.say(OWNER, OWNER, "QUÉ HAY DE NUEVO!!")
        await one.until_states("working", "done", "done")
        assert runner.hold is not None
        runner.hold.set()
        await one.until_states("done", "done", "done")
        await one.api.until(lambda: len(one.api.sent) == 2)
        assert len(runner.turns) == 1


async def test_stop_does_not_wait_behind_the_turn(tmp_path: Path) -> None:
    runner = FakeRunner(hold=asyncio.Event())
    async with talking(tmp_path, runner=runner) as one:
        await one.api.say(OWNER, OWNER, "work")
        await runner.started.wait()
        assert await ask(one, "/stop") == "Stopped."
        assert len(runner.cancelled) == 1
        assert await ask(one, "/STOP@APX_demo_bot") == "Nothing is running."
        await one.until_states("done", "done", "done")


async def test_stop_takes_back_what_had_not_begun(tmp_path: Path) -> None:
    async with bot_api(TOKEN) as api:
        await api.say(OWNER, OWNER, "delete it all")
        await api.say(OWNER, OWNER, "/stop")
        await api.say(OWNER, OWNER, "/help")
        async with desk(tmp_path, api) as one:
            await one.until_states("done", "done", "done")
            assert one.runner.turns == []


async def test_words_sent_in_one_breath_are_one_question(tmp_path: Path) -> None:
    async with bot_api(TOKEN) as api:
        first = await api.say(OWNER, OWNER, "buy milk")
        await api.say(OWNER, OWNER, "and bread")
        await api.say(OWNER, OWNER, "buy oat milk", kind="edited_message", message_id=first)
        async with desk(tmp_path, api) as one:
            await one.until_states("done", "done", "done")
            assert [turn.text for turn in one.runner.turns] == ["buy oat milk\nand bread"]
            await api.until(lambda: len(api.sent) == 1)


async def test_reset_begins_another_thread(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        await ask(one, "a")
        assert await ask(one, "/reset") == "A new conversation."
        await ask(one, "b")
        assert await ask(one, "/new") == "A new conversation."
        await ask(one, "c")
        assert (
            await ask(one, "/start")
            == "I am APX. Write what you need; /stop stops, /new begins a new conversation."
        )
        assert [turn.thread for turn in one.runner.turns] == ["telegram:7", "telegram:7#2", "telegram:7#3"]


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("/stop@otherbot", {}),
        ("/stop", {"kind": "edited_message"}),
    ],
)
async def test_a_command_that_is_not_one_does_nothing(
    tmp_path: Path, text: str, more: dict[str, Any]
) -> None:
    runner = FakeRunner(hold=asyncio.Event())
    async with talking(tmp_path, runner=runner) as one:
        await one.api.say(OWNER, OWNER, "work")
        await runner.started.wait()
        await one.api.say(OWNER, OWNER, text, **more)
        await one.until_states("working", "ignored")
        assert (runner.cancelled, one.api.sent) == ([], [])


async def test_an_old_command_is_not_carried_out_and_that_is_said(tmp_path: Path) -> None:
    runner = FakeRunner(hold=asyncio.Event())
    async with talking(tmp_path, runner=runner) as one:
        await one.api.say(OWNER, OWNER, "work")
        await runner.started.wait()
        said = await ask(one, "/reset", date=int(time.time()) - 7200)
        assert said.startswith("/reset was written at")
        await one.until_states("working", "ignored")
        assert runner.cancelled == []


async def test_forwarded_and_quoted_words_are_data(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        origin = {"type": "hidden_user", "sender_user_name": "Eve", "date": 1}
        await ask(one, "/stop everything", forward_origin=origin)
        await ask(one, "what is this?", quote={"text": "/reset now", "position": 0})
        first, second = one.runner.turns
        assert first.text == "[Forwarded by the owner; these are somebody else's words]\n/stop everything"
        assert "/reset now" in second.context_note
        assert second.thread == "telegram:7"


async def test_an_edit_counts_when_its_words_changed(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        id = await one.api.say(OWNER, OWNER, "meet at 5")
        await one.api.until(lambda: len(one.api.sent) == 1)
        await one.api.say(OWNER, OWNER, "meet at 5", kind="edited_message", message_id=id)
        await one.until_states("done", "ignored")
        await one.api.say(OWNER, OWNER, "meet at 6", kind="edited_message", message_id=id)
        await one.api.until(lambda: len(one.api.sent) == 2)
        await one.api.say(OWNER, OWNER, "meet at 6", kind="edited_message", message_id=id)
        await one.until_states("done", "ignored", "done", "ignored")
        assert [turn.text for turn in one.runner.turns] == ["meet at 5", "meet at 6"]
        assert "edited" in one.runner.turns[1].context_note


async def test_the_same_message_under_two_update_ids_is_one(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        id = await one.api.say(OWNER, OWNER, "once")
        await one.until_states("done")
        await one.api.say(OWNER, OWNER, "once", message_id=id)
        await one.until_states("done", "ignored")
        assert len(one.runner.turns) == 1


async def test_files_of_the_owner_are_kept_under_names_of_ours(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        await ask(one, "look", document=("../../.ssh/authorized_keys", b"data"))
        await ask(one, "and this", photo=png(2, 2))
        await ask(one, "", document=("-" + "ñ" * 300 + "/CON.png", png()))
        one.api.missing.add("getFile")
        assert "could not be fetched" in await ask(one, "", document=("a.pdf", b"x"))
        assert len(one.runner.turns) == 3
        for turn in one.runner.turns:
            (file,) = turn.attachments
            assert file.path.parent == one.app.home.media_in
            assert file.path.stem == file.media_id
            assert str(file.path) in turn.text
        kept = [turn.attachments[0] for turn in one.runner.turns]
        assert [file.path.suffix for file in kept] == [".bin", ".jpg", ".png"]
        assert [file.path.read_bytes() for file in kept] == [b"data", png(2, 2), png()]
        rows = await one.app.store.all("select name, direction from media order by rowid")
        assert rows[0]["name"] == "../../.ssh/authorized_keys"
        assert {row["direction"] for row in rows} == {"in"}


async def test_a_file_too_big_to_fetch_is_said_and_its_caption_still_counts(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        await one.api.say(OWNER, OWNER, "what is it?", document=("film.mp4", b"x"), file_size=21_000_000)
        await one.api.until(lambda: len(one.api.sent) == 2)
        assert "20.0 MB; bots can fetch 20 MB" in one.texts()[0]
        assert one.texts()[1] == "echo what is it?"
        assert not any(call.method == "getFile" for call in one.api.calls)


# Who is not the owner


@pytest.mark.parametrize(
    "body",
    [
        {"message": {"chat": {"id": -5, "type": "group"}, "text": "hi"}},
        {"edited_message": {"chat": {"id": STRANGER, "type": "group"}, "text": "hi", "edit_date": 2}},
        {"channel_post": {"chat": {"id": -9, "type": "channel"}, "text": "/stop"}},
        {
            "message_reaction": {
                "chat": {"id": STRANGER, "type": "private"},
                "user": {"id": STRANGER},
                "date": 1,
            }
        },
        {"inline_query": {"id": "1", "from": {"id": STRANGER}, "query": "x"}},
        {
            "message": {
                "chat": {"id": 9, "type": "private"},
                "from": {"id": 123456, "is_bot": True},
                "text": "me",
            }
        },
        {"message": {"chat": {"id": OWNER, "type": "private"}, "from": {"id": OWNER}, "pinned_message": {}}},
        {"message_reaction": {"chat": {"id": OWNER, "type": "private"}, "user": {"id": OWNER}, "date": 1}},
        {"message": {"chat": {"id": -5, "type": "group"}, "from": {"id": OWNER}, "text": "not to the bot"}},
        {"message": "nonsense"},
        {"my_chat_member": {"chat": {"id": -5, "type": "group"}, "from": {"id": STRANGER}}},
    ],
)
async def test_no_update_of_anybody_else_starts_anything(tmp_path: Path, body: dict[str, Any]) -> None:
    async with talking(tmp_path) as one:
        for part in body.values():
            if isinstance(part, dict) and "chat" in part:
                part.setdefault("from", {"id": STRANGER, "first_name": "Eve"})
                part |= {"message_id": 1, "date": 1}
        await one.api.update(**body)
        await one.until_states("ignored")
        assert (one.runner.turns, one.api.sent) == ([], [])


async def test_a_group_message_of_the_owner_counts_when_it_speaks_to_the_bot(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        mention = [{"type": "mention", "offset": 3, "length": 13}]
        await one.api.say(OWNER, -5, "😀 @apx_demo_bot hi", chat_type="group", entities=mention)
        await one.api.until(lambda: one.api.sent)
        mail = [{"type": "email", "offset": 0, "length": 21}]
        await one.api.say(OWNER, -5, "foo@apx_demo_bot.example", chat_type="group", entities=mail)
        await one.until_states("done", "ignored")
        reply = {"from": {"id": 123456}, "message_id": 1}
        await one.api.say(OWNER, -5, "yes", chat_type="group", reply_to_message=reply)
        await one.api.until(lambda: len(one.api.sent) == 2)
        assert [sent.chat_id for sent in one.api.sent] == [-5, -5]
        assert one.runner.turns[0].thread == "telegram:-5"


async def test_a_stranger_is_refused_once_told_to_the_owner_and_nothing_is_fetched(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        for text in ("hi", "again"):
            await one.api.say(STRANGER, STRANGER, text, name="Eve\u202e\nX", photo=png())
        await one.until_states("done", "done")
        await one.api.until(lambda: len(one.api.sent) == 2)
        assert [(sent.chat_id, sent.text) for sent in one.api.sent] == [
            (STRANGER, "I am a personal assistant and only talk with my owner."),
            (OWNER, "Eve X (66) wrote to the bot. They were told that it is private, and nothing was read."),
        ]
        assert [event.user_id for event in one.seen(StrangerRefused)] == [STRANGER]
        assert one.runner.turns == []
        assert not any(call.method == "getFile" for call in one.api.calls)


async def test_nobody_owns_a_bot_by_writing_first(tmp_path: Path) -> None:
    async with talking(tmp_path, channel={}) as one:
        await one.api.say(OWNER, OWNER, "hola", name="Ana")
        await one.api.until(lambda: one.api.sent)
        assert "confirm in the app" in one.texts()[0]
        await one.api.say(OWNER, OWNER, "hello?")
        await one.api.say(STRANGER, STRANGER, "me too")
        await one.api.until(lambda: len(one.api.sent) == 2)
        assert one.api.sent[1].chat_id == STRANGER
        assert [(event.user_id, event.user_name) for event in one.seen(OwnerClaimed)] == [(OWNER, "Ana")]
        (row,) = await status(one.app)
        assert (row["owner_user_id"], row["claim"]) == (None, {"user_id": OWNER, "name": "Ana"})
        with pytest.raises(NotFound):
            await confirm_claim(one.app, "main", STRANGER, accept=True)
        await confirm_claim(one.app, "main", OWNER, accept=True)
        await one.api.until(lambda: len(one.api.sent) == 3)
        (channel,) = one.app.config.now.telegram.channels
        assert (channel.owner_user_id, channel.chat_id, channel.bot_token) == (OWNER, str(OWNER), TOKEN)
        assert await ask(one, "now?") == "echo now?"
        assert len(one.runner.turns) == 1
        await telegram_people.keep_claim(one.app.store, "main", telegram_people.Claim(STRANGER, "Eve", "66"))
        for late in (OWNER, STRANGER):
            with pytest.raises(NotFound):
                await confirm_claim(one.app, "main", late, accept=True)


async def test_a_claim_can_be_declined_and_somebody_else_may_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", TOKEN)
    async with talking(tmp_path, **{"telegram.channels": []}) as one:
        await one.api.say(STRANGER, STRANGER, "mine")
        await one.api.until(lambda: one.api.sent)
        await confirm_claim(one.app, "default", STRANGER, accept=False)
        await one.api.say(STRANGER, STRANGER, "mine!")
        await one.api.until(lambda: len(one.api.sent) == 3)
        await one.api.say(OWNER, OWNER, "hola")
        await one.api.until(lambda: len(one.api.sent) == 4)
        await confirm_claim(one.app, "default", OWNER, accept=True)
        await one.api.until(lambda: len(one.api.sent) == 5)
        assert [sent.chat_id for sent in one.api.sent] == [STRANGER, STRANGER, STRANGER, OWNER, OWNER]
        assert one.app.config.now.telegram.channels[0].owner_user_id == OWNER
        assert await ask(one, "now?") == "echo now?"


async def test_a_chat_id_alone_names_the_owner(tmp_path: Path) -> None:
    async with talking(tmp_path, channel={"chat_id": OWNER}) as one:
        assert await ask(one, "hola") == "echo hola"
        with pytest.raises(NotConfigured):
            await send_test(one.app, "other")


# Buttons


async def question(one: Desk, **more: Any) -> None:
    send = Button("Send this draft " + "x" * 200, "question", {"id": "q1", "do": "send", "long": "p" * 500})
    leave = Button("Leave", "question", {"id": "q1", "do": "leave"})
    rows = ((send, leave), (Button("Open", "question", {"id": "q2", "do": "open"}),))
    id = await one.app.outbox.post(Message(channel="telegram", text="Ana asks.", buttons=rows, **more))
    assert (await one.app.outbox.wait(id, 30)).state == "delivered"


async def test_a_press_reaches_its_handler_once_and_the_buttons_go(tmp_path: Path) -> None:
    pressed: list[tuple[dict[str, str], int]] = []

    async def take(payload: dict[str, str], user_id: int) -> str:
        pressed.append((payload, user_id))
        return "Sent."

    async with talking(tmp_path) as one:
        one.app.services[Telegram].on_button("question", take)
        await question(one)
        send, leave, other = one.api.sent[0].buttons
        assert all(len(button.data.encode()) <= 16 for button in (send, leave, other))
        toasts = await asyncio.gather(one.api.press(send), one.api.press(send))
        assert sorted(toasts) == ["Sent.", "This is no longer open."]
        assert await one.api.press(leave) == "This is no longer open."
        assert [(payload["do"], user) for payload, user in pressed] == [
            ("send", OWNER)
        ]  # one choice to a line
        await one.api.until(lambda: [button.label for button in one.api.sent[0].buttons] == ["Open"])
        assert await one.api.press(other) == "Sent."
        await one.api.until(lambda: one.api.sent[0].buttons == [])


async def test_presses_that_are_not_the_owners_or_not_known_have_no_effect(tmp_path: Path) -> None:
    pressed: list[str] = []

    async def take(payload: dict[str, str], user_id: int) -> str:
        pressed.append(payload["do"])
        return "ok"

    async with talking(tmp_path) as one:
        leave_it = one.app.services[Telegram].on_button("question", take)
        await question(one)
        send, leave, _ = one.api.sent[0].buttons
        assert await one.api.press(send, STRANGER) == "Only the owner can answer this."
        forged = type(send)(send.label, "forged", send.chat_id, send.message_id)
        elsewhere = type(send)(send.label, send.data, -5, send.message_id)
        assert await one.api.press(forged) == "This is no longer open."
        assert await one.api.press(elsewhere, OWNER) == "This is no longer open."
        leave_it()
        assert await one.api.press(leave) == "This is no longer open."
        assert pressed == []


async def test_a_press_works_after_a_restart_and_while_a_turn_waits_for_it(tmp_path: Path) -> None:
    pressed = asyncio.Event()

    async def take(payload: dict[str, str], user_id: int) -> str:
        pressed.set()
        return "ok"

    async with bot_api(TOKEN) as api:
        async with desk(tmp_path, api) as one:
            await question(one)
        runner = FakeRunner(hold=pressed)
        async with desk(tmp_path, api, runner=runner) as one:
            one.app.services[Telegram].on_button("question", take)
            await api.say(OWNER, OWNER, "wait for me")
            await runner.started.wait()
            assert await api.press(api.sent[0].buttons[1]) == "ok"
            await api.until(lambda: len(api.sent) == 2)
            assert api.sent[1].text == "echo wait for me"


async def test_a_handler_that_refuses_says_why_and_may_be_asked_again(tmp_path: Path) -> None:
    answers: list[Any] = [Invalid("The draft is empty."), "Sent."]

    async def take(payload: dict[str, str], user_id: int) -> str:
        answer = answers.pop(0)
        if isinstance(answer, Invalid):
            raise answer
        return str(answer)

    async with talking(tmp_path) as one:
        one.app.services[Telegram].on_button("question", take)
        await question(one)
        assert await one.api.press(one.api.sent[0].buttons[0]) == "The draft is empty."
        assert await one.api.press(one.api.sent[0].buttons[0]) == "Sent."


async def test_a_slow_handler_is_announced_in_time_and_finishes(tmp_path: Path) -> None:
    go, finished = asyncio.Event(), asyncio.Event()

    async def take(payload: dict[str, str], user_id: int) -> str:
        await go.wait()
        finished.set()
        return "late"

    async with talking(tmp_path) as one:
        one.app.services[Telegram].on_button("question", take)
        await question(one)
        assert await one.api.press(one.api.sent[0].buttons[0]) == "Working on it."
        go.set()
        await finished.wait()
        await one.until_states("done")


# The process and the line


async def test_a_stopped_process_answers_what_it_had_stored_exactly_once(tmp_path: Path) -> None:
    async with bot_api(TOKEN) as api:
        runner = FakeRunner(hold=asyncio.Event())
        async with desk(tmp_path, api, runner=runner):
            await api.say(OWNER, OWNER, "remember me")
            await runner.started.wait()
        async with desk(tmp_path, api) as one:
            await one.until_states("done")
            await api.until(lambda: api.sent)
        async with desk(tmp_path, api) as one:
            await api.until(lambda: api.calls[-1].method == "getUpdates")
            assert one.runner.turns == []
        assert [sent.text for sent in api.sent] == ["echo remember me"]


KILLED = """
import asyncio, sys
from pathlib import Path
from tests.core.telegram_kit import FakeRunner, desk

class Server:
    base_url = sys.argv[2]

async def main():
    runner = FakeRunner(hold=asyncio.Event())
    async with desk(Path(sys.argv[1]), Server(), runner=runner):
        await runner.started.wait()
        print("working", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_killed_process_loses_no_question_and_answers_it_once(tmp_path: Path) -> None:
    async with bot_api(TOKEN) as api:
        await api.say(OWNER, OWNER, "are you there?")
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            KILLED,
            str(tmp_path),
            api.base_url,
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        async with asyncio.timeout(60):
            assert await process.stdout.readline() == b"working\n"
        process.kill()
        await process.wait()
        api.updates.clear()  # it was confirmed: only the table has it now
        for _ in range(2):
            async with desk(tmp_path, api) as one:
                await one.until_states("done")
                await api.until(lambda: api.sent)
        assert [sent.text for sent in api.sent] == ["echo are you there?"]


async def test_a_server_that_repeats_its_updates_is_not_asked_without_end(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        await ask(one, "once")
        again, ask_for = list(one.api.updates), one.api._getUpdates

        async def repeating(request: Any) -> Any:
            return again

        one.api._getUpdates = repeating  # type: ignore[method-assign]
        one.api.calls.clear()
        await one.api.until(lambda: len([c for c in one.api.calls if c.method == "getUpdates"]) == 3)
        one.api._getUpdates = ask_for  # type: ignore[method-assign]
        assert len(one.runner.turns) == 1


async def stored(one: Desk, update_id: int, text: str, state: str, tries: int = 1) -> None:
    message = {
        **{"message_id": update_id, "date": int(time.time()), "text": text},
        **{"chat": {"id": OWNER, "type": "private"}, "from": {"id": OWNER}},
    }
    await one.app.store.run(
        "insert into telegram_updates (bot_id, update_id, body, state, tries, received_at) values (?, ?, ?, ?, ?, ?)",
        *(123456, update_id, json.dumps({"update_id": update_id, "message": message}), state, tries, now()),
    )


async def test_what_was_being_worked_on_is_settled_by_what_is_known_of_it(tmp_path: Path) -> None:
    async with bot_api(TOKEN) as api:
        async with desk(tmp_path, api, **{"telegram.enabled": False}) as one:
            store = one.app.store
            await stored(one, 1, "already answered", "working")
            await one.app.outbox.record(
                Message(channel="telegram:main", key="telegram/123456/1"), state="delivered"
            )
            await stored(one, 2, "acted in part", "working")
            await store.run(
                "insert into runs (id, project_id, channel, thread, sender, status, started_at)"
                " values ('run_2', 'default', 'telegram', 'telegram:7', 'owner', 'running', ?)",
                now(),
            )
            await store.run(
                "insert into run_steps (run_id, at, kind, body) values ('run_2', ?, 'tool', '{}')", now()
            )
        async with desk(tmp_path, api) as one:
            await one.until_states("done", "done")
            await api.until(lambda: len(api.sent) == 1)
            assert api.sent[0].text.startswith('I was stopped while working on "acted in part".')
            await stored(one, 3, "poison", "working", tries=3)
        async with desk(tmp_path, api) as one:
            await one.until_states("done", "done", "failed")
            await api.until(lambda: len(api.sent) == 2)
            assert "three times" in api.sent[1].text
            assert one.runner.turns == []


async def test_a_bug_is_tried_three_times_and_then_said(tmp_path: Path) -> None:
    runner = FakeRunner(bugs=[ZeroDivisionError(), ZeroDivisionError(), ZeroDivisionError()])
    async with talking(tmp_path, runner=runner) as one:
        await one.api.say(OWNER, OWNER, "boom")
        await one.until_states("failed")
        await one.api.until(lambda: one.api.sent)
        assert len(runner.turns) == 3
        assert await ask(one, "and now?") == "echo and now?"


async def test_what_waited_while_the_app_was_off_is_one_question(tmp_path: Path) -> None:
    async with bot_api(TOKEN) as api:
        for n in range(5):
            await api.say(OWNER, OWNER, f"line {n}", date=int(time.time()) - 10_800)
        await api.say(OWNER, OWNER, "/reset", date=int(time.time()) - 10_800)
        async with desk(tmp_path, api) as one:
            await one.until_states(*["done"] * 5, "ignored")
            (turn,) = one.runner.turns
            assert turn.text == "\n".join(f"line {n}" for n in range(5))
            assert "had to wait" in turn.context_note
            await api.until(lambda: len(api.sent) == 3)
            old, backlog, answer = (sent.text for sent in api.sent)
            assert old.startswith("/reset was written at")
            assert backlog.startswith("5 messages waited since")
            assert answer == f"echo {turn.text}"


async def test_updates_are_stored_before_the_next_are_asked_for(tmp_path: Path) -> None:
    async with talking(tmp_path) as one:
        await one.until(lambda: one.seen(ChannelState))
        await one.api.update(poll={"id": "1"})
        await one.api.update(message={"message_id": 5})
        await one.until_states("ignored", "ignored")
        await one.api.until(lambda: one.api.calls[-1].params.get("offset") == "1002")
        rows = await one.app.store.all("select bot_id, update_id from telegram_updates")
        assert [tuple(row) for row in rows] == [(123456, 1000), (123456, 1001)]


async def test_another_poller_is_named_and_left_room(tmp_path: Path) -> None:
    async with bot_api(TOKEN) as api:
        api.script("getUpdates", *[conflict()] * 3)
        async with desk(tmp_path, api) as one:
            await one.until(
                lambda: [event.state for event in one.seen(ChannelState)] == ["conflict", "online"]
            )
            assert "other getUpdates" in one.seen(ChannelState)[0].detail
            assert await ask(one, "hola") == "echo hola"


@pytest.mark.parametrize("fault", [failing(500), limited(1), hang()])
async def test_a_poll_that_fails_or_hangs_is_followed_by_one_that_works(tmp_path: Path, fault: Any) -> None:
    async with bot_api(TOKEN) as api:
        api.script("getUpdates", fault)
        async with desk(tmp_path, api) as one:
            assert await ask(one, "hola") == "echo hola"
            assert [event.state for event in one.seen(ChannelState)] == ["offline", "online"]
            (row,) = await status(one.app)
            assert (row["state"], row["bot"], row["channel"]) == ("online", "apx_demo_bot", "main")
            assert row["answered_at"] <= now()


async def test_a_new_server_address_is_followed_live(tmp_path: Path) -> None:
    async with talking(tmp_path) as one, bot_api(TOKEN) as other:
        await ask(one, "a")
        await one.app.config.set({"telegram.api_base": other.base_url})
        await other.say(OWNER, OWNER, "b", message_id=99)
        await other.update()
        other.updates[0]["update_id"] = 5000
        await other.until(lambda: other.sent)
        assert other.sent[0].text == "echo b"
