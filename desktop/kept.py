"""Tasks and memory over one open app, as the callables of their screens."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from core import tasks
from core.errors import Unavailable
from core.memory import Fact, Memory, Source
from desktop.memory import Known, MemoryScreen
from desktop.tasks import Tasks, TasksScreen
from desktop.words import Words

if TYPE_CHECKING:
    from core.app import App

PROJECT = "default"


def tasks_screen(app: "App", words: Words) -> TasksScreen:
    """The screen of tasks."""

    async def listed(state: str) -> Sequence[tasks.Task]:
        return await tasks.listed(app.store, state=state)

    async def create(title: str, due: str | None) -> tasks.Task:
        return await tasks.create(app.store, app.bus, project_id=PROJECT, title=title, due=due)

    async def change(task_id: int, changes: Mapping[str, Any]) -> tasks.Task:
        return await tasks.update(app.store, app.bus, task_id, dict(changes))

    return TasksScreen(
        words,
        Tasks(
            listed=listed,
            thread=lambda task_id: tasks.thread(app.store, task_id),
            create=create,
            change=change,
            comment=lambda task_id, text: tasks.comment(app.store, app.bus, task_id, text),
        ),
    )


def memory_screen(app: "App", words: Words) -> MemoryScreen:
    """The screen of what is known."""

    def memory() -> Memory:
        found = app.services.get(Memory)
        if not isinstance(found, Memory):
            raise Unavailable(words("memory.none_here"))
        return found

    async def everything() -> Sequence[Fact]:
        await memory().known()  # the notebook as it is now
        return await memory().everything()

    async def remember(text: str) -> Fact:
        return await memory().remember(text, source=Source.OWNER, channel="desktop")

    async def forget(fact_id: int) -> Fact:
        return await memory().forget(fact_id)

    return MemoryScreen(words, Known(everything, remember, forget))
