"""Every run as people see it: found, opened, with its attempts and what the model was given."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from core.errors import Unavailable
from core.runs import ledger
from core.runs.history import transcript
from core.runs.manifest import manifest
from core.store import Store
from desktop import ran, slots
from desktop.activity import Activity
from desktop.fold import Fold
from desktop.inside import title
from desktop.ran import Inside, Wanted
from desktop.words import Words
from tests.desktop.conftest import Until

pytestmark = pytest.mark.anyio

RUN = (
    "insert into runs (id, project_id, channel, thread, sender, status, text, target, tokens_in, tokens_out,"
    " cost_micros, priced, started_at, closed_at) values (?, 'default', ?, 't', 'owner', ?, ?, ?, 1200, 180, 6300, ?,"
    " ?, ?)"
)
SAID = (
    "insert into messages (thread, channel, author, role, text, run_id, at) values ('t', ?, 'x', ?, ?, ?, ?)"
)
STEP = "insert into run_steps (run_id, at, kind, body) values (?, ?, ?, ?)"
AT = "2026-01-02T10:00:0{}.000+00:00"
REQUEST = {
    "since": 0,
    "messages": [{"role": "user", "content": "50%_off?"}],
    "tools": [],
    "offers_tools": True,
}
FAILURE = {"target": "a:one", "class": "overloaded", "reason": "busy", "action": "advance", "why": "advance"}


@pytest.fixture
async def worked(store: Store) -> Store:
    """A run that went on to another model, one that failed, one that goes on."""
    rows = [
        ("run_1", "desktop", "completed", "Yes.", "b:two", 1),
        ("run_2", "telegram", "failed", "Out of money.", "a:one", 0),
        ("run_3", "telegram", "running", "", "", 1),
    ]
    for number, (id, channel, status, text, target, priced) in enumerate(rows):
        closed = None if status == "running" else AT.format(number + 4)
        await store.run(RUN, id, channel, status, text, target, priced, AT.format(number), closed)
        await store.run(SAID, channel, "user", f"question {number} 50%_off", id, AT.format(number))
    await store.run(SAID, "desktop", "assistant", "Yes.", "run_1", AT.format(4))
    call = {
        "id": "c",
        "tool": "read_file",
        "args": {"path": "a.md"},
        "result": "# A",
        "ok": True,
        "seconds": 0.1,
    }
    for kind, body in (
        ("request", REQUEST),
        ("failure", FAILURE),
        ("tool", call),
        ("reply", {"target": "b:two", "text": "Yes.", "seconds": 2.0}),
    ):
        await store.run(STEP, "run_1", AT.format(1), kind, json.dumps(body))
    return store


class Core:
    """What the screen asks of the core, over a real store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.stopped: list[str] = []
        self.error: Exception | None = None

    async def runs(self, wanted: Wanted) -> list[ran.Ran]:
        if self.error:
            raise self.error
        return await ran.runs(self.store, wanted)

    async def read(self, id: str) -> Inside:
        return Inside(await transcript(self.store, id), await ledger.attempts(self.store, id))

    async def given(self, id: str) -> Mapping[str, Any]:
        return await manifest(self.store, id)


def screen(core: Core, words: Words, qtbot: QtBot) -> Activity:
    made = Activity(
        words,
        runs=core.runs,
        channels=lambda: ran.channels(core.store),
        read=core.read,
        given=core.given,
        stop=core.stopped.append,
    )
    qtbot.addWidget(made)
    made.show()
    return made


def texts(activity: Activity) -> str:
    return " | ".join(one.text() for one in activity.detail.findChildren(QLabel))


async def test_the_newest_run_is_first_and_open(
    worked: Store, words: Words, qtbot: QtBot, until: Until
) -> None:
    core = Core(worked)
    activity = screen(core, words, qtbot)
    await until(lambda: activity.detail.one)
    assert list(activity.cards) == ["run_3", "run_2", "run_1"]
    assert activity.detail.one is not None
    assert activity.detail.one.id == "run_3"
    activity.detail.end.click()
    assert core.stopped == ["run_3"]
    activity.rest()
    await slots.settle()


async def test_a_run_says_what_was_tried_and_what_it_cost(
    worked: Store, words: Words, qtbot: QtBot, until: Until
) -> None:
    activity = screen(Core(worked), words, qtbot)
    await until(lambda: activity.cards)
    activity.choose("run_1")
    await until(lambda: activity.detail.one and activity.detail.one.id == "run_1")
    said = texts(activity)
    assert "overloaded" in said
    assert words("activity.advanced") in said
    assert "US$ 0.0063" in said
    folds = activity.detail.findChildren(Fold)
    assert "Read a file · 0.1 s" in [fold.line.accessibleName() for fold in folds]
    activity.detail.folded_request.open()
    await until(lambda: words("activity.request.help") in texts(activity))
    activity.rest()
    await slots.settle()


async def test_what_is_not_priced_is_said_to_be_at_least_that(
    worked: Store, words: Words, qtbot: QtBot, until: Until
) -> None:
    activity = screen(Core(worked), words, qtbot)
    await until(lambda: activity.cards)
    activity.choose("run_2")
    await until(lambda: activity.detail.one and activity.detail.one.id == "run_2")
    assert "at least US$ 0.0063" in texts(activity)
    activity.rest()
    await slots.settle()


async def test_filters_and_an_empty_answer_that_can_be_left(
    worked: Store, words: Words, qtbot: QtBot, until: Until
) -> None:
    activity = screen(Core(worked), words, qtbot)
    await until(lambda: len(activity.cards) == 3)
    activity.state.put("trouble")
    activity.state.changed.emit()
    await until(lambda: list(activity.cards) == ["run_2"])
    activity.search.setText("no such words")
    await until(lambda: activity.notice.title.text() == words("activity.none_so"))
    activity.notice.button.click()
    await until(lambda: len(activity.cards) == 3)
    activity.rest()
    await slots.settle()


async def test_signs_of_a_search_are_letters(worked: Store) -> None:
    assert len(await ran.runs(worked, Wanted(text="50%_off"))) == 3
    assert await ran.runs(worked, Wanted(text="50%%off")) == []
    assert [one.id for one in await ran.runs(worked, Wanted(text="run_2"))] == ["run_2"]


async def test_a_list_that_cannot_be_read_says_why(
    worked: Store, words: Words, qtbot: QtBot, until: Until
) -> None:
    core = Core(worked)
    core.error = Unavailable("The database is busy.")
    activity = screen(core, words, qtbot)
    await until(lambda: activity.notice.why.text() == "The database is busy.")
    core.error = None
    activity.notice.button.click()
    await until(lambda: len(activity.cards) == 3)
    activity.rest()
    await slots.settle()


async def test_a_decision_of_a_round_is_called_by_its_chat(worked: Store, words: Words) -> None:
    await worked.run(
        "insert into rounds (id, project_id, state, started_at) values ('rnd_1', 'default', 'closed', '')"
    )
    await worked.run(
        "insert into conversations (id, round_id, position, title, found_at) values ('cnv_1', 'rnd_1', 0, 'Lucía', '')"
    )
    await worked.run(
        "insert into runs (id, project_id, channel, thread, sender, status, started_at)"
        " values ('run_4', 'default', 'whatsapp', 'whatsapp:cnv_1', 'third_party', 'completed', ?)",
        AT.format(9),
    )
    (one,) = await ran.runs(worked, Wanted(text="lucía"))
    assert (one.id, title(one, words)) == ("run_4", "Lucía")


async def test_a_run_is_its_answerers(worked: Store) -> None:
    await worked.run("update runs set answerer = 'super_agent' where id = 'run_1'")
    await worked.run("update runs set answerer = 'writer', sender = 'super_agent' where id = 'run_2'")
    assert {one.id: one.agent for one in await ran.runs(worked, Wanted())} == {
        "run_1": "",
        "run_2": "writer",
        "run_3": "",
    }
