"""The mascot: still when nothing moves, never off the screen, and one click is one click."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QMouseEvent, QPaintEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from desktop import compositing, mascot, theme
from desktop.mascot import HEADROOM, SIZE, Mascot, clamp
from desktop.moods import Mood

WIDE = QRect(0, 0, 1920, 1080)
SECOND = QRect(1920, 200, 1280, 720)


class Watched(Mascot):
    """Remembers how often it was painted."""

    painted = 0

    def paintEvent(self, event: QPaintEvent) -> None:
        self.painted += 1
        super().paintEvent(event)


@pytest.fixture
def pet(qtbot: QtBot) -> Iterator[Watched]:
    theme.current().reduced_motion = False
    pet = Watched(name="Roby", lang="es")
    qtbot.addWidget(pet)
    yield pet
    pet.hide()
    theme.current().reduced_motion = None


@pytest.fixture
def shown(pet: Watched, qtbot: QtBot) -> Watched:
    with qtbot.waitExposed(pet):
        pet.show()
    qtbot.waitUntil(lambda: pet.painted > 0)
    return pet


def _busy(pet: Mascot) -> bool:
    return pet._frames.isActive() or pet._rest.isActive()


def _send(
    pet: Mascot, kind: QMouseEvent.Type, at: QPoint, button: Qt.MouseButton = Qt.MouseButton.LeftButton
) -> None:
    held = (
        Qt.MouseButton.NoButton if kind is QMouseEvent.Type.MouseButtonRelease else Qt.MouseButton.LeftButton
    )
    local = QPointF(at - pet.pos())
    event = QMouseEvent(kind, local, QPointF(at), button, held, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(pet, event)


def test_a_hidden_mascot_has_no_timer_running(shown: Watched) -> None:
    for mood in Mood:
        shown.show()
        shown.set_mood(mood)
        shown.hop()
        shown.hide()
        assert not _busy(shown)
        shown.set_mood(Mood.IDLE)
        assert not _busy(shown)


def test_in_idle_nothing_but_the_next_blink_is_waiting(shown: Watched) -> None:
    assert not shown.moving
    assert shown._rest.isActive()


@pytest.mark.parametrize("mood", [Mood.THINKING, Mood.WORKING])
def test_at_work_it_moves_at_less_than_30_frames_a_second(shown: Watched, mood: Mood) -> None:
    shown.set_mood(mood)
    assert shown.moving
    assert 1000 / shown._frames.interval() <= 30


def test_done_is_said_once_and_then_it_is_still(shown: Watched, qtbot: QtBot) -> None:
    shown.set_mood(Mood.DONE)
    assert shown.moving
    qtbot.waitUntil(lambda: not shown.moving)
    assert not _busy(shown)


def test_a_blink_ends_in_a_rest(shown: Watched, qtbot: QtBot) -> None:
    shown._begin_cycle()
    assert shown.moving
    qtbot.waitUntil(lambda: not shown.moving)
    assert shown._rest.isActive()


def test_a_mouse_passing_over_it_paints_nothing(shown: Watched, qapp: QApplication) -> None:
    assert not shown.hasMouseTracking()
    shown.set_still(True)
    qapp.processEvents()
    before = shown.painted
    for x in range(20, 90, 5):
        event = QMouseEvent(
            QMouseEvent.Type.MouseMove,
            QPointF(x, 60),
            QPointF(shown.mapToGlobal(QPoint(x, 60))),
            Qt.MouseButton.NoButton,
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
        )
        QApplication.sendEvent(shown, event)
    qapp.processEvents()
    assert shown.painted == before
    assert not shown.moving


@pytest.mark.parametrize("mood", Mood)
def test_battery_saver_keeps_it_still_in_every_mood(shown: Watched, mood: Mood) -> None:
    shown.set_still(True)
    shown.set_mood(mood)
    shown.hop()
    assert not _busy(shown)
    shown.set_still(False)
    assert _busy(shown)


def test_reduced_motion_keeps_it_still(shown: Watched) -> None:
    shown.set_mood(Mood.WORKING)
    theme.current().reduced_motion = True
    shown.hop()
    assert not _busy(shown)


def test_only_its_silhouette_answers_to_clicks(pet: Watched) -> None:
    assert pet.mask().contains(QPoint(SIZE // 2, HEADROOM + SIZE // 2))
    assert not pet.mask().contains(QPoint(1, HEADROOM + SIZE - 2))
    badge = QPoint(round(99 / 120 * SIZE), HEADROOM + round(14 / 120 * SIZE))
    assert not pet.mask().contains(badge)
    pet.set_mood(Mood.WAITING)
    assert pet.mask().contains(badge)


def test_after_a_hop_it_has_its_shape_again(shown: Watched, qtbot: QtBot) -> None:
    shape = shown.mask()
    shown.hop()
    assert shown.mask().isEmpty()
    shown.set_mood(Mood.DONE)
    assert not shown.mask().isEmpty()
    shown.set_mood(Mood.IDLE)
    shown.hop()
    qtbot.waitUntil(lambda: not shown.moving)
    assert shown.mask() == shape


def test_a_click_is_a_click_even_with_an_unsteady_hand(shown: Watched, qtbot: QtBot) -> None:
    at = shown.pos() + QPoint(56, 70)
    heard: list[str] = []
    shown.clicked.connect(lambda: heard.append("clicked"))
    shown.moved.connect(lambda point: heard.append("moved"))
    place = shown.pos()
    _send(shown, QMouseEvent.Type.MouseButtonPress, at)
    _send(shown, QMouseEvent.Type.MouseMove, at + QPoint(mascot.DRAG_PX, -mascot.DRAG_PX))
    _send(shown, QMouseEvent.Type.MouseButtonRelease, at)
    assert heard == ["clicked"]
    assert shown.pos() == place


def test_a_double_click_is_one_click(shown: Watched) -> None:
    at = shown.pos() + QPoint(56, 70)
    heard: list[str] = []
    shown.clicked.connect(lambda: heard.append("clicked"))
    for kind in (
        QMouseEvent.Type.MouseButtonPress,
        QMouseEvent.Type.MouseButtonRelease,
        QMouseEvent.Type.MouseButtonDblClick,
        QMouseEvent.Type.MouseButtonRelease,
    ):
        _send(shown, kind, at)
    assert heard == ["clicked"]


def test_dragging_moves_it_and_says_where_it_was_put(shown: Watched) -> None:
    shown.place(QPoint(100, 100))
    heard: list[QPoint] = []
    shown.moved.connect(heard.append)
    shown.clicked.connect(lambda: heard.append(QPoint(-1, -1)))
    at = shown.pos() + QPoint(56, 70)
    _send(shown, QMouseEvent.Type.MouseButtonPress, at)
    _send(shown, QMouseEvent.Type.MouseMove, at + QPoint(60, 40))
    _send(shown, QMouseEvent.Type.MouseMove, at + QPoint(120, 90))
    _send(shown, QMouseEvent.Type.MouseButtonRelease, at + QPoint(120, 90))
    assert heard == [QPoint(220, 190)]
    assert shown.pos() == QPoint(220, 190)


def test_dragged_off_the_screen_it_comes_back(shown: Watched) -> None:
    heard: list[QPoint] = []
    shown.moved.connect(heard.append)
    at = shown.pos() + QPoint(56, 70)
    _send(shown, QMouseEvent.Type.MouseButtonPress, at)
    _send(shown, QMouseEvent.Type.MouseMove, at + QPoint(9000, 9000))
    _send(shown, QMouseEvent.Type.MouseButtonRelease, at + QPoint(9000, 9000))
    assert QGuiApplication.primaryScreen().availableGeometry().contains(shown.geometry())
    assert heard == [shown.pos()]


def test_the_right_button_asks_for_the_menu_and_nothing_else(shown: Watched, qtbot: QtBot) -> None:
    heard: list[str] = []
    shown.clicked.connect(lambda: heard.append("clicked"))
    at = shown.pos() + QPoint(56, 70)
    with qtbot.waitSignal(shown.menu_requested) as asked:
        QApplication.sendEvent(
            shown,
            QContextMenuEvent(
                QContextMenuEvent.Reason.Mouse, QPoint(56, 70), at, Qt.KeyboardModifier.NoModifier
            ),
        )
    assert asked.args == [at]
    _send(shown, QMouseEvent.Type.MouseButtonPress, at, Qt.MouseButton.RightButton)
    _send(shown, QMouseEvent.Type.MouseButtonRelease, at, Qt.MouseButton.RightButton)
    assert heard == []


def test_it_lives_in_the_lower_right_corner_until_it_is_moved(shown: Watched) -> None:
    screen = QGuiApplication.primaryScreen().availableGeometry()
    shown.place(QPoint(10, 10))
    shown.place(None)
    assert screen.right() - shown.geometry().right() == mascot.MARGIN
    assert screen.bottom() - shown.geometry().bottom() == mascot.MARGIN


def test_people_and_screen_readers_learn_its_name_and_mood(pet: Watched) -> None:
    assert pet.accessibleName() == "Roby"
    assert pet.toolTip() == "Roby, escuchando"
    pet.set_mood(Mood.WAITING)
    assert pet.accessibleDescription() == "Roby, te espera"
    pet.set_language("en")
    pet.set_name("Ada")
    assert pet.toolTip() == "Ada, waiting for you"


def test_another_face_is_another_shape(pet: Watched) -> None:
    before = pet.mask()
    pet.set_icon("aqua")
    assert pet.mask() != before


@pytest.mark.parametrize(
    ("start", "screens", "end"),
    [
        ((100, 100), [WIDE], (100, 100)),
        ((-50, -50), [WIDE], (0, 0)),
        ((5000, 5000), [WIDE], (1920 - 112, 1080 - 128)),
        ((1900, 300), [WIDE, SECOND], (1920, 300)),
        ((1830, 300), [WIDE, SECOND], (1808, 300)),
        ((2500, 400), [WIDE], (1808, 400)),
        ((2500, 400), [], (2500, 400)),
        ((3000, 100), [WIDE, SECOND], (3000, 200)),
    ],
)
def test_clamping_moves_as_little_as_needed(
    start: tuple[int, int], screens: list[QRect], end: tuple[int, int]
) -> None:
    assert clamp(QRect(*start, 112, 128), screens) == QRect(*end, 112, 128)


@given(st.integers(-9999, 9999), st.integers(-9999, 9999))
def test_clamped_it_is_always_whole_on_one_screen(x: int, y: int) -> None:
    placed = clamp(QRect(x, y, 112, 128), [WIDE, SECOND])
    assert WIDE.contains(placed) or SECOND.contains(placed)
    assert clamp(placed, [WIDE, SECOND]) == placed


def test_where_nothing_blends_windows_it_is_cut_to_what_is_drawn_now(
    shown: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown.set_mood(Mood.WORKING)
    loose = shown.mask()
    monkeypatch.setattr(compositing, "active", lambda: False)
    shown.set_still(True)
    cut = shown.mask()
    assert cut != loose
    assert cut.subtracted(loose).isEmpty()
    shown.set_mood(Mood.ASLEEP)
    assert shown.mask() != cut
    drawn = shown.grab().toImage()
    assert drawn.pixelColor(SIZE // 2, HEADROOM + SIZE // 2).alpha() == 255
