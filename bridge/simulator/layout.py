"""Nodes with places: what a screen is made of, written as uiautomator writes it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

Act = Callable[[], None]


class Box(NamedTuple):
    """Left, top, right, bottom in pixels."""

    left: int
    top: int
    right: int
    bottom: int

    def clip(self, to: "Box") -> "Box":
        return Box(
            max(self.left, to.left),
            max(self.top, to.top),
            min(self.right, to.right),
            min(self.bottom, to.bottom),
        )

    @property
    def empty(self) -> bool:
        return self.left >= self.right or self.top >= self.bottom

    def has(self, x: int, y: int) -> bool:
        return self.left <= x < self.right and self.top <= y < self.bottom

    def __str__(self) -> str:
        return f"[{self.left},{self.top}][{self.right},{self.bottom}]"


@dataclass(slots=True)
class Node:
    """One element; `tap` and `hold` are what a finger does to it, `hold` being a long press."""

    cls: str
    box: Box
    id: str = ""
    text: str = ""
    desc: str = ""
    children: list["Node"] = field(default_factory=list)
    tap: Act | None = None
    tap_at: Callable[[int, int], None] | None = None  # x, and how far above the element's real lower edge
    hold: Act | None = None
    scrollable: bool = False
    focused: bool = False
    selected: bool = False
    enabled: bool = True
    package: str = ""
    hidden_below: int = 0  # pixels cut off at the lower edge
    keep: bool = False  # survives although it has no area (real trees have such nodes)
    fill: str = ""  # what a picture of the screen paints it as

    def add(self, *nodes: "Node") -> "Node":
        self.children.extend(nodes)
        return self

    def walk(self) -> Iterator["Node"]:
        yield self
        for child in self.children:
            yield from child.walk()

    def find(self, id: str) -> "Node | None":
        """The first node whose id ends like this."""
        return next((n for n in self.walk() if n.id.endswith("/" + id) or n.id == id), None)


def clipped(node: Node, to: Box) -> Node | None:
    """The node as far as it can be seen; None when it cannot."""
    box = node.box.clip(to)
    if box.empty and not node.keep:
        return None
    inside = to if node.keep else box
    children = [seen for child in node.children if (seen := clipped(child, inside)) is not None]
    hidden = node.hidden_below + max(0, node.box.bottom - box.bottom)
    return replace(node, box=node.box if node.keep else box, children=children, hidden_below=hidden)


def moved(node: Node, dx: int, dy: int) -> Node:
    """The same elements elsewhere."""
    b = node.box
    return replace(
        node,
        box=Box(b.left + dx, b.top + dy, b.right + dx, b.bottom + dy),
        children=[moved(child, dx, dy) for child in node.children],
    )


def mirrored(node: Node, width: int) -> Node:
    """As a right-to-left language lays it out."""
    b = node.box
    return replace(
        node,
        box=Box(width - b.right, b.top, width - b.left, b.bottom),
        children=[mirrored(child, width) for child in node.children],
    )


def under(node: Node, x: int, y: int) -> Iterator[Node]:
    """The nodes under a point, the one on top first."""
    if not node.box.has(x, y):
        return
    for child in reversed(node.children):
        yield from under(child, x, y)
    yield node


def hit(root: Node, x: int, y: int) -> Node | None:
    """The element that takes a tap at this point."""
    return next((n for n in under(root, x, y) if n.tap or n.tap_at or n.hold), None)


def to_xml(root: Node, package: str, *, rotation: int = 0, compressed: bool = False) -> str:
    """The screen as `uiautomator dump` prints it."""
    parts = [f"<?xml version='1.0' encoding='UTF-8' standalone='yes' ?><hierarchy rotation=\"{rotation}\">"]
    for index, node in enumerate(_important(root) if compressed else [root]):
        _write(node, package, index, parts, compressed)
    parts.append("</hierarchy>")
    return "".join(parts)


def _important(node: Node) -> list[Node]:
    if node.id or node.text or node.desc or node.tap or node.tap_at or node.scrollable:
        return [node]
    return [found for child in node.children for found in _important(child)]


def _write(node: Node, package: str, index: int, parts: list[str], compressed: bool) -> None:
    package = node.package or package
    clickable = bool(node.tap or node.tap_at)
    children = [c for child in node.children for c in _important(child)] if compressed else node.children
    naf = ' NAF="true"' if clickable and not any(n.text or n.desc for n in node.walk()) else ""

    def flag(value: object) -> str:
        return "true" if value else "false"

    parts.append(
        f'<node{naf} index="{index}" text={_quote(node.text)} resource-id={_quote(node.id)} '
        f'class="{node.cls}" '
        f'package="{package}" content-desc={_quote(node.desc)} checkable="false" checked="false" '
        f'clickable="{flag(clickable)}" enabled="{flag(node.enabled)}" '
        f'focusable="{flag(clickable or node.scrollable)}" focused="{flag(node.focused)}" '
        f'scrollable="{flag(node.scrollable)}" long-clickable="{flag(node.hold)}" password="false" '
        f'selected="{flag(node.selected)}" bounds="{node.box}"'
    )
    if children:
        parts.append(">")
        for i, child in enumerate(children):
            _write(child, package, i, parts, compressed)
        parts.append("</node>")
    else:
        parts.append(" />")


def _quote(value: str) -> str:
    safe = "".join("." if ord(c) < 32 and c not in "\n\t\r" else c for c in value)
    return "".join(f"&#{ord(c)};" if ord(c) > 0xFFFF else c for c in quoteattr(safe, {'"': "&quot;"}))
