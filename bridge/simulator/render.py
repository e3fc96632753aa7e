"""The screen as it is now: one tree for the dump, for fingers and for pictures."""

from dataclasses import replace

from bridge.simulator.chat_screen import chat_screen
from bridge.simulator.layout import Node, mirrored
from bridge.simulator.list_screen import list_screen
from bridge.simulator.other_screens import SYSTEM_UI, foreign, keyguard, launcher, modal, other_app, small
from bridge.simulator.phone import LAUNCHER, SimPhone
from bridge.simulator.words import clock


def screen(phone: SimPhone) -> Node:
    """The tree of the active window."""
    return window(phone)[1]


def window(phone: SimPhone) -> tuple[str, Node]:
    """The active window's package and tree."""
    m = phone.metrics
    time = clock(phone.locale, phone.now())
    if phone.keyguard != "none":
        secure = phone.keyguard == "secure"
        return SYSTEM_UI, keyguard(
            m, secure=secure, bouncer=phone.awake and secure and phone.bouncer, time=time
        )
    if phone.window_on_top:
        return foreign(phone.window_on_top, m, phone.back)
    app = phone.app
    if app is None:
        if phone.front == LAUNCHER:
            return LAUNCHER.partition("/")[0], launcher(m, lambda: _open(phone), time)
        package = phone.front.partition("/")[0]
        return package, other_app(package, m)
    chat = app.open_chat_shown
    if app.modal:
        root = modal(app, m)
    elif chat is not None:
        root = chat_screen(app, chat, m)
    elif app.screen in ("list", "archived"):
        root = list_screen(app, m, archived=app.screen == "archived")
    else:
        root = small(app, m)
    if phone.faults.is_set("rtl"):
        root = mirrored(root, m.width)
    return app.package, replace(root)


def _open(phone: SimPhone) -> None:
    phone.foreground = phone.whatsapp.package
    phone.whatsapp.launch()
