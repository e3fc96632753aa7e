"""What can be wrong with a home, looked at in order; each failure says its remedy. The window and `apx doctor` show it.

Other parts add what they know (a phone, a bot) through `Checks` in the app's services.
"""

import json
import os
import shutil
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core.app import App
from core.channels.telegram_desk import status
from core.mcp_servers import McpServers
from core.paths import Home
from core.texts import t
from core.tools import chromium, runtimes
from core.watchdog import Watchdog

ROOM_BYTES = 100 * 1024 * 1024


class Level(StrEnum):
    """How it stands: good, good enough, or not."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `remedy` is what to do, empty when there is nothing to do."""

    name: str
    level: Level
    text: str
    remedy: str = ""
    fixed: bool = False


class Checks:
    """The examinations that parts add: each is called with the app and answers what it found."""

    def __init__(self) -> None:
        self.more: list[Callable[[App], Awaitable[list[Check]]]] = []


def files(home: Home, lang: str, *, fix: bool = False) -> list[Check]:
    """The home as files, without opening it: who may read it, whether there is room, what a dead process left."""
    if not home.root.is_dir():
        return [
            Check(
                "home", Level.WARN, t("doctor.home.none", lang, path=home.root), t("doctor.home.make", lang)
            )
        ]
    found = [_private(home, lang, fix), _room(home, lang)]
    if (left := _left_behind(home, lang, fix)) is not None:
        found.append(left)
    return found


def _private(home: Home, lang: str, fix: bool) -> Check:
    secret = (home.root, home.config, home.identity, home.token, home.vault_key, home.db, home.daemon)
    wide = [path for path in secret if path.exists() and path.stat().st_mode & 0o077]
    if not wide:
        return Check("private", Level.OK, t("doctor.private.ok", lang))
    names = ", ".join(path.name for path in wide)
    if not fix:
        return Check(
            "private", Level.FAIL, t("doctor.private.wide", lang, names=names), t("doctor.fix", lang)
        )
    for path in wide:
        path.chmod(0o700 if path.is_dir() else 0o600)
    return Check("private", Level.OK, t("doctor.private.fixed", lang, names=names), fixed=True)


def _room(home: Home, lang: str) -> Check:
    free = shutil.disk_usage(home.root).free
    megabytes = free // 1024 // 1024
    if free < ROOM_BYTES:
        return Check(
            "room", Level.FAIL, t("doctor.room.little", lang, mb=megabytes), t("doctor.room.make", lang)
        )
    if not os.access(home.root, os.W_OK):
        return Check(
            "room", Level.FAIL, t("doctor.room.closed", lang, path=home.root), t("doctor.room.open", lang)
        )
    return Check("room", Level.OK, t("doctor.room.ok", lang))


def _left_behind(home: Home, lang: str, fix: bool) -> Check | None:
    """A daemon.json whose process is gone: harmless, and confusing to whoever reads it."""
    if not home.daemon.exists():
        return None
    with suppress(OSError, ValueError, KeyError, TypeError):
        os.kill(int(json.loads(home.daemon.read_text(encoding="utf-8"))["pid"]), 0)
        return None
    if not fix:
        return Check("daemon_json", Level.WARN, t("doctor.left.there", lang), t("doctor.fix", lang))
    home.daemon.unlink(missing_ok=True)
    return Check("daemon_json", Level.OK, t("doctor.left.gone", lang), fixed=True)


async def examine(app: App) -> list[Check]:
    """The living app: its configuration, its database, its model, its channel, and what the parts add."""
    lang = app.identity.language
    found = [
        _configuration(app, lang),
        await _database(app, lang),
        await _model(app, lang),
        *await _telegram(app, lang),
        *_loop(app, lang),
        *_mcp(app, lang),
        _runtimes(lang),
        _browser(app, lang),
        _search(app, lang),
    ]
    checks = app.services.get(Checks)
    if isinstance(checks, Checks):
        for look in checks.more:
            found.extend(await look(app))
    return found


def _configuration(app: App, lang: str) -> Check:
    if app.config.problem:
        return Check(
            "config", Level.FAIL, app.config.problem, t("doctor.config.mend", lang, path=app.home.config)
        )
    return Check("config", Level.OK, t("doctor.config.ok", lang))


async def _database(app: App, lang: str) -> Check:
    row = await app.store.one("pragma quick_check(1)")
    said = str(row[0]) if row else ""
    if said != "ok":
        return Check(
            "database", Level.FAIL, t("doctor.db.broken", lang, why=said), t("doctor.db.restore", lang)
        )
    return Check("database", Level.OK, t("doctor.db.ok", lang))


async def _model(app: App, lang: str) -> Check:
    agent = app.config.now.super_agent
    if not agent.model:
        return Check("model", Level.WARN, t("doctor.model.none", lang), t("doctor.model.set", lang))
    if not agent.enabled:
        return Check(
            "model", Level.WARN, t("doctor.model.off", lang, model=agent.model), t("doctor.model.on", lang)
        )
    return Check("model", Level.OK, t("doctor.model.ok", lang, model=agent.model))


async def _telegram(app: App, lang: str) -> list[Check]:
    """Set up, and how each bot that is connected stands; what is wrong comes with what to do."""
    telegram = app.config.now.telegram
    ready = telegram.enabled and any(
        one.bot_token and (one.chat_id or one.owner_user_id) for one in telegram.channels
    )
    bots = [one for one in await status(app) if one["state"] not in {"off", "starting"}]
    broken = [
        Check(
            "telegram",
            Level.FAIL if one["state"] in {"failed", "unauthorized", "conflict"} else Level.WARN,
            t(f"doctor.telegram.{one['state']}", lang, bot=one["bot"] or one["channel"]),
            one["detail"] if one["state"] != "unauthorized" else t("doctor.telegram.set", lang),
        )
        for one in bots
        if one["state"] != "online"
    ]
    if broken:
        return broken
    if not ready:
        return [
            Check("telegram", Level.WARN, t("doctor.telegram.none", lang), t("doctor.telegram.set", lang))
        ]
    answering = [t("doctor.telegram.online", lang, bot=one["bot"], age=f"{one['age_s']:.0f}") for one in bots]
    groups = [
        Check("telegram_groups", Level.OK, t(f"doctor.telegram.{_heard(one)}", lang, bot=one["bot"]))
        for one in bots
    ]
    return [Check("telegram", Level.OK, " ".join(answering) or t("doctor.telegram.ok", lang)), *groups]


def _heard(bot: dict[str, Any]) -> str:
    return "groups_all" if bot["reads_groups"] else "groups_mentions"


def _loop(app: App, lang: str) -> list[Check]:
    """Whether the program stood still; nobody asks when it is not watched."""
    watch = app.services.get(Watchdog)
    if not isinstance(watch, Watchdog) or watch.last is None:
        return []
    last = watch.last
    text = t("doctor.stall", lang, at=last.at[11:19], seconds=f"{last.seconds:.0f}")
    return [Check("loop", Level.WARN, text, t("doctor.stall.where", lang, where=last.where))]


def _mcp(app: App, lang: str) -> list[Check]:
    """What is known of the servers; none is started for this."""
    servers = app.services.get(McpServers)
    if not isinstance(servers, McpServers) or not servers.listed():
        return []
    failed = [
        Check(
            "mcp",
            Level.WARN,
            t("doctor.mcp.failed", lang, name=name, why=why),
            t("doctor.mcp.check", lang, name=name),
        )
        for name, why in servers.problems.items()
    ]
    return failed or [Check("mcp", Level.OK, t("doctor.mcp.ok", lang, n=len(servers.listed())))]


def _runtimes(lang: str) -> Check:
    names = ", ".join(one.name for one, path in runtimes.found() if path)
    text = t("doctor.runtimes.ok", lang, names=names) if names else t("doctor.runtimes.none", lang)
    return Check("runtimes", Level.OK, text)


def _browser(app: App, lang: str) -> Check:
    wanted = app.config.now.browser.program
    program = chromium.located(wanted)
    if program:
        return Check("browser", Level.OK, t("doctor.browser.ok", lang, program=program))
    text = t("doctor.browser.gone", lang, program=wanted) if wanted else t("doctor.browser.none", lang)
    return Check("browser", Level.WARN, text, t("doctor.browser.install", lang))


def _search(app: App, lang: str) -> Check:
    search = app.config.now.web_search
    missing = {"brave": not search.api_key, "searxng": not search.base_url}.get(search.provider, False)
    if missing:
        what = "key" if search.provider == "brave" else "address"
        return Check("web_search", Level.WARN, t(f"doctor.search.{what}", lang), t("doctor.search.set", lang))
    name = t(f"settings.web_search.provider.{search.provider}", lang)
    return Check("web_search", Level.OK, t("doctor.search.ok", lang, provider=name))
