"""Cyclic garbage of the window is collected in the thread that paints, a little at a time.

Python collects in whichever thread happens to allocate. A widget that is part of a cycle would then be destroyed
in the database's or a file's thread, and Qt allows that to no widget and to nothing with a timer.
"""

import gc

from PySide6.QtCore import QObject, QTimer

LOOK_MS = 500
STARTING = 40  # looks at the beginning


class Collector(QObject):
    """While it is open, collections happen only here: of each generation when Python's own thresholds say so.

    What is made at the start stays to the end. It is set apart: looking through all of it takes a fifth of a second,
    and somebody would notice.
    """

    def __init__(self) -> None:
        super().__init__()
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self._look)
        self._enabled = True
        self._starting = STARTING

    def open(self) -> None:
        self._enabled = gc.isenabled()
        gc.disable()
        self._starting = STARTING
        self._timer.start()

    def close(self) -> None:
        """Python collects again as it did before."""
        self._timer.stop()
        gc.unfreeze()
        if self._enabled:
            gc.enable()

    def _look(self) -> None:
        if self._starting:
            self._starting -= 1
            gc.freeze()
        else:
            collect()


def collect() -> None:
    """Collect the oldest generation whose threshold is passed, if there is one."""
    counts, thresholds = gc.get_count(), gc.get_threshold()
    for generation in (2, 1, 0):
        if counts[generation] > thresholds[generation]:
            gc.collect(generation)
            return
