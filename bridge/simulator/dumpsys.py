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
        "power": power, "window": window, "activity": activity, "input_method": input_method, "package": package,
        "trust": trust, "battery": battery, "display": display, "user": users,
    }  # fmt: skip
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


def power(phone: SimPhone, words: list[str]) -> str:
    ago = round((phone.now() - phone.last_touch_at).total_seconds() * 1000)
    state = "Awake" if phone.awake else "Asleep"
    saver = "true" if phone.faults.is_set("battery_saver") else "false"
    return (
        "POWER MANAGER (dumpsys power)\n\nPower Manager State:\n  Settings power_manager_constants:\n    no_cached_wake_locks=true\n"
        f"  mDirty=0x0\n  mWakefulness={state}\n  mWakefulnessChanging=false\n  mIsPowered=true\n  mPlugType=2\n"
        f"  mBatteryLevel={phone.battery}\n  mLowPowerModeEnabled={saver}\n  mStayOn=false\n"
        f"  mLastUserActivityTime=4120000 ({ago} ms ago)\n  lastUserActivityTime(group=0)={ago} ms ago\n"
        f"Display Power: state={'ON' if phone.awake else 'OFF'}\n"
    )


def _focus(phone: SimPhone) -> str:
    if phone.keyguard != "none":
        return "NotificationShade"
    names = {
        "call": "com.google.android.dialer/com.android.incallui.InCallActivity",
        "permission": "com.google.android.permissioncontroller/com.android.permissioncontroller.permission.ui.GrantPermissionsActivity",
        "anr": "Application Not Responding: com.android.systemui", "volume": "VolumeDialogImpl",
        "chooser": "android/com.android.internal.app.ResolverActivity",
    }  # fmt: skip
    return names.get(phone.window_on_top, phone.window_on_top) or phone.foreground


def window(phone: SimPhone, words: list[str]) -> str:
    showing = "true" if phone.keyguard != "none" else "false"
    secure = "true" if phone.lock_kind == "secure" else "false"
    wide, tall = phone.size
    focus = f"Window{{a1b2c3 u0 {_focus(phone)}}}"
    if words[:1] == ["displays"]:
        return f"WINDOW MANAGER DISPLAY CONTENTS (dumpsys window displays)\n  Display: mDisplayId=0\n    init={wide}x{tall} 420dpi cur={wide}x{tall}\n    mCurrentRotation={phone.rotation}\n  mCurrentFocus={focus}\n"
    return (
        "WINDOW MANAGER LAST ANR (dumpsys window lastanr)\n  <no ANR has occurred since boot>\n"
        "WINDOW MANAGER POLICY STATE (dumpsys window policy)\n"
        f"    mAwake={'true' if phone.awake else 'false'} mScreenOnEarly=true\n    KeyguardServiceDelegate\n      showing={showing}\n      showingAndNotOccluded={showing}\n"
        f"      inputRestricted={showing}\n      secure={secure}\n      occluded=false\n      interactiveState={'INTERACTIVE_STATE_AWAKE' if phone.awake else 'INTERACTIVE_STATE_SLEEP'}\n"
        f"    isKeyguardShowing={showing}\n    mShowingLockscreen={showing} mDreamingLockscreen=false\n"
        f"WINDOW MANAGER WINDOWS (dumpsys window windows)\n  mCurrentFocus={focus}\n  mFocusedApp=ActivityRecord{{77aa01 u0 {phone.foreground} t42}}\n"
        f"  mRotation={phone.rotation} mCurrentRotation=ROTATION_{90 * phone.rotation}\n"
    )


def activity(phone: SimPhone, words: list[str]) -> str:
    short = phone.foreground.replace("/" + phone.foreground.partition("/")[0] + ".", "/.")
    name = f"ActivityRecord{{77aa01 u0 {short} t42}}"
    resumed = f"  topResumedActivity={name}\n" if phone.android >= 10 else f"    mResumedActivity: {name}\n"
    if not phone.awake:
        resumed = ""
    return (
        "ACTIVITY MANAGER ACTIVITIES (dumpsys activity activities)\nDisplay #0 (activities from top to bottom):\n"
        f"  * Task{{51ce0 #42 type=standard A=10148:{short.partition('/')[0]}}}\n    * Hist  #0: {name}\n{resumed}"
        + (f"  ResumedActivity: {name}\n" if phone.awake else "")
        + f"  isHomeRecentsComponent=true  KeyguardController:\n    mKeyguardShowing={'true' if phone.keyguard != 'none' else 'false'}\n"
    )


def input_method(phone: SimPhone, words: list[str]) -> str:
    shown = "true" if phone.keyboard_shown else "false"
    return (
        "Current Input Method Manager state:\n  Input Methods: mMethodMapUpdateCount=1\n"
        f"  mCurMethodId={phone.ime}\n  mShowRequested={shown} mShowExplicitlyRequested=false mShowForced=false mInputShown={shown}\n"
        f"  mSystemReady=true mInteractive={'true' if phone.awake else 'false'}\n  mInputShown={shown}\n"
    )


def package(phone: SimPhone, words: list[str]) -> str:
    name = words[0] if words else ""
    if name not in phone.installed:
        return f"Unable to find package: {name}\n" if name else ""
    return (
        f"Packages:\n  Package [{name}] (5d1f0b2):\n    userId={uid(name)}\n    pkg=Package{{8ab9 {name}}}\n"
        f"    codePath=/data/app/~~x/{name}-y\n    versionCode=226380731 minSdk=21 targetSdk=35\n    versionName={phone.installed[name]}\n"
    )


def trust(phone: SimPhone, words: list[str]) -> str:
    locked = 1 if phone.keyguard == "secure" else 0
    return f'Trust manager state:\n User "Owner" (id=0, flags=0x4c13) (current): trusted=0, trustManaged=1, deviceLocked={locked}, strongAuthRequired=0x0\n'


def battery(phone: SimPhone, words: list[str]) -> str:
    return f"Current Battery Service state:\n  AC powered: false\n  USB powered: true\n  status: 2\n  level: {phone.battery}\n  scale: 100\n"


def display(phone: SimPhone, words: list[str]) -> str:
    wide, tall = phone.size
    return f"DISPLAY MANAGER (dumpsys display)\n  mViewports=[DisplayViewport{{valid=true, orientation={phone.rotation}, logicalFrame=Rect(0, 0 - {wide}, {tall})}}]\n"


def users(phone: SimPhone, words: list[str]) -> str:
    return "Current user: 0\n" + "".join(
        f"  UserInfo{{{id}:{name}:c13}}\n" for id, name in phone.users.items()
    )
