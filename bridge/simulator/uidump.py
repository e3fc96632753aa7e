"""`uiautomator dump`, with everything that is known to go wrong with it."""

import re
from dataclasses import replace

from bridge.simulator.faults import Faults
from bridge.simulator.layout import Box, Node, moved, to_xml
from bridge.simulator.phone import SimPhone
from bridge.simulator.render import window
from bridge.simulator.shell import Io

DEFAULT = "/sdcard/window_dump.xml"
CRASH = (
    "java.lang.NullPointerException: Attempt to invoke virtual method on a null object reference\n"
    "\tat com.android.commands.uiautomator.DumpCommand.run(DumpCommand.java:1)\n"
)
REGISTERED = (
    "java.lang.IllegalStateException: UiAutomationService "
    "android.accessibilityservice.IAccessibilityServiceClient$Stub$Proxy@1c2 "
    "already registered!\n\tat android.app.UiAutomationConnection.connect(UiAutomationConnection.java:1)\n"
)


async def uiautomator(phone: SimPhone, args: list[str], io: Io) -> int:
    """`uiautomator dump [--compressed] [FILE]`; failures come as text and, mostly, exit code 0."""
    words = args[1:]
    if words[:1] != ["dump"]:
        await io.complain("Unsupported command: " + " ".join(words[:1]) + "\n")
        return 1
    compressed = "--compressed" in words
    path = next((w for w in words[1:] if not w.startswith("-")), DEFAULT)
    faults = phone.faults
    before = phone.last_dump
    if phone.late_dump is not None:
        late, phone.late_dump = phone.late_dump, None
        phone.files[late[0]] = late[1]
    app = phone.app
    if (
        app is not None
        and app.open_chat_shown is not None
        and phone.usable
        and faults.strike("arrives_while_reading")
    ):
        chat = app.open_chat_shown
        sender = next((m.sender for m in chat.messages if m.sender), "")
        phone.receive(chat.id, faults.text("arrives_while_reading", "¿?"), sender=sender)
    if faults.strike("killed"):
        await io.complain("Killed\n")
        return 137
    if faults.strike("already_registered"):
        await io.complain(REGISTERED)
        return 137
    if faults.strike("empty_dump"):
        await io.complain(CRASH)
        return 1
    if faults.strike("not_idle") and not compressed:
        await io.complain("ERROR: could not get idle state.\n")
        return 0
    if faults.strike("null_root") or faults.strike("stale_file"):
        if faults.is_set("stale_file") and before is not None:
            phone.files[path] = before  # what an earlier run left there
        await io.complain("ERROR: null root node returned by UiTestAutomationBridge.\n")
        return 0
    xml = dump(phone, compressed=compressed)
    if faults.strike("stale_screen") and before is not None:
        xml = before.decode()
    else:
        phone.last_dump = xml.encode()
    if faults.strike("late_write"):
        phone.late_dump = (path, xml.encode())
        await io.complain("ERROR: could not get idle state.\n")
        return 0
    xml = spoilt(xml, faults)
    if path in ("/dev/tty", "/dev/stdout"):
        noise = "WARNING: linker: something unimportant\n" if faults.strike("glued_line") else ""
        await io.say(f"{noise}{xml}UI hierchary dumped to: {path}\n")
    else:
        phone.files[path] = xml.encode()
        await io.say(f"UI hierchary dumped to: {path}\n")
    return 0


def dump(phone: SimPhone, *, compressed: bool = False) -> str:
    """The current screen as XML, its structure bent by the faults of the tree."""
    package, root = window(phone)
    faults = phone.faults
    if faults.is_set("mixed_frames"):
        root = _mixed(root, phone.metrics.px(196))
    if faults.is_set("missing_children"):
        root = _holes(root)
    if faults.is_set("offscreen_pages"):
        root = _pages(root, phone.metrics.width)
    if faults.is_set("no_ids"):
        root = _renamed(root, None)
    elif faults.is_set("renamed_id"):
        old, _, new = faults.text("renamed_id", "message_text=msg_body").partition("=")
        root = _renamed(root, (old, new))
    turned = 1 if faults.is_set("rotated") and phone.rotation == 0 else phone.rotation
    return to_xml(root, package, rotation=turned, compressed=compressed)


def spoilt(xml: str, faults: Faults) -> str:
    """Damage to the text itself."""
    if faults.strike("emoji_dots"):
        xml = re.sub(r"&#(\d+);", lambda m: ".." if int(m.group(1)) > 0xFFFF else m.group(), xml)
    if faults.strike("bad_characters"):
        xml = xml.replace('text="', 'text="&#11;&#55357;&#56832;', 1)
    if faults.strike("truncated_xml"):
        xml = xml[: len(xml) * 2 // 3]
    return xml


def _mixed(node: Node, dy: int) -> Node:
    """Rows from one frame of an animation, what is in them from another."""
    if node.id == "android:id/list":
        rows = [replace(row, children=[moved(c, 0, dy) for c in row.children]) for row in node.children]
        return replace(node, children=rows)
    return replace(node, children=[_mixed(child, dy) for child in node.children])


def _holes(node: Node) -> Node:
    children = node.children
    if node.id == "android:id/list" and len(children) > 4:
        children = children[:2] + children[3:]
    return replace(node, children=[_holes(child) for child in children])


def _pages(node: Node, width: int) -> Node:
    """The neighbours of a pager, which are not visible and have impossible bounds."""
    children = [_pages(child, width) for child in node.children]
    if node.id.endswith(":id/pager"):
        p = node.id.removesuffix("pager")
        for page in (1, 2, 3):
            x = width * page
            box = Box(x, node.box.top + 700, width, node.box.top + 928)
            ghost = Node("android.view.ViewGroup", box, p + "contact_row_container", keep=True)
            ghost.add(
                Node(
                    "android.widget.TextView",
                    box,
                    p + "conversations_row_contact_name",
                    text=f"Page {page}",
                    keep=True,
                )
            )
            children.append(ghost)
    return replace(node, children=children)


def _renamed(node: Node, names: tuple[str, str] | None) -> Node:
    if names is None:
        id = ""
    else:
        id = node.id.replace("/" + names[0], "/" + names[1]) if node.id.endswith("/" + names[0]) else node.id
    return replace(node, id=id, children=[_renamed(child, names) for child in node.children])
