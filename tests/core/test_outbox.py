"""The outbox against a channel that remembers and can fail in every way a network can."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.errors import Invalid, NotConfigured, NotFound, Refused
from core.events import Bus, Delivery
from core.outbox import Button, Later, Message, Outbox, OutcomeUnknown, Pace, Part
from core.store import Store

pytestmark = pytest.mark.anyio
FAST = Pace(burst=100, per_s=1000, first_s=0.01, most_s=0.05)


class Wire:
    """A channel: what it was asked to send, and what it does with the next requests."""

    def __init__(self) -> None:
        self.sent: list[Part] = []
        self.faults: list[BaseException | asyncio.Event] = []
        self.reached = asyncio.Event()

    async def send(self, part: Part) -> str:
        self.sent.append(part)
        self.reached.set()
        if self.faults:
            fault = self.faults.pop(0)
            if isinstance(fault, asyncio.Event):
                await fault.wait()
            else:
                raise fault
        return f"tg{len(self.sent)}"

    def texts(self) -> list[str]:
        return [part.text for part in self.sent]


def lines(message: Message) -> list[Part]:
    return [Part(text=line, plain=line, buttons=message.buttons) for line in message.text.splitlines()]


@asynccontextmanager
async def outbox(path: Path, bus: Bus | None = None, pace: Pace = FAST) -> AsyncIterator[Outbox]:
    async with Store.open(path / "apx.db") as store, Outbox(store, bus or Bus(), pace=pace).open() as box:
        yield box


async def test_a_message_goes_out_once_and_its_states_are_told_in_order(tmp_path: Path) -> None:
    bus, wire, states = Bus(), Wire(), []
    bus.subscribe(Delivery, lambda event: states.append(event.state))
    async with outbox(tmp_path, bus) as box:
        box.serve("telegram", wire.send, lines)
        id = await box.post(Message(channel="telegram", text="hola", key="round/1"))
        assert await box.post(Message(channel="telegram", text="again", key="round/1")) == id
        receipt = await box.wait(id, 5)
    assert (receipt.state, receipt.receipts) == ("delivered", ("tg1",))
    assert wire.texts() == ["hola"]
    assert states == ["queued", "attempted", "delivered"]


async def test_buttons_and_recipient_reach_the_channel(tmp_path: Path) -> None:
    wire, button = Wire(), Button("Send", "question", {"id": "q1"})
    async with outbox(tmp_path) as box:
        box.serve("telegram", wire.send, lines)
        await box.wait(await box.post(Message(channel="telegram", to="7", text="?", buttons=((button,),))), 5)
    assert (wire.sent[0].buttons, wire.sent[0].to) == (((button,),), "7")


async def test_a_failure_without_effect_is_tried_again(tmp_path: Path) -> None:
    wire = Wire()
    wire.faults = [Later("connection refused"), Later("429", after_s=0.02)]
    async with outbox(tmp_path) as box:
        box.serve("telegram", wire.send, lines)
        receipt = await box.wait(await box.post(Message(channel="telegram", text="hola")), 5)
    assert receipt.state == "delivered"
    assert wire.texts() == ["hola"] * 3


async def test_a_failure_after_the_request_is_unknown_and_never_repeated(tmp_path: Path) -> None:
    wire = Wire()
    wire.faults = [OutcomeUnknown("the connection broke after the request")]
    async with outbox(tmp_path) as box:
        box.serve("telegram", wire.send, lines)
        first = await box.wait(await box.post(Message(channel="telegram", text="one")), 5)
        second = await box.wait(await box.post(Message(channel="telegram", text="two")), 5)
    assert (first.state, first.reason) == ("unknown", "the connection broke after the request")
    assert second.state == "delivered"
    assert wire.texts() == ["one", "two"]


async def test_a_limit_in_the_middle_goes_on_with_the_part_that_is_missing(tmp_path: Path) -> None:
    wire = Wire()
    async with outbox(tmp_path) as box:
        limit = Later("429", after_s=0.02)

        async def send(part: Part) -> str:
            if part.text == "b" and wire.texts().count("b") == 0:
                wire.faults = [limit]
            return await wire.send(part)

        box.serve("telegram", send, lines)
        receipt = await box.wait(await box.post(Message(channel="telegram", text="a\nb\nc")), 5)
    assert receipt.state == "delivered"
    assert wire.texts() == ["a", "b", "b", "c"]


async def test_a_restart_in_the_middle_sends_only_what_is_missing(tmp_path: Path) -> None:
    wire, later = Wire(), Wire()
    async with outbox(tmp_path) as box:

        async def send(part: Part) -> str:
            if part.text == "b":
                wire.faults = [Later("429", after_s=0.2)]
            return await wire.send(part)

        box.serve("telegram", send, lines)
        id = await box.post(Message(channel="telegram", text="a\nb\nc"))
        while (await box.wait(id, 0.01)).reason != "429":
            pass
    async with outbox(tmp_path) as box:
        box.serve("telegram", later.send, lines)
        receipt = await box.wait(id, 5)
    assert wire.texts() == ["a", "b"]
    assert later.texts() == ["b", "c"]
    assert receipt.state == "delivered"
    assert len(receipt.receipts) == 3


async def test_the_wait_a_channel_asked_for_outlives_a_restart(tmp_path: Path) -> None:
    wire, later = Wire(), Wire()
    wire.faults = [Later("429", after_s=600)]
    async with outbox(tmp_path) as box:
        box.serve("telegram", wire.send, lines)
        id = await box.post(Message(channel="telegram", text="a"))
        while (await box.wait(id, 0.01)).reason != "429":
            pass
    async with outbox(tmp_path) as box:
        box.serve("telegram", later.send, lines)
        other = await box.post(Message(channel="telegram", to="8", text="b"))
        assert (await box.wait(other, 5)).state == "delivered"  # nobody else waits for it
        assert (await box.state(id)).state == "queued"
        assert later.texts() == ["b"]
        box.hurry("telegram")
        assert (
            await box.wait(await box.post(Message(channel="telegram", to="8", text="c")), 5)
        ).state == "delivered"
        assert (await box.state(id)).state == "queued"


async def test_a_change_for_the_better_ends_our_own_patience(tmp_path: Path) -> None:
    wire = Wire()
    wire.faults = [Later("connection refused")]
    async with outbox(tmp_path, pace=Pace(first_s=600, most_s=600)) as box:
        box.serve("telegram", wire.send, lines)
        id = await box.post(Message(channel="telegram", text="a"))
        while (await box.wait(id, 0.01)).reason != "connection refused":
            pass
        box.hurry("telegram")
        assert (await box.wait(id, 5)).state == "delivered"


async def test_what_was_out_when_the_process_died_is_unknown_afterwards(tmp_path: Path) -> None:
    wire, later = Wire(), Wire()
    async with Store.open(tmp_path / "apx.db") as store:
        box = Outbox(store, Bus(), pace=FAST)
        await box.start()
        wire.faults = [asyncio.Event()]
        box.serve("telegram", wire.send, lines)
        id = await box.post(Message(channel="telegram", text="a\nb"))
        await wire.reached.wait()
        task = box._lanes["telegram"]._task
        assert task is not None
        await store.run(
            "create trigger dead before update on outbox_parts begin select raise(abort, 'x'); end"
        )
        task.cancel()  # as a killed process: nothing more is written
        await asyncio.gather(task, return_exceptions=True)
        await store.run("drop trigger dead")
    async with outbox(tmp_path) as box:
        box.serve("telegram", later.send, lines)
        receipt = await box.wait(id, 5)
    assert later.texts() == ["b"]
    assert receipt.state == "unknown"


async def test_stopping_lets_the_request_that_is_out_come_back(tmp_path: Path) -> None:
    wire, answer = Wire(), asyncio.Event()
    wire.faults = [answer]
    async with outbox(tmp_path) as box:
        box.serve("telegram", wire.send, lines)
        id = await box.post(Message(channel="telegram", text="a\nb"))
        await wire.reached.wait()
        asyncio.get_running_loop().call_soon(answer.set)
    async with outbox(tmp_path) as box:
        assert (await box.state(id)).receipts == ("tg1",)


async def test_nobody_serving_keeps_it_queued_until_somebody_does(tmp_path: Path) -> None:
    wire = Wire()
    async with outbox(tmp_path) as box:
        id = await box.post(Message(channel="telegram", text="a"))
        assert (await box.wait(id, 0)).state == "queued"
        leave = box.serve("telegram", wire.send, lines)
        assert (await box.wait(id, 5)).state == "delivered"
        await leave()
        box.serve("telegram", wire.send, lines)


async def test_a_channel_that_is_not_set_up_says_so_and_later_messages_go(tmp_path: Path) -> None:
    wire = Wire()
    async with outbox(tmp_path) as box:
        before = await box.post(Message(channel="telegram", text="a"))
        await box.refuse("telegram", "No bot token is set.")
        after = await box.post(Message(channel="telegram", text="b"))
        for id in (before, after):
            receipt = await box.state(id)
            assert (receipt.state, receipt.reason) == ("not_attempted", "No bot token is set.")
        box.serve("telegram", wire.send, lines)
        assert (await box.wait(await box.post(Message(channel="telegram", text="c")), 5)).state == "delivered"
    assert wire.texts() == ["c"]


@pytest.mark.parametrize(
    ("fault", "state"),
    [(Refused("chat not found"), "rejected"), (NotConfigured("no owner yet"), "not_attempted")],
)
async def test_a_refused_part_takes_what_follows_with_it(tmp_path: Path, fault: Refused, state: str) -> None:
    wire = Wire()
    wire.faults = [fault]
    async with outbox(tmp_path) as box:
        box.serve("telegram", wire.send, lines)
        receipt = await box.wait(await box.post(Message(channel="telegram", text="a\nb")), 5)
    assert (receipt.state, receipt.reason) == (state, str(fault))
    assert wire.texts() == ["a"]


async def test_what_cannot_be_cut_is_rejected_with_the_reason(tmp_path: Path) -> None:
    def refuses(_: Message) -> list[Part]:
        raise Refused("51 MB is more than the 50 MB a bot may send.")

    async with outbox(tmp_path) as box:
        box.serve("telegram", Wire().send, refuses)
        box.serve("empty", Wire().send, lines)
        too_big = await box.wait(await box.post(Message(channel="telegram", text="a")), 5)
        empty = await box.wait(await box.post(Message(channel="empty", text="")), 5)
    assert (too_big.state, too_big.reason[:5]) == ("rejected", "51 MB")
    assert empty.state == "rejected"


async def test_a_bug_in_a_channel_marks_the_part_unknown_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wire = Wire()
    wire.faults = [ZeroDivisionError("bug")]
    async with outbox(tmp_path) as box:
        box.serve("telegram", wire.send, lines)
        receipt = await box.wait(await box.post(Message(channel="telegram", text="a")), 5)
        assert receipt.state == "unknown"
        task = box._lanes["telegram"]._task
        assert task is not None
        await asyncio.wait({task})
    assert "met a bug" in caplog.text


async def test_a_burst_is_spread_over_the_pace_of_the_channel(tmp_path: Path) -> None:
    wire = Wire()
    async with outbox(tmp_path, pace=Pace(burst=2, per_s=50)) as box:
        box.serve("telegram", wire.send, lines)
        ids = [await box.post(Message(channel="telegram", text=str(n))) for n in range(5)]
        for id in ids:
            assert (await box.wait(id, 5)).state == "delivered"
    assert wire.texts() == ["0", "1", "2", "3", "4"]


async def test_a_send_done_elsewhere_is_on_record_before_and_after(tmp_path: Path) -> None:
    async with outbox(tmp_path) as box:
        message = Message(channel="whatsapp", to="+54", text="hola", key="conv/1", origin={"round_id": "r"})
        id = await box.record(message)
        with pytest.raises(Refused, match="attempted"):
            await box.record(message)
        await box.close(id, "delivered", receipt="bubble 7")
        await box.close(id, "unknown", "too late: the first outcome stays")
        found = await box.find("conv/1")
        assert found is not None
        assert (found.id, found.state, found.receipts) == (id, "delivered", ("bubble 7",))
        assert await box.find("conv/2") is None
        open_one = await box.record(Message(channel="whatsapp", text="x"))
        for call in (box.close(id, "perhaps"), box.record(message, state="perhaps")):
            with pytest.raises(Invalid):
                await call
        for missing in (box.close("msg_0", "delivered"), box.state("msg_0")):
            with pytest.raises(NotFound):
                await missing
    async with outbox(tmp_path) as box:
        assert (await box.state(open_one)).state == "unknown"
