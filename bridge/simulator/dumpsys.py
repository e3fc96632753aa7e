"""`dumpsys` of the services a driver asks, trimmed to the lines that matter and some that do not."""

from bridge.simulator.activity import uid
from bridge.simulator.notifications import dump
from bridge.simulator.phone import SimPhone
from bridge.simulator.shell import Io


async def dumpsys(phone: SimPhone, args: list[str], io: Io) -> int:
    words = args[1:]
    while words[:1] == ["-t"] or words[:1] == ["-T"]:
        words = words[2:]
    service, rest = (words[0], words[1:]) if words else ("", [])
    tellers = {
        "power": power,
        "window": window,
        "activity": activity,
        "input_method": input_method,
        "package": package,
        "trust": trust,
        "battery": battery,
        "display": display,
        "user": users,
    }
    if service == "notification":
        wanted = rest[rest.index("--package") + 1] if "--package" in rest[:-1] else ""
        noredact = "--noredact" in rest or "--reveal" in rest
        await io.say(
            dump(
                phone.notifications,
                android=phone.android,
                faults=phone.faults,
                noredact=noredact,
                package=wanted,
            )
        )
        return 0
    if service not in tellers:
        await io.complain(f"Can't find service: {service}\n")
        return 0
    await io.say(tellers[service](phone, rest))
    return 0


def _yes(value: object) -> str:
    return "true" if value else "false"


def _text(*lines: str) -> str:
    return "".join(line + "\n" for line in lines if line)


def power(phone: SimPhone, words: list[str]) -> str:
    ago = round((phone.now() - phone.last_touch_at).total_seconds() * 1000)
    return _text(
        "POWER MANAGER (dumpsys power)",
        "Power Manager State:",
        "  mDirty=0x0",
        f"  mWakefulness={'Awake' if phone.awake else 'Asleep'}",
        "  mWakefulnessChanging=false",
        "  mIsPowered=true",
        "  mPlugType=2",
        f"  mBatteryLevel={phone.battery}",
        f"  mLowPowerModeEnabled={_yes(phone.faults.is_set('battery_saver'))}",
        "  mStayOn=false",
        f"  mLastUserActivityTime=4120000 ({ago} ms ago)",
        f"Display Power: state={'ON' if phone.awake else 'OFF'}",
    )


def _focus(phone: SimPhone) -> str:
    if phone.keyguard != "none":
        return "NotificationShade"
    permission = "com.google.android.permissioncontroller"
    names = {
        "call": "com.google.android.dialer/com.android.incallui.InCallActivity",
        "permission": f"{permission}/com.android.permissioncontroller.permission.ui.GrantPermissionsActivity",
        "anr": "Application Not Responding: com.android.systemui",
        "volume": "VolumeDialogImpl",
        "chooser": "android/com.android.internal.app.ResolverActivity",
    }
    return names.get(phone.window_on_top, phone.window_on_top) or phone.foreground


def window(phone: SimPhone, words: list[str]) -> str:
    showing, secure = _yes(phone.keyguard != "none"), _yes(phone.lock_kind == "secure")
    wide, tall = phone.size
    focus = f"  mCurrentFocus=Window{{a1b2c3 u0 {_focus(phone)}}}"
    turned = 1 if phone.faults.is_set("rotated") and phone.rotation == 0 else phone.rotation
    if words[:1] == ["displays"]:
        return _text(
            "WINDOW MANAGER DISPLAY CONTENTS (dumpsys window displays)",
            "  Display: mDisplayId=0",
            f"    init={wide}x{tall} 420dpi cur={wide}x{tall}",
            f"    mCurrentRotation={turned}",
            focus,
        )
    return _text(
        "WINDOW MANAGER LAST ANR (dumpsys window lastanr)",
        "  <no ANR has occurred since boot>",
        "WINDOW MANAGER POLICY STATE (dumpsys window policy)",
        f"    mAwake={_yes(phone.awake)} mScreenOnEarly=true",
        "    KeyguardServiceDelegate",
        f"      showing={showing}",
        f"      showingAndNotOccluded={showing}",
        f"      inputRestricted={showing}",
        f"      secure={secure}",
        "      occluded=false",
        f"      interactiveState=INTERACTIVE_STATE_{'AWAKE' if phone.awake else 'SLEEP'}",
        f"    isKeyguardShowing={showing}",
        f"    mShowingLockscreen={showing} mDreamingLockscreen=false",
        "WINDOW MANAGER WINDOWS (dumpsys window windows)",
        focus,
        f"  mFocusedApp=ActivityRecord{{77aa01 u0 {phone.foreground} t42}}",
        f"  mRotation={turned} mCurrentRotation=ROTATION_{90 * turned}",
    )


def activity(phone: SimPhone, words: list[str]) -> str:
    package = phone.foreground.partition("/")[0]
    name = f"ActivityRecord{{77aa01 u0 {phone.foreground.replace(f'/{package}.', '/.')} t42}}"
    resumed = f"  topResumedActivity={name}" if phone.android >= 10 else f"    mResumedActivity: {name}"
    return _text(
        "ACTIVITY MANAGER ACTIVITIES (dumpsys activity activities)",
        "Display #0 (activities from top to bottom):",
        f"  * Task{{51ce0 #42 type=standard A=10148:{package}}}",
        f"    * Hist  #0: {name}",
        resumed if phone.awake else "",
        f"  ResumedActivity: {name}" if phone.awake else "",
        "  KeyguardController:",
        f"    mKeyguardShowing={_yes(phone.keyguard != 'none')}",
    )


def input_method(phone: SimPhone, words: list[str]) -> str:
    shown = _yes(phone.keyboard_shown)
    return _text(
        "Current Input Method Manager state:",
        "  Input Methods: mMethodMapUpdateCount=1",
        f"  mCurMethodId={phone.ime}",
        f"  mShowRequested={shown} mShowExplicitlyRequested=false mShowForced=false",
        f"  mSystemReady=true mInteractive={_yes(phone.awake)}",
        f"  mInputShown={shown}",
    )


def package(phone: SimPhone, words: list[str]) -> str:
    name = words[0] if words else ""
    if name not in phone.installed:
        return f"Unable to find package: {name}\n" if name else ""
    return _text(
        "Packages:",
        f"  Package [{name}] (5d1f0b2):",
        f"    userId={uid(name)}",
        f"    pkg=Package{{8ab9 {name}}}",
        "    versionCode=226380731 minSdk=21 targetSdk=35",
        f"    versionName={phone.installed[name]}",
    )


def trust(phone: SimPhone, words: list[str]) -> str:
    locked = 1 if phone.keyguard == "secure" else 0
    return _text(
        "Trust manager state:",
        ' User "Owner" (id=0, flags=0x4c13) (current): trusted=0, trustManaged=1, '
        f"deviceLocked={locked}, strongAuthRequired=0x0",
    )


def battery(phone: SimPhone, words: list[str]) -> str:
    return _text(
        "Current Battery Service state:",
        "  AC powered: false",
        "  USB powered: true",
        "  status: 2",
        f"  level: {phone.battery}",
        "  scale: 100",
    )


def display(phone: SimPhone, words: list[str]) -> str:
    wide, tall = phone.size
    frame = f"orientation={phone.rotation}, logicalFrame=Rect(0, 0 - {wide}, {tall})"
    return _text(
        "DISPLAY MANAGER (dumpsys display)", f"  mViewports=[DisplayViewport{{valid=true, {frame}}}]"
    )


def users(phone: SimPhone, words: list[str]) -> str:
    listed = (f"  UserInfo{{{id}:{name}:c13}}" for id, name in phone.users.items())
    return _text("Current user: 0", *listed)
