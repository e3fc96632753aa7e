"""Pictures in the composer: pasted, dropped, chosen, taken away, refused; sent once, and shown in the conversation."""

import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QColor, QDropEvent, QImage
from pytestqt.qtbot import QtBot

from core.runs import pictures
from core.runs.turn import Run
from desktop.attached import encoded
from desktop.chat import Chat
from desktop.composer import Composer
from desktop.feed import Feed
from desktop.files import PicturedRow
from desktop.messages import Kind
from desktop.past import history
from desktop.questions import Questions
from desktop.talk import Talk
from desktop.words import Words
from tests.desktop.conftest import Until
from tests.fakes.house import House, house
from tests.fakes.openai_server import fault

pytestmark = pytest.mark.anyio


def image(width: int = 8, height: int = 6) -> QImage:
    made = QImage(width, height, QImage.Format.Format_RGB32)
    made.fill(QColor("#2060a0"))
    return made


PNG = encoded(image(), 1_000_000)


@pytest.fixture
async def composer(qtbot: QtBot, words: Words) -> Composer:
    composer = Composer(words, pictures=True)
    qtbot.addWidget(composer)
    composer.set_state()
    composer.show()
    return composer


def files(*paths: Path) -> QMimeData:
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return mime


def names(composer: Composer) -> list[str]:
    return [one.name for one in composer.attached.pictures]


async def test_a_pasted_picture_waits_above_the_field(composer: Composer, words: Words) -> None:
    mime = QMimeData()
    mime.setImageData(image())
    assert composer.lines.canInsertFromMimeData(mime)
    composer.lines.insertFromMimeData(mime)
    assert names(composer) == [words("attach.pasted", n=1)]
    assert composer.lines.toPlainText() == ""
    assert composer.attached.isVisible()
    assert composer.button.isEnabled()  # a picture alone may go


async def test_text_that_brings_a_picture_of_itself_is_text(composer: Composer) -> None:
    mime = QMimeData()
    mime.setImageData(image())
    mime.setText("a cell of a sheet")
    composer.lines.insertFromMimeData(mime)
    assert names(composer) == []
    assert composer.lines.toPlainText() == "a cell of a sheet"


async def test_dropped_files_are_taken_or_refused_one_by_one(
    composer: Composer, tmp_path: Path, until: Until
) -> None:
    good, long, bad = tmp_path / "a.png", tmp_path / f"{'long ' * 40}.png", tmp_path / "notes.txt"
    large = tmp_path / "large.png"
    for path, data in ((good, PNG), (long, PNG), (bad, b"text"), (large, PNG + bytes(6_000_000))):
        path.write_bytes(data)
    mime = files(good, bad, long, large, tmp_path / "gone.png")
    drop = QDropEvent(
        QPoint(5, 5),
        Qt.DropAction.CopyAction,
        mime,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    composer.dropEvent(drop)
    await until(lambda: len(composer.attached.pictures) == 2)
    refused = composer.wrong.text().splitlines()
    assert [line.split()[0] for line in refused] == ["notes.txt", "large.png", "gone.png"]
    assert composer.wrong.isVisible()
    assert all(chip.width() < 320 for chip in composer.attached.chips)
    composer.attached.chips[0].leave.click()
    assert names(composer) == [pictures.label(long.name)]
    assert not composer.wrong.isVisible()


async def test_nine_are_one_too_many(composer: Composer) -> None:
    composer.attached._add([(f"{n}.png", PNG) for n in range(12)])
    assert len(composer.attached.pictures) == 8
    assert composer.wrong.text() == "Up to 8 pictures can go with one message."


async def test_a_model_that_does_not_see_is_named_before_anything_is_sent(composer: Composer) -> None:
    composer.warn_of("small")
    assert not composer.why.isVisible()
    composer.attached._add([("a.png", PNG)])
    assert composer.why.text() == "small does not see pictures: it will only be told the name."
    composer.attached.take()
    assert not composer.why.isVisible()


async def test_a_composer_without_pictures_takes_none(qtbot: QtBot, words: Words) -> None:
    composer = Composer(words)
    qtbot.addWidget(composer)
    composer.show()
    mime = QMimeData()
    mime.setImageData(image())
    composer.lines.insertFromMimeData(mime)
    assert names(composer) == []
    assert not composer.clip.isVisible()


def test_a_picture_with_too_many_bytes_becomes_a_photograph() -> None:
    assert PNG.startswith(b"\x89PNG")
    assert encoded(image(), len(PNG) - 1).startswith(b"\xff\xd8\xff")


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path, **{"super_agent.model": "standin:gpt-4o"}) as built:
        yield built


async def chat_of(here: House, words: Words) -> Chat:
    feed = Feed()
    feed.listen(here.bus)
    chat = Chat(words, feed)

    async def find(media_id: str) -> None:
        return None

    async def keep(picture: pictures.Picture) -> pictures.Attachment:
        return await pictures.keep(here.store, here.home, picture)

    def unseen(run: Run) -> list[str]:
        return here.runner.router.unseen(run)

    past = await history(here.store, here.home, "desktop")
    chat.open(here.runner.run, find, past, keep=keep, unseen=unseen)
    return chat


async def test_it_goes_to_a_model_that_sees_and_stays_in_the_conversation(
    here: House, words: Words, qtbot: QtBot, until: Until
) -> None:
    here.server.next(fault("auth"))
    chat = await chat_of(here, words)
    talk = Talk(chat, Questions(), words, lambda file: None)
    qtbot.addWidget(talk)
    talk.show()
    talk.composer.attached._add([("a.png", PNG), ("b.png", PNG)])
    talk.composer.lines.setPlainText("What is it?")
    qtbot.keyClick(talk.composer.lines, Qt.Key.Key_Return)
    await until(lambda: not chat.working)
    assert names(talk.composer) == []
    failed = chat.messages.entries[-1]
    assert failed.kind is Kind.ERROR
    chat.again(failed)  # once more, with its pictures
    await until(lambda: not chat.working)
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()
    for request in (here.server.requests[0], here.server.requests[-1]):
        parts = request.body["messages"][-1]["content"]
        assert [one["image_url"]["url"] for one in parts if one["type"] == "image_url"] == [url, url]
    assert len(await here.store.all("select 1 from media")) == 2
    (shown,) = [row for row in talk.view.rows() if isinstance(row, PicturedRow)][:1]
    assert [one.file.name for one in shown.shown] == ["a.png", "b.png"]
    assert Kind.NOTE not in [entry.kind for entry in chat.messages.entries]
    again = await chat_of(here, words)
    assert [file.name for file in again.messages.entries[0].files] == ["a.png", "b.png"]
    for one in (chat, again):
        await one.close()


async def test_what_a_model_did_not_see_is_said_after_its_answer(
    here: House, words: Words, until: Until
) -> None:
    await here.config.set({"super_agent.model": "standin:small"})
    chat = await chat_of(here, words)
    chat.send("", [pictures.checked("a.png", PNG, "en")])
    await until(lambda: not chat.working)
    note = chat.messages.entries[-1]
    assert (note.kind, note.text) == (
        Kind.NOTE,
        "small does not see pictures: of a.png it was only told the name.",
    )
    await chat.close()


async def test_a_picture_that_is_gone_is_said_where_it_was(
    here: House, words: Words, qtbot: QtBot, until: Until
) -> None:
    chat = await chat_of(here, words)
    chat.send("look", [pictures.checked("a.png", PNG, "en")])
    await until(lambda: not chat.working)
    for path in here.home.media_in.iterdir():
        path.unlink()
    again = await chat_of(here, words)
    row = PicturedRow(again.messages.entries[0], words)
    qtbot.addWidget(row)
    assert row.shown[0].accessibleName() == "a.png is no longer kept"
    for one in (chat, again):
        await one.close()
