"""What a program that a tool starts is given of our environment: what it needs to work, and no secret."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

_KEPT = re.compile(
    r"HOME|USER|LOGNAME|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|COLUMNS|LINES|SHELL|TMPDIR|APX_HOME"
    r"|DISPLAY|WAYLAND_DISPLAY|XDG_(RUNTIME_DIR|DATA_HOME|CONFIG_HOME|CACHE_HOME|DATA_DIRS|CURRENT_DESKTOP|SESSION_TYPE)"
    r"|SYSTEMROOT|VIRTUAL_ENV|JAVA_HOME|ANDROID_HOME|GOPATH|CARGO_HOME|RUSTUP_HOME|NVM_DIR|PYENV_ROOT|SSL_CERT_(FILE|DIR)"
)
DEPTH = "APX_DEPTH"  # how often the work was handed on that a command is part of
FALLBACK = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


def surroundings(ours: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of a child. Its PATH has no relative entries: a project must not name the programs."""
    ours = os.environ if ours is None else ours
    kept = {name: value for name, value in ours.items() if _KEPT.fullmatch(name)}
    path = [one for one in ours.get("PATH", "").split(os.pathsep) if Path(one).is_absolute()]
    return kept | {
        "PATH": os.pathsep.join(path) or FALLBACK,
        "HOME": ours.get("HOME") or str(Path.home()),
        # A program that would open an editor or ask at a terminal finds none.
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "NO_COLOR": "1",
    }
