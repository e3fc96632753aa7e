"""Pictures: whole ones, damaged ones, and ones that show nothing."""

import random
import struct
import zlib

import pytest

from bridge.png import SIGNATURE, BadPicture, check, is_uniform


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def picture(width: int, height: int, rows: bytes, colour: int = 6, depth: int = 8) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    packed = zlib.compress(rows, 1)
    parts = chunk(b"IDAT", packed[: len(packed) // 2]) + chunk(b"IDAT", packed[len(packed) // 2 :])
    return SIGNATURE + chunk(b"IHDR", head) + parts + chunk(b"IEND", b"")


def paeth(left: int, up: int, corner: int) -> int:
    by = {left: abs(up - corner), up: abs(left - corner), corner: abs(left + up - 2 * corner)}
    for value in (left, up, corner):
        if by[value] == min(abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)):
            return value
    raise AssertionError


def filtered(rows: list[bytes], step: int, filter_of) -> bytes:
    """PNG's own filters, the slow and obvious way."""
    out = bytearray()
    above = bytes(len(rows[0]))
    for number, row in enumerate(rows):
        filter = filter_of(number)
        out.append(filter)
        for at, value in enumerate(row):
            left = row[at - step] if at >= step else 0
            corner = above[at - step] if at >= step else 0
            up = above[at]
            near = (0, left, up, (left + up) // 2, paeth(left, up, corner))[filter]
            out.append((value - near) & 255)
        above = row
    return bytes(out)


def plain(width: int, height: int, pixel: bytes) -> bytes:
    return picture(width, height, (b"\0" + pixel * width) * height)


BLACK, WHITE = b"\0\0\0\xff", b"\xff\xff\xff\xff"


def test_a_picture_is_found_behind_warnings_and_before_rubbish():
    whole = plain(4, 3, WHITE)
    png = check(b"[Warning] Multiple displays were found\n" + whole + b"\nbye")
    assert (png.width, png.height) == (4, 3)
    assert png.data == whole


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "sent no picture"),
        (b"Killed\n", "it said: Killed"),
        (plain(4, 3, WHITE)[:-3], "cut off"),
        (plain(4, 3, WHITE)[:40], "cut off"),
        (SIGNATURE, "cut off"),
        (plain(4, 3, WHITE).replace(b"\n", b"\r\n"), "line ends"),
        (plain(4, 3, WHITE).replace(b"IDAT", b"IDAX"), "damaged"),
        (SIGNATURE + chunk(b"IEND", b""), "does not begin"),
        (plain(0, 3, WHITE), "cannot be a screen"),
    ],
)
def test_what_is_not_a_whole_picture_is_refused_with_the_reason(data, why):
    with pytest.raises(BadPicture, match=why):
        check(data)


def test_one_changed_byte_anywhere_is_noticed():
    whole = plain(30, 30, WHITE)
    for at in range(len(SIGNATURE), len(whole)):
        broken = bytearray(whole)
        broken[at] ^= 0x20
        with pytest.raises(BadPicture):
            check(bytes(broken))


@pytest.mark.parametrize("filter", range(5))
@pytest.mark.parametrize("pixel", [BLACK, WHITE, b"\x12\x34\x56\xff", b"\x03\x05\x07\0"])
def test_one_colour_is_uniform_whatever_the_filter(filter, pixel):
    rows = [pixel * 40] * 60
    assert is_uniform(check(picture(40, 60, filtered(rows, 4, lambda number: filter))))


@pytest.mark.parametrize("filter", range(5))
def test_a_real_screen_is_not_uniform_whatever_the_filter(filter):
    dice = random.Random(5)
    rows = [bytes(dice.randrange(256) for _ in range(30 * 3)) for _ in range(40)]
    assert not is_uniform(check(picture(30, 40, filtered(rows, 3, lambda number: filter), colour=2)))


@pytest.mark.parametrize("filter", [0, 1, 2, 3, 4])
@pytest.mark.parametrize(("marked", "uniform"), [(39, True), (80, False)])
def test_the_line_is_at_one_in_a_hundred_pixels(filter, marked, uniform):
    rows = [bytearray(BLACK * 80) for _ in range(100)]  # 8000 pixels
    for number in range(marked):
        rows[number % 8][(number // 8) * 12 : (number // 8) * 12 + 4] = WHITE
        rows[number % 8 + 8][(number // 8) * 12 : (number // 8) * 12 + 4] = WHITE
    data = picture(80, 100, filtered([bytes(row) for row in rows], 4, lambda number: filter))
    assert is_uniform(check(data)) is uniform


def test_half_black_and_half_white_is_a_picture():
    rows = [BLACK * 40] * 30 + [WHITE * 40] * 30
    assert not is_uniform(check(picture(40, 60, filtered(rows, 4, lambda number: 2))))
    assert not is_uniform(check(picture(40, 60, filtered(rows, 4, lambda number: number % 5))))


def test_black_under_a_status_bar_is_still_a_protected_screen():
    bar = [BLACK * 300 + WHITE * 12 + BLACK * 768 for _ in range(40)]
    rows = bar + [BLACK * 1080] * 2360
    packed = filtered(bar, 4, lambda number: 4) + (b"\2" + bytes(1080 * 4)) * 2360
    assert len(packed) == (1080 * 4 + 1) * len(rows)
    # the first row below the bar ends it, so it stands for itself
    packed = packed[: 40 * 4321] + b"\0" + BLACK * 1080 + packed[41 * 4321 :]
    assert is_uniform(check(picture(1080, 2400, packed)))


def test_too_few_rows_are_a_damaged_picture():
    with pytest.raises(BadPicture, match="fewer rows"):
        is_uniform(check(picture(4, 9, b"\0" + BLACK * 4)))


def test_a_kind_of_png_that_no_phone_makes_is_not_called_empty():
    assert not is_uniform(check(picture(4, 1, b"\0" + bytes(4 * 8), depth=16)))
