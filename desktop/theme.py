"""Every colour, size and icon of the desktop. Nothing else names a colour, so light and dark stay one design.

The sheet `assets/style.qss` is written in these tokens; the table at its top says which properties a widget may set.
"""

import re
import shutil
import weakref
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Final, Literal

from PySide6.QtCore import QByteArray, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFontDatabase, QGuiApplication, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton, QApplication

from core.paths import ASSETS

Mode = Literal["light", "dark", "system"]

STEP: Final = 4  # every distance is a multiple of it
RADIUS, RADIUS_CARD, RADIUS_BUBBLE = 8, 12, 20
SMALL, BODY, TITLE = 12, 14, 18
QUICK_MS, CALM_MS = 120, 200

_ALWAYS = {  # what floats over anybody's wallpaper looks the same in both
    "badge": "F2B84B",
    "on-badge": "3A2A0C",
    "spark": "35CFA4",
    "snore": "5B6470",
    "halo": "FFFFFF",
}
TOKENS: Final[dict[str, dict[str, str]]] = {
    "light": _ALWAYS
    | {
        "bg": "F6F5F2",
        "surface": "FFFFFF",
        "sunken": "EFEDE8",
        "hover": "E8E5DF",
        "text": "1F2328",
        "muted": "5F656C",
        "faint": "A3A7AC",
        "line": "E3E0DA",
        "line-strong": "CFCBC3",
        "accent": "256F5F",
        "accent-hover": "1E5E50",
        "accent-soft": "DCEFE9",
        "on-accent": "FFFFFF",
        "warn": "87570D",
        "warn-soft": "FBF0DC",
        "danger": "B03A2B",
        "danger-soft": "FAE6E2",
        "on-danger": "FFFFFF",
        "info": "2F6699",
        "info-soft": "E2EDF7",
    },
    "dark": _ALWAYS
    | {
        "bg": "15181B",
        "surface": "1D2125",
        "sunken": "111416",
        "hover": "262B30",
        "text": "E8EAED",
        "muted": "9AA1A9",
        "faint": "5E666E",
        "line": "2B3036",
        "line-strong": "3B424A",
        "accent": "5FD0B3",
        "accent-hover": "7CDCC3",
        "accent-soft": "1C3A33",
        "on-accent": "0F1F1B",
        "warn": "E0AE5A",
        "warn-soft": "3A2E18",
        "danger": "F08A7A",
        "danger-soft": "3D211D",
        "on-danger": "2A0F0B",
        "info": "8BB9E6",
        "info-soft": "1C2F42",
    },
}
_PALETTE: Final = {
    QPalette.ColorRole.Window: "bg",
    QPalette.ColorRole.WindowText: "text",
    QPalette.ColorRole.Base: "surface",
    QPalette.ColorRole.AlternateBase: "sunken",
    QPalette.ColorRole.Text: "text",
    QPalette.ColorRole.Button: "surface",
    QPalette.ColorRole.ButtonText: "text",
    QPalette.ColorRole.BrightText: "on-accent",
    QPalette.ColorRole.ToolTipBase: "text",
    QPalette.ColorRole.ToolTipText: "bg",
    QPalette.ColorRole.PlaceholderText: "muted",
    QPalette.ColorRole.Highlight: "accent",
    QPalette.ColorRole.HighlightedText: "on-accent",
    QPalette.ColorRole.Accent: "accent",
    QPalette.ColorRole.Link: "accent",
    QPalette.ColorRole.LinkVisited: "accent",
}


class Theme(QObject):
    """One look for the whole application, which can change while it runs."""

    changed = Signal()

    def __init__(self, mode: Mode = "system", parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.mode: Mode = mode
        self._still: bool | None = None
        self._app: QApplication | None = None
        self._drawn: Path | None = None  # style sheets take pictures from files only

    @property
    def dark(self) -> bool:
        """Whether the dark table is in use now."""
        if self.mode == "system":
            return QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
        return self.mode == "dark"

    @property
    def reduced_motion(self) -> bool:
        """Whether things should appear in place instead of moving there; the system's wish unless set."""
        if self._still is not None:
            return self._still
        # Held while it is asked: PySide lets the answer go together with the object that gave it.
        hints = QGuiApplication.styleHints()
        ask = getattr(hints.accessibility(), "motionPreference", None)  # Qt 6.12
        return ask is not None and ask().name == "ReducedMotion"

    @reduced_motion.setter
    def reduced_motion(self, still: bool | None) -> None:
        self._still = still
        self.changed.emit()

    def color(self, token: str) -> QColor:
        """A token's colour in the table in use."""
        return QColor(f"#{self._table[token]}")

    def icon(self, name: str, token: str = "text") -> QIcon:
        """A line icon in a token's colour; it stays as it is when the theme changes, see `dress`."""
        return _icon(name, self._table[token], self._table["faint"])

    def dress(self, button: QAbstractButton, name: str, token: str = "text") -> None:
        """Give a button an icon that follows the theme."""
        button.setProperty("themeIcon", f"{name} {token}")
        button.setIcon(self.icon(name, token))

    def apply(self, app: QApplication, mode: Mode) -> None:
        """Put the look on every window, and keep it there when the system turns light or dark."""
        self.mode = mode
        hints = app.styleHints()
        if self._app is None:
            hints.colorSchemeChanged.connect(self._follow)
            app.setStyle("Fusion")  # the one base that looks the same everywhere
        self._app = None  # the next lines may call _follow
        if mode == "system":
            hints.unsetColorScheme()
        else:
            hints.setColorScheme(Qt.ColorScheme.Dark if mode == "dark" else Qt.ColorScheme.Light)
        self._app = app
        self._put_on(app)

    def _follow(self) -> None:
        if self._app is not None and self.mode == "system":
            self._put_on(self._app)

    def _put_on(self, app: QApplication) -> None:
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
        font.setPixelSize(BODY)
        app.setFont(font)
        app.setPalette(self._palette())
        app.setStyleSheet(self.sheet())
        for widget in app.allWidgets():
            if isinstance(widget, QAbstractButton) and (worn := widget.property("themeIcon")):
                self.dress(widget, *worn.split())
        self.changed.emit()

    def _palette(self) -> QPalette:
        palette = QPalette()
        for role, token in _PALETTE.items():
            palette.setColor(role, self.color(token))
            if token == "text":
                palette.setColor(QPalette.ColorGroup.Disabled, role, self.color("faint"))
        return palette

    def sheet(self) -> str:
        """The style sheet with every token replaced; one that is not in the table is a mistake of ours."""
        fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family()
        words = {name: f"#{value}" for name, value in self._table.items()} | {
            "radius": f"{RADIUS}px",
            "radius-card": f"{RADIUS_CARD}px",
            "radius-bubble": f"{RADIUS_BUBBLE}px",
            "small": f"{SMALL}px",
            "body": f"{BODY}px",
            "title": f"{TITLE}px",
            "mono": f'"{fixed}", monospace',
        }
        text = (ASSETS / "style.qss").read_text(encoding="utf-8")
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        text = re.sub(r"@icon\(([\w-]+) ([\w-]+)\)", lambda m: f'url("{self._file(m[1], m[2])}")', text)
        return re.sub(r"@([a-z-]+)", lambda m: words[m[1]], text)

    def _file(self, name: str, token: str) -> str:
        if self._drawn is None:
            self._drawn = Path(mkdtemp(prefix="apx-theme-"))
            weakref.finalize(self, shutil.rmtree, self._drawn, ignore_errors=True)
        value = self._table[token]
        path = self._drawn / f"{name}-{value}.svg"
        if not path.exists():
            path.write_text(_drawing(name, value), encoding="utf-8")
        return path.as_posix()

    @property
    def _table(self) -> dict[str, str]:
        return TOKENS["dark" if self.dark else "light"]


def _drawing(name: str, value: str) -> str:
    text = (ASSETS / "icons" / f"{name}.svg").read_text(encoding="utf-8")
    return text.replace("currentColor", f"#{value}")


@cache
def _icon(name: str, value: str, faint: str) -> QIcon:
    icon = QIcon()
    for mode, shade in ((QIcon.Mode.Normal, value), (QIcon.Mode.Disabled, faint)):
        renderer = QSvgRenderer(QByteArray(_drawing(name, shade).encode()))
        for size in (
            (18, 20, 36, 40, 72) if mode is QIcon.Mode.Normal else (20, 40)
        ):  # each costs a millisecond
            picture = QPixmap(size, size)
            picture.fill(Qt.GlobalColor.transparent)
            painter = QPainter(picture)
            renderer.render(painter, QRectF(0, 0, size, size))
            painter.end()
            icon.addPixmap(picture, mode)
    return icon


@cache
def current() -> Theme:
    """The application's theme; there is one."""
    return Theme()


def apply(app: QApplication, mode: Mode) -> Theme:
    """Put the application's theme on, in that mode."""
    current().apply(app, mode)
    return current()


def color(token: str) -> QColor:
    """A colour of the application's theme."""
    return current().color(token)


def icon(name: str, token: str = "text") -> QIcon:
    """A line icon in a colour of the application's theme."""
    return current().icon(name, token)
