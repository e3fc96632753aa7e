"""The phone's page: each state has a remedy in plain words, and the technical line only under details."""

import asyncio

import pytest
from PySide6.QtCore import QBuffer
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from core.errors import PhoneUnreachable
from desktop.phone import STATES, Attached, Known, PhoneScreen
from desktop.watching import WatchCard
from desktop.words import Words
from tests.desktop.conftest import Until

pytestmark = pytest.mark.anyio


class Bench:
    """Two phones on the table."""

    def __init__(self) -> None:
        self.state = "ready"
        self.chosen = ["A1"]
        self.pictures = 0

    async def look(self) -> Known:
        if self.state != "ready":
            raise PhoneUnreachable(self.state, f"adb says {self.state}")
        return Known("ready", "Pixel 7", "A1", "Android 14")

    async def attached(self) -> list[Attached]:
        return [
            Attached("A1", "Pixel 7", "device", self.chosen[-1] == "A1"),
            Attached("B2", "", "unauthorized", self.chosen[-1] == "B2"),
        ]

    async def choose(self, serial: str) -> None:
        self.chosen.append(serial)

    async def picture(self) -> bytes:
        self.pictures += 1
        if self.state != "ready":
            raise PhoneUnreachable(self.state, "no")
        await asyncio.sleep(0)
        image, buffer = QImage(8, 16, QImage.Format.Format_RGB32), QBuffer()
        image.fill(0)
        buffer.open(QBuffer.OpenModeFlag.WriteOnly)
        image.save(buffer, "PNG")  # type: ignore[call-overload]
        return bytes(buffer.data().data())


@pytest.fixture
async def bench() -> Bench:
    return Bench()


@pytest.fixture
async def page(bench: Bench, words: Words, qtbot: QtBot) -> PhoneScreen:
    page = PhoneScreen(
        words, state=bench.look, attached=bench.attached, choose=bench.choose, picture=bench.picture
    )
    qtbot.addWidget(page)
    return page


@pytest.mark.parametrize("state", [one for one in STATES if one != "ready"])
async def test_each_state_has_its_remedy(page: PhoneScreen, bench: Bench, words: Words, state: str) -> None:
    bench.state = state
    await page.refresh()
    assert page.state_chip.text() == words(f"phone.{state}.short")
    assert page.remedy.text() == words(f"phone.{state}.remedy")
    assert "adb" not in page.remedy.text()
    assert page.detail.text() == f"adb says {state}"
    assert page.detail.isHidden()
    page.more.click()
    assert not page.detail.isHidden()


async def test_a_phone_is_chosen_and_no_other_is_used(page: PhoneScreen, bench: Bench) -> None:
    await page.refresh()
    await page.pick("B2")
    assert bench.chosen == ["A1", "B2"]


async def test_a_picture_is_taken_only_on_request(page: PhoneScreen, bench: Bench, until: Until) -> None:
    await page.refresh()
    assert bench.pictures == 0
    page.shoot.click()
    page.shoot.click()
    await until(lambda: not page.picture.empty)
    assert bench.pictures == 1


async def test_a_picture_that_cannot_be_had_says_what_to_do(
    page: PhoneScreen, bench: Bench, words: Words
) -> None:
    await page.refresh()
    bench.state = "locked"
    await page.take()
    assert page.picture_why.text() == words("phone.locked.remedy")


async def test_without_a_phone_there_is_nothing_to_look_at(page: PhoneScreen, bench: Bench) -> None:
    bench.state = "absent"
    await page.refresh()
    assert not page.shoot.isEnabled()


async def test_the_words_change_live(page: PhoneScreen, words: Words) -> None:
    await page.refresh()
    words.speak("es")
    assert page.state_chip.text() == "conectado"


async def test_the_watch_is_a_switch_and_says_how_it_stands(words: Words, qtbot: QtBot, until: Until) -> None:
    on, state, written = False, ("off", ""), list[tuple[str, object]]()

    async def change(key: str, value: object) -> None:
        nonlocal on
        written.append((key, value))
        on = bool(value)

    card = WatchCard(words, on=lambda: on, change=change, state=lambda: state)
    qtbot.addWidget(card)
    card.show()
    assert card.chip.isHidden()
    card.row.editor.click()  # type: ignore[attr-defined]
    await until(lambda: written)
    assert written == [("whatsapp.watch", True)]
    state = ("offline", "absent")
    card.refresh()
    assert (card.chip.text(), card.why.text()) == (words("watching.offline"), "Not connected")
    state = ("online", "")
    card.refresh()
    assert card.chip.text() == words("watching.online")
    assert not card.chip.isHidden()


async def test_a_told_state_does_not_hide_the_phones(page: PhoneScreen, words: Words, until: Until) -> None:
    page.tell(Known("ready"))
    page.show()
    await until(lambda: words("phone.chosen") in [one.text() for one in page.findChildren(QLabel)])
