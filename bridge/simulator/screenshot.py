"""Pictures of the screen, drawn and packed here: no image library is needed to look at a phone."""

import struct
import zlib

from bridge.simulator.layout import Node
from bridge.simulator.phone import SimPhone
from bridge.simulator.render import screen

COLOURS: dict[str, tuple[int, int, int]] = {
    "bar": (247, 247, 250),
    "wall": (239, 234, 226),
    "mine": (217, 253, 211),
    "theirs": (255, 255, 255),
    "photo": (176, 188, 197),
    "badge": (37, 170, 98),
    "accent": (0, 128, 105),
    "button": (0, 150, 110),
    "field": (240, 242, 245),
    "notice": (225, 233, 240),
    "quote": (228, 240, 226),
    "dark": (24, 26, 32),
}
PAPER, INK, LIGHT = (255, 255, 255), (60, 66, 72), (230, 235, 240)


class Picture:
    """Rows of RGB, at half of the screen's size while it is drawn."""

    def __init__(self, width: int, height: int, colour: tuple[int, int, int]) -> None:
        self.width, self.height = width, height
        self.rows = [bytearray(bytes(colour) * width) for _ in range(height)]

    def fill(self, left: int, top: int, right: int, bottom: int, colour: tuple[int, int, int]) -> None:
        left, right = max(0, left), min(self.width, right)
        if left >= right:
            return
        line = bytes(colour) * (right - left)
        for row in self.rows[max(0, top) : max(0, min(self.height, bottom))]:
            row[left * 3 : right * 3] = line

    def words(
        self, text: str, left: int, top: int, right: int, bottom: int, colour: tuple[int, int, int]
    ) -> None:
        """Words as bars of their length, line by line: legible is what the tree is for."""
        size = max(4, min(14, bottom - top))
        x, y = left, top
        for word in text.split():
            wide = max(3, len(word) * size // 2)
            if x + wide > right and x > left:
                x, y = left, y + size * 2
            if y + size > bottom:
                return
            self.fill(x, y + size // 4, min(right, x + wide), y + size, colour)
            x += wide + size // 2


def draw(phone: SimPhone) -> Picture:
    """The screen at half size."""
    wide, tall = phone.size
    if not phone.awake or phone.faults.strike("black_screenshot"):
        return Picture(wide // 2, tall // 2, (0, 0, 0))
    other = phone.faults.strike("wrong_display")
    picture = Picture(wide // 2, tall // 2, LIGHT if other else PAPER)
    if not other:
        _paint(screen(phone), picture, INK)
    return picture


def _paint(node: Node, picture: Picture, ink: tuple[int, int, int]) -> None:
    box = [v // 2 for v in node.box]
    if node.fill in COLOURS and not (node.text and node.fill == "accent"):
        picture.fill(box[0], box[1], box[2], box[3], COLOURS[node.fill])
        ink = LIGHT if node.fill in ("dark", "badge", "button") else INK
    if node.text:
        colour = COLOURS["accent"] if node.fill == "accent" else ink
        picture.words(node.text, box[0] + 2, box[1] + 4, box[2], box[3], colour)
    for child in node.children:
        _paint(child, picture, ink)


def png(phone: SimPhone) -> bytes:
    """`screencap -p`: full size, 8 bits, RGB."""
    picture = draw(phone)
    width = picture.width * 2
    lines = bytearray()
    for row in picture.rows:
        doubled = bytearray(width * 3)
        for channel in range(3):
            doubled[channel::6] = row[channel::3]
            doubled[channel + 3 :: 6] = row[channel::3]
        lines += (b"\0" + doubled) * 2
    header = struct.pack(">IIBBBBB", width, picture.height * 2, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(kind, data)
        for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(lines), 1)), (b"IEND", b""))
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def raw(phone: SimPhone) -> bytes:
    """`screencap` without -p: a header and RGBA."""
    picture = draw(phone)
    width, height = picture.width * 2, picture.height * 2
    out = bytearray(struct.pack("<IIII", width, height, 1, 1))
    for row in picture.rows:
        line = b"".join((bytes(row[i : i + 3]) + b"\xff") * 2 for i in range(0, len(row), 3))
        out += line * 2
    return bytes(out)
