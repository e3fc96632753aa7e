"""What the spending page reads: what every day cost, apart by model, agent or channel."""

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from core.runs.spending import GROUPS

if TYPE_CHECKING:
    from core.store import Store

SPLITS = ("model", "agent", "channel")


@dataclass(frozen=True, slots=True)
class Slice:
    """A day's part of one model, agent (empty: the assistant) or channel; `floor`: some of it has no known price."""

    day: str  # 2026-01-31
    key: str
    cost_micros: int
    floor: bool


@dataclass(frozen=True, slots=True)
class Limit:
    """A cap and what is spent of it; without a limit only what is spent."""

    period: str  # day or month
    limit_micros: int | None
    spent_micros: int
    floor: bool


@dataclass(frozen=True, slots=True)
class Spent:
    """Thirty days of spending, and today and this month against their caps."""

    days: tuple[str, ...]
    slices: tuple[Slice, ...]
    limits: tuple[Limit, ...]


async def slices(store: "Store", split: str, since: datetime, zone: tzinfo | None) -> list[Slice]:
    """Every day since a moment; a day begins at midnight of `zone`, None being this machine's."""
    rows = await store.all(
        # Ten minutes at a time, so that a day can begin at any time zone's midnight.
        f"select substr(spend.at, 1, 15) as tens, {GROUPS[split]} as name, sum(spend.cost_micros) as cost,"
        " min(spend.priced) as priced from spend join runs on runs.id = spend.run_id"
        " where spend.at >= ? group by tens, name order by tens",
        since.astimezone(UTC).isoformat(timespec="milliseconds"),
    )
    sums: dict[tuple[str, str], tuple[int, bool]] = {}
    for row in rows:
        moment = datetime.fromisoformat(f"{row['tens']}0:00+00:00").astimezone(zone)
        key = (f"{moment:%Y-%m-%d}", row["name"])
        cost, floor = sums.get(key, (0, False))
        sums[key] = (cost + row["cost"], floor or not row["priced"])
    return [Slice(day, name, cost, floor) for (day, name), (cost, floor) in sums.items()]
