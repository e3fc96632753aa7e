"""What was spent, on what, and the caps that are looked at before a request and not after it."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

from core.config import Config
from core.errors import BudgetSpent, Invalid
from core.runs import history
from core.runs.prices import Prices
from core.runs.request import Reply, Request
from core.runs.targets import Target
from core.runs.turn import Run
from core.settings import Budgets
from core.store import Statement, Store, now
from core.texts import t

BY = ("day", "agent", "channel", "model")
UNATTENDED_SHARE = 0.9  # of a day's or a month's cap; what is left is kept for the owner's own questions
ANSWER_TOKENS = 1000  # of a request that names no limit
LETTERS_PER_TOKEN = 4
PICTURE_TOKENS = 1500

_TREE = """with recursive up (id, parent_id) as (
    select id, parent_id from runs where id = ?
    union all select runs.id, runs.parent_id from runs join up on runs.id = up.parent_id
), down (id) as (
    select id from up where parent_id is null
    union all select runs.id from runs join down on runs.parent_id = down.id
)
select coalesce(sum(cost_micros), 0) as spent from spend where run_id in (select id from down)"""

_SINCE = "select coalesce(sum(cost_micros), 0) as spent from spend where at >= ?"

GROUPS = {
    "agent": "case when runs.answerer = 'super_agent' then '' when runs.answerer != '' then runs.answerer"
    " when runs.sender in ('owner', 'third_party', 'phone') then '' else runs.sender end",
    "channel": "runs.channel",
    "model": "spend.target",
    "day": "substr(spend.at, 1, 15)",  # ten minutes, so that a day can begin at any time zone's midnight
}


@dataclass(frozen=True, slots=True)
class Spent:
    """A bar of a chart. `floor` says that some of it has no known price: it is at least this."""

    key: str
    cost_micros: int
    tokens_in: int
    tokens_out: int
    requests: int
    floor: bool


@dataclass(frozen=True, slots=True)
class Cap:
    """A limit in force and what is spent of it."""

    name: str
    limit_micros: int
    spent_micros: int


def begins(period: str, at: datetime, zone: tzinfo | None) -> str:
    """When the day or month of a moment began where the owner lives, as it is stored."""
    local = at.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    start = local.replace(day=1) if period == "month" else local
    if zone is None:  # the machine's own zone may have had another offset then
        start = start.replace(tzinfo=None).astimezone()
    return start.astimezone(UTC).isoformat(timespec="milliseconds")


def tokens(request: Request) -> int:
    """About how many tokens a request holds."""
    letters = sum(len(str(one)) for one in request.tools)
    pictures = 0
    for message in request.messages:
        content = message.get("content") or ""
        for part in content if isinstance(content, list) else [{"text": content}]:
            letters += len(str(part.get("text", "")))
            pictures += part.get("type") == "image_url"
    return letters // LETTERS_PER_TOKEN + pictures * PICTURE_TOKENS


class Spending:
    """The ledger of money. Requests that are on their way count with what they may cost."""

    def __init__(
        self,
        store: Store,
        config: Config,
        zone: Callable[[], tzinfo | None] = lambda: None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store = store
        self._config = config
        self._zone = zone
        self._clock = clock
        self._prices = Prices()
        self._reserved = 0

    @property
    def zone(self) -> tzinfo | None:
        """Whose midnight a day begins at; None is the machine's."""
        return self._zone()

    @asynccontextmanager
    async def allowed(
        self, run: Run, request: Request, target: Target, *, free: bool, unattended: bool, lang: str
    ) -> AsyncIterator[None]:
        """`BudgetSpent` when this request could go over a cap; nothing has been asked of the model then."""
        budgets = self._config.now.budgets
        if free or (budgets.run_usd is None and budgets.day_usd is None and budgets.month_usd is None):
            yield
            return
        answer = request.max_tokens or ANSWER_TOKENS
        cost = (await self._prices.price(target, tokens(request), answer)).micros
        caps = await self.caps(budgets, run_id=run.id)
        # From here to the reservation nothing waits, so that two requests cannot both take the last of it.
        for cap in caps:
            share = UNATTENDED_SHARE if unattended and cap.name != "run" else 1.0
            would = cap.spent_micros + self._reserved + cost
            full = cap.spent_micros + self._reserved >= cap.limit_micros * share
            if full or would > cap.limit_micros * share:
                limit = f"{cap.limit_micros / 1_000_000:.2f}"
                spent = f"{cap.spent_micros / 1_000_000:.2f}"
                key = f"spending.{cap.name}" + (".unattended" if share < 1 else "")
                raise BudgetSpent(t(key, lang, limit=limit, spent=spent))
        self._reserved += cost
        try:
            yield
        finally:
            self._reserved -= cost

    async def caps(self, budgets: Budgets | None = None, *, run_id: str | None = None) -> list[Cap]:
        """The caps that are set, with what is spent of each."""
        budgets = budgets or self._config.now.budgets
        limits: list[tuple[str, float]] = []
        sums: list[Statement] = []
        if budgets.run_usd is not None and run_id is not None:
            limits.append(("run", budgets.run_usd))
            sums.append((_TREE, (run_id,)))
        for name, limit in (("day", budgets.day_usd), ("month", budgets.month_usd)):
            if limit is not None:
                limits.append((name, limit))
                sums.append((_SINCE, (begins(name, self._clock(), self._zone()),)))
        answers = await self._store.several(*sums) if sums else []
        return [
            Cap(name, _micros(limit), rows[0]["spent"])
            for (name, limit), rows in zip(limits, answers, strict=True)
        ]

    async def cost(
        self,
        run: Run,
        target: Target,
        request: Request,
        reply: Reply,
        *,
        free: bool,
        step: Mapping[str, Any] | None = None,
    ) -> None:
        """Add what a reply cost to its run; a provider that counts no tokens leaves an estimate, marked as such.

        `step` is the reply's own record: an answer and its cost are kept together or not at all.
        """
        counted = bool(reply.tokens_in or reply.tokens_out)
        written = sum(len(call.args_json) for call in reply.calls) + len(reply.text)
        into, out = (
            (reply.tokens_in, reply.tokens_out)
            if counted
            else (tokens(request), written // LETTERS_PER_TOKEN)
        )
        price = await self._prices.price(target, into, out, free=free)
        known = price.known and (counted or free)
        run.cost_micros += price.micros
        run.priced = run.priced and known
        answered: list[Statement] = []
        if step is not None:
            answered.append((history.STEP, history.step_values(run.id, "reply", step)))
        await self._store.together(
            *answered,
            (
                "insert into spend (run_id, at, target, purpose, tokens_in, tokens_out, cost_micros, priced)"
                " values (?, ?, ?, ?, ?, ?, ?, ?)",
                (run.id, now(), str(target), request.purpose, into, out, price.micros, int(known)),
            ),
            (
                "update runs set cost_micros = ?, priced = ? where id = ?",
                (run.cost_micros, int(run.priced), run.id),
            ),
        )


def _micros(dollars: float) -> int:
    return round(dollars * 1_000_000)


async def spend(
    store: Store, *, by: str, since: datetime | None = None, zone: tzinfo | None = UTC
) -> list[Spent]:
    """What was spent since a moment, by day (of `zone`), agent, channel or model; days in order, the rest by cost."""
    if by not in BY:
        raise Invalid(f"Spending is shown by {', '.join(BY)}, not by {by[:40]!r}.", fields=("by",))
    rows = await store.all(
        f"select {GROUPS[by]} as name, sum(spend.cost_micros) as cost, sum(spend.tokens_in) as tokens_in,"
        " sum(spend.tokens_out) as tokens_out, count(*) as requests, min(spend.priced) as priced"
        " from spend join runs on runs.id = spend.run_id where spend.at >= ? group by name",
        since.astimezone(UTC).isoformat(timespec="milliseconds") if since else "",
    )
    sums: dict[str, list[Any]] = {}
    for row in rows:
        key = row["name"] if by != "day" else _day(row["name"], zone)
        one = sums.setdefault(key, [0, 0, 0, 0, False])
        for at, name in enumerate(("cost", "tokens_in", "tokens_out", "requests")):
            one[at] += row[name]
        one[4] = one[4] or not row["priced"]
    spent = [Spent(key, *values) for key, values in sums.items()]
    return sorted(spent, key=lambda one: one.key if by == "day" else (-one.cost_micros, one.key))


def _day(ten_minutes: str, zone: tzinfo | None) -> str:
    return f"{datetime.fromisoformat(f'{ten_minutes}0:00+00:00').astimezone(zone):%Y-%m-%d}"
