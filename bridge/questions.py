"""Asking the phone about itself, several things in one call.

A call costs as much as its connection, so the answers come together, told apart by marks that no answer can
hold. The phone keeps back what is not needed with grep; where that fails, the whole report is asked for.
"""

import re
import secrets

from bridge import probe
from bridge.adb import Adb
from bridge.faults import TimedOut
from bridge.probe import Condition

TIME_S = 10.0


class Questions:
    """What can be asked of one phone about itself, one app and one user of it."""

    def __init__(self, adb: Adb, serial: str, package: str, user: int, patience: float = 1.0) -> None:
        self._adb = adb
        self._serial = serial
        self._package = package
        self._user = user
        self._time_s = TIME_S * patience
        # part -> the report, and the lines of it that matter
        self._reports = {
            "power": ("dumpsys power", "mWakefulness=|Display Power|UserActivityTime"),
            "window": (
                "dumpsys window",
                "mCurrentFocus|mFocusedApp|[Ss]howing|[Ss]ecure *=|mCurrentRotation|mRotation=",
            ),
            "activity": ("dumpsys activity activities", "ResumedActivity"),
            "ime": ("settings get secure default_input_method", ""),
            "size": ("wm size", ""),
            "user": ("am get-current-user", ""),
            "android": ("getprop ro.build.version.release", ""),
            "package": (f"dumpsys package {package}", f"versionName=|Unable to find|User {user}:"),
            "input_method": ("dumpsys input_method", "nput[A-Za-z]*Shown="),
        }

    async def condition(self) -> Condition:
        """Everything of interest at once."""
        parts = [part for part in self._reports if part != "input_method"]
        answers = await self.ask(*parts)
        foreground, activity = probe.foreground(answers["window"], answers["activity"])
        rotation = probe.rotation(answers["window"])
        version = probe.package_version(answers["package"], self._user)
        if version == "" and await self.installed() is False:
            version = None
        return Condition(
            awake=probe.awake(answers["power"]),
            keyguard=await self._keyguard(answers["window"]),
            foreground=foreground,
            activity=activity,
            ime=probe.ime(answers["ime"]),
            rotation=probe.rotation(await self._report("dumpsys input")) if rotation is None else rotation,
            size=probe.size(answers["size"]),
            user=probe.user(answers["user"]),
            package_version=version,
            android=probe.android(answers["android"]),
            idle_s=probe.idle_s(answers["power"]),
        )

    async def ask(self, *parts: str) -> dict[str, str]:
        """The answers to these parts; one that says nothing usable is asked for again, alone and whole."""
        mark = f"part-{secrets.token_hex(6)}-"
        asked = [f"echo {mark}{number}; {self._short(part)}" for number, part in enumerate(parts)]
        shell = await self._adb.shell(self._serial, "; ".join(asked), timeout_s=self._time_s)
        texts = re.split(rf"^{mark}(\d+)\s*$", shell.stdout, flags=re.MULTILINE)
        found = {parts[int(number)]: text for number, text in zip(texts[1::2], texts[2::2], strict=True)}
        return {
            part: text
            if probe.says_something(part, text := found.get(part, ""))
            else await self._report(self._reports[part][0])
            for part in parts
        }

    async def keyguard(self) -> str:
        """none, swipe, secure or unknown."""
        return await self._keyguard((await self.ask("window"))["window"])

    async def keyguard_showing(self) -> bool | None:
        return probe.keyguard_showing((await self.ask("window"))["window"])

    async def keyboard_shown(self) -> bool | None:
        return probe.keyboard_shown((await self.ask("input_method"))["input_method"])

    async def installed(self) -> bool | None:
        """Whether the app is there for the user; None when the phone does not say."""
        shell = await self._adb.shell(
            self._serial, f"pm path --user {self._user} {self._package}", timeout_s=self._time_s
        )
        if "package:" in shell.stdout:
            return True
        said_nothing = not shell.stdout.strip() and not shell.stderr.strip()
        return False if said_nothing and shell.code != 127 else None

    async def _keyguard(self, window: str) -> str:
        kind = probe.keyguard(window)
        if kind == probe.UNKNOWN and probe.keyguard_showing(window):
            more = await self._report("locksettings get-disabled") + await self._report("dumpsys trust")
            kind = probe.keyguard(window, more)
        return kind

    async def _report(self, command: str) -> str:
        """A whole report; one that does not come in time is an unknown, not a failure of all."""
        try:
            return (await self._adb.shell(self._serial, command, timeout_s=self._time_s)).stdout
        except TimedOut:
            return ""

    def _short(self, part: str) -> str:
        command, lines = self._reports[part]
        return f"{command} | grep -E '{lines}'" if lines else command
