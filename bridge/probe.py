"""What the phone's reports say about its state: text in, value out, and what is unclear stays unknown.

The words differ between Android versions, so every known one is looked for and none is relied on.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Condition:
    """The phone at one moment; None (or `unknown`) is what it did not say.

    `package_version` is None when the app is not installed for that user, "" when its version is unknown.
    `idle_s` counts from the last touch, ours included: it tells of the owner only before we begin.
    """

    awake: bool | None = None
    keyguard: str = UNKNOWN  # none | swipe | secure | unknown
    foreground: str | None = None
    activity: str | None = None
    ime: str | None = None
    rotation: int | None = None
    size: tuple[int, int] | None = None
    user: int | None = None
    package_version: str | None = ""
    android: int | None = None
    idle_s: float | None = None


def awake(power: str) -> bool | None:
    """From `dumpsys power`. Dozing and dreaming are not awake: the screen shows something else."""
    match = re.search(r"mWakefulness=(\w+)", power)
    if match:
        return match[1] == "Awake"
    match = re.search(r"Display Power: state=(\w+)", power)
    return match[1] == "ON" if match else None


def idle_s(power: str) -> float | None:
    """Seconds since anybody touched the phone, from `dumpsys power`."""
    found = [int(ago) for ago in re.findall(r"UserActivityTime[^=\n]*=.*?(\d+) ms ago", power)]
    return min(found) / 1000 if found else None


def keyguard_showing(window: str) -> bool | None:
    """From `dumpsys window`."""
    names = ("isKeyguardShowing", "mShowingLockscreen", "mKeyguardShowing", "showing", "mIsShowing")
    showing = _flag(window, *names)
    if showing is None and re.search(r"mCurrentFocus=.*\b(Keyguard|Bouncer)", window):
        return True
    return showing


def keyguard(window: str, more: str = "") -> str:
    """From `dumpsys window`; `more` may hold `locksettings get-disabled` and `dumpsys trust`."""
    showing = keyguard_showing(window)
    if showing is None:
        return UNKNOWN
    if not showing:
        return "none"
    secure = _flag(window, "secure", "mKeyguardSecure", "isKeyguardSecure", "mIsSecure")
    if secure is None and re.search(r"deviceLocked=1\b", more):
        secure = True
    if secure is None and re.search(r"^\s*true\s*$", more, re.MULTILINE):
        secure = False
    return UNKNOWN if secure is None else "secure" if secure else "swipe"


def _flag(text: str, *names: str) -> bool | None:
    """The first of these names that the text gives a value; one `true` of several displays is enough."""
    for name in names:
        values = re.findall(rf"(?<![\w.]){name}\s*=\s*(true|false)\b", text)
        if values:
            return "true" in values
    return None


def foreground(window: str, activities: str = "") -> tuple[str | None, str | None]:
    """The package and the activity in front.

    The focused window decides when it is an app's; behind the shade or a dialog the resumed activity does.
    """
    component = r"\bu\d+ ([\w.]+)/([\w.$]+)"
    for text, line in (
        (window, "mCurrentFocus="),
        (activities, "opResumedActivity"),
        (activities, "ResumedActivity"),
        (window, "mFocusedApp="),
    ):
        for match in re.finditer(rf"{line}.*?{component}", text):
            package, activity = match.groups()
            return package, package + activity if activity.startswith(".") else activity
    return None, None


def rotation(text: str) -> int | None:
    """Quarter turns, from `dumpsys window` or `dumpsys input`."""
    match = re.search(
        r"(?:mCurrentRotation|mRotation|SurfaceOrientation|mCurrentOrientation)[=:]\s*(?:ROTATION_)?(\d+)",
        text,
    )
    if match is None:
        return None
    value = int(match[1])
    return value // 90 if value >= 90 else value


def size(text: str) -> tuple[int, int] | None:
    """From `wm size`: the override is what taps and trees use."""
    found = dict(re.findall(r"(Physical|Override) size: (\d+x\d+)", text))
    chosen = found.get("Override") or found.get("Physical")
    if chosen is None:
        return None
    width, _, height = chosen.partition("x")
    return int(width), int(height)


def ime(text: str) -> str | None:
    """From `settings get secure default_input_method`."""
    match = re.search(r"^\s*([\w.]+/[\w.$]+)", text, re.MULTILINE)
    return match[1] if match else None


def user(text: str) -> int | None:
    """From `am get-current-user`."""
    match = re.search(r"^\s*(\d+)\s*$", text, re.MULTILINE)
    return int(match[1]) if match else None


def android(text: str) -> int | None:
    """From `getprop ro.build.version.release`."""
    match = re.match(r"\s*(\d+)", text)
    return int(match[1]) if match else None


def package_version(text: str, user: int = 0) -> str | None:
    """From `dumpsys package NAME`: None when the app is not there, "" when the text does not say."""
    if "Unable to find package" in text:
        return None
    installed = re.search(rf"User {user}:.*?\binstalled=(true|false)", text)
    if installed and installed[1] == "false":
        return None
    version = re.search(r"versionName=(\S+)", text)
    return version[1] if version else ""


def keyboard_shown(text: str) -> bool | None:
    """From `dumpsys input_method`."""
    return _flag(text, "mInputShown", "mIsInputViewShown", "inputShown")


_READERS: dict[str, Callable[[str], object]] = {
    "power": awake,
    "window": keyguard_showing,
    "activity": lambda text: foreground("", text)[0],
    "ime": ime,
    "size": size,
    "user": user,
    "android": android,
    "package": lambda text: True if package_version(text) != "" else None,
    "input_method": keyboard_shown,
}


def says_something(part: str, text: str) -> bool:
    """Whether an answer to that part can be used."""
    return _READERS[part](text) is not None
