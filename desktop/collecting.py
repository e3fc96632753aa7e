"""Cyclic garbage of the window is collected in the thread that paints.

Python collects in whichever thread happens to allocate. A widget that is part of a cycle would then be destroyed
in the database's or a file's thread, and Qt allows that to no widget and to nothing with a timer.
"""

import gc

from PySide6.QtCore import QObject, QTimer

LOOK_MS = 1_000


class Collector(QObject):
    """While it is open, collections happen only here: of each generation when Python's own thresholds say so."""

    def __init__(self) -> None:
        super().__init__()
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(collect)
        self._enabled = True

    def open(self) -> None:
        self._enabled = gc.isenabled()
        gc.disable()
        self._timer.start()

    def close(self) -> None:
        """Python collects again as it did before."""
        self._timer.stop()
        if self._enabled:
            gc.enable()


def collect() -> None:
    """Collect the oldest generation whose threshold is passed, if there is one."""
    counts, thresholds = gc.get_count(), gc.get_threshold()
    for generation in (2, 1, 0):
        if counts[generation] > thresholds[generation]:
            gc.collect(generation)
            return
