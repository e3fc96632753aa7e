"""`input`, `ime` and keyboard helpers: how text and touches get in."""

import asyncio
import base64
import binascii

from bridge.simulator.phone import ADB_KEYBOARD, LATIN, LAUNCHER, SimPhone
from bridge.simulator.shell import Io
from bridge.simulator.touch import long_press, swipe, tap

KEYS = {
    "HOME": 3,
    "BACK": 4,
    "CALL": 5,
    "DPAD_UP": 19,
    "DPAD_DOWN": 20,
    "DPAD_LEFT": 21,
    "DPAD_RIGHT": 22,
    "VOLUME_UP": 24,
    "VOLUME_DOWN": 25,
    "POWER": 26,
    "TAB": 61,
    "SPACE": 62,
    "ENTER": 66,
    "DEL": 67,
    "MENU": 82,
    "ESCAPE": 111,
    "FORWARD_DEL": 112,
    "MOVE_HOME": 122,
    "MOVE_END": 123,
    "APP_SWITCH": 187,
    "SLEEP": 223,
    "WAKEUP": 224,
    "PASTE": 279,
}
FORBIDDEN = (
    "\nException occurred while executing '{verb}':\njava.lang.SecurityException: "
    "Injecting input events requires the caller "
    "(or the source of the instrumentation, if any) to have the INJECT_EVENTS permission.\n"
    "\tat com.android.server.input.InputManagerService.injectInputEventInternal(InputManagerService.java:1)\n"
)
UNTYPABLE = (
    "\nException occurred while executing 'text':\njava.lang.NullPointerException: "
    "Attempt to get length of null array\n"
    "\tat com.android.server.input.InputShellCommand.sendText(InputShellCommand.java:1)\n"
)


async def input_(phone: SimPhone, args: list[str], io: Io) -> int:
    """`input [source] tap|swipe|text|keyevent|motionevent|draganddrop ...`."""
    words = args[1:]
    while words and words[0] in ("touchscreen", "keyboard", "mouse", "-d"):
        words = words[2:] if words[0] == "-d" else words[1:]
    verb, rest = (words[0], words[1:]) if words else ("", [])
    if phone.faults.strike("inject_events"):
        await io.complain(FORBIDDEN.format(verb=verb))
        return 255
    phone.input_count += 1
    try:
        if verb == "tap":
            tap(phone, round(float(rest[0])), round(float(rest[1])))
        elif verb in ("swipe", "draganddrop"):
            x1, y1, x2, y2 = (round(float(v)) for v in rest[:4])
            swipe(phone, x1, y1, x2, y2, int(rest[4]) if rest[4:] else 300)
        elif verb == "motionevent":
            _motion(phone, rest[0].upper(), round(float(rest[1])), round(float(rest[2])))
        elif verb == "keyevent":
            for name in (w for w in rest if not w.startswith("--")):
                key(phone, int(name) if name.isdigit() else KEYS[name.upper().removeprefix("KEYCODE_")])
        elif verb == "text":
            return await _text(phone, rest, io)
        else:
            await io.complain(f"Error: Unknown command: {verb}\n")
            return 255
    except (IndexError, ValueError, KeyError):
        await io.complain(f"Error: Invalid arguments for command: {verb}\n")
        return 255
    return 0


async def _text(phone: SimPhone, words: list[str], io: Io) -> int:
    if len(words) != 1:  # `input` takes one argument; the real one complains about the rest
        await io.complain("Error: Invalid arguments for command: text\n")
        return 255
    text = words[0].replace("%s", " ")
    if any(not 32 <= ord(c) < 127 for c in text):
        await io.complain(UNTYPABLE)
        return 255
    if phone.faults.strike("half_typed"):
        type_text(phone, text[: len(text) // 2])
        await asyncio.get_running_loop().create_future()
    type_text(phone, text)
    return 0


def type_text(phone: SimPhone, text: str) -> bool:
    """Characters for whatever has the focus."""
    return phone.usable and phone.app is not None and phone.app.type(text)


def key(phone: SimPhone, code: int) -> None:
    """One key, pressed and released."""
    phone.keys.append(code)
    phone.last_touch_at = phone.now()
    if phone.faults.strike("owner_takes_phone"):
        phone.front = "com.android.chrome/com.google.android.apps.chrome.Main"
    app = phone.app
    if code == 224:
        phone.wake()
    elif code == 223:
        phone.sleep()
    elif code == 26:
        phone.sleep() if phone.awake else phone.wake()
    elif not phone.awake or (phone.keyguard != "none" and code != 82):
        return
    elif code == 82 and phone.keyguard != "none":
        phone.dismiss_keyguard()
    elif code in (3, 187):
        phone.home()
    elif code == 4:
        phone.back()
    elif app is None or phone.window_on_top:
        return
    elif code == 111:
        app.keyboard = False
    elif code == 66:
        app.enter()
    elif code == 67:
        app.erase()
    elif code == 62:
        app.type(" ")


def _motion(phone: SimPhone, action: str, x: int, y: int) -> None:
    if action == "DOWN":
        phone.finger = (x, y, asyncio.get_running_loop().time())
    elif action == "UP" and phone.finger is not None:
        x0, y0, since = phone.finger
        phone.finger = None
        held = asyncio.get_running_loop().time() - since
        if abs(x - x0) > 12 or abs(y - y0) > 12:
            swipe(phone, x0, y0, x, y, round(held * 1000))
        elif held >= 0.4:
            long_press(phone, x, y)
        else:
            tap(phone, x, y)


async def ime(phone: SimPhone, args: list[str], io: Io) -> int:
    """`ime list|enable|disable|set|reset`."""
    words = [w for w in args[1:] if not w.startswith("--user")]
    verb, rest = (words[0], [w for w in words[1:] if not w.startswith("-")]) if words else ("help", [])
    known = [i for i in phone.imes if not (i != LATIN and phone.faults.is_set("ime_missing"))]
    if verb == "list":
        shown = known if "-a" in words else [i for i in known if i in phone.enabled_imes]
        for name in shown:
            await io.say(
                f"{name}\n" if "-s" in words else f"mId={name} mSettingsActivityName=null mIsVrOnly=false\n"
            )
        return 0
    name = rest[0] if rest else ""
    if name and name not in known:
        verbs = {"enable": "enabled", "disable": "disabled"}
        await io.complain(
            f"Unknown input method {name} cannot be {verbs.get(verb, 'selected')} for user #0\n"
        )
        return 255
    if verb == "enable":
        if name not in phone.enabled_imes:
            phone.enabled_imes.append(name)
        await io.say(f"Input method {name}: now enabled for user #0\n")
    elif verb == "disable":
        phone.enabled_imes = [i for i in phone.enabled_imes if i != name]
        if phone.ime == name:
            phone.ime = phone.enabled_imes[0] if phone.enabled_imes else ""
        await io.say(f"Input method {name}: now disabled for user #0\n")
    elif verb == "set":
        if name not in phone.enabled_imes:
            await io.complain(f"Input method {name} cannot be selected for user #0: it is not enabled\n")
            return 255
        set_ime(phone, name)
        await io.say(f"Input method {name} selected for user #0\n")
    elif verb == "reset":
        phone.ime, phone.enabled_imes = LATIN, [LATIN]
    return 0


def set_ime(phone: SimPhone, name: str) -> None:
    """Switch keyboards; the new one has no input connection until the field is touched, if the fault says
    so."""
    if name == LATIN and phone.faults.strike("ime_restore_fails"):
        return
    phone.ime = name
    if name != LATIN and phone.faults.strike("ime_no_connection"):
        for app in phone.apps.values():
            app.connected = False


async def broadcast(phone: SimPhone, action: str, extras: dict[str, str], io: Io) -> int:
    """`am broadcast` to the keyboard helper: result 0 whatever became of it, as the real one."""
    app = phone.app
    if phone.ime == ADB_KEYBOARD and app is not None and phone.usable:
        if action in ("ADB_INPUT_B64", "ADB_KEYBOARD_INPUT_TEXT"):
            raw = extras.get("msg") or extras.get("text", "")
            try:
                app.type(base64.b64decode(raw, validate=True).decode())
            except (binascii.Error, UnicodeDecodeError):
                await io.complain("bad base-64\n")
        elif action == "ADB_INPUT_TEXT":
            app.type(extras.get("msg", ""))
        elif action in ("ADB_CLEAR_TEXT", "ADB_KEYBOARD_CLEAR_TEXT"):
            app.erase(10_000)
    await io.say(
        f"Broadcasting: Intent {{ act={action} flg=0x400000 (has extras) }}\nBroadcast completed: result=0\n"
    )
    return 0


__all__ = ["LAUNCHER", "broadcast", "ime", "input_", "key", "set_ime", "type_text"]
