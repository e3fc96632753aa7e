"""Agents at work as the window shows them: the strip, the lines of hand-overs, the list of jobs, what is stopped."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from core import agents, events
from core.runs import jobs
from core.runs.handover import Handover, Order
from core.runs.jobs import State
from core.runs.peers import SUPER, Peer
from core.tools import agents as tools
from desktop import slots
from desktop.at_work import Strip, Workers
from desktop.chat import Chat
from desktop.feed import Feed
from desktop.handed import HandoverRow
from desktop.jobs import JobsScreen
from desktop.messages import Kind
from desktop.past import history
from desktop.questions import Questions
from desktop.talk import Talk
from desktop.words import Words
from desktop.working import Team
from tests.desktop.conftest import Until
from tests.fakes.house import House, house
from tests.fakes.openai_server import Answer, fault

pytestmark = pytest.mark.anyio
ME = Peer(SUPER, "default")


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[House]:
    """A house with Ana and Bob, whose hand-overs are carried out."""
    async with house(tmp_path) as built:
        await built.identity.set(agent_name="Roby")
        for name in ("Ana", "Bob"):
            await agents.add(built.store, "default", name=name)
        built.tools.add(*tools.CORE)
        handover = Handover(
            store=built.store,
            bus=built.bus,
            identity=built.identity,
            tools=built.tools,
            runner=built.runner,
            outbox=built.outbox,
        )
        built.services[Handover] = handover
        async with handover.open():
            yield built


@pytest.fixture
def team(here: House, words: Words) -> Team:
    return Team(here, words)  # type: ignore[arg-type]  # a house has what the team asks an app for


async def to(here: House, slug: str) -> Peer:
    agent = await agents.find(here.store, "default", slug)
    return Peer(agent.slug, "default", agent)


async def hand(here: House, slug: str, text: str, **more: str) -> jobs.Job:
    order = Order(
        sender=ME, to=await to(here, slug), text=text, background=True, followup=True, wake=False, **more
    )  # type: ignore[arg-type]
    handed = await here.services[Handover].hand(order)
    assert handed.job is not None
    return handed.job  # type: ignore[no-any-return]


async def quiet(here: House, until: Until, runs: int) -> None:
    """Nothing goes on any more: between the phases of a test Qt would go on with it where no loop runs."""
    await until(lambda: len(here.seen(events.RunClosed)) == runs and not here.runner.active())
    await slots.settle()


async def test_the_strip_shows_who_works_and_what_is_below_and_stops_it(
    here: House, team: Team, words: Words, qtbot: QtBot, until: Until
) -> None:
    here.server.default = lambda body: fault("hang")
    workers = Workers()
    feed = Feed()
    feed.listen(here.bus)
    feed.job_changed.connect(lambda _: workers.refresh())
    strip = Strip(workers, words, margin=8)
    qtbot.addWidget(strip)
    strip.resize(700, 200)
    assert strip.isHidden()
    workers.serve(team.at_work, team.stop)
    first = await hand(here, "ana", "Read the contract")
    await hand(here, "bob", "Find last year's", job_id=first.id)
    await until(lambda: workers.tree and workers.tree[0].below and len(here.server.requests) == 2)
    assert not strip.isHidden()
    assert [(line.who.accessibleName(), line.what.accessibleName()) for line in strip.lines] == [
        ("Ana", "Read the contract")
    ]
    assert strip.title.text() == words("work.many", n=2)
    line = strip.lines[0]
    assert words("work.line", who="Ana", asked_by="Roby", what="Read the contract") == line.accessibleName()
    assert line.how.text() == words("handed.background")
    qtbot.mouseClick(line.fold, Qt.MouseButton.LeftButton)
    assert [line.who.accessibleName() for line in strip.lines] == ["Ana", "Bob"]
    qtbot.mouseClick(strip.lines[1].end, Qt.MouseButton.LeftButton)
    await until(lambda: len(strip.lines) == 1 and not strip.lines[0].one.below)
    qtbot.mouseClick(strip.lines[0].end, Qt.MouseButton.LeftButton)
    await until(strip.isHidden)
    assert {one.status for one in await jobs.recent(here.store)} == {State.CANCELLED}
    await quiet(here, until, runs=2)
    workers.serve(None, None)
    feed.close()


async def test_what_cannot_be_stopped_any_more_is_one_sentence(
    here: House, team: Team, words: Words, qtbot: QtBot, until: Until
) -> None:
    workers = Workers()
    strip = Strip(workers, words, margin=8)
    qtbot.addWidget(strip)
    workers.serve(team.at_work, team.stop)
    told: list[str] = []
    workers.failed.connect(told.append)
    await workers.stop("job_none")
    assert told == ["There is no job 'job_none'."]


async def test_a_hand_over_is_a_line_that_says_how_it_stands(
    here: House, team: Team, words: Words, qtbot: QtBot, until: Until
) -> None:
    ana = "You are Ana"

    def answer(body: dict[str, object]) -> Answer:
        said = str(body["messages"])
        if "NO result" in said:
            return Answer("Noted.")
        if ana in said:
            return Answer("The contract is fine.")
        if "Bob" in said and "You are Bob" in said:
            return fault("hang")
        if "is fine" in said:
            return Answer("All is well.")
        return Answer(
            calls=[
                ("send_to_agent", {"to": "bob", "message": "Find it", "background": True}),
                ("call_agent", {"agent": "ana", "prompt": "Is it fine?"}),
            ]
        )

    here.server.default = answer  # type: ignore[assignment]
    feed = Feed()
    feed.listen(here.bus)
    chat = Chat(words, feed)
    await team.read()

    async def find(media_id: str) -> None:
        return None

    chat.open(here.runner.run, find, (), result=team.result, called=team.called)
    talk = Talk(chat, Questions(), words, lambda file: None)
    qtbot.addWidget(talk)
    talk.show()
    chat.send("Check the contract.")
    await until(lambda: not chat.working)
    lines = [entry for entry in chat.messages.entries if entry.kind is Kind.HANDOVER]
    assert [(one.handed.who, one.handed.state) for one in lines if one.handed] == [
        ("Bob", "background"),
        ("Ana", "waited"),
    ]
    rows = [row for row in talk.view.rows() if isinstance(row, HandoverRow)]
    assert [row.chip.text() for row in rows] == [words("handed.background"), words("handed.waited")]
    again = await history(here.store, here.home, "desktop", team.called)
    assert [one.handed for one in again if one.handed] == [one.handed for one in lines]

    (job,) = await jobs.recent(here.store, open=True)
    await team.stop(job.id)
    await until(lambda: rows[0].chip.text() == words("handed.cancelled"))
    await until(lambda: "stopped" in lines[0].result)
    again = await history(here.store, here.home, "desktop", team.called)
    assert [one.handed.ended for one in again if one.handed] == ["cancelled", ""]
    await quiet(here, until, runs=4)  # the owner's, Ana's, Bob's, and that of the assistant who was woken
    await chat.close()
    feed.close()


@pytest.mark.parametrize(
    ("ok", "args", "result", "says"),
    [
        (None, {}, "", "handed.waiting"),
        (None, {"background": True}, "", "handed.handing"),
        (False, {}, "There is nobody called x.", "handed.refused"),
        (True, {}, "Not handed over: 3 jobs", "handed.refused"),
        (True, {}, "ana is already at work for you as job_1, for 3 s: x", "handed.already"),
        (True, {}, "There is NO result of job_1 from ana: it failed.", "handed.no_result"),
    ],
)
async def test_each_outcome_has_its_word(
    words: Words, qtbot: QtBot, feed: Feed, bus: events.Bus, ok: bool | None, args: dict[str, bool],
    result: str, says: str,
) -> None:  # fmt: skip
    chat = Chat(words, feed)
    talk = Talk(chat, Questions(), words, lambda file: None)
    qtbot.addWidget(talk)
    bus.emit(events.RunStarted(run_id="r", channel="desktop", sender="owner", thread="desktop"))
    given = {"to": "ana", "message": "x"} | args
    bus.emit(events.ToolStarted(run_id="r", call_id="c", tool="send_to_agent", args=given))
    if ok is not None:
        bus.emit(
            events.ToolFinished(
                run_id="r", call_id="c", tool="send_to_agent", ok=ok, result=result, seconds=2.0
            )
        )
    (row,) = talk.view.rows()
    assert isinstance(row, HandoverRow)
    assert row.chip.text() == words(says)


async def test_jobs_are_listed_with_what_came_of_them(
    here: House, team: Team, words: Words, qtbot: QtBot, until: Until
) -> None:
    screen: JobsScreen = team.screen()
    qtbot.addWidget(screen)
    screen.resize(1000, 600)
    screen.show()
    await screen.refresh()
    assert screen.notice.title.text() == words("jobs.empty")
    kept = {}
    for status, result in (("done", "It is **fine**."), ("lost", "x"), ("running", "")):
        job = await jobs.begin(
            here.store,
            project_id="default",
            sender=SUPER,
            sender_project="default",
            recipient="ana",
            thread="a2a:x",
            body=f"task {status}",
            wake=False,
            waited=False,
            depth=1,
        )
        kept[status] = job.id
        if status != "running":
            await jobs.close(here.store, job.id, State(status), result)
    await screen.refresh()
    assert list(screen.cards) == [kept["running"], kept["lost"], kept["done"]]
    assert screen.detail.title.text() == words("jobs.title", who="Ana", asked_by="Roby")
    assert screen.detail.end.isVisible()
    qtbot.keyClick(screen.cards[kept["lost"]], Qt.Key.Key_Return)
    await until(lambda: screen.detail.one and screen.detail.one.status == "lost")
    told = [label.text() for label in screen.detail.findChildren(QLabel)]
    assert words("jobs.why.lost") in told
    assert not screen.detail.end.isVisible()
    screen.state.put("open")
    screen.refresh()
    await until(lambda: list(screen.cards) == [kept["running"]])
    qtbot.mouseClick(screen.detail.end, Qt.MouseButton.LeftButton)
    await slots.settle()
    assert (await jobs.find(here.store, kept["running"])).status is State.CANCELLED
    screen.detail.end.setEnabled(True)  # the list has not been read again yet
    await screen.detail.press()
    assert "has ended already" in screen.detail.wrong.text()
    screen.rest()
