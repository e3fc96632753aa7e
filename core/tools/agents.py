"""Tools with which one agent gives work to another, and the part of the app that carries it out."""

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from pydantic import BaseModel, ConfigDict, Field

from core import projects
from core.errors import Invalid, Unavailable
from core.runs import jobs, peers, wording
from core.runs.budget import Budget, steps
from core.runs.handover import Handed, Handover, Order
from core.runs.peer_turns import NOT_HERE
from core.runs.peers import SUPER, Peer
from core.runs.turn import Run, Status, Turn
from core.store import new_id
from core.tool import Context, Effect, tool

if TYPE_CHECKING:
    from core.app import App

SHOWN = 10
MAX_TEXT = 50_000
# Families that a sub-agent has not: it speaks to nobody, hands nothing on, and its tools are fixed.
NOT_ALONE = frozenset({"owner", "agents", "steering"})
ALONE = (
    "You are a sub-agent: you work on one task that stands alone, to its end, with your tools. Nobody answers "
    "questions and nobody sees your steps; your last message is the result that whoever asked gets. Say what was done, "
    "what was found and what is missing, with exact errors. Never claim what no tool result shows."
)


class Arguments(BaseModel):
    """Arguments of these tools."""

    model_config = ConfigDict(extra="forbid")


class CallAgent(Arguments):
    agent: str = Field(description="The agent's slug or name.", min_length=1, max_length=100)
    prompt: str = Field(
        description="The whole task: it knows nothing of your conversation.",
        min_length=1,
        max_length=MAX_TEXT,
    )
    project: str = Field("", description="The agent's project, where the name is not enough.", max_length=100)


@tool(Effect.WRITE, group="agents")
async def call_agent(args: CallAgent, ctx: Context) -> str:
    """Give work to an agent of a project and wait for its answer. It works with its own tools.

    For long work use send_to_agent with background.
    """
    to = await _to(ctx, args.agent, args.project)
    if to.agent is None:
        raise Invalid("call_agent is for agents of a project; send_to_agent reaches the assistant.")
    return await _hand(ctx, Order(sender=await me(ctx), to=to, text=args.prompt))


class SendToAgent(Arguments):
    to: str = Field(
        description="An agent's slug or name, or apx for the assistant; name:topic has a history of its own.",
        min_length=1,
        max_length=200,
    )
    message: str = Field(
        description="All that is needed to act on it: nothing else goes along.",
        min_length=1,
        max_length=MAX_TEXT,
    )
    background: bool = Field(False, description="Return at once; you are woken with the answer.")
    wake_me: bool = Field(True, description="False: a mere notice, whose answer you will never need.")
    followup: bool = Field(False, description="Send on purpose although it is at work for you: a correction.")
    project: str = Field("", description="The agent's project, where the name is not enough.", max_length=100)


@tool(Effect.WRITE, group="agents")
async def send_to_agent(args: SendToAgent, ctx: Context) -> str:
    """Write to another agent and get its answer; with background its work goes on while you end your turn.

    Then you are woken in a new turn that knows only the answer and what you asked: put all that matters into it.
    """
    to = await _to(ctx, args.to, args.project)
    return await _hand(
        ctx,
        Order(
            sender=await me(ctx),
            to=to,
            text=args.message,
            thread=peers.split(args.to)[1],
            background=args.background,
            wake=args.wake_me,
            followup=args.followup,
        ),
    )


class CheckJobs(Arguments):
    job_id: str = Field("", description="One job; empty: all of yours that run, and the last that ended.")


@tool(Effect.READ, group="agents")
async def check_jobs(args: CheckJobs, ctx: Context) -> str:
    """See how the work stands that you handed over. It asks nobody anything and starts nothing."""
    mine = await me(ctx)
    if args.job_id:
        one = await jobs.find(ctx.store, args.job_id)
        return (
            f"{one.status}, {one.running_s} s, with {one.recipient}: {one.body[:300]}\n{one.result}".strip()
        )
    rows = await jobs.recent(ctx.store, sender=mine.address, limit=SHOWN)
    lines = [
        f"- {one.id} {one.status} ({one.running_s} s) with {one.recipient}: {one.body[:100]}" for one in rows
    ]
    return "\n".join(lines) or "You have handed nothing over."


class RunSubagent(Arguments):
    task: str = Field(
        description="The whole task, with all that is needed for it.", min_length=1, max_length=MAX_TEXT
    )


@tool(Effect.WRITE, group="agents")
async def run_subagent(args: RunSubagent, ctx: Context) -> str:
    """Work on one task apart, with a fresh context and these same tools, and get only its result.

    It spends your steps. It reaches nobody and cannot start another.
    """
    left = ctx.budget.left if ctx.budget else steps("a2a", ctx.config.now.super_agent)
    # One step stays for the closing message of whoever delegates.
    own = Budget(min(left - 1, steps("a2a", ctx.config.now.super_agent)))
    if own.steps < 1:
        return "Not started: there are no steps left for it. Close with what you have."
    turn = Turn(
        text=args.task,
        channel="a2a",
        thread=f"alone:{new_id('sub')}",
        sender=ctx.turn.answerer or SUPER,
        project_id=ctx.turn.project_id,
        model=ctx.turn.model,
        tools=tuple(one for one in ctx.offered() if one.group not in NOT_ALONE and one.name not in NOT_HERE),
        role=ALONE,
        answerer=ctx.turn.answerer or SUPER,
        depth=ctx.turn.depth,
        can_ask=ctx.turn.can_ask,
        budget=own,
        judged=False,
    )
    try:
        run = await _service(ctx).runner.run(turn, parent=Run(id=ctx.run_id, turn=ctx.turn))
    finally:
        if ctx.budget:
            ctx.budget.used += own.used
    if run.status is Status.DONE:
        return run.text
    return f"It did not finish ({run.status}); do not report it as done. {run.text}"


def _service(ctx: Context) -> Handover:
    if Handover not in ctx.services:
        raise Unavailable("No agents can be reached from here.")
    return cast(Handover, ctx.services[Handover])


async def me(ctx: Context) -> Peer:
    """Who calls: never an argument."""
    address = ctx.turn.answerer or SUPER
    found = await peers.known(ctx.store, address, ctx.turn.project_id)
    return found or Peer(address, ctx.turn.project_id, known=False)


async def _to(ctx: Context, named: str, project: str) -> Peer:
    where = (await projects.find(ctx.store, project)).id if project else ctx.turn.project_id
    return await peers.resolve(ctx.store, ctx.identity.now, named, where)


async def _hand(ctx: Context, order: Order) -> str:
    """Hand over as the place allows: a command waits, a conversation between agents never does."""
    inside, command = ctx.turn.channel in {"a2a", "group"}, ctx.turn.channel == "cli"
    background = inside or (order.background and not command)
    handed = await handed_over(ctx, replace(order, background=background))
    return _told(handed, note=inside and not order.background, waited=command and order.background)


async def handed_over(ctx: Context, order: Order) -> Handed:
    """Hand over as a part of this turn."""
    turn = ctx.turn
    placed = replace(
        order,
        depth=turn.depth,
        run_id=ctx.run_id,
        job_id=turn.job_id,
        origin=turn.origin,
    )
    return await _service(ctx).hand(placed)


def _told(handed: Handed, *, note: bool, waited: bool) -> str:
    if handed.state == "running" and note:
        return handed.text + wording.NOBODY_WAITS
    return (wording.WAITED if waited and handed.state == "answered" else "") + handed.text


CORE = (call_agent, send_to_agent, check_jobs)
FULL = (run_subagent,)


@asynccontextmanager
async def agents(app: "App") -> AsyncIterator[None]:
    """The part of a process that stays: work outlives who asked, and what a former process lost is told."""
    async with _reached(app, lasting=True):
        yield


@asynccontextmanager
async def agents_once(app: "App") -> AsyncIterator[None]:
    """The same for one command that opens the app itself: it ends when its work has ended."""
    async with _reached(app, lasting=False):
        yield


@asynccontextmanager
async def _reached(app: "App", *, lasting: bool) -> AsyncIterator[None]:
    service = Handover(
        store=app.store,
        bus=app.bus,
        identity=app.identity,
        tools=app.tools,
        runner=app.runner,
        outbox=app.outbox,
        lasting=lasting,
    )
    with ExitStack() as stack:
        stack.callback(app.tools.add(*CORE))
        stack.callback(app.tools.add(*FULL, full_only=True))
        app.services[Handover] = service
        stack.callback(app.services.pop, Handover)
        async with service.open():
            yield
