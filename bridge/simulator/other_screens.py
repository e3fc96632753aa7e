"""Everything that is not the list or a chat: the launcher, the lock, foreign windows, WhatsApp's smaller
screens."""

from bridge.simulator.layout import Act, Node
from bridge.simulator.metrics import BUTTON, FRAME, IMAGE, IMAGE_BUTTON, TEXT, Metrics
from bridge.simulator.whatsapp import WhatsApp
from bridge.simulator.words import say

SYSTEM_UI = "com.android.systemui"


def launcher(m: Metrics, open_whatsapp: Act, time: str) -> Node:
    """The home screen with one icon that matters."""
    p = "com.google.android.apps.nexuslauncher:id/"
    root = Node(FRAME, m.screen, p + "launcher", fill="wall")
    root.add(Node(TEXT, m.box(60, 260, 700, 360), p + "clock", text=time))
    icon = m.box(60, m.down - 500, 270, m.down - 240)
    return root.add(
        Node(TEXT, icon, p + "icon", text="WhatsApp", desc="WhatsApp", tap=open_whatsapp, fill="button")
    )


def keyguard(m: Metrics, *, secure: bool, bouncer: bool, time: str) -> Node:
    """The lock screen; with a PIN pad once it was pushed away."""
    p = SYSTEM_UI + ":id/"
    root = Node(FRAME, m.screen, p + "notification_panel", package=SYSTEM_UI, fill="dark")
    if secure and bouncer:
        pad = Node(FRAME, m.box(90, 900, 990, 2200), p + "keyguard_pin_view")
        for i in range(10):
            box = m.box(
                120 + 290 * (i % 3), 1200 + 220 * (i // 3), 370 + 290 * (i % 3), 1400 + 220 * (i // 3)
            )
            pad.add(Node(FRAME, box, p + f"key{(i + 1) % 10}", desc=str((i + 1) % 10), tap=lambda: None))
        return root.add(pad)
    root.add(Node(TEXT, m.box(90, 400, 990, 640), p + "lockscreen_clock_view", text=time))
    return root.add(
        Node(IMAGE, m.box(480, 2080, 600, 2200), p + "lock_icon", desc="Locked" if secure else "Unlock")
    )


def foreign(kind: str, m: Metrics, close: Act) -> tuple[str, Node]:
    """A window of somebody else, alone in the tree as it is in a real dump."""
    packages = {
        "call": "com.google.android.dialer",
        "permission": "com.google.android.permissioncontroller",
        "anr": "android",
        "volume": SYSTEM_UI,
        "chooser": "android",
    }
    package = packages.get(kind, kind)
    root = Node(FRAME, m.screen, "android:id/content", package=package)
    if kind == "permission":
        p = package + ":id/"
        root.add(Node(TEXT, m.box(120, 1500, 960, 1640), p + "permission_message", text="?"))
        root.add(
            Node(BUTTON, m.box(120, 1680, 960, 1800), p + "permission_allow_button", text="Allow", tap=close)
        )
        root.add(
            Node(
                BUTTON,
                m.box(120, 1820, 960, 1940),
                p + "permission_deny_button",
                text="Don't allow",
                tap=close,
            )
        )
    elif kind == "anr":
        root.add(
            Node(
                TEXT, m.box(120, 1000, 960, 1100), "android:id/alertTitle", text="System UI isn't responding"
            )
        )
        root.add(
            Node(BUTTON, m.box(120, 1120, 960, 1240), "android:id/aerr_close", text="Close app", tap=close)
        )
        root.add(Node(BUTTON, m.box(120, 1260, 960, 1380), "android:id/aerr_wait", text="Wait", tap=close))
    elif kind == "chooser":
        root.add(Node(TEXT, m.box(60, 1600, 1020, 1700), "android:id/title", text="Open with"))
        root.add(
            Node(BUTTON, m.box(60, 2100, 540, 2200), "android:id/button_once", text="Just once", tap=close)
        )
    elif kind == "call":
        p = package + ":id/"
        root.add(
            Node(TEXT, m.box(120, 400, 960, 520), p + "contactgrid_contact_name", text="+34 600 000 000")
        )
        root.add(
            Node(BUTTON, m.box(440, 1800, 640, 2000), p + "incoming_swipe_to_answer_hint", text="", tap=close)
        )
    else:
        root.add(Node(FRAME, m.box(960, 700, 1060, 1500), package + ":id/volume_dialog", tap=close))
    return package, root


def other_app(package: str, m: Metrics) -> Node:
    return Node(FRAME, m.screen, "android:id/content").add(
        Node(TEXT, m.box(60, 200, 1020, 300), package + ":id/title", text=package)
    )


def modal(app: WhatsApp, m: Metrics) -> Node:
    """Dialogs and screens of WhatsApp that come uninvited."""
    p, which, _, detail = app.package + ":id/", *app.modal.partition(":")
    root = Node(FRAME, m.screen, "android:id/content")

    def close() -> None:
        app.modal = ""

    words = {
        "update_required": "update",
        "two_step_pin": "pin",
        "app_lock": "locked",
        "backup_offer": "backup",
    }
    if which == "not_on_whatsapp":
        text = say(app.locale, "not_on", n=detail)
        root.add(Node(TEXT, m.box(120, 1000, 960, 1150), "android:id/message", text=text))
        root.add(
            Node(
                BUTTON,
                m.box(640, 1170, 940, 1280),
                "android:id/button1",
                text=say(app.locale, "ok"),
                tap=close,
            )
        )
        return root
    text = say(app.locale, words.get(which, "update"))
    if which == "two_step_pin":
        root.add(Node(TEXT, m.box(120, 600, 960, 720), p + "enter_code_title", text=text))
        root.add(
            Node("android.widget.EditText", m.box(300, 780, 780, 900), p + "two_fa_code", tap=lambda: None)
        )
    elif which == "app_lock":
        root.add(Node(TEXT, m.box(120, 900, 960, 1000), p + "app_lock_title", text=text))
        root.add(
            Node(BUTTON, m.box(300, 1400, 780, 1520), p + "unlock_button", text="Unlock", tap=lambda: None)
        )
    elif which == "update_required":
        root.add(Node(TEXT, m.box(120, 900, 960, 1050), p + "software_expiring", text=text))
        update = Node(
            BUTTON,
            m.box(300, 1400, 780, 1520),
            p + "primary_button",
            text="Update",
            tap=lambda: app.touch_forbidden("store opened"),
        )
        root.add(update)
    else:
        root.add(Node(TEXT, m.box(120, 1500, 960, 1650), p + "backup_title", text=text))
        on = lambda: app.touch_forbidden("backup turned on")  # noqa: E731
        root.add(Node(BUTTON, m.box(120, 1900, 960, 2020), p + "primary_button", text="OK", tap=on))
        root.add(
            Node(
                BUTTON,
                m.box(120, 2050, 960, 2170),
                p + "secondary_button",
                text=say(app.locale, "cancel"),
                tap=close,
            )
        )
    return root


def small(app: WhatsApp, m: Metrics) -> Node:
    """Search, selection, viewer, contact info, menus, tabs, calls."""
    p, name = app.package + ":id/", app.screen
    root = Node(FRAME, m.screen, "android:id/content")
    bar = Node(FRAME, m.box(0, 120, m.right, 288), p + "toolbar", fill="bar")

    def back() -> None:
        app.back()

    up = Node(IMAGE_BUTTON, m.box(0, 132, 144, 276), "", desc=say(app.locale, "back"), tap=back)
    if name == "search":
        bar.add(
            up,
            Node(
                "android.widget.EditText",
                m.box(168, 140, 900, 268),
                p + "search_input",
                text=app.search,
                focused=True,
                tap=lambda: None,
            ),
        )
    elif name == "selection":
        up.id = p + "action_mode_close_button"

        def delete() -> None:
            app.touch_forbidden("chat deleted")

        bar.add(
            up,
            Node(
                BUTTON,
                m.box(m.right - 300, 132, m.right - 160, 276),
                p + "menuitem_conversations_delete",
                desc="Delete",
                tap=delete,
            ),
        )
    elif name == "viewer":
        root.add(
            Node(FRAME, m.screen, p + "media_view_fragment_container").add(
                Node(IMAGE, m.box(0, 500, m.right, 1900), p + "image", fill="photo")
            )
        )
        bar.add(up)
    elif name == "call":
        end = Node(BUTTON, m.box(440, 1900, 640, 2100), p + "end_call_button", tap=back)
        return root.add(
            Node(TEXT, m.box(120, 500, 960, 620), p + "name", text=app.find(app.screens[-1][1]).title), end
        )
    else:
        title = (
            app.find(app.screens[-1][1]).title if app.screens[-1][1] and "@" in app.screens[-1][1] else name
        )
        bar.add(up, Node(TEXT, m.box(168, 150, 900, 258), p + "title", text=title))
    return root.add(bar)
