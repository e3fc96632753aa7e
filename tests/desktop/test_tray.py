"""The tray icon: says what was asked for, and is absent where there is no tray."""

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication, QSystemTrayIcon

from desktop.moods import Mood
from desktop.tray import Tray


@pytest.fixture
def tray(qapp: QApplication) -> Iterator[Tray]:
    tray = Tray(name="Roby", lang="es")
    yield tray
    tray.hide()
    tray.deleteLater()


def _words(tray: Tray) -> list[str]:
    return [action.text() for action in tray.menu.actions() if not action.isSeparator()]


def test_the_menu_offers_the_opposite_of_what_is(tray: Tray) -> None:
    assert _words(tray) == [
        "Mostrar la ventana",
        "Mostrar la mascota",
        "Hacer una ronda ahora",
        "Ajustes",
        "Salir",
    ]
    tray.set_window_shown(True)
    tray.set_mascot_shown(True)
    assert _words(tray)[:2] == ["Ocultar la ventana", "Ocultar la mascota"]


def test_every_entry_asks_for_one_thing(tray: Tray) -> None:
    heard: list[str] = []
    for name in ("window_toggled", "mascot_toggled", "round_asked", "settings_asked", "quit_asked"):
        getattr(tray, name).connect(lambda name=name: heard.append(name))
    for action in tray.menu.actions():
        action.trigger()
    assert heard == ["window_toggled", "mascot_toggled", "round_asked", "settings_asked", "quit_asked"]


def test_a_left_click_toggles_the_window_and_a_right_click_does_not(tray: Tray) -> None:
    heard: list[bool] = []
    tray.window_toggled.connect(lambda: heard.append(True))
    tray.icon.activated.emit(QSystemTrayIcon.ActivationReason.Trigger)
    tray.icon.activated.emit(QSystemTrayIcon.ActivationReason.Context)
    tray.icon.activated.emit(QSystemTrayIcon.ActivationReason.DoubleClick)
    assert heard == [True]


def test_icon_and_words_follow_face_mood_name_and_language(tray: Tray) -> None:
    idle = tray.icon.icon().pixmap(22, 22).toImage()
    assert tray.icon.toolTip() == "Roby, escuchando"
    tray.set_mood(Mood.WAITING)
    waiting = tray.icon.icon().pixmap(22, 22).toImage()
    assert waiting != idle
    assert tray.icon.toolTip() == "Roby, te espera"
    tray.set_icon("sol")
    assert tray.icon.icon().pixmap(22, 22).toImage() != waiting
    tray.set_name("Ada")
    tray.set_language("en")
    assert tray.icon.toolTip() == "Ada, waiting for you"
    assert _words(tray)[-1] == "Quit"


def test_without_a_system_tray_it_is_simply_absent(tray: Tray) -> None:
    tray.show()
    assert tray.present is QSystemTrayIcon.isSystemTrayAvailable()


def test_a_round_is_offered_only_when_one_is_possible(tray: Tray) -> None:
    tray.set_round_possible(False)
    heard: list[bool] = []
    tray.round_asked.connect(lambda: heard.append(True))
    for action in tray.menu.actions():
        action.trigger()
    assert heard == []
