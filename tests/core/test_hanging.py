"""A provider that hangs is one conversation's trouble: the others go on, and the one that hangs can be stopped."""

import asyncio
import sys
from pathlib import Path

import pytest

from core.runs.turn import Status
from tests.fakes.house import house, turn
from tests.fakes.openai_server import Answer, fault

pytestmark = pytest.mark.anyio
REAL = (sys.executable, "-m", "core.runs.llm_worker")


async def test_others_are_answered_while_one_hangs_and_that_one_can_be_stopped(tmp_path: Path) -> None:
    async with house(tmp_path, command=REAL) as here, asyncio.timeout(120), asyncio.TaskGroup() as group:
        here.server.default = lambda body: fault("hang") if body["model"] == "slow" else Answer("ready")
        hanging = group.create_task(here.runner.run(turn("first", model="standin:slow", thread="one")))
        await here.server.arrived.wait()
        pid = here.models.pid
        for thread in ("two", "three", "one"):  # the hanging one's own thread is held up by nothing, too
            run = await here.runner.run(turn("second", thread=thread))
            assert (run.status, run.text) == (Status.DONE, "ready")
        assert not hanging.done()
        (still,) = here.runner.active()
        here.runner.cancel(still.id)
        assert (await hanging).status is Status.CANCELLED
        await here.server.left.wait()  # the provider was let go of
        assert (await here.runner.run(turn("after"))).text == "ready"
        assert here.models.pid == pid  # and nobody had to start anew for it
