"""What uiautomator says is on the screen, as a tree that can be asked.

An unreadable screen is never an empty one: whoever sees no rows may believe it, so everything that is not a
whole tree is `Unreadable`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree import ElementTree

from bridge.sameness import same_text
from core.errors import Unavailable

__all__ = ("Node", "Tree", "Unexpected", "Unreadable", "decode", "parse", "same_text", "sanitise")
MAX_CHARS = 24_000_000
LOST = "\ufffd"  # what stands for a character that did not survive


class Unreadable(Unavailable):
    """The screen could not be read; nothing is known about what is on it."""

    code = "screen_unreadable"


class Unexpected(Unreadable):
    """The screen was read, and is not the one that was waited for. `tree` is what was there."""

    def __init__(self, sentence: str, tree: "Tree | None") -> None:
        super().__init__(sentence)
        self.tree = tree


@dataclass(eq=False, slots=True)
class Node:
    """A thing on the screen. `id` has no package prefix, `full_id` is as Android says it."""

    full_id: str = ""
    text: str = ""
    desc: str = ""
    hint: str = ""
    cls: str = ""
    package: str = ""
    bounds: tuple[int, int, int, int] = (0, 0, 0, 0)
    clickable: bool = False
    long_clickable: bool = False
    scrollable: bool = False
    focused: bool = False
    focusable: bool = False
    enabled: bool = True
    checked: bool = False
    selected: bool = False
    password: bool = False
    parent: "Node | None" = field(default=None, repr=False)
    children: list["Node"] = field(default_factory=list, repr=False)

    @property
    def id(self) -> str:
        return self.full_id.rpartition("/")[2]

    @property
    def left(self) -> int:
        return self.bounds[0]

    @property
    def top(self) -> int:
        return self.bounds[1]

    @property
    def right(self) -> int:
        return self.bounds[2]

    @property
    def bottom(self) -> int:
        return self.bounds[3]

    @property
    def center(self) -> tuple[int, int]:
        return (self.left + self.right) // 2, (self.top + self.bottom) // 2

    def contains(self, x: int, y: int) -> bool:
        return self.left <= x < self.right and self.top <= y < self.bottom

    def descend(self) -> Iterator["Node"]:
        """This node and everything below it, in the order of the screen's own tree."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    def ancestors(self) -> Iterator["Node"]:
        """From the parent up to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def all(self, id: str) -> list["Node"]:
        """Every node with that id, here or below. With a prefix (`android:id/list`) the whole id counts."""
        return [node for node in self.descend() if id == (node.full_id if "/" in id else node.id)]

    def find(self, id: str) -> "Node | None":
        """The first node with that id, here or below."""
        whole = "/" in id
        return next((node for node in self.descend() if id == (node.full_id if whole else node.id)), None)

    def inside(self, id: str) -> bool:
        """Whether a node above has that id."""
        return any(id == (node.full_id if "/" in id else node.id) for node in self.ancestors())


@dataclass(eq=False, slots=True)
class Tree:
    """One reading of the screen.

    `package` owns the window on top, `degraded` says that characters were lost, `reader` which way was used.
    """

    root: Node
    package: str
    rotation: int | None = None
    degraded: bool = False
    reader: str = ""

    @property
    def nodes(self) -> list[Node]:
        return list(self.root.descend())[1:]

    @property
    def size(self) -> tuple[int, int]:
        """How far the tree reaches, in the coordinates that taps use."""
        return self.root.right, self.root.bottom

    def find(self, id: str) -> Node | None:
        return self.root.find(id)

    def all(self, id: str) -> list[Node]:
        return self.root.all(id)

    def has(self, *ids: str) -> bool:
        """Whether every one of these ids is there."""
        return all(self.root.find(id) for id in ids)

    @property
    def ids(self) -> list[str]:
        """The distinct ids in order: enough to say which screen this is, and nothing of what people wrote."""
        return list(dict.fromkeys(node.id for node in self.nodes if node.full_id))

    @property
    def signature(self) -> int:
        """Two readings with the same signature show the same."""
        return hash(tuple((node.full_id, node.text, node.desc, node.bounds) for node in self.nodes))


def decode(data: bytes) -> str:
    """The dump's bytes as text. Some Androids write an emoji as two surrogates of three bytes each."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        pass
    try:
        paired = data.decode(errors="surrogatepass")
    except UnicodeDecodeError:
        return data.decode(errors="replace")
    return paired.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def parse(xml: str) -> Tree:
    """The tree in what a dump printed, whatever stands before and after it."""
    if len(xml) > MAX_CHARS:
        raise Unreadable("The screen's description is too large to be one.")
    end = xml.rfind("</hierarchy>")
    start = xml.find("<hierarchy")
    if start < 0:
        raise Unreadable("The phone printed no description of the screen.")
    if end < start:
        raise Unreadable("The description of the screen is empty or cut off.")
    body, degraded = sanitise(xml[start : end + len("</hierarchy>")])
    try:
        document = ElementTree.fromstring(body)  # no DTD is left in it: it begins at <hierarchy
    except ElementTree.ParseError as error:
        raise Unreadable(f"The description of the screen is damaged: {error}.") from error
    root = Node()
    _grow(document, root)
    if not root.children:
        raise Unreadable("The description of the screen holds nothing visible.")
    root.bounds = (
        0,
        0,
        max(node.right for node in root.children),
        max(node.bottom for node in root.children),
    )
    rotation = document.get("rotation", "")
    return Tree(
        root=root,
        package=root.children[0].package,
        rotation=int(rotation) if rotation.isdigit() else None,
        degraded=degraded,
    )


def _grow(document: ElementTree.Element, root: Node) -> None:
    """Hang the XML's nodes below `root`.

    Nodes of no or inverted size are pages beside the screen and folded holders: they go. What they hold and
    can be seen stays, under the next node above, because a row is joined to its texts by parentage.
    """
    waiting = [(child, root) for child in reversed(document)]
    while waiting:
        element, parent = waiting.pop()
        node = _node(element)
        if node is not None:
            node.parent = parent
            parent.children.append(node)
        waiting.extend((child, node or parent) for child in reversed(element))


def _node(element: ElementTree.Element) -> Node | None:
    said = element.attrib
    bounds = re.fullmatch(r"\[(-?\d+),(-?\d+)\]\[(-?\d+),(-?\d+)\]", said.get("bounds", ""))
    if element.tag != "node" or bounds is None:
        return None
    left, top, right, bottom = (int(number) for number in bounds.groups())
    if left >= right or top >= bottom:
        return None
    return Node(
        full_id=said.get("resource-id", ""),
        text=said.get("text", ""),
        desc=said.get("content-desc", ""),
        hint=said.get("hint", ""),
        cls=said.get("class", ""),
        package=said.get("package", ""),
        bounds=(left, top, right, bottom),
        clickable=said.get("clickable") == "true",
        long_clickable=said.get("long-clickable") == "true",
        scrollable=said.get("scrollable") == "true",
        focused=said.get("focused") == "true",
        focusable=said.get("focusable") == "true",
        enabled=said.get("enabled", "true") == "true",
        checked=said.get("checked") == "true",
        selected=said.get("selected") == "true",
        password=said.get("password") == "true",
    )


def sanitise(xml: str) -> tuple[str, bool]:
    """Text that XML allows, and whether something was lost: half an emoji breaks every parser."""
    xml = _PAIR.sub(_joined, xml)
    lost = LOST in xml

    def replaced(match: re.Match[str]) -> str:
        nonlocal lost
        code = _code(match[1])
        if _legal(code):
            return match[0]
        lost = True
        return LOST

    xml = _REFERENCE.sub(replaced, xml)
    clean = _ILLEGAL.sub(LOST, xml)
    return clean, lost or clean != xml


_REFERENCE = re.compile(r"&#([xX]?[0-9a-fA-F]{1,12});")
_PAIR = re.compile(r"&#([xX]?[0-9a-fA-F]{4,6});&#([xX]?[0-9a-fA-F]{4,6});")
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _joined(match: re.Match[str]) -> str:
    high, low = _code(match[1]), _code(match[2])
    if 0xD800 <= high < 0xDC00 <= low < 0xE000:
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    return match[0]


def _code(digits: str) -> int:
    try:
        return int(digits[1:], 16) if digits[0] in "xX" else int(digits)
    except ValueError:  # decimal with letters in it
        return -1


def _legal(code: int) -> bool:
    if code < 0x20:
        return code in (9, 10, 13)
    return code < 0xD800 or 0xE000 <= code <= 0xFFFD or 0x10000 <= code <= 0x10FFFF
