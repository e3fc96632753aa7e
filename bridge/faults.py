"""What adb's complaints mean: a text of the server becomes one error that somebody can act on.

The sentences for people are written later, from `state`; the texts here are the detail behind them.
"""

import re

from core.errors import PhoneUnreachable, Unavailable


class ServerDown(PhoneUnreachable):
    """Nothing that speaks adb answers on the server's port, or it went away in the middle."""

    def __init__(self, sentence: str) -> None:
        super().__init__("no_adb", sentence)


class NoServer(ServerDown):
    """Nothing listens on the port at all: one may be started."""


class ServiceMissing(PhoneUnreachable):
    """The adb server is too old for what was asked, or the phone refuses it or is just going away."""

    def __init__(self, sentence: str, state: str = "no_adb") -> None:
        super().__init__(state, sentence)


class TimedOut(PhoneUnreachable):
    """The time for the whole call is over.

    `maybe_done` is true once the request had left: the phone may still do it, so it is not repeated blindly.
    """

    def __init__(self, sentence: str, *, maybe_done: bool) -> None:
        super().__init__("timeout", sentence)
        self.maybe_done = maybe_done


class ShellFailed(Unavailable):
    """A command ran on the phone and said no. `code` of the shell is `exit`, what it printed is `output`."""

    code = "phone_command_failed"

    def __init__(self, command: str, exit: int, output: str) -> None:
        said = " ".join(output.split())[:300] or "nothing"
        super().__init__(f"The phone could not do {command.split()[0]!r} (exit {exit}); it said: {said}.")
        self.exit = exit
        self.output = output


# The server's texts, in the order in which they are looked for.
_MEANINGS: tuple[tuple[str, str, str], ...] = (
    (
        r"unauthorized",
        "unauthorized",
        "The phone has not accepted this computer: unlock it and allow debugging.",
    ),
    (
        r"still authorizing",
        "unauthorized",
        "The phone is waiting for somebody to allow debugging on its screen.",
    ),
    (
        r"no permissions|insufficient permissions",
        "no_permissions",
        "This computer may not open the phone's USB port.",
    ),
    (r"more than one", "other_phone", "Several phones answer to that name, so none of them is used."),
    (
        r"device '.*' not found|no devices|unknown device|device not found",
        "absent",
        "The phone is not connected.",
    ),
    (
        r"offline|still connecting|protocol fault|device .*closed",
        "offline",
        "The phone is listed but does not answer.",
    ),
)


def meaning(text: str, *, serial: str | None = None) -> PhoneUnreachable:
    """The error behind a FAIL text of the adb server."""
    if "unknown host service" in text:
        return ServiceMissing("The adb server is too old for this: update Android's platform-tools.")
    for pattern, state, sentence in _MEANINGS:
        if re.search(pattern, text, re.IGNORECASE | re.DOTALL):
            return PhoneUnreachable(state, sentence + _detail(text, serial))
    if text.strip() == "closed":
        return ServiceMissing("The phone closed the connection at once." + _detail(text, serial), "offline")
    return PhoneUnreachable("offline", "adb could not reach the phone." + _detail(text, serial))


def for_state(state: str, serial: str) -> PhoneUnreachable | None:
    """The error behind a state of the device list; None when the phone can be used."""
    if state == "device":
        return None
    if state in ("unauthorized", "authorizing"):
        return meaning("unauthorized", serial=serial)
    if state == "no permissions":
        return meaning("no permissions", serial=serial)
    if state in ("recovery", "sideload", "bootloader", "rescue"):
        return PhoneUnreachable("offline", f"The phone {serial} is in {state} mode: start it normally.")
    return meaning(state if "offline" in state else f"offline ({state})", serial=serial)


def _detail(text: str, serial: str | None) -> str:
    said = " ".join(text.split())[:200]
    return f" (serial {serial}; adb: {said})" if serial else f" (adb: {said})"
