"""Getting a screen's tree out of the phone with nothing but `uiautomator dump`.

The program fails in many ways and says so with exit code 0, so only a whole tree counts. Three ways are tried
in turn until one gives it, beginning with the one that did last time.
"""

import asyncio
import re
import secrets
import time

from bridge.adb import Adb
from bridge.faults import ServiceMissing, TimedOut
from bridge.screen import Tree, Unreadable, decode, parse

DIRECT = "uiautomator dump /dev/tty 2>&1"
WAYS = ("direct", "file", "compressed")
PAUSE_S = 0.15


class TreeReader:
    """Reads trees from one phone; remembers which way worked."""

    def __init__(self, adb: Adb, serial: str) -> None:
        self._adb = adb
        self._serial = serial
        self._worked = WAYS[0]

    async def read(self, *, deadline_s: float = 25) -> Tree:
        """A whole tree, or why there is none."""
        ends_at = time.monotonic() + deadline_s
        first = WAYS.index(self._worked)
        turn, why = 0, "there was no time"
        while (left := ends_at - time.monotonic()) > 0:
            way = WAYS[(first + turn) % len(WAYS)]
            turn += 1
            try:
                tree = await self._attempt(way, left)
            except TimedOut as error:
                why = str(error)
                continue
            except ServiceMissing:
                why = "the phone refuses exec"
            except Unreadable as error:
                why = str(error)
                if "already registered" in why and turn > len(WAYS):
                    raise Unreadable(await self._occupied()) from error
            else:
                self._worked = way
                return tree
            await asyncio.sleep(min(PAUSE_S * turn, 2, max(0, ends_at - time.monotonic())))
        raise Unreadable(f"The screen could not be read within {deadline_s:g} s ({turn} attempts): {why}")

    async def _attempt(self, way: str, left: float) -> Tree:
        if way == "direct":
            command = DIRECT
        else:
            # An abandoned dump may still write its file later: a name is used once.
            path = f"/data/local/tmp/apx-{secrets.token_hex(6)}.xml"
            option = "--compressed " if way == "compressed" else ""
            command = f"uiautomator dump {option}{path} 2>&1; cat {path}; rm -f {path}"
        said = decode(await self._adb.exec_out(self._serial, command, timeout_s=min(left, 20)))
        before, found, _ = said.partition("<hierarchy")
        if not found or "ERROR: " in before:  # with an error before it, a tree is one of an earlier moment
            raise Unreadable(complaint(before))
        tree = parse(said)
        tree.reader = way
        return tree

    async def _occupied(self) -> str:
        """Names the program that holds the phone's only accessibility connection; it is not ours to end."""
        shell = await self._adb.shell(self._serial, "ps -A")
        holders = re.findall(r"\S*(?:uiautomator|instrument|app_process)\S*", shell.stdout)
        named = f" ({', '.join(dict.fromkeys(holders))})" if holders else ""
        return (
            f"Another program is reading the phone's screen{named}: close it on the phone or on its computer."
        )


def complaint(said: str) -> str:
    """What a dump that printed no tree was complaining about."""
    if "already registered" in said:
        return "another program is reading the screen: UiAutomationService already registered."
    if "could not get idle state" in said:
        return "the screen did not come to rest."
    if "null root node" in said:
        return "Android gave no window."
    if said.strip() == "Killed":
        return "the phone ended the reading, probably for lack of memory."
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return f"uiautomator said: {lines[0][:200]}" if lines else "uiautomator printed nothing."
