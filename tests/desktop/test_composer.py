"""The composer: what is typed is never lost, and goes once."""

import pytest
from PySide6.QtCore import QMimeData, Qt
from pytestqt.qtbot import QtBot

from desktop.composer import MOST_LINES, Composer
from desktop.words import Words


@pytest.fixture
def composer(qtbot: QtBot, words: Words) -> Composer:
    composer = Composer(words)
    qtbot.addWidget(composer)
    composer.set_state()
    composer.show()
    return composer


@pytest.fixture
def sent(composer: Composer) -> list[str]:
    sent: list[str] = []
    composer.submitted.connect(sent.append)
    return sent


def test_enter_sends_and_empties_the_field(composer: Composer, sent: list[str], qtbot: QtBot) -> None:
    qtbot.keyClicks(composer.lines, "hola")
    qtbot.keyClick(composer.lines, Qt.Key.Key_Return)
    assert sent == ["hola"]
    assert composer.lines.toPlainText() == ""


def test_shift_and_enter_makes_a_line(composer: Composer, sent: list[str], qtbot: QtBot) -> None:
    qtbot.keyClicks(composer.lines, "a")
    qtbot.keyClick(composer.lines, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(composer.lines, "b")
    assert sent == []
    qtbot.mouseClick(composer.button, Qt.MouseButton.LeftButton)
    assert sent == ["a\nb"]


def test_blanks_are_not_a_message(composer: Composer, sent: list[str], qtbot: QtBot) -> None:
    qtbot.keyClicks(composer.lines, "  ")
    qtbot.keyClick(composer.lines, Qt.Key.Key_Return)
    assert sent == []
    assert not composer.button.isEnabled()


def test_while_the_core_opens_the_text_stays_and_the_reason_is_shown(
    composer: Composer, sent: list[str], qtbot: QtBot, words: Words
) -> None:
    composer.set_state("composer.opening")
    qtbot.keyClicks(composer.lines, "hola")
    qtbot.keyClick(composer.lines, Qt.Key.Key_Return)
    assert sent == []
    assert composer.lines.toPlainText() == "hola"
    assert composer.why.text() == words("composer.opening")
    composer.set_state()
    qtbot.keyClick(composer.lines, Qt.Key.Key_Return)
    assert sent == ["hola"]


def test_while_an_answer_is_on_its_way_the_button_is_stop(
    composer: Composer, sent: list[str], qtbot: QtBot
) -> None:
    stopped: list[bool] = []
    composer.stopped.connect(lambda: stopped.append(True))
    composer.set_state(working=True)
    qtbot.keyClicks(composer.lines, "mas")
    qtbot.keyClick(composer.lines, Qt.Key.Key_Return)
    assert sent == []
    assert not composer.button.isVisible()
    qtbot.mouseClick(composer.stop, Qt.MouseButton.LeftButton)
    assert stopped == [True]
    assert composer.lines.toPlainText() == "mas"


def test_it_grows_with_the_text_up_to_a_limit(composer: Composer) -> None:
    one = composer.lines.height()
    composer.lines.setPlainText("a\nb\nc")
    assert composer.lines.height() > one
    composer.lines.setPlainText("\n" * 100)
    assert composer.lines.height() <= one + MOST_LINES * composer.lines.fontMetrics().lineSpacing()


def test_what_is_pasted_is_plain_text(composer: Composer) -> None:
    data = QMimeData()
    data.setHtml("<b>x</b>")
    data.setText("x")
    composer.lines.insertFromMimeData(data)
    assert composer.lines.toPlainText() == "x"


def test_the_language_changes_at_once(composer: Composer, words: Words) -> None:
    composer.call_it("Roby")
    words.speak("es")
    assert composer.lines.placeholderText() == "Escríbele a Roby…"
    assert composer.button.text().strip() == "Enviar"
