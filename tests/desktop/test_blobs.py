"""Faces: the catalogue is whole, and every face shows every mood."""

import json
import re

import pytest
from PySide6.QtCore import QRect, QRectF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication

from core import icons
from desktop import blobs
from desktop.moods import MOTIONS, POSES, Mood

pytestmark = pytest.mark.usefixtures("qapp")


def _painted(key: str, mood: str, phase: float = 0.0, side: int = 48) -> QImage:
    image = QImage(side, side, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(0)
    painter = QPainter(image)
    blobs.paint(painter, QRectF(0, 0, side, side), key, mood, phase)
    painter.end()
    return image


def _cover(image: QImage) -> float:
    """The part of the picture that is not transparent."""
    alphas = image.convertToFormat(QImage.Format.Format_Alpha8)
    data = bytes(alphas.constBits())
    return sum(value > 127 for value in data) / (image.width() * image.height())


def test_there_are_at_least_28_faces_and_night_is_the_default() -> None:
    assert len(icons.ICONS) >= 28
    assert len(set(icons.ICONS)) == len(icons.ICONS)
    assert icons.DEFAULT in icons.ICONS
    assert all(re.fullmatch(r"[a-z]{2,10}", key) for key in icons.ICONS)


def test_catalogue_and_drawings_are_the_same_set() -> None:
    drawings = {path.stem for path in icons.FOLDER.glob("*.svg")}
    assert drawings == set(icons.ICONS)
    rows = json.loads((icons.FOLDER / "catalog.json").read_text(encoding="utf-8"))["blobs"]
    assert {row["key"] for row in rows} == drawings


@pytest.mark.parametrize("key", icons.ICONS)
def test_every_face_has_two_names_and_eyes_inside_its_body(key: str) -> None:
    icon = icons.find(key)
    assert icons.label(key, "es-AR")
    assert icons.label(key, "en")
    body = blobs._body(icon, 120, 1.0).toImage()
    for x, y in (icon.eyes.left, icon.eyes.right):
        for side in (-icon.eyes.width, icon.eyes.width):
            assert body.pixelColor(round(x + side), round(y)).alpha() == 255


@pytest.mark.parametrize("key", icons.ICONS)
def test_every_face_shows_every_mood_differently(key: str) -> None:
    seen = []
    for mood in Mood:
        image = _painted(key, mood)
        assert 0.25 < _cover(image) < 0.95
        assert image not in seen
        seen.append(image)


@pytest.mark.parametrize("key", icons.ICONS)
def test_eyes_stand_out_from_the_body(key: str) -> None:
    icon = icons.find(key)
    body = blobs._body(icon, 120, 1.0).toImage()
    whole = _painted(key, Mood.IDLE, side=120)
    x, y = round(icon.eyes.left[0]), round(icon.eyes.left[1])
    ground, eye = body.pixelColor(x, y), whole.pixelColor(x, y)
    assert sum(abs(a - b) for a, b in zip(ground.getRgb(), eye.getRgb(), strict=True)) > 180


def test_an_unknown_face_is_the_default_and_an_unknown_mood_is_a_mistake() -> None:
    assert _painted("of-another-version", Mood.IDLE) == _painted(icons.DEFAULT, Mood.IDLE)
    with pytest.raises(ValueError, match="surprised"):
        blobs.pixmap(icons.DEFAULT, 24, "surprised")


def test_pictures_are_sharp_on_dense_screens() -> None:
    picture = blobs.pixmap("menta", 32, Mood.IDLE, dpr=2.0)
    assert picture.width() == 64
    assert picture.deviceIndependentSize().width() == 32


def test_a_picture_is_painted_once() -> None:
    first = blobs.pixmap("sol", 33, Mood.DONE)
    assert blobs.pixmap("sol", 33, Mood.DONE).cacheKey() == first.cacheKey()


@pytest.mark.parametrize("mood", Mood)
def test_every_mood_ends_its_cycle_as_it_began_and_never_grows(mood: Mood) -> None:
    first, last = POSES[mood](0.0), POSES[mood](0.9999)
    assert first.open == pytest.approx(last.open, abs=0.01)
    assert first.look == pytest.approx(last.look, abs=0.05)
    assert all(POSES[mood](step / 50).squash >= 0 for step in range(50))
    assert MOTIONS[mood].cycle_ms > 0


def test_the_click_shape_holds_every_moment_of_a_mood(qapp: QApplication) -> None:
    region = blobs.silhouette("sol", 112, Mood.WORKING)
    image = _painted("sol", Mood.WORKING, 0.508, side=112)
    assert all(
        region.contains(QRect(x, y, 1, 1))
        for x in range(0, 112, 3)
        for y in range(0, 112, 3)
        if image.pixelColor(x, y).alpha() > 250
    )
    assert not region.contains(QRect(0, 0, 1, 1))
