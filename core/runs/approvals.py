"""What the owner is asked before it runs: kept on disk, answered once, by whoever answers first.

A question is a row before anybody hears of it. The run that asks waits for the row to change; a window, a chat, a
terminal change it with one update that only one of them can win. After a restart nobody waits any more: what was
open is expired then, and an old button says so.
"""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from core.errors import Invalid, NotFound, Refused
from core.events import ApprovalDecided, ApprovalRequested, Bus
from core.runs.dispatch import Approval
from core.store import Store, now
from core.texts import t

DECISIONS = ("approve", "always", "deny")
EXPIRES_S = 600.0
_STATE = {"approve": "approved", "always": "approved", "deny": "denied"}


@dataclass(frozen=True, slots=True)
class Pending:
    """An approval as it stands. `shown` is everything that will run, as it is; `choices` are the answers there are."""

    id: str
    run_id: str
    project_id: str
    channel: str
    thread: str
    agent: str
    tool: str
    effect: str
    risk: str
    why: str
    args: dict[str, Any]
    shown: str
    summary: str
    warnings: tuple[str, ...]
    cwd: str
    choices: tuple[str, ...]
    state: str
    decision: str
    decided_by: str
    note: str
    asked_at: str
    expires_at: str
    decided_at: str | None


class Approvals:
    """The questions of a home. `request` is what the runner asks with; the others are for whoever answers."""

    def __init__(
        self, store: Store, bus: Bus, *, lang: Callable[[], str] = lambda: "en", expires_s: float = EXPIRES_S
    ) -> None:
        self._store, self._bus, self._lang, self._expires_s = store, bus, lang, expires_s
        self._changed: dict[str, asyncio.Event] = {}

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Approvals"]:
        """Questions of a former process expire first: the run that asked them is gone."""
        for row in await self._store.all("select * from approvals where state = 'open'"):
            await self._expire(row["id"], "restart")
        yield self

    async def request(self, approval: Approval) -> bool:
        """Ask and wait for the answer; no answer in time is a no. A call that was allowed for good is not asked."""
        if await self._granted(approval):
            await self._write(approval, granted=True)
            return True
        changed = self._changed[approval.id] = asyncio.Event()
        why = "stopped"
        try:
            await self._write(approval, granted=False)
            self._bus.emit(
                ApprovalRequested(
                    approval_id=approval.id,
                    tool=approval.tool,
                    summary=approval.summary,
                    run_id=approval.run_id,
                    project_id=approval.project_id,
                )
            )
            async with asyncio.timeout(self._expires_s) as clock:
                await changed.wait()
        except TimeoutError:
            if not clock.expired():
                raise
            why = "time"
        finally:
            del self._changed[approval.id]
            await asyncio.shield(self._expire(approval.id, why))
        return (await self.find(approval.id)).state == "approved"

    async def open_ones(self) -> list[Pending]:
        """What waits for an answer, the oldest first."""
        rows = await self._store.all("select * from approvals where state = 'open' order by asked_at, id")
        return [_pending(row) for row in rows]

    async def recent(self, limit: int = 50) -> list[Pending]:
        """The latest ones, answered or not, newest first."""
        rows = await self._store.all("select * from approvals order by asked_at desc, id desc limit ?", limit)
        return [_pending(row) for row in rows]

    async def find(self, id: str) -> Pending:
        """One of them, however it stands."""
        row = await self._store.one("select * from approvals where id = ?", id)
        if row is None:
            raise NotFound(t("approval.none", self._lang()))
        return _pending(row)

    async def decide(self, id: str, decision: str, by: str, note: str = "") -> Pending:
        """Take an answer. The first one counts; `Refused` tells a later one how it was decided."""
        if decision not in DECISIONS:
            raise Invalid(f"The answers are {', '.join(DECISIONS)}.", fields=("decision",))
        asked = await self.find(id)
        if decision not in asked.choices:
            raise Invalid(t("approval.no_always", self._lang()), fields=("decision",))
        at = now()
        async with self._store.transaction() as db:
            cursor = await db.execute(
                "update approvals set state = ?, decision = ?, decided_by = ?, note = ?, decided_at = ?"
                " where id = ? and state = 'open' and expires_at > ?",
                (_STATE[decision], decision, by, note[:2000], at, id, at),
            )
            won = cursor.rowcount == 1
            if won and decision == "always":
                await db.execute(
                    "insert or ignore into approval_grants"
                    " select project_id, tool, grant_key, id, ?, ? from approvals where id = ?",
                    (by, at, id),
                )
        if not won:
            raise Refused(self.sentence(await self.find(id)))
        self._told(asked, decision)
        return await self.find(id)

    def sentence(self, one: Pending) -> str:
        """How an approval stands, for people."""
        key = f"expired.{one.note}" if one.state == "expired" else one.state
        if one.state == "open" and one.expires_at <= now():
            key = "expired.time"
        return t(f"approval.{key}", self._lang(), tool=one.tool, by=one.decided_by)

    async def grants(self) -> list[dict[str, Any]]:
        """What is allowed for good, where, and what was read when it was allowed."""
        rows = await self._store.all(
            "select g.approval_id as id, g.project_id, g.tool, g.grant_key = '*' as whole_tool, g.granted_by,"
            " g.granted_at, coalesce(a.shown, '') as shown from approval_grants g"
            " left join approvals a on a.id = g.approval_id order by g.project_id, g.tool, g.granted_at, g.approval_id"
        )
        return [dict(row) | {"whole_tool": bool(row["whole_tool"])} for row in rows]

    async def revoke(self, id: str) -> dict[str, Any]:
        """Ask again for what an approval allowed for good; the grant as it was."""
        found = [one for one in await self.grants() if one["id"] == id]
        if not found:
            raise NotFound(t("approval.no_grant", self._lang(), id=id[:60]))
        await self._store.run("delete from approval_grants where approval_id = ?", id)
        return found[0]

    async def _granted(self, approval: Approval) -> bool:
        if not approval.grant:
            return False
        row = await self._store.one(
            "select 1 from approval_grants where project_id = ? and tool = ? and grant_key = ?",
            *(approval.project_id, approval.tool, approval.grant),
        )
        return row is not None

    async def _write(self, approval: Approval, *, granted: bool) -> None:
        asked_at = datetime.now(UTC)
        expires_at = asked_at + timedelta(seconds=self._expires_s)
        values: dict[str, Any] = {
            "id": approval.id,
            "run_id": approval.run_id,
            "project_id": approval.project_id,
            "channel": approval.channel,
            "thread": approval.thread,
            "agent": approval.agent,
            "tool": approval.tool,
            "effect": approval.effect,
            "risk": approval.risk,
            "why": approval.why,
            "args": json.dumps(dict(approval.args), ensure_ascii=False, default=str),
            "shown": approval.shown or approval.summary,
            "summary": approval.summary,
            "warnings": json.dumps(approval.warnings, ensure_ascii=False),
            "cwd": approval.cwd,
            "digest": approval.digest,
            "grant_key": approval.grant,
            "asked_at": asked_at.isoformat(timespec="milliseconds"),
            "expires_at": expires_at.isoformat(timespec="milliseconds"),
        }
        if granted:
            values |= {"state": "approved", "decision": "always", "decided_by": "grant", "decided_at": now()}
        await self._store.run(
            f"insert into approvals ({', '.join(values)}) values ({', '.join('?' * len(values))})",
            *values.values(),
        )

    async def _expire(self, id: str, why: str) -> None:
        """Close what nobody waits for any more; a row that was answered stays as it is."""
        expired = await self._store.run(
            "update approvals set state = 'expired', decision = 'expired', note = ?, decided_at = ?"
            " where id = ? and state = 'open'",
            *(why, now(), id),
        )
        if expired:
            self._told(await self.find(id), "expired")

    def _told(self, one: Pending, decision: str) -> None:
        if waiting := self._changed.get(one.id):
            waiting.set()
        self._bus.emit(
            ApprovalDecided(
                approval_id=one.id, decision=decision, run_id=one.run_id, project_id=one.project_id
            )
        )


def _pending(row: sqlite3.Row) -> Pending:
    values = dict(row)
    grant = values.pop("grant_key")
    del values["digest"]
    values["args"] = json.loads(values["args"])
    values["warnings"] = tuple(json.loads(values["warnings"]))
    values["choices"] = DECISIONS if grant else ("approve", "deny")
    return Pending(**values)
