"""What a request costs, out of a table that comes with the product: nothing is looked up over the network.

A model that is not in the table costs nothing here and is marked, so that every sum with it says "at least".
"""

import asyncio
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any

from core.runs.targets import Target

# What the configuration calls a provider, and what the table calls it.
_NAMES = {
    "bedrock": "aws",
    "fireworks": "fireworks",
    "fireworks_ai": "fireworks",
    "gemini": "google",
    "moonshot": "moonshotai",
    "together_ai": "together",
    "vertex_ai": "google",
    "xai": "x-ai",
}


@dataclass(frozen=True, slots=True)
class Price:
    """Millionths of a US dollar; not `known` means that it is a floor."""

    micros: int
    known: bool


@dataclass(frozen=True, slots=True)
class _Rate:
    """Micros a token."""

    tokens_in: Decimal
    tokens_out: Decimal


class Prices:
    """The table is loaded at the first question, away from the loop."""

    def __init__(self) -> None:
        self._table: Any = None
        self._rates: dict[Target, _Rate] = {}
        self._loading = asyncio.Lock()

    async def price(self, target: Target, tokens_in: int, tokens_out: int, *, free: bool = False) -> Price:
        """The price of one request. `free` is what runs on this machine."""
        if free:
            return Price(0, True)
        async with self._loading:
            if self._table is None:
                self._table = await asyncio.to_thread(_load)
        if rate := self._rates.get(target):
            return Price(_whole(tokens_in * rate.tokens_in + tokens_out * rate.tokens_out), True)
        usage = self._table.Usage(input_tokens=tokens_in, output_tokens=tokens_out)
        try:
            found = self._table.calc_price(
                usage, model_ref=target.model, provider_id=_NAMES.get(target.provider, target.provider)
            )
        except LookupError:
            return Price(0, False)
        if rate := _rate(found):
            self._rates[target] = rate
        return Price(_whole(Decimal(found.total_price) * 1_000_000), True)


def _whole(micros: Decimal) -> int:
    return int(micros.to_integral_value(ROUND_CEILING))


def _rate(found: Any) -> _Rate | None:
    """The two prices of a model that has the same ones for everybody, at any hour and length; else None."""
    prices = found.model_price
    into, out, each = prices.input_mtok, prices.output_mtok, getattr(prices, "requests_kcount", None)
    if (
        found.model.prices is prices
        and each is None
        and isinstance(into, Decimal)
        and isinstance(out, Decimal)
    ):
        return _Rate(into, out)  # dollars a million tokens are micros a token
    return None


def _load() -> Any:
    import genai_prices

    # The library reads its table at the first price, and that would be on the loop.
    genai_prices.calc_price(genai_prices.Usage(input_tokens=1), model_ref="gpt-4o", provider_id="openai")
    return genai_prices
