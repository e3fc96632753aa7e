"""`python -m bridge.simulator`: a phone to connect to, until Ctrl-C."""

import argparse
import asyncio
import sys
from contextlib import suppress

from bridge.simulator.stage import CASTS, simulated_phone


async def run(port: int, locale: str, cast: str, latency: str) -> None:
    """Serve until cancelled."""
    async with simulated_phone(phone=CASTS[cast](locale), port=port, latency=latency) as device:
        sys.stdout.write(f"{device.address}\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().create_future()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bridge.simulator", description="A simulated phone with WhatsApp."
    )
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--locale", default="es", choices=("es", "en", "pt"))
    parser.add_argument("--cast", default="small_town", choices=sorted(CASTS))
    parser.add_argument("--latency", default="none", choices=("none", "brisk", "real"))
    given = parser.parse_args()
    with suppress(KeyboardInterrupt):
        asyncio.run(run(given.port, given.locale, given.cast, given.latency))


if __name__ == "__main__":
    main()
