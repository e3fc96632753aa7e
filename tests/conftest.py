"""What every test shares: the loop is asyncio's, and nobody's real home is ever touched."""

import gc
import os
from collections.abc import Iterator

import pytest

os.environ.setdefault(
    "QT_QPA_PLATFORM", "offscreen"
)  # before Qt is imported; a display of one's own may be named


gc.disable()  # collected below, in Qt's thread, as the application does it


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """A window's garbage is destroyed in the thread that made it, and not in a later test's."""
    yield
    gc.collect(
        2 if gc.get_count()[2] > 150 else 1
    )  # what a test leaves is young: all of it is rarely looked at


@pytest.fixture(autouse=True)
def _isolated(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A test that forgets to name its home gets an empty one, never the developer's."""
    monkeypatch.setenv("APX_HOME", str(tmp_path_factory.mktemp("home")))
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    for name in (
        "APX_PORT",
        "APX_CONFIG",
        "APX_CONFIG_CONTENT",
        "ANDROID_ADB_SERVER_PORT",
        "ADB_SERVER_SOCKET",
    ):
        monkeypatch.delenv(name, raising=False)
