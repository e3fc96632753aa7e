"""Ten thousand messages cost what a hundred do, and the line under the reader's eyes stays where it is."""

import time

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from desktop.conversation import MOST, PAGE, Conversation
from desktop.files import FileRow, size_text
from desktop.messages import Entry, File, Kind, Messages
from desktop.rows import AgentRow, ToolRow
from desktop.words import Words


def entries(count: int) -> list[Entry]:
    return [
        Entry(Kind.OWNER if n % 2 else Kind.AGENT, f"message {n} " + "word " * (n % 40)) for n in range(count)
    ]


@pytest.fixture
def messages() -> Messages:
    return Messages()


@pytest.fixture
def view(qtbot: QtBot, messages: Messages, words: Words) -> Conversation:
    view = Conversation(messages, words, save=lambda file: None, again=lambda entry: None)
    qtbot.addWidget(view)
    view.resize(700, 500)
    view.show()
    return view


def at_end(view: Conversation) -> bool:
    bar = view.verticalScrollBar()
    return bar.value() >= bar.maximum() - 4


def test_a_long_conversation_has_few_widgets_and_shows_its_end(
    view: Conversation, messages: Messages
) -> None:
    began = time.process_time()
    messages.load(entries(10_000))
    spent = time.process_time() - began
    assert len(view.rows()) == PAGE
    assert (view.first, view.last) == (10_000 - PAGE, 10_000)
    QTest.qWait(1)
    assert at_end(view)
    print(f"10,000 messages: {spent * 1000:.0f} ms")  # noqa: T201


def test_reading_back_slides_and_keeps_the_place(view: Conversation, messages: Messages) -> None:
    messages.load(entries(500))
    QTest.qWait(1)
    view.verticalScrollBar().setValue(100)
    seen = next(row for row in view.rows() if row.geometry().bottom() >= 100)
    before = seen.mapTo(view.viewport(), QPoint(0, 0)).y()
    view._older()
    QTest.qWait(1)
    assert view.first == 500 - 2 * PAGE
    assert abs(seen.mapTo(view.viewport(), QPoint(0, 0)).y() - before) <= 2
    for _ in range(30):
        view.verticalScrollBar().setValue(0)
        QTest.qWait(1)
        assert len(view.rows()) <= MOST
    assert view.first == 0
    view.to_end()
    assert view.last == 500


def test_new_lines_are_followed_only_from_the_end(view: Conversation, messages: Messages) -> None:
    messages.load(entries(100))
    QTest.qWait(1)
    messages.add(Entry(Kind.AGENT, "new"))
    QTest.qWait(1)
    assert at_end(view)
    view.verticalScrollBar().setValue(300)
    messages.add(Entry(Kind.AGENT, "newer"))
    QTest.qWait(1)
    assert not at_end(view)


def test_a_conversation_that_goes_on_for_days_keeps_few_widgets(
    view: Conversation, messages: Messages
) -> None:
    for entry in entries(200):
        messages.add(entry)
    assert len(view.rows()) <= MOST
    assert view.last == 200
    assert view.rows()[-1].entry is messages.entries[-1]


def test_a_streamed_answer_grows_in_its_row(view: Conversation, messages: Messages) -> None:
    entry = Entry(Kind.AGENT, "Hel")
    messages.add(entry)
    entry.text += "lo **you**"
    messages.touch(entry)
    row = view.rows()[-1]
    assert isinstance(row, AgentRow)
    assert row.prose.toPlainText() == "Hello you"


def test_search_walks_back_and_shows_what_it_finds(view: Conversation, messages: Messages) -> None:
    messages.load(entries(5000))
    found = messages.find("MESSAGE 42 ", 5000)
    assert found == 42
    view.show_row(found)
    assert view.first <= 42 < view.last
    assert view.rows()[42 - view.first].property("found") is True
    assert messages.find("nothing like it", 5000) == -1


def test_a_tool_line_opens_on_a_click(view: Conversation, messages: Messages) -> None:
    messages.add(Entry(Kind.TOOL, "phone_screenshot", args={"x": 1}, result="fine", ok=True, seconds=0.4))
    row = view.rows()[-1]
    assert isinstance(row, ToolRow)
    assert "Take a picture of the phone's screen · 0.4 s" in row.text.toolTip() + row.text.accessibleName()
    assert row.details.isHidden()
    row.line.clicked.emit()
    assert not row.details.isHidden()
    assert '"x": 1' in row.details.text()
    assert "fine" in row.details.text()


def test_a_file_that_is_gone_cannot_be_saved(view: Conversation, messages: Messages) -> None:
    messages.add(Entry(Kind.FILE, "a.png", file=File("a.png", "image", 412_000)))
    row = view.rows()[-1]
    assert isinstance(row, FileRow)
    assert not row.button.isEnabled()
    assert row.facts.accessibleName() == "Image · 412 KB"


def test_sizes_are_said_as_people_say_them() -> None:
    assert [size_text(n) for n in (12, 412_000, 3_400_000)] == ["12 B", "412 KB", "3.4 MB"]
