"""While a provider hangs, the window's own loop turns, and another conversation on it is answered."""

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer

from core.runs.turn import Status
from tests.fakes.house import house, turn
from tests.fakes.openai_server import Answer, fault

pytestmark = pytest.mark.anyio


async def test_the_windows_loop_turns_while_a_provider_hangs(tmp_path: Path) -> None:
    async with house(tmp_path) as here, asyncio.TaskGroup() as group:
        here.server.default = lambda body: fault("hang") if body["model"] == "slow" else Answer("ready")
        hanging = group.create_task(here.runner.run(turn("first", model="standin:slow", thread="one")))
        await here.server.arrived.wait()
        ticks, enough = 0, asyncio.Event()

        def tick() -> None:
            nonlocal ticks
            ticks += 1
            if ticks == 20:
                enough.set()

        timer = QTimer()
        timer.timeout.connect(tick)
        timer.start(1)
        run = await here.runner.run(turn("second", thread="two"))
        await enough.wait()
        timer.stop()
        assert (run.text, hanging.done()) == ("ready", False)
        here.runner.cancel(here.runner.active()[0].id)
        assert (await hanging).status is Status.CANCELLED
