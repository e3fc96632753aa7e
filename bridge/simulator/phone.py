"""The phone around WhatsApp: power, lock, what is in front, keyboards, notifications, files, and the event
log."""

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from bridge.simulator.faults import Faults
from bridge.simulator.inbox import Inbox
from bridge.simulator.metrics import Metrics
from bridge.simulator.model import Message, Sent
from bridge.simulator.notifications import Record
from bridge.simulator.whatsapp import WhatsApp

LAUNCHER = "com.google.android.apps.nexuslauncher/.NexusLauncherActivity"
LATIN = "com.google.android.inputmethod.latin/com.android.inputmethod.latin.LatinIME"
ADB_KEYBOARD = "com.android.adbkeyboard/.AdbIME"
BUSINESS = "com.whatsapp.w4b"
SDK = {8: 26, 9: 28, 10: 29, 11: 30, 12: 31, 13: 33, 14: 34, 15: 35, 16: 36}


class SimPhone:
    """One phone; also the only witness of what was really done to it."""

    def __init__(
        self,
        *,
        locale: str = "es",
        android: int = 13,
        size: tuple[int, int] = (1080, 2400),
        serialno: str = "SIM0001",
    ) -> None:
        self.faults = Faults()
        self.locale = locale
        self.android = android
        self.serialno = serialno
        self.model = "Sim Phone"
        self.physical = size
        self.override: tuple[int, int] | None = None
        self.rotation = 0
        self.shift = timedelta()  # the phone's clock, against this computer's
        self.whatsapp = WhatsApp(locale=locale, now=self.now, faults=self.faults)
        self.apps: dict[str, WhatsApp] = {self.whatsapp.package: self.whatsapp}
        self.installed: dict[str, str] = {
            "com.whatsapp": self.whatsapp.version,
            "com.android.shell": str(android),
            "com.android.settings": str(android),
            "com.android.systemui": str(android),
            "com.android.chrome": "128.0",
            "com.google.android.gms": "24.30",
            "com.google.android.inputmethod.latin": "14.5",
            LAUNCHER.partition("/")[0]: str(android),
        }
        self.users: dict[int, str] = {0: "Owner"}
        self.awake = True
        self.lock_kind = "swipe"  # what comes up when the screen goes off
        self._keyguard = "none"  # what is showing
        self.front = LAUNCHER
        self.bouncer = False  # the PIN pad is up
        self.overlay = ""  # a window of another app on top
        self.ime = LATIN
        self.imes = [LATIN]
        self.enabled_imes = [LATIN]
        self.contacts: dict[str, str] = {}  # number: name, beside the saved chats
        self.settings: dict[tuple[str, str], str] = {("system", "screen_off_timeout"): "30000"}
        self.files: dict[str, bytes] = {}
        self.notifications: list[Record] = []
        self.events: deque[tuple[datetime, str, str]] = deque(maxlen=2000)
        self.event_listeners: set[Callable[[tuple[datetime, str, str]], None]] = set()
        self.inbox = Inbox(self)
        self.whatsapp.on_read = self.inbox.clear
        self.whatsapp.visible = lambda: self.usable
        self.touches: list[tuple[int, int]] = []
        self.finger: tuple[int, int, float] | None = None
        self.keys: list[int] = []
        self.commands: list[str] = []  # every shell command, as it came
        self.last_touch_at = self.now() - timedelta(hours=1)
        self.input_count = 0
        self.battery = 84
        self.booted = 1  # how many times
        self.last_dump: bytes | None = None
        self.late_dump: tuple[str, bytes] | None = None  # what an abandoned dump will still write

    # what really happened

    @property
    def sent(self) -> list[Sent]:
        return [sent for app in self.apps.values() for sent in app.sent]

    @property
    def read_chats(self) -> list[str]:
        return [id for app in self.apps.values() for id in app.read_chats]

    @property
    def violations(self) -> list[str]:
        return [what for app in self.apps.values() for what in app.violations]

    @property
    def in_front(self) -> bool:
        """Whether a WhatsApp is the app in front, locked or not."""
        return self.app is not None

    # state

    def now(self) -> datetime:
        """The phone's own clock and time zone."""
        return datetime.now(UTC).astimezone() + self.shift

    @property
    def size(self) -> tuple[int, int]:
        """What the screen measures now, turned as it is."""
        size = self.override or self.physical
        if self.faults.is_set("override_size"):
            wide, _, tall = self.faults.text("override_size", "1080x2376").partition("x")
            size = (int(wide), int(tall))
        turned = self.rotation in (1, 3) or self.faults.is_set("rotated")
        return (size[1], size[0]) if turned else size

    @property
    def metrics(self) -> Metrics:
        font = self.faults.number("large_font", 1.6) if self.faults.is_set("large_font") else 1.0
        return Metrics(*self.size, font)

    @property
    def app(self) -> WhatsApp | None:
        """The WhatsApp that is in front, if one is."""
        return self.apps.get(self.front.partition("/")[0])

    @property
    def foreground(self) -> str:
        """package/activity of the app in front."""
        return f"{self.app.package}/{self.app.activity}" if self.app is not None else self.front

    @foreground.setter
    def foreground(self, activity: str) -> None:
        self.front = activity
        if self.app is not None and not self.app.screens:
            self.app.launch()

    @property
    def keyguard(self) -> str:
        """none, swipe or secure: the lock that is showing."""
        return self._keyguard

    @keyguard.setter
    def keyguard(self, kind: str) -> None:
        if kind not in ("none", "swipe", "secure"):
            raise ValueError(f"There is no keyguard {kind!r}.")
        self._keyguard = kind
        if kind != "none":
            self.lock_kind = kind

    @property
    def usable(self) -> bool:
        """Awake, unlocked, nothing on top: what is in front can be seen and touched."""
        return self.awake and self._keyguard == "none" and not self.window_on_top

    @property
    def window_on_top(self) -> str:
        if self.faults.is_set("window_on_top"):
            return self.faults.text("window_on_top", "call")
        return self.overlay

    @property
    def keyboard_shown(self) -> bool:
        return self.usable and self.app is not None and self.app.keyboard

    def install(self, package: str, version: str = "2.26.38.73") -> WhatsApp | None:
        """Put a package on the phone; a second WhatsApp starts empty."""
        self.installed[package] = version
        if package in (BUSINESS, "com.whatsapp") and package not in self.apps:
            app = WhatsApp(locale=self.locale, now=self.now, faults=self.faults, package=package)
            app.on_read = self.inbox.clear
            app.visible = lambda: self.usable
            self.apps[package] = app
        if package == ADB_KEYBOARD.partition("/")[0] and ADB_KEYBOARD not in self.imes:
            self.imes.append(ADB_KEYBOARD)
        return self.apps.get(package)

    # what people and buttons do

    def home(self) -> None:
        if self.app is not None:
            self.app.keyboard = False
        self.front, self.overlay = LAUNCHER, ""

    def back(self) -> None:
        if self.window_on_top:
            self.overlay = ""
            self.faults.clear("window_on_top")
        elif (self.app is not None and not self.app.back()) or self.app is None:
            self.front = LAUNCHER

    def wake(self) -> None:
        self.awake = True

    def sleep(self) -> None:
        self.awake, self._keyguard, self.bouncer = False, self.lock_kind, False

    def dismiss_keyguard(self) -> None:
        """What `wm dismiss-keyguard` and a swipe up do: a secure lock stays."""
        if self.awake and self._keyguard == "swipe":
            self._keyguard = "none"
        self.bouncer = self.awake and self._keyguard == "secure"

    def reboot(self) -> None:
        """Everything that is not stored is gone, and the lock is up."""
        self.sleep()
        self.booted += 1
        for app in self.apps.values():
            app.reset()
        self.front, self.overlay, self.notifications = LAUNCHER, "", []
        self.events.clear()

    def receive(
        self, chat: str, text: str, *, sender: str | None = None, kind: str = "text", **extra: object
    ) -> Message:
        """A message arrives: unread, notification, event log. `extra` are further fields of the message."""
        return self.inbox.receive(chat, text, sender=sender or "", kind=kind, extra=extra)

    def log_event(self, tag: str, fields: str) -> None:
        """One line of the event log."""
        if self.faults.is_set("ring_overflow") and len(self.events) >= self.faults.number(
            "ring_overflow", 20
        ):
            self.events.popleft()
        event = (self.now(), tag, fields)
        self.events.append(event)
        for listener in tuple(self.event_listeners):
            listener(event)

    def address_book(self) -> dict[str, str]:
        """number: name, as the phone's contacts have it."""
        saved = {c.number: c.title for c in self.whatsapp.chats if c.saved and c.number}
        return {**saved, **self.contacts}
