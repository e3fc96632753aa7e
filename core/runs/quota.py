"""Accounts at their limit, and providers that cannot be reached: what is left alone for a while.

A cool-down is a row, because a restart does not refill an account. A circuit is only in memory.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from core.config import Config
from core.message import Message
from core.outbox import Outbox
from core.store import Store
from core.texts import t

OPENS_AFTER = 6  # one request with all its retries
OPEN_S = 30.0


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Cooling:
    """A model that is left alone, from when, until when, and in whose words."""

    target: str
    why: str
    since: str
    until: str


class Quota:
    """The cool-downs of a home."""

    def __init__(self, store: Store, config: Config, clock: Callable[[], datetime] = _now) -> None:
        self._store = store
        self._config = config
        self._clock = clock

    def _at(self, minutes: float = 0) -> str:
        return (self._clock() + timedelta(minutes=minutes)).isoformat(timespec="milliseconds")

    async def cooling(self) -> dict[str, Cooling]:
        """Every model that is left alone now."""
        rows = await self._store.all("select * from cooldowns where until > ?", self._at())
        return {row["target"]: Cooling(**dict(row)) for row in rows}

    async def cool(self, target: str, why: str) -> Cooling:
        """Leave a model alone; one that is already left alone keeps its window."""
        if known := (await self.cooling()).get(target):
            return known
        minutes = self._config.now.super_agent.quota_cooldown_min
        one = Cooling(target, why, self._at(), self._at(minutes))
        await self._store.run(
            "insert or replace into cooldowns (target, why, since, until) values (?, ?, ?, ?)",
            *(one.target, one.why, one.since, one.until),
        )
        return one

    async def answered(self, target: str) -> None:
        """It answers again."""
        await self._store.run("delete from cooldowns where target = ?", target)


async def tell(outbox: Outbox, one: Cooling, lang: str, *, run_id: str) -> str:
    """One line on Telegram for each model and window, however much work meets it."""
    until = datetime.fromisoformat(one.until).astimezone()
    # Without a window the day is one, so that the owner is not told at every attempt.
    window = one.since if one.until != one.since else one.since[:10]
    text = t("routing.quota_line", lang, target=one.target, until=f"{until:%H:%M}")
    message = Message(
        channel="telegram", text=text, key=f"quota:{one.target}:{window}", origin={"run_id": run_id}
    )
    return await outbox.post(message)


@dataclass(slots=True)
class _Circuit:
    failures: int = 0
    open_until: float = 0.0


@dataclass(slots=True)
class Circuits:
    """A provider that cannot be reached again and again is not asked again for a while, each on its own.

    An open circuit forbids retries, not requests: whoever asks for the first time still finds out.
    """

    clock: Callable[[], float]
    _known: dict[str, _Circuit] = field(default_factory=dict)

    def failed(self, provider: str, kind: str) -> None:
        """Only failures of the network in a row count."""
        one = self._known.setdefault(provider, _Circuit())
        if kind != "network":
            one.failures = 0
            return
        one.failures += 1
        if one.failures >= OPENS_AFTER:
            one.failures, one.open_until = 0, self.clock() + OPEN_S

    def answered(self, provider: str) -> None:
        self._known.pop(provider, None)

    def is_open(self, provider: str) -> bool:
        one = self._known.get(provider)
        return one is not None and self.clock() < one.open_until

    def opened(self) -> dict[str, float]:
        """Seconds until each open circuit closes."""
        return {
            name: round(one.open_until - self.clock(), 1)
            for name, one in self._known.items()
            if self.is_open(name)
        }
