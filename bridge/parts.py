"""The parts of every program, in the order in which they need one another; the API comes last.

Nothing slow may stand in the way of the API: the adb server is started by whoever needs the phone first.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

from bridge.doctor import phone_checks
from bridge.handset import Handset
from bridge.owner_questions import Questions
from bridge.owner_telegram import OwnerTelegram
from bridge.rounds import Rounds
from bridge.tools import TOOLS
from bridge.watcher import Watcher
from core.api.doctor import Checks
from core.api.server import serve
from core.app import App, Part
from core.channels.approvals import approvals
from core.channels.rooms import speaking
from core.channels.telegram import Telegram, telegram
from core.runs.titles import titles
from core.tools.agents import agents, agents_once
from core.tools.browsing import browsing
from core.tools.computer import computer
from core.tools.knowledge import knowledge
from core.tools.mcp import mcp
from core.watchdog import watchdog

log = logging.getLogger(__name__)


@asynccontextmanager
async def phone(app: App) -> AsyncIterator[None]:
    """The owner's phone and its rounds: tools, routes, and the worker of alerts."""
    async with AsyncExitStack() as stack:
        questions = await stack.enter_async_context(_reached(app))
        if (chats := app.services.get(Telegram)) is not None:
            await stack.enter_async_context(OwnerTelegram(app, chats, questions).open())
        rounds = await stack.enter_async_context(Rounds.open(app, app.services[Handset], questions))
        app.services[Rounds] = rounds
        app.services[Watcher] = await stack.enter_async_context(Watcher.open(app, app.services[Handset]))
        # Delivering takes the phone, which may be far away: nobody waits for it.
        resuming = asyncio.create_task(questions.resume(), name="answers of an earlier start")
        try:
            yield
        finally:
            del app.services[Rounds], app.services[Watcher]
            resuming.cancel()
            with suppress(asyncio.CancelledError):
                await resuming


@asynccontextmanager
async def phone_tools(app: App) -> AsyncIterator[None]:
    """The phone for one command that opens the app itself: nobody listens, and no round is walked."""
    async with _reached(app):
        yield


@asynccontextmanager
async def _reached(app: App) -> AsyncIterator[Questions]:
    handset = Handset(app.config, app.bus)
    questions = Questions(app, handset)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(questions.aclose)
        stack.callback(app.tools.add(*TOOLS))
        app.services |= {Handset: handset, Questions: questions}
        app.routers += [_routes, _contact_routes]
        app.services.setdefault(Checks, Checks()).more.append(phone_checks)
        yield questions


def parts() -> Sequence[Part]:
    """All of them, for the daemon and the window."""
    return (
        watchdog,
        telegram,
        approvals,
        computer,
        knowledge,
        mcp,
        browsing,
        phone,
        agents,
        speaking,
        titles,
        serve,
    )


def tools() -> Sequence[Part]:
    """Those that one command needs when it opens the app itself: tools, and nobody who listens."""
    return (approvals, computer, knowledge, mcp, browsing, phone_tools, agents_once, speaking)


def _routes() -> Any:
    # FastAPI takes longer to import than all else to start: the API asks for this once it answers.
    from bridge.routes import router

    return router


def _contact_routes() -> Any:
    from bridge.contact_routes import router

    return router
