"""Fingers and keys: what they do depends on what is under them on the screen as it is now."""

from bridge.simulator.layout import Node, hit, under
from bridge.simulator.phone import SimPhone
from bridge.simulator.render import screen

HOLD_MS = 400


def tap(phone: SimPhone, x: int, y: int) -> None:
    """A short touch."""
    if not _arrives(phone, x, y):
        return
    if phone.faults.strike("tap_swallowed"):
        return
    app = phone.app
    if phone.faults.strike("reorder_before_tap") and app is not None:
        rows = app.listed()
        if len(rows) > 1:
            phone.receive(rows[-1].id, "!")
    if app is not None and phone.faults.strike("inertia"):
        _scroll(phone, round(phone.faults.number("inertia", 300)))
    node = hit(screen(phone), x, y)
    if node is None:
        return
    if node.tap_at is not None:
        node.tap_at(x, node.box.bottom + node.hidden_below - y)
    elif node.tap is not None:
        node.tap()


def long_press(phone: SimPhone, x: int, y: int) -> None:
    """A touch that stays."""
    if not _arrives(phone, x, y):
        return
    node = hit(screen(phone), x, y)
    if node is not None and node.hold is not None:
        node.hold()
    elif node is not None and node.tap is not None and node.id.endswith("/voice_note_btn"):
        node.tap()


def swipe(phone: SimPhone, x1: int, y1: int, x2: int, y2: int, ms: int) -> None:
    """A finger moves: what scrolls under it scrolls; a finger that stays is a long press."""
    if abs(x1 - x2) < 12 and abs(y1 - y2) < 12:
        if ms >= HOLD_MS and not phone.faults.strike("long_press_is_tap"):
            long_press(phone, x1, y1)
        else:
            tap(phone, x1, y1)
        return
    if not _arrives(phone, x1, y1):
        return
    if phone.keyguard != "none" and not phone.window_on_top:
        if y1 - y2 > phone.size[1] // 5:
            phone.dismiss_keyguard()
        return
    if abs(y1 - y2) < abs(x1 - x2):
        return
    if any(node.scrollable for node in under(screen(phone), x1, y1)):
        _scroll(phone, y1 - y2)


def _scroll(phone: SimPhone, up: int) -> None:
    """The content follows the finger by `up` pixels upwards."""
    app = phone.app
    if app is None:
        return
    if app.screen in ("list", "archived"):
        app.list_offset += up
    elif app.screen == "chat":
        app.chat_offset -= up
    screen(phone)  # the ends of the list stop it


def _arrives(phone: SimPhone, x: int, y: int) -> bool:
    """Touches reach nothing on a dark screen; the owner may be quicker."""
    phone.touches.append((x, y))
    phone.last_touch_at = phone.now()
    if phone.faults.strike("owner_takes_phone"):
        phone.front = "com.android.chrome/com.google.android.apps.chrome.Main"
    return phone.awake


def node_at(phone: SimPhone, x: int, y: int) -> Node | None:
    """What a tap would hit."""
    return hit(screen(phone), x, y)
