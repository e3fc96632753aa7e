"""The look: readable in light and dark, nothing unnamed, and it follows the system."""

import re
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from core.paths import ASSETS
from desktop import theme

NAMES = [
    "chat",
    "rounds",
    "phone",
    "tasks",
    "routines",
    "agents",
    "activity",
    "memory",
    "settings",
    "send",
    "stop",
    "save",
    "copy",
    "plus",
    "close",
    "check",
    "warning",
    "question",
    "file",
    "image",
    "back",
    "search",
    "external",
    "refresh",
    "play",
    "pause",
    "eye",
    "lock",
    "key",
    "telegram",
    "trash",
    "menu",
    "more",
    "chevron-down",
    "chevron-right",
]
PAIRS = [
    *((text, ground) for text in ("text", "muted") for ground in ("bg", "surface", "sunken", "hover")),
    *(
        (tone, ground)
        for tone in ("accent", "warn", "danger", "info")
        for ground in ("bg", "surface", "sunken")
    ),
    *((tone, f"{tone}-soft") for tone in ("accent", "warn", "danger", "info")),
    *(("text", f"{tone}-soft") for tone in ("accent", "warn", "danger", "info")),
    ("on-accent", "accent"),
    ("on-accent", "accent-hover"),
    ("on-danger", "danger"),
    ("on-badge", "badge"),
    ("snore", "halo"),
    ("bg", "text"),
]


@pytest.fixture
def look(qapp: QApplication) -> Iterator[theme.Theme]:
    """The theme on the application, and afterwards the application as it was."""
    before = qapp.palette(), qapp.font(), qapp.styleSheet()
    yield theme.apply(qapp, "light")
    theme.apply(qapp, "system")
    theme.current().reduced_motion = None
    qapp.setStyleSheet(before[2])
    qapp.setPalette(before[0])
    qapp.setFont(before[1])


def _light(value: str) -> float:
    parts = [int(value[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize(("text", "ground"), PAIRS)
def test_text_can_be_read_on_its_ground(mode: str, text: str, ground: str) -> None:
    table = theme.TOKENS[mode]
    low, high = sorted((_light(table[text]), _light(table[ground])))
    assert (high + 0.05) / (low + 0.05) >= 4.5


def test_both_tables_have_the_same_tokens() -> None:
    assert set(theme.TOKENS["light"]) == set(theme.TOKENS["dark"])


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_sheet_has_no_word_left_and_names_no_colour(qapp: QApplication, mode: theme.Mode) -> None:
    sheet = theme.Theme(mode).sheet()
    assert "@" not in sheet
    source = (ASSETS / "style.qss").read_text(encoding="utf-8")
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b|rgba?\(", source)


@pytest.mark.parametrize("name", NAMES)
def test_every_icon_is_there_and_shows_something_in_its_colour(qapp: QApplication, name: str) -> None:
    source = (ASSETS / "icons" / f"{name}.svg").read_text(encoding="utf-8")
    assert 'stroke-width="1.6"' in source
    assert "#" not in source
    picture = theme.Theme("light").icon(name, "danger").pixmap(QSize(24, 24)).toImage()
    colors = [picture.pixelColor(x, y) for x in range(24) for y in range(24)]
    strong = [color for color in colors if color.alpha() > 200]
    assert strong
    assert all(abs(color.red() - 0xB0) < 8 for color in strong)


def test_dark_and_light_can_be_chosen(look: theme.Theme, qapp: QApplication) -> None:
    assert theme.color("bg") == QColor("#F6F5F2")
    theme.apply(qapp, "dark")
    assert look.dark
    assert theme.color("bg") == QColor("#15181B")
    assert qapp.palette().color(QPalette.ColorRole.Window) == QColor("#15181B")
    assert "#15181B" in qapp.styleSheet()


def test_a_dressed_button_follows_the_theme(look: theme.Theme, qapp: QApplication, qtbot: QtBot) -> None:
    button = QPushButton()
    qtbot.addWidget(button)
    look.dress(button, "stop")
    before = button.icon().pixmap(24, 24).toImage()
    with qtbot.waitSignal(look.changed):
        theme.apply(qapp, "dark")
    assert button.icon().pixmap(24, 24).toImage() != before


def test_the_system_turning_dark_is_followed_only_in_system_mode(
    look: theme.Theme, qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    theme.apply(qapp, "system")
    monkeypatch.setattr(theme.Theme, "dark", property(lambda self: self.mode != "light"))
    qapp.styleHints().colorSchemeChanged.emit(qapp.styleHints().colorScheme())
    assert "#15181B" in qapp.styleSheet()
    theme.apply(qapp, "light")
    qapp.styleHints().colorSchemeChanged.emit(qapp.styleHints().colorScheme())
    assert "#F6F5F2" in qapp.styleSheet()


def test_reduced_motion_can_be_asked_for(look: theme.Theme, qtbot: QtBot) -> None:
    with qtbot.waitSignal(look.changed):
        look.reduced_motion = True
    assert look.reduced_motion


def test_an_unknown_token_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        theme.color("mauve")
