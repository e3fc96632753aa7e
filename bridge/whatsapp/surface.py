"""Looking at WhatsApp and moving on its screens; knows nothing of what is read or written there."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from bridge.phone import BACK, POLL_S, Phone
from bridge.screen import Node, Tree, Unexpected, Unreadable
from bridge.whatsapp.profile import Profile
from bridge.whatsapp.screens import Screen, screen_of
from core.errors import PhoneUnreachable

CURRENT_S = 1.0
OPENS_S = 12.0  # how long a screen may take to come up
BACKS = 14
CALM_MS = 700  # a swipe this slow hardly runs on by itself
_LOCKED = {
    Screen.UPDATE_REQUIRED: "WhatsApp on the phone wants to be updated before it shows any chat.",
    Screen.PIN_PROMPT: "WhatsApp on the phone asks for its two-step verification PIN.",
    Screen.APP_LOCK: "WhatsApp on the phone is locked: it wants the owner's finger or face.",
}


@dataclass(frozen=True, slots=True)
class Look:
    """One reading of the screen, named."""

    tree: Tree
    screen: Screen


class Surface:
    """WhatsApp's window on one phone."""

    def __init__(self, phone: Phone, profile: Profile, patience: float = 1.0) -> None:
        self.phone = phone
        self.profile = profile
        self.patience = patience  # by which every waiting here is multiplied
        self.package = phone.target.package
        self._last: Look | None = None  # the last reading, as long as nothing was touched since
        self._last_at = 0.0

    def name(self, tree: Tree) -> Screen:
        """Which screen a tree shows."""
        return screen_of(tree, self.profile, self.package)

    async def look(self) -> Look:
        """What is on the screen now."""
        self._last = None
        tree = await self.phone.tree()
        return self._seen(tree)

    async def current(self) -> Look:
        """The last reading if it is of now and nothing was touched since, else a new one.

        A reading costs seconds on a real phone, so none is made twice.
        """
        if self._last is not None and time.monotonic() - self._last_at < CURRENT_S:
            return self._last
        return await self.look()

    def _seen(self, tree: Tree) -> Look:
        self._last_at = time.monotonic()
        self._last = Look(tree, self.name(tree))
        return self._last

    async def tap(self, x: int, y: int) -> None:
        self._last = None
        await self.phone.tap(x, y)

    def touched(self) -> None:
        """Something was done to the phone elsewhere: the last reading is history."""
        self._last = None

    async def until(self, *screens: Screen, timeout_s: float = OPENS_S) -> Look:
        """The first reading that shows one of these screens; `Unexpected` when none comes."""
        self._last = None
        tree = await self.phone.wait_for(
            lambda seen: self.name(seen) in screens, timeout_s=timeout_s * self.patience
        )
        return self._seen(tree)

    async def back(self) -> Look:
        """Press BACK once and look."""
        self._last = None
        await self.phone.key(BACK)
        return await self.look()

    async def open_list(self) -> Look:
        """The list of chats, whatever WhatsApp opens with; what cannot be put away is named."""
        self._last = None
        await self.phone.launch()
        look = await self._arrived()
        launches = 1
        strange: Look | None = None
        for _ in range(BACKS):
            strange = look if look.screen is Screen.UNKNOWN else strange
            if look.screen is Screen.LIST:
                return look
            if sentence := _LOCKED.get(look.screen):
                raise PhoneUnreachable("whatsapp_stuck", sentence)
            if look.screen is Screen.COVERED and not self._covers(look.tree):
                # BACK went one screen too far, or the app had not come up yet.
                if launches > 3:
                    break
                launches += 1
                await self.phone.launch()
                look = await self._arrived()
                continue
            look = await self.back()
        if look.screen is Screen.COVERED:
            condition = await self.phone.probe()
            if condition.awake is False or condition.keyguard in ("swipe", "secure"):
                raise PhoneUnreachable(
                    "locked", "The phone went to sleep or was locked while WhatsApp was opened."
                )
        raise PhoneUnreachable("whatsapp_stuck", self._stuck(strange or look))

    async def arrive(self) -> Look:
        """Bring the app to the front, and what it shows of itself."""
        self._last = None
        await self.phone.launch()
        return await self._arrived()

    async def _arrived(self) -> Look:
        """The first reading after a launch that is not the old screen any more."""
        try:
            tree = await self.phone.wait_for(
                lambda seen: self.name(seen) not in (Screen.COVERED, Screen.UNKNOWN),
                timeout_s=OPENS_S / 2 * self.patience,
            )
        except Unexpected as error:
            if error.tree is None:
                raise
            tree = error.tree
        return self._seen(tree)

    def _covers(self, tree: Tree) -> bool:
        """Whether what is on top is a window that BACK may close, and not the launcher or another app."""
        return tree.package == "android" or any(
            part in tree.package for part in ("systemui", "permissioncontroller", "packageinstaller", "gms")
        )

    def _stuck(self, look: Look) -> str:
        if look.screen is Screen.COVERED:
            return f"Another window lies over WhatsApp: {look.tree.package}."
        if look.screen is Screen.UNKNOWN:
            seen = ", ".join(look.tree.ids[:8]) or "nothing with a name"
            return f"WhatsApp shows a screen that is not known ({seen})."
        return f"WhatsApp does not get back to its list: it shows {look.screen.value.replace('_', ' ')}."

    async def scroll(self, listing: Node, *, down: bool, part: float = 0.5) -> int:
        """Move the list by a part of its height with a slow finger; says how far the finger went.

        `down` moves on to what is below. The finger starts away from the edges, where toolbars and buttons
        lie.
        """
        height = listing.bottom - listing.top
        distance = int(height * min(part, 0.6))
        x = listing.left + (listing.right - listing.left) * 2 // 5
        low, high = listing.top + int(height * 0.82), listing.top + int(height * 0.22)
        start, end = (low, low - distance) if down else (high, high + distance)
        self._last = None
        await self.phone.swipe(x, start, x, end, CALM_MS)
        return distance

    async def fling_up(self, listing: Node) -> None:
        """Let the list run towards its top."""
        height = listing.bottom - listing.top
        x = listing.left + (listing.right - listing.left) * 2 // 5
        self._last = None
        await self.phone.swipe(x, listing.top + height // 4, x, listing.bottom - height // 8, 150)

    async def watch(self, holds: Callable[[Look], bool], timeout_s: float) -> Look | None:
        """Look until it holds, and give that reading; None when the time is over.

        A reading that fails is one look less, nothing more.
        """
        ends_at = time.monotonic() + timeout_s * self.patience
        while True:
            with suppress(Unreadable):
                look = await self.look()
                if holds(look):
                    return look
            if time.monotonic() >= ends_at:
                return None
            await asyncio.sleep(POLL_S)
