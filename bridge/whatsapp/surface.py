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

    def __init__(self, phone: Phone, profile: Profile) -> None:
        self.phone = phone
        self.profile = profile
        self.package = phone.target.package

    def name(self, tree: Tree) -> Screen:
        """Which screen a tree shows."""
        return screen_of(tree, self.profile, self.package)

    async def look(self) -> Look:
        """What is on the screen now."""
        tree = await self.phone.tree()
        return Look(tree, self.name(tree))

    async def until(self, *screens: Screen, timeout_s: float = OPENS_S) -> Look:
        """The first reading that shows one of these screens; `Unexpected` when none comes."""
        tree = await self.phone.wait_for(lambda seen: self.name(seen) in screens, timeout_s=timeout_s)
        return Look(tree, self.name(tree))

    async def back(self) -> Look:
        """Press BACK once and look."""
        await self.phone.key(BACK)
        return await self.look()

    async def open_list(self) -> Look:
        """The list of chats, whatever WhatsApp opens with; what cannot be put away is named."""
        await self.phone.launch()
        look = await self._arrived()
        launches = 1
        for _ in range(BACKS):
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
        raise PhoneUnreachable("whatsapp_stuck", self._stuck(look))

    async def arrive(self) -> Look:
        """Bring the app to the front, and what it shows of itself."""
        await self.phone.launch()
        return await self._arrived()

    async def _arrived(self) -> Look:
        """The first reading after a launch that is not the old screen any more."""
        try:
            tree = await self.phone.wait_for(
                lambda seen: self.name(seen) not in (Screen.COVERED, Screen.UNKNOWN), timeout_s=OPENS_S / 2
            )
        except Unexpected as error:
            if error.tree is None:
                raise
            tree = error.tree
        return Look(tree, self.name(tree))

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
            return f"WhatsApp shows a screen that is not known ({seen}) and does not leave it."
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
        await self.phone.swipe(x, start, x, end, CALM_MS)
        return distance

    async def fling_up(self, listing: Node) -> None:
        """Let the list run towards its top."""
        height = listing.bottom - listing.top
        x = listing.left + (listing.right - listing.left) * 2 // 5
        await self.phone.swipe(x, listing.top + height // 4, x, listing.bottom - height // 8, 150)

    async def watch(self, holds: Callable[[Look], bool], timeout_s: float) -> Look | None:
        """Look until it holds, and give that reading; None when the time is over.

        A reading that fails is one look less, nothing more.
        """
        ends_at = time.monotonic() + timeout_s
        while True:
            with suppress(Unreadable):
                look = await self.look()
                if holds(look):
                    return look
            if time.monotonic() >= ends_at:
                return None
            await asyncio.sleep(POLL_S)
