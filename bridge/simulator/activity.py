"""`am`, `monkey`, `pm` and `cmd`: starting things and asking what is installed."""

from urllib.parse import parse_qs, unquote, urlsplit

from bridge.simulator.inbox import UIDS
from bridge.simulator.keys import broadcast
from bridge.simulator.phone import BUSINESS, SimPhone
from bridge.simulator.shell import Io

ANDROID_VIEW, SENDTO, MAIN = (
    "android.intent.action.VIEW",
    "android.intent.action.SENDTO",
    "android.intent.action.MAIN",
)
HOME = "android.intent.category.HOME"
LAUNCHABLE = {
    "com.whatsapp": ".Main",
    BUSINESS: ".Main",
    "com.android.settings": ".Settings",
    "com.android.chrome": "com.google.android.apps.chrome.Main",
}
TAKES = {
    "-a": "action",
    "-d": "data",
    "-n": "component",
    "-p": "package",
    "-f": "flags",
    "-c": "category",
    "-t": "type",
    "--user": "user",
    "--display": "display",
}


class Intent:
    """What `am` was asked for."""

    def __init__(self, words: list[str]) -> None:
        self.options: dict[str, str] = {}
        self.extras: dict[str, str] = {}
        self.switches: set[str] = set()
        rest = iter(words)
        for word in rest:
            if word in TAKES:
                self.options[TAKES[word]] = next(rest, "")
            elif word in ("--es", "--esa", "--ei", "--ez", "--el", "-e"):
                name = next(rest, "")
                self.extras[name] = next(rest, "")
            elif word.startswith("-"):
                self.switches.add(word)
            elif "/" in word and ":" not in word:
                self.options["component"] = word
            elif ":" in word:
                self.options["data"] = word
            else:
                self.options["package"] = word

    def get(self, name: str) -> str:
        return self.options.get(name, "")

    @property
    def user(self) -> int:
        return int(self.get("user")) if self.get("user").isdigit() else 0

    @property
    def flags(self) -> int:
        return int(self.get("flags"), 0) if self.get("flags") else 0

    def __str__(self) -> str:
        shown = (
            ("act", "action"),
            ("cat", "category"),
            ("dat", "data"),
            ("flg", "flags"),
            ("pkg", "package"),
            ("cmp", "component"),
        )
        parts = []
        for short, name in shown:
            value = self.get(name)
            if name == "data" and value:
                value = value.split("?")[0][:28] + ("..." if len(value) > 28 or "?" in value else "")
            if value:
                parts.append(f"{short}=[{value}]" if name == "category" else f"{short}={value}")
        return "Intent { " + " ".join(parts) + (" (has extras) }" if self.extras else " }")


async def am(phone: SimPhone, args: list[str], io: Io) -> int:
    """`am start|force-stop|broadcast|kill|get-current-user`."""
    verb, intent = (args[1] if args[1:] else ""), Intent(args[2:])
    if verb in ("start", "start-activity"):
        return await start(phone, intent, io)
    if verb == "broadcast":
        return await broadcast(phone, intent.get("action"), intent.extras, io)
    if verb in ("force-stop", "kill", "stop-app"):
        package = intent.get("package")
        app = phone.apps.get(package)
        if app is not None and verb == "force-stop":
            app.reset()
            for record in [r for r in phone.notifications if r.package == package]:
                phone.inbox.cancel(record, 8)
            if phone.app is app:
                phone.home()
        return 0
    if verb == "get-current-user":
        await io.say("0\n")
        return 0
    await io.complain(f"Error: unknown command '{verb}'\n")
    return 255


async def start(phone: SimPhone, intent: Intent, io: Io) -> int:
    """An activity, by name or by what it can open."""
    if "-S" in intent.switches:
        await am(
            phone,
            ["am", "force-stop", intent.get("package") or intent.get("component").partition("/")[0]],
            io,
        )
    await io.say(f"Starting: {intent}\n")
    if intent.user not in phone.users:
        await io.complain(f"Error: Activity not started, user {intent.user} does not exist\n")
        return 1
    component, package = intent.get("component"), intent.get("package")
    if intent.get("category") == HOME and not component and not package:
        phone.home()  # behind the lock too, which the key is not
        return 0
    if component:
        package, _, cls = component.partition("/")
        full = package + cls if cls.startswith(".") else cls
        known = {package + ".Main", package + ".home.ui.HomeActivity", package + ".Conversation"}
        if package not in phone.installed or (package in phone.apps and full not in known):
            await io.complain(f"Error type 3\nError: Activity class {{{package}/{full}}} does not exist.\n")
            return 1
    data = intent.get("data")
    if data and not component:
        return await _open_data(phone, intent, data, package, io)
    if not package or package not in phone.installed or package not in LAUNCHABLE:
        await io.complain(f"Error: Activity not started, unable to resolve {intent}\n")
        return 1
    await _front(phone, package, intent, io)
    return 0


async def _open_data(phone: SimPhone, intent: Intent, data: str, package: str, io: Io) -> int:
    number, text = link(data)
    wanted = package or "com.whatsapp"
    if phone.faults.strike("opens_business"):
        phone.install(BUSINESS)
        wanted = BUSINESS
    elif not package and BUSINESS in phone.apps:
        phone.overlay = "chooser"
        return 0
    if number is None or wanted not in phone.apps or intent.get("action") not in (ANDROID_VIEW, SENDTO):
        if number is None and data.startswith("http") and not package:
            phone.front = "com.android.chrome/com.google.android.apps.chrome.Main"
            return 0
        await io.complain(f"Error: Activity not started, unable to resolve {intent}\n")
        return 1
    warm = phone.app is not None
    phone.front = wanted
    phone.apps[wanted].open_link(number, text)
    if not phone.usable:
        phone.apps[wanted].keyboard = False
    await _waited(phone, intent, io, warm=warm)
    return 0


def link(data: str) -> tuple[str | None, str]:
    """The number and the words in a wa.me, whatsapp: or smsto: address."""
    parts = urlsplit(data)
    query = parse_qs(parts.query, keep_blank_values=True)
    text = query.get("text", [""])[0]
    if parts.netloc in ("wa.me", "www.wa.me"):
        number = parts.path.strip("/")
    elif parts.netloc in ("api.whatsapp.com", "send"):
        number = query.get("phone", [""])[0]
    elif parts.scheme in ("smsto", "sms"):
        number = unquote(parts.path)
    else:
        return None, ""
    return "".join(c for c in number if c.isdigit()), text


async def _front(phone: SimPhone, package: str, intent: Intent, io: Io) -> None:
    app = phone.apps.get(package)
    if app is None:
        phone.front = f"{package}/{LAUNCHABLE[package]}"
    else:
        if phone.app is app and app.screens:
            await io.say(
                "Warning: Activity not started, intent has been delivered to currently running "
                "top-most instance.\n"
            )
        cleared = intent.flags & 0x0000_8000 or intent.flags & 0x0400_0000
        if cleared or {"--activity-clear-top", "--activity-clear-task"} & intent.switches:
            app.clear_top()
        phone.front = package
        app.launch()
    await _waited(phone, intent, io, warm=True)


async def _waited(phone: SimPhone, intent: Intent, io: Io, *, warm: bool) -> None:
    if "-W" in intent.switches:
        state = "WARM" if warm else "COLD"
        short = phone.foreground.replace("/com.whatsapp.", "/.")
        await io.say(
            f"Status: ok\nLaunchState: {state}\nActivity: {short}\nTotalTime: 210\nWaitTime: 224\nComplete\n"
        )


async def monkey(phone: SimPhone, args: list[str], io: Io) -> int:
    """`monkey -p PACKAGE ... 1`, which people use as a launcher."""
    package = args[args.index("-p") + 1] if "-p" in args[:-1] else ""
    if package not in phone.installed or package not in LAUNCHABLE:
        await io.say("** No activities found to run, monkey aborted.\n")
        return 252
    await _front(phone, package, Intent([]), io)
    await io.say(
        "Events injected: 1\n## Network stats: elapsed time=12ms (0ms mobile, 0ms wifi, 12ms not connected)\n"
    )
    return 0


async def pm(phone: SimPhone, args: list[str], io: Io) -> int:
    """`pm list users|packages`, `pm path`."""
    words = args[1:]
    if words[:2] == ["list", "users"]:
        users = "".join(f"\tUserInfo{{{id}:{name}:c13}} running\n" for id, name in phone.users.items())
        await io.say("Users:\n" + users)
        return 0
    if words[:2] == ["list", "packages"]:
        filters = [w for w in words[2:] if not w.startswith("-") and not w.isdigit()]
        for package in sorted(phone.installed):
            if all(f in package for f in filters):
                await io.say(f"package:{package}" + (f" uid:{uid(package)}" if "-U" in words else "") + "\n")
        return 0
    if words[:1] == ["path"]:
        if words[-1] not in phone.installed:
            return 1
        await io.say(f"package:/data/app/~~x/{words[-1]}-y/base.apk\n")
        return 0
    if words[:1] == ["resolve-activity"]:
        return await resolve(phone, words[1:], io)
    await io.complain(f"Unknown command: {' '.join(words[:1])}\n")
    return 255


def uid(package: str) -> int:
    return UIDS.get(package, 10050 + sum(package.encode()) % 90)


async def resolve(phone: SimPhone, words: list[str], io: Io) -> int:
    """`cmd package resolve-activity [--brief] -c LAUNCHER PACKAGE`."""
    package = Intent([w for w in words if w not in ("--brief", "--components")]).get("package")
    if package not in phone.installed or package not in LAUNCHABLE:
        await io.say("No activity found\n")
        return 0
    cls = LAUNCHABLE[package]
    if "--brief" in words:
        await io.say(
            f"priority=0 preferredOrder=0 match=0x108000 specificIndex=-1 isDefault=true\n{package}/{cls}\n"
        )
    else:
        await io.say(
            f"priority=0 preferredOrder=0 match=0x108000\n  ActivityInfo:\n    name={package}{cls}"
            f"\n    packageName={package}\n"
        )
    return 0


async def cmd(phone: SimPhone, args: list[str], io: Io) -> int:
    """`cmd package|notification|statusbar|activity|...`."""
    service, words = (args[1], args[2:]) if args[1:] else ("", [])
    if service == "package":
        return await pm(phone, ["pm", *words], io)
    if service == "activity":
        return await am(phone, ["am", *words], io)
    if service == "notification":
        return await _notification(phone, words, io)
    if service == "statusbar":
        return 0
    if service in ("uimode", "input_method", "appops", "power"):
        return 0
    await io.complain(f"cmd: Can't find service: {service}\n")
    return 20


async def _notification(phone: SimPhone, words: list[str], io: Io) -> int:
    verb = words[0] if words else ""
    if verb == "list" and phone.android >= 11:
        await io.say("".join(r.key + "\n" for r in phone.notifications))
        return 0
    if verb == "post":
        title, lines, rest = "", list[tuple[str, str]](), list[str]()
        given = iter(words[1:])
        for word in given:
            if word in ("-t", "--title", "--conversation"):
                title = next(given, "")
            elif word == "--message":
                who, _, said = next(given, "").partition(":")
                lines.append((who, said))
            elif word in ("-S", "--style", "-i", "-I", "-c"):
                next(given, "")
            elif not word.startswith("-"):
                rest.append(word)
        if len(rest) < 2 and not lines:
            await io.complain("usage: cmd notification post [flags] <tag> <text>\n")
            return 255
        tag, text = (rest[0] if rest else "tag"), " ".join(rest[1:]) or (lines[-1][1] if lines else "")
        await io.say("posting:\n  Notification(channel=shell_cmd shortcut=null)\n")
        phone.inbox.post_shell(tag, title, lines, text)
        return 0
    if verb in ("allow_listener", "disallow_listener", "snooze", "unsnooze"):
        return 0
    await io.complain(f"Unknown command: {verb}\n")
    return 255
