"""Thirty days of spending of one open app, as its owner's midnight parts them."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from core.runs.spending import begins
from desktop import spent
from desktop.spent import Limit, Slice, Spent

if TYPE_CHECKING:
    from core.app import App

DAYS = 30


class Accounts:
    """Reads; keeps nothing."""

    def __init__(self, app: "App") -> None:
        self._app = app

    async def read(self, split: str) -> Spent:
        """The days, and today and this month against their caps."""
        zone = self._app.runner.spending.zone
        now = datetime.now(UTC)
        today = now.astimezone(zone).date()
        days = tuple((today - timedelta(days=back)).isoformat() for back in reversed(range(DAYS)))
        month = datetime.fromisoformat(begins("month", now, zone))
        first = datetime.fromisoformat(begins("day", now - timedelta(days=DAYS - 1), zone))
        found = await spent.slices(self._app.store, split, min(month, first), zone)
        budgets = self._app.config.now.budgets
        of_month = [one for one in found if one.day >= f"{today:%Y-%m}-01"]
        of_day = [one for one in of_month if one.day == today.isoformat()]
        limits = (
            _limit("day", budgets.day_usd, of_day),
            _limit("month", budgets.month_usd, of_month),
        )
        return Spent(days, tuple(one for one in found if one.day in days), limits)


def _limit(period: str, usd: float | None, parts: list[Slice]) -> Limit:
    limit = None if usd is None else round(usd * 1_000_000)
    return Limit(period, limit, sum(one.cost_micros for one in parts), any(one.floor for one in parts))
