"""What the phone's shell can run."""

import re

from bridge.simulator.activity import am, cmd, monkey, pm
from bridge.simulator.dumpsys import dumpsys
from bridge.simulator.keys import ime, input_, set_ime
from bridge.simulator.logcat import logcat
from bridge.simulator.model import shown_number
from bridge.simulator.phone import SDK, SimPhone
from bridge.simulator.screenshot import png, raw
from bridge.simulator.shell import Io, Program
from bridge.simulator.toybox import PROGRAMS
from bridge.simulator.uidump import uiautomator

WARNING = (
    b"[Warning] Multiple displays were found, but no display id was specified! "
    b"Defaulting to the first display found, however this default is not guaranteed to be consistent.\n"
)


def properties(phone: SimPhone) -> dict[str, str]:
    return {
        "ro.serialno": phone.serialno,
        "ro.boot.serialno": phone.serialno,
        "ro.product.model": phone.model,
        "ro.product.manufacturer": "Sim",
        "ro.product.brand": "Sim",
        "ro.product.name": "simphone",
        "ro.product.device": "simphone",
        "ro.build.version.release": str(phone.android),
        "ro.build.version.sdk": str(SDK.get(phone.android, 33)),
        "ro.build.fingerprint": f"Sim/simphone/simphone:{phone.android}/SIM/1:user/release-keys",
        "sys.boot_completed": "1",
        "persist.sys.locale": phone.locale,
        "ro.build.version.incremental": "1",
        "ro.kernel.qemu": "",
    }


async def getprop(phone: SimPhone, args: list[str], io: Io) -> int:
    props = properties(phone)
    if args[1:]:
        await io.say(props.get(args[1], args[2] if args[2:] else "") + "\n")
    else:
        await io.say("".join(f"[{name}]: [{value}]\n" for name, value in props.items()))
    return 0


async def wm(phone: SimPhone, args: list[str], io: Io) -> int:
    """`wm size|density|dismiss-keyguard|user-rotation`."""
    verb = args[1] if args[1:] else ""
    if verb == "size":
        await io.say("Physical size: {}x{}\n".format(*phone.physical))
        turned = phone.faults.text("override_size") or (phone.override and "{}x{}".format(*phone.override))
        if turned:
            await io.say(f"Override size: {turned}\n")
    elif verb == "density":
        await io.say("Physical density: 420\n")
    elif verb == "dismiss-keyguard":
        phone.dismiss_keyguard()
    elif verb == "user-rotation":
        await io.say("free\n")
    else:
        await io.complain(f"Unknown command: {verb}\n")
        return 255
    return 0


async def settings(phone: SimPhone, args: list[str], io: Io) -> int:
    """`settings [--user N] get|put|delete|list SPACE [NAME [VALUE]]`."""
    words = args[1:]
    if words[:1] == ["--user"]:
        words = words[2:]
    if len(words) < 2:
        await io.complain("settings: what?\n")
        return 255
    verb, space, rest = words[0], words[1], words[2:]
    live = {
        ("secure", "default_input_method"): phone.ime,
        ("secure", "enabled_input_methods"): ":".join(phone.enabled_imes),
        ("global", "low_power"): "1" if phone.faults.is_set("battery_saver") else "0",
    }
    if verb == "get" and rest:
        await io.say((live.get((space, rest[0])) or phone.settings.get((space, rest[0]), "null")) + "\n")
    elif verb == "put" and len(rest) > 1:
        if (space, rest[0]) == ("secure", "default_input_method"):
            set_ime(phone, rest[1])
        else:
            phone.settings[space, rest[0]] = rest[1]
    elif verb == "delete" and rest:
        gone = phone.settings.pop((space, rest[0]), None)
        await io.say(f"Deleted {0 if gone is None else 1} rows\n")
    elif verb == "list":
        held = {**phone.settings, **live}
        await io.say("".join(f"{name}={value}\n" for (where, name), value in held.items() if where == space))
    else:
        await io.complain("Invalid command\n")
        return 255
    return 0


async def screencap(phone: SimPhone, args: list[str], io: Io) -> int:
    """`screencap [-p] [-d ID] [FILE]`."""
    words = args[1:]
    as_png = "-p" in words
    path = next((w for i, w in enumerate(words) if not w.startswith("-") and words[i - 1] != "-d"), "")
    as_png = as_png or path.endswith(".png")
    faults = phone.faults
    data = raw(phone) if not as_png or faults.strike("huge_screenshot") else png(phone)
    if faults.strike("truncated_png"):
        data = data[: len(data) // 2]
    if faults.strike("crlf_png"):
        data = data.replace(b"\n", b"\r\n")
    if faults.strike("warning_before_png"):
        data = WARNING + data
    if path:
        phone.files[path] = data
    else:
        await io.out.write(data)
    return 0


async def locksettings(phone: SimPhone, args: list[str], io: Io) -> int:
    """Only the question; nobody may touch credentials."""
    if args[1:2] == ["get-disabled"]:
        await io.say("true\n" if phone.lock_kind == "none" else "false\n")
        return 0
    await io.complain("Error: not allowed\n")
    return 255


async def content(phone: SimPhone, args: list[str], io: Io) -> int:
    """`content query --uri content://com.android.contacts/data/phones [--projection A:B] [--where W]`."""
    words = args[1:]
    uri = words[words.index("--uri") + 1] if "--uri" in words[:-1] else ""
    if words[:1] != ["query"] or "com.android.contacts" not in uri:
        await io.complain(
            f"Error while accessing provider: {uri}\njava.lang.IllegalStateException: Could not "
            "find provider\n"
        )
        return 1
    columns = (
        words[words.index("--projection") + 1].split(":")
        if "--projection" in words[:-1]
        else ["display_name", "data1"]
    )
    where = words[words.index("--where") + 1] if "--where" in words[:-1] else ""
    wanted = re.fullmatch(r"(display_name|data1)\s*=\s*'(.*)'", where)
    row = 0
    for number, name in phone.address_book().items():
        values = {
            "display_name": name,
            "data1": shown_number(number),
            "data4": "+" + number,
            "_id": str(row + 1),
            "contact_id": str(row + 1),
        }
        if wanted and values[wanted.group(1)] != wanted.group(2).replace("''", "'"):
            continue
        await io.say(f"Row: {row} " + ", ".join(f"{c}={values.get(c, 'NULL')}" for c in columns) + "\n")
        row += 1
    if not row:
        await io.say("No result found.\n")
    return 0


async def reboot(phone: SimPhone, args: list[str], io: Io) -> int:
    phone.reboot()
    return 0


async def ps(phone: SimPhone, args: list[str], io: Io) -> int:
    await io.say(
        "USER PID PPID VSZ RSS WCHAN ADDR S NAME\nshell 4200 1 1 1 0 0 S adbd\nu0_a148 4821 "
        "300 1 1 0 0 S com.whatsapp\n"
    )
    if phone.faults.is_set("already_registered"):
        await io.say("shell 4999 1 1 1 0 0 S app_process\n")
    return 0


async def am_free(phone: SimPhone, args: list[str], io: Io) -> int:
    """Programs that exist and say nothing."""
    return 0


ALL: dict[str, Program] = {
    **PROGRAMS,
    "getprop": getprop,
    "wm": wm,
    "settings": settings,
    "screencap": screencap,
    "locksettings": locksettings,
    "content": content,
    "reboot": reboot,
    "ps": ps,
    "am": am,
    "cmd": cmd,
    "monkey": monkey,
    "pm": pm,
    "dumpsys": dumpsys,
    "ime": ime,
    "input": input_,
    "logcat": logcat,
    "uiautomator": uiautomator,
    "svc": am_free,
    "setprop": am_free,
}


def find(name: str) -> Program | None:
    """The program of this name."""
    return ALL.get(name)
