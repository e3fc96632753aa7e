"""The owner's phone: one pinned device, looked at and touched through adb.

Knows no app. What an action did is asked of the phone wherever the phone can tell; an action that only may
have happened ends in an error that says so (`TimedOut.maybe_done`).
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from bridge import presence, probe
from bridge.adb import Adb, Device, Shell
from bridge.faults import ShellFailed
from bridge.png import BadPicture, Png, check, is_uniform
from bridge.probe import Condition
from bridge.questions import Questions
from bridge.reader import TreeReader
from bridge.screen import Tree, Unexpected, Unreadable
from core.errors import Invalid, PhoneUnreachable, Refused, Unavailable

WAKEUP, SLEEP, HOME, BACK, ESCAPE = 224, 223, 3, 4, 111
LAUNCHER = "android.intent.category.LAUNCHER"
POLL_S = 0.25
ACTION_S, START_S, PICTURE_S = 8.0, 12.0, 20.0
AT_ONCE = 40  # characters; longer pieces arrive out of order on slow phones
_FAILED = re.compile(r"^\s*(Error\b|Exception occurred|Security exception|[\w.]+Exception\b)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Target:
    """Which phone, which app on it, and which of its users (work profile, second messenger)."""

    serial: str
    package: str = "com.whatsapp"
    user: int = 0


class Phone:
    """One phone. Every call may raise `PhoneUnreachable`, whose `state` says which kind of absence."""

    def __init__(self, adb: Adb, target: Target, *, patience: float | None = None) -> None:
        if not re.fullmatch(r"[A-Za-z]\w*(\.\w+)+", target.package):
            raise Invalid(f"{target.package!r} is not the name of an Android app.")
        self.target = target
        self._adb = adb
        # Times are for a cable; over the air everything takes longer.
        self._patience = patience or (3.0 if presence.is_remote(target.serial) else 1.0)
        self._reader = TreeReader(adb, target.serial)
        self._questions = Questions(adb, target.serial, target.package, target.user, self._patience)

    async def present(self) -> Device:
        """The pinned phone, ready for use; a phone of the network is connected again once."""
        return await presence.present(self._adb, self.target.serial)

    async def probe(self) -> Condition:
        """What the phone is doing, in one call; only what that left unclear is asked again."""
        return await self._questions.condition()

    async def foreground(self) -> tuple[str | None, str | None]:
        """The package and the activity in front; None when the phone does not say."""
        answers = await self._questions.ask("window", "activity")
        return probe.foreground(answers["window"], answers["activity"])

    async def ime(self) -> str | None:
        """The keyboard in use, by its component name."""
        return probe.ime((await self._questions.ask("ime"))["ime"])

    async def wake(self) -> None:
        """Switch the screen on. The power key would switch a lit one off, so it is never used."""
        if await self._awake():
            return
        await self.key(WAKEUP)
        if not await self._soon(self._awake, 5):
            raise PhoneUnreachable("timeout", "The phone's screen did not come on.")

    async def unlock(self) -> None:
        """Lift a keyguard that needs only a swipe. A secure one is the owner's: no PIN is ever typed."""
        await self.wake()
        kind = await self._questions.keyguard()
        if kind == "none":
            return
        if kind == "secure":
            raise PhoneUnreachable("locked", "The phone is locked with a PIN, a pattern or a finger.")
        await self._run("wm dismiss-keyguard")
        if await self._soon(self._open, 3):
            return
        if kind == "swipe":
            width, height = (await self.probe()).size or (1080, 1920)
            await self.swipe(width // 2, height * 8 // 10, width // 2, height * 2 // 10, 250)
            if await self._soon(self._open, 3):
                return
        elif await self._questions.keyguard_showing() is None:
            return  # the phone does not say; the screen itself will tell
        raise PhoneUnreachable("locked", "The phone's lock screen did not go away.")

    async def sleep(self) -> None:
        """Switch the screen off."""
        await self.key(SLEEP)

    async def home(self) -> None:
        """Leave the app, and make sure: while it is in front it raises no notifications.

        A locked phone ignores the key, but not the launcher being started.
        """
        for command in (f"input keyevent {HOME}", _to_launcher(self.target.user), f"input keyevent {HOME}"):
            # What counts is where the phone is afterwards. A phone that forbids keys may still start a launcher.
            with suppress(ShellFailed):
                try:
                    await self._run(command)
                except PhoneUnreachable as error:
                    if error.state != "input_forbidden":
                        raise
            if await self._soon(self._left, 1.5):
                return
        raise PhoneUnreachable("whatsapp_stuck", f"{self.target.package} did not leave the screen.")

    async def tap(self, x: int, y: int) -> None:
        await self._run(f"input tap {x:d} {y:d}")

    async def swipe(self, x1: int, y1: int, x2: int, y2: int, duration_ms: int = 300) -> None:
        await self._run(f"input swipe {x1:d} {y1:d} {x2:d} {y2:d} {duration_ms:d}")

    async def key(self, code: int | str) -> None:
        """Press a key, by its number or its name."""
        if not re.fullmatch(r"\d+|[A-Z][A-Z0-9_]*", str(code)):
            raise Invalid(f"{code!r} is not a key of Android.")
        await self._run(f"input keyevent {code}")

    async def text(self, ascii_text: str) -> None:
        """Type into the focused field. Whoever needs certainty reads the field back.

        `input` knows plain ASCII only; of anything else it types half or nothing, so that is refused.
        """
        if not re.fullmatch(r"[ -~]*", ascii_text):
            raise Refused("Only plain letters, digits and signs can be typed; accents and emoji cannot.")
        for piece in pieces(ascii_text):
            await self._run(f"input text {quote(piece)}")

    async def close_keyboard(self) -> None:
        """Put the keyboard away, if it is out: without one, the same key would leave the screen."""
        if await self._questions.keyboard_shown():
            await self.key(ESCAPE)

    async def set_ime(self, id: str) -> None:
        """Change the keyboard and read it back: Android says yes to a keyboard that it does not have."""
        if not re.fullmatch(r"[\w.]+/[\w.$]+", id):
            raise Invalid(f"{id!r} is not the name of a keyboard.")
        await self._adb.shell(self.target.serial, f"ime enable {id}", timeout_s=self._time(ACTION_S))
        said = await self._adb.shell(self.target.serial, f"ime set {id}", timeout_s=self._time(ACTION_S))

        async def is_set() -> bool:
            return await self.ime() == id

        if not await self._soon(is_set, 3):
            raise ShellFailed(f"ime set {id}", said.code, said.stdout + said.stderr)

    async def launch(self) -> None:
        """Bring the app to the front as its icon would."""
        try:
            await self._start(self.target.package)
        except ShellFailed:
            await self._require_app()
            raise

    async def bring_back(self, package: str, activity: str | None = None) -> None:
        """Put another app to the front again, where it was left: its task comes back as its icon would bring it.

        `activity` is what was in front; it is started by name where the phone does not tell the app's own.
        """
        if not re.fullmatch(r"[A-Za-z]\w*(\.\w+)+", package):
            raise Invalid(f"{package!r} is not the name of an Android app.")
        try:
            await self._start(package)
        except ShellFailed:
            if not activity:
                raise
            name = quote(f"{package}/{activity}")
            await self._run(f"am start --user {self.target.user} -f 0x10200000 -n {name}", START_S)

    async def _start(self, package: str) -> None:
        user = self.target.user
        shell = await self._adb.shell(
            self.target.serial,
            f"cmd package resolve-activity --brief --user {user} -c {LAUNCHER} {package}",
            timeout_s=self._time(ACTION_S),
        )
        found = re.search(rf"^{re.escape(package)}/[\w.$]+$", shell.stdout, re.MULTILINE)
        if found:
            await self._run(
                f"am start --user {user} -a android.intent.action.MAIN -c {LAUNCHER} -f 0x10200000"
                f" -n {quote(found[0])}",
                START_S,
            )
        elif user == 0:  # an old Android, or several icons
            said = await self._run(f"monkey -p {package} -c {LAUNCHER} 1", START_S)
            if "Events injected: 1" not in said.stdout + said.stderr:
                raise ShellFailed("monkey", said.code, said.stdout + said.stderr)
        else:
            raise ShellFailed("cmd package", shell.code, shell.stdout + shell.stderr)

    async def open_url(self, url: str) -> None:
        """Let the app, and no other, open a link."""
        if not re.fullmatch(r"[!-~]+", url):
            raise Invalid("A link must be percent-encoded: plain ASCII and no spaces.")
        target = self.target
        command = (
            f"am start --user {target.user} -a android.intent.action.VIEW -d {quote(url)} -p {target.package}"
        )
        try:
            await self._run(command, START_S)
        except ShellFailed:
            await self._require_app()
            raise

    async def tree(self, *, deadline_s: float = 25) -> Tree:
        """What is on the screen, or `Unreadable`; never an empty tree."""
        return await self._reader.read(deadline_s=deadline_s)

    async def wait_for(self, predicate: Callable[[Tree], bool], *, timeout_s: float = 12) -> Tree:
        """The first tree the predicate accepts. A tree alone proves nothing: the old screen may linger."""
        ends_at = time.monotonic() + self._time(timeout_s)
        tree: Tree | None = None
        why = ""
        while True:
            try:
                tree = await self.tree(deadline_s=max(ends_at - time.monotonic(), 1))
            except Unreadable as error:
                why = str(error)
            else:
                if predicate(tree):
                    return tree
            if time.monotonic() >= ends_at:
                break
            await asyncio.sleep(POLL_S)
        if tree is None:
            raise Unexpected(f"The screen that was expected did not appear: {why}", None)
        seen = ", ".join(tree.ids[:12]) or "nothing with a name"
        raise Unexpected(f"Another screen than expected is shown, of {tree.package}: {seen}.", tree)

    async def run(self, command: str, *, timeout_s: float = ACTION_S) -> str:
        """What a command of the phone's shell prints. Whoever calls has quoted what is in it."""
        return (await self._run(command, timeout_s)).stdout

    async def screenshot(self) -> Png:
        """What the screen shows. One that shows nothing is an error: black is not a picture of anything."""
        try:
            picture = check(await self._picture())
        except BadPicture:
            picture = check(await self._picture())
        if not await asyncio.to_thread(is_uniform, picture):
            return picture
        if await self._awake() is False:
            raise Unavailable("There is no picture: the phone's screen is off.")
        raise Unavailable(
            "There is no picture: the app on the screen protects itself, or shows one colour only."
        )

    async def _picture(self) -> bytes:
        return await self._adb.exec_out(self.target.serial, "screencap -p", timeout_s=self._time(PICTURE_S))

    async def _run(self, command: str, timeout_s: float = ACTION_S) -> Shell:
        """Run a command that changes something; Android's programs fail with exit code 0 too."""
        shell = await self._adb.shell(self.target.serial, command, timeout_s=self._time(timeout_s))
        said = f"{shell.stdout}\n{shell.stderr}"
        if "INJECT_EVENTS" in said:
            raise PhoneUnreachable(
                "input_forbidden",
                "The phone refuses touches from the computer: in its developer options switch on"
                " 'USB debugging (Security settings)', then restart it.",
            )
        if shell.code != 0 or _FAILED.search(said):
            raise ShellFailed(command, shell.code, said)
        return shell

    async def _require_app(self) -> None:
        if await self._questions.installed() is False:
            raise PhoneUnreachable(
                "whatsapp_missing", f"{self.target.package} is not installed for user {self.target.user}."
            )

    async def _awake(self) -> bool | None:
        return probe.awake((await self._questions.ask("power"))["power"])

    async def _open(self) -> bool:
        return await self._questions.keyguard() == "none"

    async def _left(self) -> bool:
        package, _ = await self.foreground()
        if package is None:  # a phone of few words: look at the screen itself
            try:
                package = (await self.tree(deadline_s=10)).package
            except Unreadable:
                return False
        return package != self.target.package

    async def _soon(self, holds: Callable[[], Awaitable[bool | None]], timeout_s: float) -> bool:
        """Whether it becomes true within the time; the phone has no event to wait for."""
        ends_at = time.monotonic() + self._time(timeout_s)
        while not await holds():
            if time.monotonic() >= ends_at:
                return False
            await asyncio.sleep(POLL_S)
        return True

    def _time(self, seconds: float) -> float:
        return seconds * self._patience


def quote(text: str) -> str:
    """One word for the phone's shell, whatever is in it."""
    if "\0" in text:
        raise Invalid("A NUL cannot be sent to the phone.")
    return "'" + text.replace("'", "'\\''") + "'"


def pieces(text: str) -> list[str]:
    """The parts in which a text is typed: `input` turns `%s` into a space, so the two are never together."""
    parts: list[str] = []
    for part in re.split(r"(?<=%)(?=s)", text):
        parts.extend(part[at : at + AT_ONCE] for at in range(0, len(part), AT_ONCE))
    return parts


def _to_launcher(user: int) -> str:
    return f"am start --user {user} -a android.intent.action.MAIN -c android.intent.category.HOME"
