"""Screenshots that are kept: in the home's media, under names that a person understands, sent to nobody."""

import os
from datetime import datetime
from pathlib import Path

from core.errors import Unavailable
from core.paths import Home


def keep(home: Home, data: bytes, what: str) -> Path:
    """Put a picture into the home; `what` it shows begins its name. A picture that is there is never replaced."""
    home.media_out.mkdir(parents=True, exist_ok=True, mode=0o700)
    stamp = f"{datetime.now().astimezone():%Y-%m-%d_%H.%M.%S}"
    for n in range(1000):
        path = home.media_out / f"{what}_{stamp}{f'_{n}' if n else ''}.png"
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        return path
    raise Unavailable("The screenshot could not be kept: too many of one second are there already.")
