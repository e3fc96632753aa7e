"""What the activity screen reads: the runs with their first words, found by state, channel and text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from core.runs.peers import SUPER

if TYPE_CHECKING:
    from core.store import Store

STATES: Mapping[str, tuple[str, ...]] = {
    "": (),
    "running": ("running",),
    "completed": ("completed",),
    "trouble": ("failed", "lost", "budget_exceeded"),
    "cancelled": ("cancelled",),
}


@dataclass(frozen=True, slots=True)
class Ran:
    """A run as the list shows it; `asked` is what it began with, empty where nothing is kept of that.

    `about` is the chat that a turn of a round decided on, `agent` who answered, empty for the assistant itself.
    """

    id: str
    parent_id: str
    project_id: str
    channel: str
    agent: str
    status: str
    asked: str
    about: str
    text: str
    target: str
    selected_by: str
    error_kind: str
    tokens_in: int
    tokens_out: int
    cost_micros: int
    priced: bool
    started_at: datetime
    closed_at: datetime | None

    @property
    def seconds(self) -> float | None:
        if self.closed_at is None:
            return None
        return (self.closed_at - self.started_at).total_seconds()


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs to show. `text` is looked for in question, answer, chat and id."""

    state: str = ""
    channel: str = ""
    text: str = ""
    limit: int = 60


@dataclass(frozen=True, slots=True)
class Inside:
    """What happened in one run, in order, and its attempts at a model."""

    lines: Sequence[Mapping[str, Any]]
    attempts: Mapping[str, Any]


async def runs(store: "Store", wanted: Wanted) -> list[Ran]:
    """The latest ones, newest first."""
    where, values = ["1"], list[Any]()
    if states := STATES[wanted.state]:
        where.append(f"r.status in ({', '.join('?' * len(states))})")
        values += states
    if wanted.channel:
        where.append("r.channel = ?")
        values.append(wanted.channel)
    if wanted.text:
        like = "%" + "".join(f"\\{one}" if one in "%_\\" else one for one in wanted.text) + "%"
        where.append(
            "(r.id = ? or r.text like ? escape '\\' or exists (select 1 from messages m"
            " where m.run_id = r.id and m.text like ? escape '\\')"
            " or exists (select 1 from conversations c where r.thread = 'whatsapp:' || c.id"
            " and c.title like ? escape '\\'))"
        )
        values += [wanted.text, like, like, like]
    rows = await store.all(
        "select r.*, coalesce((select m.text from messages m where m.run_id = r.id and m.role = 'user'"
        " order by m.id limit 1), (select json_extract(s.body, '$.text') from run_steps s where s.run_id = r.id"
        " and s.kind = 'asked'), '') as asked, coalesce((select c.title from conversations c"
        " where r.thread = 'whatsapp:' || c.id), '') as about"
        f" from runs r where {' and '.join(where)}"
        " order by r.started_at desc, r.id desc limit ?",
        *values,
        wanted.limit,
    )
    return [_ran(row) for row in rows]


async def channels(store: "Store") -> list[str]:
    """Those that runs came from."""
    return [row["channel"] for row in await store.all("select distinct channel from runs order by channel")]


def _ran(row: Any) -> Ran:
    return Ran(
        id=row["id"],
        parent_id=row["parent_id"] or "",
        project_id=row["project_id"],
        channel=row["channel"],
        agent="" if row["answerer"] == SUPER else row["answerer"],
        status=row["status"],
        asked=row["asked"],
        about=row["about"],
        text=row["text"],
        target=row["target"],
        selected_by=row["selected_by"],
        error_kind=row["error_kind"],
        tokens_in=row["tokens_in"],
        tokens_out=row["tokens_out"],
        cost_micros=row["cost_micros"],
        priced=bool(row["priced"]),
        started_at=datetime.fromisoformat(row["started_at"]),
        closed_at=datetime.fromisoformat(row["closed_at"]) if row["closed_at"] else None,
    )
