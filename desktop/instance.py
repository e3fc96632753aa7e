"""One window for each home: a second start asks the first to show itself, and ends."""

import hashlib
import tempfile
from pathlib import Path

from PySide6.QtCore import QObject, QStandardPaths, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from core.paths import Home

WAIT_MS = 800


def _address(home: Home) -> str:
    folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.RuntimeLocation)
    key = hashlib.sha256(str(home.root).encode()).hexdigest()[:20]
    return str(Path(folder or tempfile.gettempdir()) / f"apx-desktop-{key}")


def ask_to_show(home: Home) -> bool:
    """Whether a window of this home runs already; it then comes to the front."""
    socket = QLocalSocket()
    socket.connectToServer(_address(home))
    if not socket.waitForConnected(WAIT_MS):
        return False
    socket.write(b"show\n")
    socket.waitForBytesWritten(WAIT_MS)
    socket.disconnectFromServer()
    return True


class Doorbell(QObject):
    """Hears later starts of the same home."""

    rung = Signal()

    def __init__(self, home: Home, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._address = _address(home)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._answer)

    def open(self) -> bool:
        """Listen; a socket that a crash has left behind is replaced (nobody answered on it a moment ago)."""
        QLocalServer.removeServer(self._address)
        return self._server.listen(self._address)

    def close(self) -> None:
        self._server.close()

    def _answer(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.disconnected.connect(socket.deleteLater)
            self.rung.emit()
