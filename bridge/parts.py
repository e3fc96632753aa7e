"""The parts of every program, in the order in which they need one another; the API comes after them."""

from collections.abc import Sequence

from core.app import Part


def parts() -> Sequence[Part]:
    """Channels first, so that what the bridge reports can leave at once."""
    return ()
