"""The browser program of this computer: where it is, and how it is told to keep to our proxy and to itself."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from core.paths import Home
from core.runs.surroundings import surroundings

NAMES = (
    *("google-chrome-stable", "google-chrome", "chromium", "chromium-browser", "chrome"),
    *("microsoft-edge-stable", "microsoft-edge", "brave-browser", "msedge"),
)
_MAC = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "/Applications/Brave Browser.app/Contents/MacOS/Brave Browser",
)
_LINUX = (
    *("/opt/google/chrome/chrome", "/usr/lib/chromium/chromium", "/opt/microsoft/msedge/msedge"),
    "/usr/lib64/chromium-browser/chromium-browser",
)
_WINDOWS = (
    r"Google\Chrome\Application\chrome.exe",
    r"Chromium\Application\chrome.exe",
    r"Microsoft\Edge\Application\msedge.exe",
)
INSTALL = (
    "Install Chrome, Chromium or Edge (on Debian: sudo apt-get install chromium), or say where it is: "
    "apx config set --global browser.program PATH"
)
FLAGS = (
    # Loopback too goes through the proxy, and no name has a meaning for the browser itself.
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    # What would go out as UDP knows nothing of a proxy.
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--dns-prefetch-disable",
    "--deny-permission-prompts",
    "--disable-notifications",
    "--disable-sync",
    "--disable-crash-reporter",
    "--disable-domain-reliability",
    "--noerrdialogs",
)


def located(wanted: str = "") -> str:
    """Where the program is, or nothing; `wanted` is the owner's own word for it, and then no other is taken."""
    path = surroundings()["PATH"]
    if wanted.strip():
        return shutil.which(str(Path(wanted.strip()).expanduser()), path=path) or ""
    found = (shutil.which(name, path=path) for name in (*NAMES, *_places()))
    return next((one for one in found if one), "")


def _places() -> Iterator[str]:
    if sys.platform == "darwin":
        yield from _MAC
    elif sys.platform == "win32":
        for variable in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"):
            if root := os.environ.get(variable):
                yield from (str(Path(root) / place) for place in _WINDOWS)
    else:
        yield from _LINUX


def flags(proxy_port: int) -> list[str]:
    """What the program is started with besides what drives it."""
    return [f"--proxy-server=http://127.0.0.1:{proxy_port}", *FLAGS]


def environment(home: Home) -> dict[str, str]:
    """The variables of the program: none of our secrets, and its own folders instead of the owner's."""
    folders = {"XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache", "XDG_DATA_HOME": "data"}
    ours = {name: str(home.browser / folder) for name, folder in folders.items()}
    return surroundings() | ours


def sandboxed() -> bool:
    """Chromium's own sandbox is always on; it does not work for root, who is only found in containers."""
    return not hasattr(os, "geteuid") or os.geteuid() != 0


def holder(profile: Path) -> int:
    """The process that holds a profile, or 0. The link says it where there is one: `host-number`."""
    try:
        number = (profile / "SingletonLock").readlink().name.rpartition("-")[2]
    except OSError:
        return 0
    return int(number) if number.isdigit() else 0
