"""Whether a screenshot is a picture at all, and whether it shows anything.

Some phones print warnings before the picture, old ones damage its line ends, a dropped connection cuts it and
a protected window photographs black with no error. Each of these is told apart here, so that nobody is shown
a made-up or an empty image.
"""

import struct
import zlib
from dataclasses import dataclass, field
from itertools import accumulate

from core.errors import Unavailable

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MAX_PIXELS = 64_000_000
NEAR_BLACK = 8
_CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}  # colour type -> bytes of a pixel at 8 bits
_LIT = bytes(NEAR_BLACK + 1) + b"\x01" * (255 - NEAR_BLACK)


class BadPicture(Unavailable):
    """What came is not a whole PNG."""

    code = "bad_picture"


@dataclass(frozen=True, slots=True)
class Png:
    """A whole picture: every chunk's checksum fits, up to its end."""

    width: int
    height: int
    data: bytes = field(repr=False)


def check(data: bytes) -> Png:
    """The picture in what a phone printed, without what stands around it."""
    start = data.find(SIGNATURE)
    if start < 0:
        raise BadPicture(_why_none(data))
    at = start + len(SIGNATURE)
    size: tuple[int, int] | None = None
    while True:
        if at + 12 > len(data):
            raise BadPicture(f"The picture is cut off after {len(data) - start} bytes.")
        length, kind = struct.unpack_from(">I4s", data, at)
        end = at + 12 + length
        if end > len(data):
            raise BadPicture(f"The picture is cut off after {len(data) - start} bytes.")
        (crc,) = struct.unpack_from(">I", data, end - 4)
        if crc != zlib.crc32(memoryview(data)[at + 4 : end - 4]):
            raise BadPicture("The picture was damaged on its way.")
        if size is None:
            if kind != b"IHDR" or length != 13:
                raise BadPicture("The picture does not begin like a PNG.")
            size = struct.unpack_from(">II", data, at + 8)
            if not 0 < size[0] * size[1] <= MAX_PIXELS:
                raise BadPicture(f"A picture of {size[0]}x{size[1]} cannot be a screen.")
        at = end
        if kind == b"IEND":
            return Png(*size, data[start:end])


def is_uniform(png: Png) -> bool:
    """Whether over 99 % of the picture is black or one colour: so a protected screen comes out."""
    depth, colour, _, _, interlace = struct.unpack_from(">BBBBB", png.data, 24)
    if depth != 8 or colour not in _CHANNELS or interlace:
        return False  # no phone's screencap; never called empty on a guess
    step = _CHANNELS[colour]
    stride = png.width * step
    try:
        pixels = zlib.decompressobj().decompress(_compressed(png.data), (stride + 1) * png.height)
    except zlib.error as error:
        raise BadPicture(f"The picture cannot be unpacked: {error}.") from error
    if len(pixels) < (stride + 1) * png.height:
        raise BadPicture("The picture has fewer rows than it says.")
    allowed = png.width * png.height // 100
    lit = odd = detailed = 0
    row, first, unlike = bytes(stride), b"", (0, 0)
    even, quick = True, True
    packed: tuple[int, bytes, bytes] | None = None
    for at in range(0, len(pixels), stride + 1):
        before, packed_before = row, packed
        packed = (pixels[at], pixels[at + 1 : at + 1 + stride], before)
        if packed != packed_before:
            row, quick = _row(*packed, step, even)
        first = first or row[:step]
        if row != before or not at:
            even = row == row[:step] * png.width
            unlike = (_lit(row, step, colour), _others(row, first, step))
        lit += unlike[0]
        odd += unlike[1]
        detailed += not (quick or even)
        if (lit > allowed and odd > allowed) or detailed > max(24, png.height // 10):
            return False  # decided early: a real screen is, within its first rows
    return True


def _row(filter: int, rest: bytes, above: bytes, step: int, even: bool) -> tuple[bytes, bool]:
    """A row without its PNG filter, and whether that was quick; `even` says that `above` is of one colour."""
    empty = not any(rest)
    if filter in (0, 1) and empty:
        return rest, True
    if empty and (filter == 2 or (filter == 4 and even)):
        return above, True
    if filter == 0:
        return rest, True
    row = bytearray(len(rest))
    if filter == 1:
        for channel in range(step):
            row[channel::step] = bytes(value & 255 for value in accumulate(rest[channel::step]))
        return bytes(row), True
    if filter == 2:
        return _added(rest, above), True
    if filter == 3:
        for at, value in enumerate(rest):
            left = row[at - step] if at >= step else 0
            row[at] = (value + (left + above[at]) // 2) & 255
    else:
        for at, value in enumerate(rest):
            left, corner = (row[at - step], above[at - step]) if at >= step else (0, 0)
            up = above[at]
            by_left, by_up, by_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
            near = left if by_left <= by_up and by_left <= by_corner else up if by_up <= by_corner else corner
            row[at] = (value + near) & 255
    return bytes(row), False


def _added(a: bytes, b: bytes) -> bytes:
    """Byte by byte sums without carries, all at once."""
    low = int.from_bytes(b"\x7f" * len(a))
    x, y = int.from_bytes(a), int.from_bytes(b)
    return (((x & low) + (y & low)) ^ ((x ^ y) & ~low)).to_bytes(len(a))


def _lit(row: bytes, step: int, colour: int) -> int:
    """How many pixels are not nearly black; alpha does not count."""
    bits = 0
    for channel in range(step - (colour in (4, 6))):
        bits |= int.from_bytes(row[channel::step].translate(_LIT))
    return bits.bit_count()


def _others(row: bytes, colour: bytes, step: int) -> int:
    """How many pixels are not of that colour."""
    bits = 0
    for channel in range(step):
        table = bytearray(b"\x01" * 256)
        table[colour[channel]] = 0
        bits |= int.from_bytes(row[channel::step].translate(table))
    return bits.bit_count()


def _compressed(data: bytes) -> bytes:
    at, parts = len(SIGNATURE), []
    while at + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        if kind == b"IDAT":
            parts.append(data[at + 8 : at + 8 + length])
        at += 12 + length
    return b"".join(parts)


def _why_none(data: bytes) -> str:
    if not data:
        return "The phone sent no picture."
    if b"\x89PNG\r\r\n" in data or b"\x89PNG\n\x1a\n" in data:
        return "The picture was damaged on its way: its line ends were changed."
    words = " ".join(data[:200].decode("ascii", "replace").split())
    return f"The phone sent no picture; it said: {words}"
