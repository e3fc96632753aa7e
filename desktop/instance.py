"""One window for each home: a second start asks the first to show itself, and ends."""

import hashlib
import os
import socket
import tempfile
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from core.paths import Home

WAIT_S = 0.8


def _address(home: Home) -> str:
    folder = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    key = hashlib.sha256(str(home.root).encode()).hexdigest()[:20]
    return str(Path(folder) / f"apx-desktop-{key}")


def ask_to_show(home: Home) -> bool:
    """Whether a window of this home runs already; it then comes to the front.

    Asked before anything is painted, so with a plain socket: Qt's network module takes its time to load.
    """
    with socket.socket(socket.AF_UNIX) as caller:
        caller.settimeout(WAIT_S)
        try:
            caller.connect(_address(home))
        except OSError:
            return False
    return True


class Doorbell(QObject):
    """Hears later starts of the same home."""

    rung = Signal()

    def __init__(self, home: Home, parent: QObject | None = None) -> None:
        super().__init__(parent)
        from PySide6.QtNetwork import QLocalServer

        self._address = _address(home)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._answer)

    def open(self) -> bool:
        """Listen; a socket that a crash has left behind is replaced (nobody answered on it a moment ago)."""
        self._server.removeServer(self._address)
        return self._server.listen(self._address)

    def close(self) -> None:
        self._server.close()

    def _answer(self) -> None:
        while (caller := self._server.nextPendingConnection()) is not None:
            caller.disconnected.connect(caller.deleteLater)
            self.rung.emit()
