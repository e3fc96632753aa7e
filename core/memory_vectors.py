"""Facts by their meaning: a vector each, kept beside the fact, compared without a library.

The signs of a vector's numbers are one long integer, and two of those are compared in well under a microsecond.
They find the few that are then measured exactly, so that thousands of facts hold nobody up.
"""

import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt

from core.errors import Invalid
from core.store import Store

MOST = 5000  # the newest facts; an older one is found by its words
MEASURED = 40
FAR = 0.25  # what is less alike has nothing to do with it, whatever the model
FALLS_TO = 0.8  # of the closest one's likeness


@dataclass(frozen=True, slots=True)
class Unread:
    """A fact without a vector, and the run that it is from."""

    id: int
    text: str
    run_id: str | None
    target: str


def packed(numbers: Sequence[float]) -> bytes:
    """A vector of length one as it is kept."""
    length = sqrt(sum(one * one for one in numbers))
    if not numbers or not 0 < length < float("inf"):
        raise Invalid("The model gave a vector without a direction.")
    values = array("f", (one / length for one in numbers))
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def unpacked(vector: bytes) -> "array[float]":
    values = array("f")
    values.frombytes(vector)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def signs(vector: bytes) -> int:
    """One bit for each number of a vector: whether it is negative."""
    # The sign is the highest bit of the last byte of each number.
    return int("".join("1" if byte & 0x80 else "0" for byte in vector[3::4]) or "0", 2)


def likeness(one: bytes, other: bytes) -> float:
    """The cosine of two kept vectors; of different sizes, none."""
    if len(one) != len(other):
        return 0.0
    return sum(a * b for a, b in zip(unpacked(one), unpacked(other), strict=True))


class Vectors:
    """The vectors of a home, of one model at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._model = ""
        self._signs: dict[int, int] = {}

    async def missing(self, model: str) -> list[Unread]:
        """The newest facts that have no vector of this model, after those of another model were let go."""
        await self._store.together(
            ("delete from fact_vectors where model != ?", (model,)),
            (
                "delete from fact_vectors where fact_id in (select id from facts where forgotten_at is not null)",
                (),
            ),
        )
        await self._load(model)
        rows = await self._store.all(
            "select facts.id, facts.text, facts.run_id, coalesce(runs.target, '') as target from facts"
            " left join runs on runs.id = facts.run_id where forgotten_at is null and facts.id not in"
            " (select fact_id from fact_vectors) order by facts.id desc limit ?",
            MOST,
        )
        return [Unread(**dict(row)) for row in rows[: max(0, MOST - len(self._signs))]]

    async def count(self, model: str) -> int:
        """How many facts have a vector of this model."""
        row = await self._store.one("select count(*) as many from fact_vectors where model = ?", model)
        return int(row["many"]) if row else 0

    async def keep(self, model: str, found: Iterable[tuple[int, Sequence[float]]]) -> None:
        """The vectors of some facts, all of them or none."""
        rows = [(id, packed(numbers)) for id, numbers in found]
        await self._store.together(
            *(
                (
                    "insert or replace into fact_vectors (fact_id, model, vector) values (?, ?, ?)",
                    (id, model, vector),
                )
                for id, vector in rows
            )
        )
        if model == self._model:
            self._signs |= {id: signs(vector) for id, vector in rows}

    async def nearest(self, model: str, numbers: Sequence[float], *, limit: int) -> list[tuple[int, float]]:
        """The facts closest in meaning, each with its likeness, the closest first."""
        await self._load(model)
        asked = packed(numbers)
        mine = signs(asked)
        close = sorted(self._signs, key=lambda id: (self._signs[id] ^ mine).bit_count())[:MEASURED]
        rows = await self._store.all(
            f"select fact_id, vector from fact_vectors where fact_id in ({','.join('?' * len(close))})",
            *close,
        )
        alike = sorted(
            ((row["fact_id"], likeness(asked, row["vector"])) for row in rows), key=lambda one: -one[1]
        )
        best = alike[0][1] if alike else 0.0
        return [one for one in alike[:limit] if one[1] >= max(FAR, best * FALLS_TO)]

    async def _load(self, model: str) -> None:
        if model == self._model:
            rows = await self._store.all("select fact_id from fact_vectors where model = ?", model)
            here = {row["fact_id"] for row in rows}
            self._signs = {id: bits for id, bits in self._signs.items() if id in here}
            return
        rows = await self._store.all("select fact_id, vector from fact_vectors where model = ?", model)
        self._model, self._signs = model, {row["fact_id"]: signs(row["vector"]) for row in rows}
