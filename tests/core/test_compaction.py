"""Long threads: told shorter with a summary or a gap, and never a line lost."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from core.errors import NotFound
from core.events import ThreadCompacted
from core.runs import compaction, summaries
from core.runs.compaction import (
    HEADINGS,
    Line,
    Summary,
    anchors,
    lighter,
    lost,
    question,
    split,
    told,
    too_long,
)
from tests.fakes.house import House, house, turn
from tests.fakes.openai_server import Answer, fault


def thread(count: int, chars: int = 5) -> list[Line]:
    return [Line(n, "user" if n % 2 else "assistant", f"{n}".ljust(chars, ".")) for n in range(1, count + 1)]


GOOD = "\n".join(f"{one}\nsomething" for one in HEADINGS)


def test_sixty_short_lines_are_told_as_they_are() -> None:
    lines = thread(60)
    assert not too_long(lines)
    assert [one.text for one in told(lines, None)] == [one.text for one in lines]


def test_a_longer_thread_without_a_summary_has_a_gap_that_says_so() -> None:
    made = told(thread(100), None)
    assert (len(made), made[0].text[:1], made[-1].text[:3]) == (43, "1", "100")
    assert made[2].text == "[58 earlier lines of this conversation are not shown here.]"


def test_a_summary_stands_for_what_it_covers_and_later_lines_stay() -> None:
    made = told(thread(100), Summary(60, 58, "They agreed on 42. <|im_end|>"))
    assert len(made) == 2 + 1 + 40
    assert made[2].text.startswith("[Summary of 58 earlier lines")
    assert "They agreed on 42. ‹|im_end|›" in made[2].text
    assert made[3].text.startswith("61")


def test_a_summary_that_does_not_reach_far_enough_is_told_with_a_gap() -> None:
    made = told(thread(200), Summary(60, 58, "Old."))
    assert "Old." in made[2].text
    assert "[100 earlier lines" in made[2].text
    assert made[3].text.startswith("161")


def test_few_lines_that_are_very_long_are_cut_down_too() -> None:
    lines = thread(20, 30_000)
    assert too_long(lines)
    first, middle, last = split(lines)
    assert [*first, *middle, *last] == lines
    assert (len(first), len(last)) == (2, 4)
    assert sum(len(one.text) for one in told(lines, None)) < compaction.CONTEXT_CHARS
    assert "[cut: 10000 more characters]" in told(lines, None)[-1].text


def test_what_the_owner_named_exactly_has_to_be_in_the_summary() -> None:
    lines = [
        Line(1, "user", "Send it to ana@example.com by 14:30, see https://example.com/a."),
        Line(2, "assistant", "I found 999 files."),
        Line(3, "user", "It lies in /srv/data/report.txt, and I owe 1.250"),
    ]
    wanted = anchors(lines)
    assert set(wanted) == {
        "ana@example.com",
        "14:30",
        "https://example.com/a",
        "/srv/data/report.txt",
        "1.250",
    }
    assert "keeps 0 of 5" in lost(GOOD, wanted)
    assert lost(GOOD + " ".join(wanted), wanted) == ""
    assert "ana@example.com" in question(lines, None, wanted)[1]["content"]


def test_a_summary_that_is_cut_or_lacks_a_part_is_refused() -> None:
    assert lost(GOOD, []) == ""
    assert lost(GOOD, [], "length") == "it was cut by its length limit"
    assert lost(GOOD.replace("## Open\nsomething", "## Open\n"), []) == "it has nothing under Open"
    assert lost("They talked.", []) == "it has nothing under Goal"
    assert lost("", []) != ""


def test_old_results_of_a_long_turn_are_told_short_and_the_latest_whole() -> None:
    def result(size: int) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": "c", "content": "x" * size}

    assert lighter([result(16_000)] * 10) is None
    made = lighter([{"role": "user", "content": "do it"}, *[result(16_000)] * 40])
    assert made
    assert [len(str(one["content"])) for one in made[-20:]] == [16_000] * 20
    assert all(len(str(one["content"])) < 500 for one in made[:21])
    assert lighter(made) is not made


# With a model


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as built:
        async with built.store.transaction() as db:
            await db.executemany(
                "insert into messages (thread, channel, author, role, text, at)"
                " values ('desktop', 'desktop', 'o', ?, ?, '')",
                [("user" if n % 2 else "assistant", f"line {n}") for n in range(70)],
            )
        yield built


async def _lines(here: House) -> list[str]:
    return [one.text for one in await summaries.lines(here.store, "desktop")]


@pytest.mark.anyio
async def test_a_summary_is_written_after_the_turn_and_told_in_the_next(here: House) -> None:
    said = await _lines(here)
    kept = GOOD + " 11 13 15 17 19 21 23 25 27 29 31"
    here.server.next(Answer("ready"), Answer(kept))
    await here.runner.run(turn("hello"))
    await here.runner.summaries.settled()
    asked = here.server.requests[1].body
    assert "line 2" in asked["messages"][1]["content"]
    assert "line 40" not in asked["messages"][1]["content"]
    assert [one.lines for one in here.seen(ThreadCompacted)] == [30]
    assert await _lines(here) == [*said, "hello", "ready"]
    await here.runner.run(turn("and now"))
    told = [one["content"] for one in here.server.requests[2].body["messages"][1:]]
    assert (told[0], told[1]) == ("line 0", "line 1")
    assert "[Summary of 30 earlier lines" in told[2]
    assert (told[3], told[-1], len(told)) == ("line 32", "and now", 44)
    shown = await summaries.shown(here.store, "desktop")
    assert (shown["lines"], shown["summary"], shown["attempts"][0]["state"]) == (74, kept, "kept")


@pytest.mark.anyio
@pytest.mark.parametrize("answer", [Answer("They talked."), Answer(GOOD, finish="length"), fault("auth")])
async def test_what_failed_or_lost_something_is_refused_and_nothing_is_lost(
    here: House, answer: Answer
) -> None:
    here.server.next(Answer("ready"), answer)
    await here.runner.run(turn("hello"))
    await here.runner.summaries.settled()
    shown = await summaries.shown(here.store, "desktop")
    assert (shown["lines"], shown["summary"], shown["attempts"][0]["state"]) == (72, "", "refused")
    assert shown["attempts"][0]["why"]
    assert here.seen(ThreadCompacted) == []
    run = await here.runner.run(turn("and now"))
    await here.runner.summaries.settled()
    assert run.text == "ready"
    told = [one["content"] for one in here.server.requests[2].body["messages"][1:]]
    assert told[2] == "[30 earlier lines of this conversation are not shown here.]"
    # Not tried again at every turn.
    assert len(here.server.requests) == 3


@pytest.mark.anyio
@pytest.mark.parametrize("summed", [0, 20, 62])
@pytest.mark.parametrize("chars", [5, 9000])
@pytest.mark.parametrize("count", [1, 59, 62, 63, 140])
async def test_of_a_long_thread_only_its_ends_are_read_and_it_is_told_the_same(
    here: House, count: int, chars: int, summed: int
) -> None:
    async with here.store.transaction() as db:
        await db.execute("delete from messages")
        await db.executemany(
            "insert into messages (thread, channel, author, role, text, run_id, at)"
            " values ('t', 'd', 'o', ?, ?, ?, '')",
            [
                (("note", "user", "assistant")[n % 3], f"{n} ".ljust(chars, "x"), f"run{n}")
                for n in range(count)
            ],
        )
        if summed:
            await db.execute(
                "insert into compactions (id, thread, first_id, last_id, lines, summary, state, why, target, run_id,"
                " at) select 'c', 't', 3, max(id), 7, 'Old.', 'kept', '', '', 'r', '' from"
                " (select id from messages where thread = 't' order by id limit ?)",
                (summed,),
            )
    for run_id in ("new", f"run{count // 2}"):
        whole = await summaries.lines(here.store, "t")
        ids = [row["id"] for row in await here.store.all("select id from messages where run_id = ?", run_id)]
        before = [one for one in whole if not ids or one.id < ids[0]]
        latest = await summaries.latest(here.store, "t")
        assert await summaries.conversation(here.store, "t", run_id) == told(before, latest)


@pytest.mark.anyio
async def test_the_model_of_summaries_is_the_small_one_where_it_is_set(here: House) -> None:
    await here.config.set({"small_model": "standin:tiny"})
    await here.runner.run(turn("hello"))
    await here.runner.summaries.settled()
    assert [one.body["model"] for one in here.server.requests] == ["small", "tiny"]


@pytest.mark.anyio
async def test_a_summary_on_request_says_why_it_could_not_be(here: House) -> None:
    with pytest.raises(NotFound):
        await here.runner.summaries.now("nowhere")
    here.server.next(Answer("ready"), fault("auth"), fault("auth"))
    await here.runner.run(turn("hello"))
    told = await here.runner.summaries.now("desktop")
    assert "key" in told["why"]
    assert [one["state"] for one in told["attempts"]] == ["refused", "refused"]
