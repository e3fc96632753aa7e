"""A helper keyboard for what `input text` cannot type, if the owner has one installed; the own one comes back."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bridge.faults import ShellFailed
from bridge.phone import POLL_S, Phone, quote
from core.errors import Unavailable


@dataclass(frozen=True, slots=True)
class Helper:
    """A keyboard that types what a broadcast carries in base64."""

    id: str
    action: str
    extra: str

    @property
    def package(self) -> str:
        return self.id.partition("/")[0]


HELPERS = (
    Helper("com.github.uiautomator/.AdbKeyboard", "ADB_KEYBOARD_INPUT_TEXT", "text"),
    Helper("com.android.adbkeyboard/.AdbIME", "ADB_INPUT_B64", "msg"),
)


class KeyboardStuck(Unavailable):
    """The owner's keyboard could not be put back."""

    code = "keyboard_stuck"


def is_helper(ime: str | None) -> bool:
    """Whether a keyboard is one of the helpers, and so never the owner's own choice."""
    return any(helper.id == ime for helper in HELPERS)


async def installed_helper(phone: Phone) -> Helper | None:
    """The helper that the phone has, if it has one."""
    listed = (await phone.run("ime list -s -a")).split()
    return next((helper for helper in HELPERS if helper.id in listed), None)


async def own_keyboard(phone: Phone) -> str | None:
    """The owner's keyboard: the one in use, or, where a helper was left over, the first enabled one that is none."""
    current = await phone.ime()
    if current is not None and not is_helper(current):
        return current
    enabled = (await phone.run("ime list -s")).split()
    return next((ime for ime in enabled if not is_helper(ime)), None)


@asynccontextmanager
async def borrowed(phone: Phone, helper: Helper) -> AsyncIterator[None]:
    """The helper is the keyboard inside; outside it is the owner's again, on every way out, and that is checked."""
    own = await own_keyboard(phone)
    if own is None:
        raise KeyboardStuck("The owner's keyboard is not known, so it is not exchanged.")
    try:
        await phone.set_ime(helper.id)
        yield
    finally:
        await asyncio.shield(give_back(phone, own))


async def give_back(phone: Phone, own: str) -> None:
    """Make it the owner's keyboard again; Android may say yes and change nothing, so it is tried twice."""
    for last in (False, True):
        try:
            await phone.set_ime(own)
            return
        except ShellFailed as error:
            if last:
                raise KeyboardStuck(f"The phone's keyboard could not be set back to {own}.") from error


async def type_with(phone: Phone, helper: Helper, text: str) -> None:
    """Let the helper type. It answers 0 whether it typed or not: whoever needs certainty reads the field."""
    encoded = base64.b64encode(text.encode()).decode()
    await phone.run(
        f"am broadcast -a {helper.action} --es {helper.extra} {quote(encoded)} -p {helper.package}"
    )


async def keyboard_is(phone: Phone, id: str, *, timeout_s: float = 3) -> bool:
    """Whether a keyboard comes into use within the time."""
    ends_at = time.monotonic() + timeout_s
    while await phone.ime() != id:
        if time.monotonic() >= ends_at:
            return False
        await asyncio.sleep(POLL_S)
    return True
