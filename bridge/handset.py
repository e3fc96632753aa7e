"""The owner's pinned phone, used by one task at a time, and put back as it was found.

A round, a tool and an owner's answer all want the same screen. Whoever holds the handset holds the phone; what
was in front, the keyboard and the dark screen are restored when they let go, also when they are cancelled.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from bridge.adb import Adb, Device
from bridge.phone import Phone, Target
from bridge.probe import Condition
from bridge.program import ensure_server, server_address
from bridge.whatsapp.app import WhatsApp
from core.config import Config
from core.errors import ApxError, PhoneUnreachable
from core.events import Bus, PhoneState

RECENT_TOUCH_S = 15.0
LOOK_AGAIN_S = 5.0
LEAVE_S = 25.0
OURS = ("launcher", "com.android.systemui", "com.whatsapp", "quickstep", "trebuchet", "nexuslauncher")


@dataclass(slots=True)
class Hold:
    """The phone while it is held. `left` says after the hold whether WhatsApp is in the background."""

    phone: Phone
    whatsapp: WhatsApp
    before: Condition | None = None
    left: bool | None = None
    woken: bool = False


class Handset:
    """Gives the phone to one holder at a time."""

    def __init__(self, config: Config, bus: Bus) -> None:
        self._config = config
        self._bus = bus
        self._turn = asyncio.Lock()
        self._told: tuple[str, str] | None = None
        self._let_go_at = float("-inf")  # the loop's time of our last touch

    @property
    def target(self) -> Target:
        """The phone, app and user that the configuration pins."""
        phone = self._config.now.phone
        return Target(phone.serial, phone.package, phone.user)

    async def adb(self) -> Adb:
        """The adb server of the configuration, started when there is none."""
        phone = self._config.now.phone
        host, port = server_address(phone.adb_host, phone.adb_port, os.environ)
        await ensure_server(host, port)
        return Adb(host, port)

    async def devices(self) -> list[Device]:
        """Every phone that is attached, whatever its state."""
        return await (await self.adb()).devices()

    async def phone(self) -> Phone:
        """The pinned phone, without holding it: only for looking. Without a choice adb is not even asked."""
        if not self.target.serial:
            raise PhoneUnreachable(
                "not_configured", "No phone has been chosen yet. Choose one with `apx phone use`."
            )
        return Phone(await self.adb(), self.target)

    async def look(self) -> tuple[str, Condition | None, str]:
        """How the phone is: `ready` or a state of `PhoneUnreachable`, what it says, and the technical line."""
        state, condition, detail = "ready", None, ""
        try:
            phone = await self.phone()
            await phone.present()
            condition = await phone.probe()
            if condition.package_version is None:
                state, detail = "whatsapp_missing", f"{self.target.package} is not installed for this user."
        except PhoneUnreachable as error:
            state, detail = error.state, str(error)
        self._tell(state, detail)
        return state, condition, detail

    def _tell(self, state: str, detail: str) -> None:
        if self._told != (state, detail):
            self._told = (state, detail)
            self._bus.emit(PhoneState(state=state, serial=self.target.serial, detail=detail))

    @asynccontextmanager
    async def touched(self) -> AsyncIterator[Phone]:
        """The phone for one act of the owner's, in turn with whoever holds it. Nothing is put back."""
        async with self._turn:
            phone = await self.phone()
            await phone.present()
            yield phone

    @asynccontextmanager
    async def held(self, *, owner_wait_s: float = 0.0) -> AsyncIterator[Hold]:
        """The phone awake and open, WhatsApp left in the background and the rest as it was afterwards.

        `PhoneUnreachable` says why it cannot be had; its state is told on the bus too.
        """
        async with self._turn:
            try:
                phone = await self.phone()
                hold = Hold(phone, WhatsApp(phone))
                await phone.present()
                hold.before = await self._free(phone, owner_wait_s)
            except PhoneUnreachable as error:
                self._tell(error.state, str(error))
                raise
            self._tell("ready", "")
            try:
                await self._open(hold)
                yield hold
            except PhoneUnreachable as error:
                self._tell(error.state, str(error))
                raise
            finally:
                # Shielded: leaving WhatsApp in front would make the phone go quiet.
                await asyncio.shield(self._restore(hold))
                self._let_go_at = asyncio.get_running_loop().time()

    async def _free(self, phone: Phone, owner_wait_s: float) -> Condition:
        """What the phone is doing, once its owner is not in the middle of something."""
        deadline = asyncio.get_running_loop().time() + owner_wait_s
        condition = await phone.probe()
        if condition.package_version is None:
            raise PhoneUnreachable(
                "whatsapp_missing", f"{self.target.package} is not installed on the phone."
            )
        while self._in_use(condition):
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                raise PhoneUnreachable("busy", "The owner is using the phone.")
            await asyncio.sleep(min(LOOK_AGAIN_S, left))
            condition = await phone.probe()
        return condition

    def _in_use(self, condition: Condition) -> bool:
        """Whether the owner is using the phone: a touch counts only if it came after our own last one."""
        since_ours_s = asyncio.get_running_loop().time() - self._let_go_at
        return in_use(condition) and (condition.idle_s or 0.0) < since_ours_s - 1.0

    async def _open(self, hold: Hold) -> None:
        hold.woken = hold.before is not None and hold.before.awake is False
        await hold.phone.unlock()

    async def _restore(self, hold: Hold) -> None:
        """Every step is tried whatever became of the one before."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                with suppress(ApxError):
                    hold.left = await hold.whatsapp.leave()
                before = hold.before
                if before is None:
                    return
                with suppress(ApxError):
                    if before.ime and await hold.phone.ime() != before.ime:
                        await hold.phone.set_ime(before.ime)
                with suppress(ApxError):
                    if before.awake and before.foreground and not _is_ours(before.foreground):
                        await hold.phone.bring_back(before.foreground, before.activity)
                with suppress(ApxError):
                    if hold.woken:
                        await hold.phone.sleep()


def in_use(condition: Condition) -> bool:
    """Whether somebody is using the phone: lit, open, another app in front, touched a moment ago."""
    return bool(
        condition.awake
        and condition.keyguard == "none"
        and condition.foreground
        and not _is_ours(condition.foreground)
        and condition.idle_s is not None
        and condition.idle_s < RECENT_TOUCH_S
    )


def _is_ours(package: str) -> bool:
    return any(part in package for part in OURS)
