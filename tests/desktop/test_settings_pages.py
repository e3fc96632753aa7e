"""Pages of the settings that are more than a form: spending, stand-ins, people, tools, first steps."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from core.app import App
from core.paths import Home
from core.store import Store
from desktop import slots, spent, steps
from desktop.settings.accounts import Accounts
from desktop.settings.chart import Bars, keys, top
from desktop.settings.editors import Choice, Secret
from desktop.settings.permissions import PermissionsPage
from desktop.settings.routing import Route, StandIns, Weighed
from desktop.settings.spending import SpendingPage
from desktop.settings.web import WebPage
from desktop.settings.whatsapp import WhatsAppPage
from desktop.spent import Slice
from desktop.words import Words
from tests.desktop.conftest import Until

pytestmark = pytest.mark.anyio


@pytest.fixture
async def app(home: Home) -> AsyncIterator[App]:
    home.config.write_text('{"port": 0}', encoding="utf-8")
    async with App.open(home) as app:
        yield app
        await slots.settle()


@pytest.fixture
async def change(app: App) -> Any:
    async def set_one(key: str, value: Any) -> None:
        await app.config.set({key: value})

    return set_one


async def paid(store: Store, at: datetime, target: str, micros: int, priced: int = 1) -> None:
    await store.run(
        "insert or ignore into runs (id, project_id, channel, thread, sender, status, started_at)"
        " values ('run_1', 'default', 'desktop', 't', 'owner', 'completed', '')"
    )
    await store.run(
        "insert into spend (run_id, at, target, purpose, tokens_in, tokens_out, cost_micros, priced)"
        " values ('run_1', ?, ?, 'chat', 1, 1, ?, ?)",
        *(at.isoformat(timespec="milliseconds"), target, micros, priced),
    )


async def test_a_day_begins_at_its_owners_midnight(store: Store) -> None:
    zone = timezone(timedelta(hours=-3))
    await paid(store, datetime(2026, 1, 2, 2, 59, tzinfo=UTC), "a:one", 10)
    await paid(store, datetime(2026, 1, 2, 3, 0, tzinfo=UTC), "a:one", 20, priced=0)
    found = await spent.slices(store, "model", datetime(2026, 1, 1, tzinfo=UTC), zone)
    assert found == [Slice("2026-01-01", "a:one", 10, False), Slice("2026-01-02", "a:one", 20, True)]
    assert [
        one.key for one in await spent.slices(store, "agent", datetime(2026, 1, 1, tzinfo=UTC), zone)
    ] == ["", ""]
    await store.run("update runs set answerer = 'writer'")
    (first, _) = await spent.slices(store, "agent", datetime(2026, 1, 1, tzinfo=UTC), zone)
    assert first.key == "writer"


def test_parts_stand_by_what_they_cost_and_the_top_is_round() -> None:
    parts = [Slice("2026-01-01", "a", 1, False), Slice("2026-01-01", "b", 5, False)]
    assert keys(parts) == ["b", "a"]
    assert [top(one) for one in (1, 3, 7, 430_000)] == [1, 5, 10, 500_000]


async def test_a_bar_says_its_day(qtbot: QtBot) -> None:
    bars = Bars(str, lambda day: f"{day:%d}")
    qtbot.addWidget(bars)
    bars.resize(464, 200)
    bars.put(("2026-01-01", "2026-01-02"), (Slice("2026-01-02", "a:one", 7, False),))
    assert bars.told(460) == "02: 7\na:one: 7"
    assert bars.told(1) == ""
    bars.grab()


async def test_bars_leave_room_for_the_widest_amount(qtbot: QtBot) -> None:
    wide, narrow = (Bars(say, str, lambda key: key or "Ada") for say in (lambda n: f"US$ {n / 1e6:.6f}", str))
    for bars in (wide, narrow):
        qtbot.addWidget(bars)
        bars.resize(464, 200)
        bars.put(("2026-01-01",), (Slice("2026-01-01", "", 500, False),))
    text = "US$ 0.000500"
    assert wide.told(wide.fontMetrics().horizontalAdvance(text) - 8) == ""
    assert narrow.told(60) == "2026-01-01: 500\nAda: 500"


async def test_spending_shows_its_caps_and_takes_others(
    app: App, change: Any, words: Words, qtbot: QtBot, until: Until
) -> None:
    await paid(app.store, datetime.now(UTC), "a:one", 1_500_000, priced=0)
    await app.config.set({"budgets.day_usd": 2.0})
    page = SpendingPage(
        words, now=lambda: app.config.now, change=change, read=Accounts(app).read, agent=lambda: "Ada"
    )
    qtbot.addWidget(page)
    page.show()
    await until(lambda: page.spent is not None)
    assert page.meters["day"].amount.text() == "at least US$ 1.50"
    assert page.meters["day"].bar.value() == 750
    assert page.meters["month"].of.text() == words("settings.spending.no_cap")
    editor: Any = page.rows["month_usd"].editor
    editor.setText("12,5")
    editor._take()
    await until(lambda: app.config.now.budgets.month_usd == 12.5)
    editor.setText("much")
    editor._take()
    await until(lambda: page.rows["month_usd"].said.property("role") == "error")
    assert app.config.now.budgets.month_usd == 12.5


async def test_stand_ins_are_ordered_and_refused_in_words(
    app: App, change: Any, words: Words, qtbot: QtBot, until: Until
) -> None:
    lists = StandIns(words, ("openai:",), now=lambda: app.config.now, change=change)
    qtbot.addWidget(lists)
    editor: Any = lists.general.editor
    for model in ("a:one", "b:two"):
        editor.field.setEditText(model)
        editor.add.click()
        await until(lambda model=model: model in app.config.now.llm_routing.fallback)
    editor._move(1, -1)
    await until(lambda: app.config.now.llm_routing.fallback == ("b:two", "a:one"))
    editor.field.setEditText("nothing")
    editor.add.click()
    await until(lambda: "nothing" in lists.general.said.text())
    assert app.config.now.llm_routing.fallback == ("b:two", "a:one")


async def test_who_weighs_a_question_is_set_row_by_row_and_told(
    app: App, change: Any, words: Words, qtbot: QtBot, until: Until
) -> None:
    await app.config.set({"super_agent.enabled": True, "super_agent.model": "openai:gpt-4o"})
    page = Weighed(words, ("openai:",), now=lambda: app.config.now, change=change)
    qtbot.addWidget(page)
    assert [name for name, row in page.rows.items() if not row.isHidden()] == ["enabled"]
    page.rows["enabled"].editor.click()
    await until(lambda: app.config.now.llm_routing.classifier.enabled)
    page.refresh()
    assert not any(row.isHidden() for row in page.rows.values())
    route = Route(words, lambda: app.runner.router.explained("en"))
    qtbot.addWidget(route)

    def told() -> str:
        return " | ".join(route._weighed(route.told["classifier"]))

    await route.look()
    assert "no level has a model of its own" in told()
    for name, model in (("high", "xai:grok-4"), ("model", "groq:tiny")):
        editor: Any = page.rows[name].editor
        editor.setEditText(model)
        editor.lineEdit().editingFinished.emit()
        await until(lambda n=name, m=model: getattr(app.config.now.llm_routing.classifier, n) == m)
    await route.look()
    assert "weighed by groq:tiny. | Easy: no model of its own" in told()
    assert "Hard: xai:grok-4" in told()


async def test_the_route_says_who_stands_in_and_who_does_not(
    app: App, words: Words, qtbot: QtBot, until: Until
) -> None:
    await app.config.set(
        {
            "super_agent.enabled": True,
            "super_agent.model": "ollama:small",
            "llm_routing.fallback": ["openai:big", "practice:rules"],
        }
    )
    route = Route(words, lambda: app.runner.router.explained("en"))
    qtbot.addWidget(route)
    await route.look()
    said = " | ".join(one.text() for one in route.findChildren(QLabel))
    assert words("settings.route.first", by="your settings") in said
    assert "Not used: openai:big" in said
    assert "practice:rules" in [one.accessibleName() for one in route.findChildren(QLabel)]


async def test_people_and_quiet_hours_are_written_whole(
    app: App, change: Any, words: Words, qtbot: QtBot, until: Until
) -> None:
    page = WhatsAppPage(words, now=lambda: app.config.now, change=change)
    qtbot.addWidget(page)
    people: Any = page.people.editor
    people.add.click()
    people.rows[0].name.setText("Mamá")
    people.rows[0].name._take()
    await until(lambda: app.config.now.whatsapp.contacts)
    people.rows[0].posture.put("auto")
    people.rows[0].posture.changed.emit()
    await until(lambda: app.config.now.whatsapp.contacts[0].posture == "auto")
    page.refresh()
    assert people.rows[0].name.text() == "Mamá"
    people.rows[0].remove.click()
    await until(lambda: not app.config.now.whatsapp.contacts)
    quiet: Any = page.quiet.editor
    quiet.on.click()
    await until(lambda: app.config.now.whatsapp.quiet_hours == "23:00-07:00")


async def test_tools_without_a_question_and_the_risk(
    app: App, change: Any, words: Words, qtbot: QtBot, until: Until
) -> None:
    await app.config.set({"super_agent.allowed_tools": ["gone_tool"]})
    page = PermissionsPage(words, now=lambda: app.config.now, change=change, tools=lambda: ("run_shell",))
    qtbot.addWidget(page)
    picks: Any = page.allowed.editor
    assert list(picks.buttons) == ["gone_tool", "run_shell"]
    picks.buttons["run_shell"].click()
    await until(lambda: app.config.now.super_agent.allowed_tools == ("gone_tool", "run_shell"))
    risk: Any = page.risk.editor
    risk.click()
    await until(lambda: app.config.now.super_agent.security_risk.enabled)
    page.refresh()
    assert not page.level.isHidden()


async def test_first_steps_are_done_one_by_one(app: App, words: Words, qtbot: QtBot, until: Until) -> None:
    assert steps.facts(app).fresh
    guide = steps.guide(app, words)
    qtbot.addWidget(guide)
    assert not guide.steps["model"].done
    guide.try_it.click()
    await until(lambda: app.config.now.super_agent.model == "practice:rules")
    await until(lambda: guide.steps["model"].done)
    wanted: list[str] = []
    guide.wanted.connect(wanted.append)
    guide.telegram.click()
    assert wanted == ["settings.telegram"]
    guide.fold.open()
    await until(lambda: guide.checks.found)
    assert guide.checks.found[0].remedy


async def test_the_web_page_keeps_its_key_and_says_what_is_chosen(
    app: App, words: Words, qtbot: QtBot, until: Until, change: Any
) -> None:
    kept: list[str] = []

    async def keep(secret: str) -> None:
        kept.append(secret)

    page = WebPage(words, now=lambda: app.config.now, change=change, keep=keep)
    qtbot.addWidget(page)
    assert list(page.search.rows) == ["provider", "api_key", "base_url"]
    provider, key = page.search.rows["provider"].editor, page.search.rows["api_key"].editor
    assert isinstance(provider, Choice)
    assert isinstance(key, Secret)
    provider.put("brave")
    provider.activated.emit(0)
    await until(lambda: app.config.now.web_search.provider == "brave")
    key.line.setText("brave-key-1")
    key.changed.emit()
    await until(lambda: kept == ["brave-key-1"])
    assert app.config.now.web_search.api_key == ""
    await app.config.set({"browser.show": True})
    page.refresh()
    assert page.browser.rows["show"].editor.value() is True  # type: ignore[attr-defined]
