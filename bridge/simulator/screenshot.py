"""Pictures of the screen, drawn and packed here: no image library is needed to look at a phone."""

import struct
import zlib
from textwrap import wrap

from bridge.simulator.layout import Node
from bridge.simulator.letters import rows
from bridge.simulator.phone import SimPhone
from bridge.simulator.render import screen

Colour = tuple[int, int, int]
COLOURS: dict[str, Colour] = {
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
DOT, ADVANCE, LINE = 2, 12, 28
PAPER, INK, LIGHT = (255, 255, 255), (60, 66, 72), (230, 235, 240)


class Picture:
    """Rows of RGB, at half of the screen's size while it is drawn."""

    def __init__(self, width: int, height: int, colour: Colour) -> None:
        self.width, self.height = width, height
        self.rows = [bytearray(bytes(colour) * width) for _ in range(height)]

    def fill(self, left: int, top: int, right: int, bottom: int, colour: Colour) -> None:
        left, right = max(0, left), min(self.width, right)
        if left >= right:
            return
        line = bytes(colour) * (right - left)
        for row in self.rows[max(0, top) : max(0, min(self.height, bottom))]:
            row[left * 3 : right * 3] = line

    def words(self, text: str, box: tuple[int, int, int, int], colour: Colour) -> None:
        """Text in lines, as much of it as fits into left, top, right, bottom."""
        left, top, right, bottom = box
        columns = max(1, (right - left) // ADVANCE)
        lines = [part for line in text.split("\n") for part in wrap(line, columns) or [""]]
        if "\n" not in text and len(text) <= columns + 3:
            lines = [text]  # the dots are wider than real letters: what nearly fits is one line
        for i, line in enumerate(lines):
            y = top + i * LINE
            if i and y + 7 * DOT > bottom:
                return
            for j, character in enumerate(line):
                self._letter(character, left + j * ADVANCE, y, colour)

    def _letter(self, character: str, x: int, y: int, colour: Colour) -> None:
        for row, dots in enumerate(rows(character)):
            for column in range(5):
                if dots & (16 >> column):
                    at = x + column * DOT
                    self.fill(at, y + row * DOT, at + DOT, y + (row + 1) * DOT, colour)


def draw(phone: SimPhone) -> Picture:
    """The screen at half size."""
    wide, tall = phone.size
    if not phone.awake or phone.faults.strike("black_screenshot"):
        return Picture(wide // 2, tall // 2, (0, 0, 0))
    other = phone.faults.strike("wrong_display")
    picture = Picture(wide // 2, tall // 2, LIGHT if other else PAPER)
    if not other:
        _paint(screen(phone), picture, INK)
        picture.words(f"{phone.now():%H:%M}", (30, 20, wide // 2, 60), INK)
        if phone.keyboard_shown:
            _keyboard(picture)
    return picture


def _keyboard(picture: Picture) -> None:
    """A dump does not contain the keyboard; a picture does."""
    top = picture.height - (800 + 72) // 2
    picture.fill(0, top, picture.width, picture.height, COLOURS["quote"])
    for row, keys in enumerate(("qwertyuiop", "asdfghjkl", "zxcvbnm")):
        step = picture.width // 10
        for i, key in enumerate(keys):
            x = i * step + (10 - len(keys)) * step // 2
            y = top + 30 + row * 80
            picture.fill(x + 4, y, x + step - 4, y + 66, PAPER)
            picture.words(key, (x + step // 2 - 6, y + 20, x + step, y + 60), INK)


def _paint(node: Node, picture: Picture, ink: Colour) -> None:
    box = [v // 2 for v in node.box]
    if node.fill in COLOURS and not (node.text and node.fill == "accent"):
        picture.fill(box[0], box[1], box[2], box[3], COLOURS[node.fill])
        ink = LIGHT if node.fill in ("dark", "badge", "button") else INK
    text = node.text or (node.desc if node.id.endswith("/toolbar_logo") else "")
    if text:
        colour = COLOURS["accent"] if node.fill == "accent" else ink
        picture.words(text, (box[0] + 2, box[1] + 4, box[2], box[3]), colour)
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
