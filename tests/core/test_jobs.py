"""Work between agents: what is answered, what wakes whom, what is never done twice, and what is said of limits."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from core import agents
from core.cli.main import group
from core.errors import Invalid, Refused
from core.events import BackgroundJob, RunClosed, RunStarted
from core.runs import history, jobs, peers
from core.runs.handover import Handover, Order
from core.runs.jobs import State
from core.runs.peers import SUPER, Peer
from core.runs.retry import Patience
from core.runs.turn import Run
from core.tools import agents as tools
from tests.fakes.api_home import served
from tests.fakes.house import House, house, turn
from tests.fakes.openai_server import Answer, fault

pytestmark = pytest.mark.anyio
ME = Peer(SUPER, "default")


class Team:
    """A house with agents ana, bob and clara, who answer as the test says."""

    def __init__(self, here: House, handover: Handover) -> None:
        self.here, self.handover = here, handover
        self.peers: dict[str, Peer] = {SUPER: ME}

    async def hand(
        self, text: str = "count the sheep", sender: str = SUPER, to: str = "ana", **more: Any
    ) -> Any:
        return await self.handover.hand(
            Order(sender=self.peers[sender], to=self.peers[to], text=text, **more)
        )

    def ended(self) -> "asyncio.Future[BackgroundJob]":
        """The next job that ends."""
        return heard(self.here, BackgroundJob, lambda event: event.phase == "end")

    def woken(self) -> "asyncio.Future[Any]":
        """The next end of a turn in which somebody was woken."""
        begun: set[str] = set()

        def end(event: Any) -> bool:
            return event.run_id in begun

        def start(event: Any) -> None:
            if event.channel == "a2a" and not any(
                event.run_id == one.run_id for one in self.here.seen(BackgroundJob)
            ):
                begun.add(event.run_id)

        self.here.bus.subscribe(RunStarted, start)
        return heard(self.here, RunClosed, end)


def heard(here: House, kind: Any, fits: Callable[[Any], bool]) -> "asyncio.Future[Any]":
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def tell(event: Any) -> None:
        if fits(event) and not future.done():
            future.set_result(event)

    here.bus.subscribe(kind, tell)
    return future


@asynccontextmanager
async def team(root: Path, **changes: Any) -> AsyncIterator[Team]:
    async with house(root) as here:
        handover = Handover(
            store=here.store,
            bus=here.bus,
            identity=here.identity,
            tools=here.tools,
            runner=here.runner,
            outbox=here.outbox,
            **changes,
        )
        here.tools.add(*tools.CORE, *tools.FULL)
        here.runner._services = {Handover: handover}
        made = Team(here, handover)
        for name in ("Ana", "Bob", "Clara", "Dora"):
            agent = await agents.add(
                here.store, "default", name=name, instructions=f"You are good at {name}."
            )
            made.peers[agent.slug] = Peer(agent.slug, "default", agent)
        async with handover.open():
            yield made


@pytest.fixture
async def five(tmp_path: Path) -> AsyncIterator[Team]:
    async with team(tmp_path) as made:
        yield made


def told(five: Team, n: int = -1) -> list[dict[str, Any]]:
    return list(five.here.server.requests[n].body["messages"])


def by_whom(answers: dict[str, Any]) -> Callable[[dict[str, Any]], Answer]:
    """An answer by who is asked: the name in the system text decides."""

    def answer(body: dict[str, Any]) -> Answer:
        system = body["messages"][0]["content"]
        for name, given in answers.items():
            if system.startswith(f"You are {name}"):
                found = given(body) if callable(given) else given
                return found if isinstance(found, Answer) else Answer(found)
        return Answer("ready")

    return answer


async def test_an_agent_works_with_its_own_tools_and_its_answer_comes_back(five: Team) -> None:
    five.here.server.next(Answer(calls=[("check_jobs", {})]), Answer("40 sheep."))
    handed = await five.hand()
    assert (handed.state, handed.text, handed.job.status) == ("answered", "40 sheep.", State.DONE)
    first = five.here.server.requests[0]
    assert "check_jobs" in first.tools
    assert "You are good at Ana." in told(five, 0)[0]["content"]
    assert "Another agent of the house wrote to you" in told(five, 0)[0]["content"]
    phases = [(one.phase, one.status, one.waited) for one in five.here.seen(BackgroundJob)]
    assert phases == [("start", "running", True), ("end", "done", False)]
    run = await five.here.store.one("select * from runs where id = ?", handed.job.run_id)
    assert run is not None
    assert (run["channel"], run["sender"], run["answerer"]) == ("a2a", SUPER, "ana")


async def test_an_answer_wakes_its_asker_once_with_a_note_of_its_own(five: Team) -> None:
    woken = five.woken()
    handed = await five.hand(background=True)
    assert handed.state == "running"
    assert "do not report it as done" in handed.text
    await woken
    job = await jobs.find(five.here.store, handed.job.id)
    assert (job.status, job.woken_at is not None) == (State.DONE, True)
    question = told(five)[-1]["content"]
    assert "ana answered what you handed over" in question
    assert "count the sheep" in question
    assert "# The answer\nready" in question
    lines = await five.here.store.all(
        "select author, role from messages where thread = ? order by id", job.thread
    )
    assert [tuple(line) for line in lines] == [
        (SUPER, "user"),
        ("ana", "assistant"),
        ("ana", "user"),
        (SUPER, "note"),
    ]
    await five.handover._wake(job)  # whoever else finds it unwoken
    assert len(five.here.server.requests) == 2


async def test_a_mere_notice_wakes_nobody(five: Team) -> None:
    ended = five.ended()
    handed = await five.hand(background=True, wake=False)
    assert "You will not be told" in handed.text
    await ended
    assert len(five.here.server.requests) == 1
    assert await jobs.unwoken(five.here.store) == []


async def test_a_note_is_not_read_by_the_other_and_the_pair_remembers_the_rest(five: Team) -> None:
    woken = five.woken()
    five.here.server.next(Answer("40 sheep."), Answer("My private note."))
    await five.hand(background=True)
    await woken
    await five.hand("and goats?")
    words = [(one["role"], one["content"]) for one in told(five)[1:]]
    assert words[0] == ("user", "count the sheep")
    assert ("assistant", "40 sheep.") in words
    assert words[-1] == ("user", "and goats?")
    assert "My private note." not in str(words)


async def test_asking_twice_does_not_start_twice(five: Team) -> None:
    five.here.server.next(fault("hang"))
    first = await five.hand(background=True)
    await five.here.server.arrived.wait()
    again = await five.hand("how is it going?")
    assert (again.state, again.job.id) == ("already_running", first.job.id)
    assert "count the sheep" in again.text
    assert len(five.here.server.requests) == 1
    followup = await five.hand("only the white ones", background=True, followup=True)
    assert followup.state == "running"
    assert len(five.here.server.requests) == 1  # one run at a time in a thread
    ended = five.ended()
    five.here.runner.cancel(first.job.run_id)
    assert (await ended).status == "cancelled"


async def test_a_fourth_open_job_and_a_fourth_hand_over_are_told_as_messages(five: Team) -> None:
    five.here.server.default = lambda body: fault("hang")
    for to in ("ana", "bob", "clara"):
        assert (await five.hand(to=to, background=True)).state == "running"
    full = await five.hand(to="dora", background=True)
    assert (full.state, full.job) == ("refused", None)
    assert "3 jobs of yours are running" in full.text
    assert (await five.hand(sender="ana", to="dora", background=True)).state == "running"  # another's count
    deep = await five.hand(sender="bob", to="dora", depth=3)
    assert deep.state == "refused"
    assert "handed on 3 times" in deep.text
    assert (await five.hand(sender="bob", to="bob")).state == "refused"


@pytest.mark.parametrize(
    ("answer", "status", "why"),
    [
        (fault("auth"), State.FAILED, "it failed"),
        (fault("hang"), State.TIMED_OUT, "took longer than it may"),
    ],
)
async def test_no_result_wakes_too_and_says_not_to_report_it(
    tmp_path: Path, answer: Answer, status: State, why: str
) -> None:
    async with team(tmp_path, life_s=1.0 if answer.fault == "hang" else 60) as five:
        woken = five.woken()
        five.here.server.default = by_whom({"Ana": answer})
        handed = await five.hand(background=True)
        await woken
        job = await jobs.find(five.here.store, handed.job.id)
        assert job.status is status
        question = told(five)[-1]["content"]
        assert "There is NO result" in question
        assert why in question
        assert "Do not report it as done" in question


async def test_what_a_former_process_left_is_lost_and_its_asker_is_told(tmp_path: Path) -> None:
    async with team(tmp_path) as five:
        five.here.server.next(fault("hang"))
        handed = await five.hand(background=True)
        await five.here.server.arrived.wait()
    async with house(tmp_path) as here:
        handover = Handover(
            store=here.store,
            bus=here.bus,
            identity=here.identity,
            tools=here.tools,
            runner=here.runner,
            outbox=here.outbox,
        )
        closed = heard(here, RunClosed, lambda event: event.channel == "a2a")
        async with handover.open():
            await closed
        job = await jobs.find(here.store, handed.job.id)
        assert (job.status, job.woken_at is not None) == (State.LOST, True)
        assert "the app was ended while it ran" in here.server.requests[0].body["messages"][-1]["content"]
        assert "Do not report it as done" in here.server.requests[0].body["messages"][-1]["content"]
        async with handover.open():
            pass
        assert len(here.server.requests) == 1


async def test_the_first_ending_stays(five: Team) -> None:
    handed = await five.hand()
    assert not await jobs.close(five.here.store, handed.job.id, State.LOST, "late")
    assert (await jobs.find(five.here.store, handed.job.id)).result == "ready"
    assert not await jobs.leave(five.here.store, handed.job.id)
    assert await jobs.claim(five.here.store, handed.job.id)
    assert not await jobs.claim(five.here.store, handed.job.id)


async def test_patience_that_ends_becomes_a_job_in_the_background(tmp_path: Path) -> None:
    async with team(tmp_path, wait_s=0.2) as five:
        five.here.server.next(fault("hang"))
        handed = await five.hand()
        assert (handed.state, handed.job.wake) == ("running", True)
        woken = five.woken()
        await five.here.server.arrived.wait()  # there is nothing to stop before that
        five.here.runner.cancel(handed.job.run_id)
        await woken
        assert [one.phase for one in five.here.seen(BackgroundJob)] == ["start", "progress", "end"]


async def test_who_is_stopped_while_waiting_stops_the_work(five: Team) -> None:
    five.here.server.next(fault("hang"))
    ended = five.ended()
    asking = asyncio.create_task(five.hand())
    await five.here.server.arrived.wait()
    asking.cancel()
    assert (await ended).status == "cancelled"
    assert five.here.runner.active() == []


async def test_nobody_waits_inside_a_conversation_between_agents(five: Team) -> None:
    seen: list[str] = []

    def ana(body: dict[str, Any]) -> Answer:
        last = body["messages"][-1]
        if last["role"] == "tool":
            seen.append(last["content"])
            return Answer("Bob is on it.")
        if "answered what you handed over" in last["content"]:
            return Answer("Noted.")
        return Answer(calls=[("call_agent", {"agent": "bob", "prompt": "shear them"})])

    five.here.server.default = by_whom({"Ana": ana, "Bob": "shorn"})
    woken = five.woken()
    handed = await five.hand()
    assert handed.text == "Bob is on it."
    assert "nobody waits from there" in seen[0]
    await woken
    (below,) = await jobs.recent(five.here.store, sender="ana")
    assert (below.parent_id, below.depth, below.status) == (handed.job.id, 2, State.DONE)
    run = await five.here.store.one("select parent_id from runs where id = ?", below.run_id)
    assert run is not None
    assert run["parent_id"] == handed.job.run_id  # its cost counts against the same cap


async def test_depth_is_counted_through_the_turns(five: Team) -> None:
    order = ["ana", "bob", "clara", "dora"]
    results: list[str] = []

    def passes_on(to: str) -> Callable[[dict[str, Any]], Answer]:
        def answer(body: dict[str, Any]) -> Answer:
            last = body["messages"][-1]
            if last["role"] == "tool":
                results.append(last["content"])
                return Answer("passed on")
            if last["content"] != "go":
                return Answer("noted")
            return Answer(
                calls=[("send_to_agent", {"to": to, "message": "go", "background": True, "wake_me": False})]
            )

        return answer

    five.here.server.default = by_whom(
        {name.title(): passes_on(to) for name, to in zip(order, [*order[1:], "ana"], strict=True)}
    )
    deepest = heard(
        five.here, BackgroundJob, lambda event: event.phase == "end" and event.recipient == "clara"
    )
    await five.hand("go")
    await deepest
    assert "handed on 3 times already" in results[-1]
    assert [one.depth for one in reversed(await jobs.recent(five.here.store))] == [1, 2, 3]


async def test_the_owner_hands_over_by_tool_and_a_command_waits(five: Team) -> None:
    call = ("send_to_agent", {"to": "ana", "message": "count", "background": True})
    five.here.server.next(Answer(calls=[call]), Answer("40."), Answer("She says 40."))
    run: Run = await five.here.runner.run(turn(channel="cli"))
    assert "it was waited for" in run.calls[0].result
    assert run.calls[0].result.endswith("40.")
    assert run.text == "She says 40."


async def test_the_assistant_as_a_peer_is_itself_with_no_cards_and_no_files(five: Team) -> None:
    handed = await five.hand(sender="ana", to=SUPER)
    assert handed.state == "answered"
    system = told(five)[0]["content"]
    assert system.startswith("You are APX, the personal assistant")
    assert "Agents: ana (Ana), bob (Bob)" in system
    author = await five.here.store.one("select author from messages where role = 'assistant'")
    assert author is not None
    assert author["author"] == SUPER
    names = set(five.here.server.requests[0].tools)
    assert not names & {"ask_questions", "send_file"}


async def test_a_subagent_works_apart_and_spends_the_same_steps(five: Team) -> None:
    first, second = (("run_subagent", {"task": task}) for task in ("read all of it", "read the rest"))
    five.here.server.next(
        Answer(calls=[first]),
        Answer("the result"),  # the sub-agent
        Answer(calls=[second]),
        Answer("closing"),
    )
    run = await five.here.runner.run(turn("a secret", channel="api", max_iters=4))
    assert run.calls[0].result == "the result"
    child = five.here.server.requests[1]
    assert child.tools == []  # the tools of this house are all for handing over
    assert "a secret" not in str(child.body["messages"])
    assert "no steps left" in run.calls[1].result
    rows = await five.here.store.all("select parent_id from runs where parent_id is not null")
    assert [row["parent_id"] for row in rows] == [run.id]


async def test_who_is_at_work_is_listed_with_the_chain_below(five: Team) -> None:
    def ana(body: dict[str, Any]) -> Answer:
        if body["messages"][-1]["role"] == "tool":
            return fault("hang")
        return Answer(calls=[("send_to_agent", {"to": "bob", "message": "shear", "background": True})])

    five.here.server.default = by_whom({"Ana": ana, "Bob": fault("hang")})
    below = heard(five.here, BackgroundJob, lambda event: event.recipient == "bob")
    await five.hand(background=True)
    await below
    (root,) = await jobs.at_work(five.here.store)
    assert (root["agent"], root["name"], root["from"], root["waited"]) == ("ana", "Ana", SUPER, False)
    assert root["icon"]
    assert [(one["agent"], one["below"]) for one in root["below"]] == [("bob", [])]


async def test_a_job_can_be_stopped_also_one_that_waits_for_its_turn(five: Team) -> None:
    five.here.server.default = lambda body: fault("hang")
    first = await five.hand(background=True)
    queued = await five.hand("count them again", background=True, followup=True)
    assert first.job is not None
    assert queued.job is not None
    woken = five.woken()
    assert (await five.handover.cancel(queued.job.id)).status is State.CANCELLED
    assert (await five.handover.cancel(first.job.id)).status is State.CANCELLED
    five.here.server.default = lambda body: Answer("noted")
    assert (await woken).status == "completed"
    assert await jobs.at_work(five.here.store) == []
    with pytest.raises(Refused, match="has ended already: cancelled"):
        await five.handover.cancel(first.job.id)


async def test_a_wrong_status_is_an_error_and_no_empty_page(five: Team) -> None:
    with pytest.raises(Invalid, match="timed_out"):
        await jobs.recent(five.here.store, status="finished")


async def test_long_texts_are_kept_short_and_passed_on_whole(five: Team) -> None:
    five.here.server.next(Answer("".join(f"{n:09}" for n in range(1000))))
    handed = await five.hand("x" * 3000)
    assert (len(handed.job.body), len(handed.job.result)) == (2000, 8000)
    assert told(five)[-1]["content"] == "x" * 3000


async def test_an_agents_work_falls_through_the_same_models_as_its_askers(five: Team) -> None:
    await five.here.config.set({"llm_routing.fallback": ["standin:second"]})
    five.here.runner.patience = Patience(first_s=0.001)
    five.here.server.default = lambda body: (
        fault("server") if body["model"] == "small" else Answer("40 sheep.")
    )
    handed = await five.hand()
    assert (handed.state, handed.text) == ("answered", "40 sheep.")
    run = await five.here.store.one("select target from runs where id = ?", handed.job.run_id)
    assert run is not None
    assert run["target"] == "standin:second"


async def test_a_pair_remembers_its_last_twenty_four_turns(five: Team) -> None:
    thread = peers.thread("default", SUPER, "ana")
    for n in range(30):
        await history.left_in(five.here.store, thread, "a2a", SUPER, f"question {n}")
        await history.left_in(five.here.store, thread, "a2a", "ana", f"answer {n}")
    await five.hand("and now?")
    words = [(one["role"], one["content"]) for one in told(five)[1:]]
    assert words[0] == ("user", "question 6")
    assert words[1] == ("assistant", "answer 6")
    assert len(words) == 48 + 1


async def test_stopping_over_http_is_the_owners_and_says_what_is_not_there(tmp_path: Path) -> None:
    async with served(tmp_path, parts=[tools.agents]) as api:
        job = await jobs.begin(
            api.app.store,
            project_id="default",
            sender=SUPER,
            sender_project="default",
            recipient="ana",
            thread="a2a:x",
            body="count",
            wake=False,
            waited=False,
            depth=1,
        )
        await jobs.close(api.app.store, job.id, State.DONE, "5")
        path = f"/api/jobs/{job.id}/cancel"
        ended = await api.http.post(path)
        assert (ended.status_code, ended.json()["error"]) == (
            403,
            f"{job.id} has ended already: done.",
        )
        assert (await api.http.post("/api/jobs/none/cancel")).status_code == 404
        _, device = await api.paired("client")
        refused = await api.bare.post(path, headers=device)
        assert (refused.status_code, "token" in refused.json()["error"]) == (403, True)
        env = {"APX_HOME": str(api.app.home.root)}
        said = await asyncio.to_thread(CliRunner().invoke, group, ["jobs", "cancel", job.id], env=env)
        assert (said.exit_code, "has ended already" in said.stderr) == (1, True)
        listed = await asyncio.to_thread(CliRunner().invoke, group, ["jobs", "--json"], env=env)
        assert [one["id"] for one in json.loads(listed.stdout)] == [job.id]
