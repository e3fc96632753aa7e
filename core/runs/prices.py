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


class Prices:
    """The table is loaded at the first question, away from the loop."""

    def __init__(self) -> None:
        self._table: Any = None
        self._loading = asyncio.Lock()

    async def price(self, target: Target, tokens_in: int, tokens_out: int, *, free: bool = False) -> Price:
        """The price of one request. `free` is what runs on this machine."""
        if free:
            return Price(0, True)
        async with self._loading:
            if self._table is None:
                self._table = await asyncio.to_thread(_load)
        usage = self._table.Usage(input_tokens=tokens_in, output_tokens=tokens_out)
        try:
            found = self._table.calc_price(
                usage, model_ref=target.model, provider_id=_NAMES.get(target.provider, target.provider)
            )
        except LookupError:
            return Price(0, False)
        micros = (Decimal(found.total_price) * 1_000_000).to_integral_value(ROUND_CEILING)
        return Price(int(micros), True)


def _load() -> Any:
    import genai_prices

    return genai_prices
