"""Whether the desktop blends translucent windows: a bare X11 desktop shows black where glass was meant."""

import ctypes

from PySide6.QtGui import QGuiApplication


def active() -> bool:
    """Whether translucent windows are translucent now; asked anew each time, as compositors come and go."""
    if QGuiApplication.platformName() != "xcb":
        return True
    try:
        x11 = ctypes.CDLL("libX11.so.6")
    except OSError:  # Qt speaks to X without it; most such desktops blend
        return True
    x11.XOpenDisplay.restype = ctypes.c_void_p
    x11.XInternAtom.restype = x11.XGetSelectionOwner.restype = ctypes.c_ulong
    display = ctypes.c_void_p(x11.XOpenDisplay(None))
    if not display:
        return True
    try:
        # By convention the compositor of a screen owns this selection.
        name = f"_NET_WM_CM_S{x11.XDefaultScreen(display)}".encode()
        atom = ctypes.c_ulong(x11.XInternAtom(display, name, 0))
        return bool(x11.XGetSelectionOwner(display, atom))
    finally:
        x11.XCloseDisplay(display)
