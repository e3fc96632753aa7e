"""Draws WhatsApp screens as uiautomator prints them, with the ids and the structure of recorded ones."""

from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import quoteattr

from bridge.screen import Tree, parse

APP = "com.whatsapp"
WIDTH, HEIGHT = 1080, 2400
NEWLINE = {"\n": "&#10;"}


@dataclass
class El:
    id: str = ""
    box: tuple[int, int, int, int] = (0, 0, WIDTH, HEIGHT)
    text: str = ""
    desc: str = ""
    flags: dict[str, Any] = field(default_factory=dict)
    inner: list["El"] = field(default_factory=list)


def el(
    id: str = "",
    box: tuple[int, int, int, int] = (0, 0, 1080, 2400),
    *inner: El,
    text: str = "",
    desc: str = "",
    **flags: Any,
) -> El:
    return El(id, box, text, desc, flags, list(inner))


def xml(root: El, package: str = APP) -> str:
    out = ['<?xml version="1.0" encoding="UTF-8"?><hierarchy rotation="0">']

    def write(e: El) -> None:
        full = e.id if "/" in e.id or not e.id else f"{APP}:id/{e.id}"
        left, top, right, bottom = e.box
        flags = "".join(f' {k.replace("_", "-")}="{str(v).lower()}"' for k, v in e.flags.items())
        out.append(
            f'<node index="0" text={quoteattr(e.text, NEWLINE)} resource-id="{full}" class="View" '
            f'package="{package}" content-desc={quoteattr(e.desc)}{flags} bounds="[{left},{top}][{right},{bottom}]">'
        )
        for child in e.inner:
            write(child)
        out.append("</node>")

    write(root)
    return "".join(out) + "</hierarchy>UI hierchary dumped to: /dev/tty"


def tree(root: El, package: str = APP) -> Tree:
    return parse(xml(root, package))


def list_row(
    title: str,
    *,
    stamp: str = "10:12",
    preview: str = "hola",
    badge: El | None = None,
    top: int = 492,
    height: int = 228,
    community: bool = False,
    pinned: bool = False,
    desc: str = "",
    extra: tuple[El, ...] = (),
) -> El:
    bottom = top + height
    photo = "parent_stack_photo" if community else "contact_photo"
    head = el(
        "conversations_row_header",
        (216, top + 43, 1032, top + 112),
        el(
            "",
            (216, top + 43, 900, top + 112),
            el("conversations_row_contact_name", (216, top + 43, 800, top + 112), text=title),
        ),
        el("conversations_row_chevron", (984, top + 50, 1032, top + 100))
        if community
        else el("conversations_row_date", (939, top + 53, 1032, top + 102), text=stamp),
    )
    low = el(
        "bottom_row",
        (216, top + 118, 1032, top + 184),
        el("single_msg_tv", (216, top + 118, 860, top + 184), text=preview),
    )
    if badge is not None:
        low.inner.append(badge)
    if pinned:
        low.inner.append(el("pin_indicator", (900, top + 120, 950, top + 170)))
    low.inner.extend(extra)
    return el(
        "contact_row_container",
        (0, top, 1080, bottom),
        el("row_addon_start", (0, top + 12, 216, bottom - 12), el(photo, (30, top + 36, 186, top + 192))),
        el("row_content", (216, top + 43, 1032, top + 184), head, low),
        clickable=True,
        desc=desc,
    )


def badge(text: str = "", desc: str = "") -> El:
    return el("conversations_row_message_count", (972, 620, 1032, 674), text=text, desc=desc)


def chat_list(
    *rows: El,
    fab: bool = True,
    nav: bool = True,
    selected: int = 0,
    header: El | None = None,
    more: tuple[El, ...] = (),
) -> Tree:
    inside = [el("", (0, 288, 1080, 468), el("my_search_bar", (0, 300, 1080, 444)))] if fab else []
    if header is not None:
        inside.append(header)
    root = el(
        "root_view",
        (0, 0, 1080, 2400),
        el(
            "pager",
            (0, 120, 1080, 2086),
            el("android:id/list", (0, 120, 1080, 2086), *inside, *rows, scrollable=True),
        ),
        el("toolbar", (0, 120, 1080, 288)),
        *more,
    )
    if fab:
        root.inner.append(el("fab", (864, 1870, 1032, 2038)))
    if nav:
        items = [
            el(
                "",
                (270 * i, 2088, 270 * i + 270, 2328),
                el("navigation_bar_item_icon_container", (270 * i + 40, 2124, 270 * i + 230, 2220)),
                el(
                    "navigation_bar_item_labels_group",
                    (270 * i + 40, 2235, 270 * i + 230, 2328),
                    el(
                        f"navigation_bar_item_{'large' if i == selected else 'small'}_label_view",
                        (270 * i + 40, 2235, 270 * i + 230, 2300),
                        text="?",
                    ),
                ),
            )
            for i in range(4)
        ]
        root.inner.append(el("bottom_nav", (0, 2088, 1080, 2328), *items))
    return tree(root)


def bubble(
    text: str = "",
    *,
    mine: bool = False,
    time: str = "06:55",
    status: str | None = None,
    row: str = "conversation_row_text",
    top: int = 400,
    height: int = 128,
    width: int = 600,
    sender: str = "",
    sender_id: str = "name_in_group_tv",
    quoted: tuple[str, str] | None = None,
    edited: bool = False,
    body: tuple[El, ...] = (),
    text_id: str = "message_text",
    desc: str = "",
    mirrored: bool = False,
    shift: int = 0,
) -> El:
    """A row of the chat; `shift` draws what is inside at another moment of the animation than the row."""
    on_right = mine != mirrored
    left = 1029 - width if on_right else 51
    at = top + shift
    stamp = el("date_wrapper", (left + width - 160, at + height - 50, left + width - 10, at + height - 8))
    if edited:
        stamp.inner.append(
            el("edit_label", (left + 10, at + height - 50, left + 90, at + height - 8), text="已编辑")
        )
    if time:
        stamp.inner.append(
            el("date", (left + width - 160, at + height - 50, left + width - 60, at + height - 8), text=time)
        )
    if status is not None:
        stamp.inner.append(
            el(
                "status",
                (left + width - 60, at + height - 50, left + width - 10, at + height - 8),
                desc=status,
            )
        )
    main = el("main_layout", (left, at, left + width, at + height))
    if sender:
        main.inner.append(
            el(
                "name_in_group",
                (left, at, left + width, at + 40),
                el(sender_id, (left, at, left + 300, at + 40), text=sender),
            )
        )
    if quoted is not None:
        main.inner.append(
            el(
                "quoted_message_holder",
                (left, at, left + width, at + 60),
                el(
                    "bubble_quoted_message_frame",
                    (left, at, left + width, at + 60),
                    el("quoted_title", (left, at, left + 200, at + 30), text=quoted[0]),
                    el("quoted_text", (left, at + 30, left + 400, at + 60), text=quoted[1]),
                ),
            )
        )
    words = [el(text_id, (left + 8, at + 8, left + width - 170, at + height - 8), text=text)] if text else []
    if row == "conversation_row_text":
        main.inner.append(el("conversation_text_row", (left, at, left + width, at + height), *words, stamp))
    else:
        main.inner.extend([*body, *words, stamp])
    return el(row, (0, top, 1080, top + height), main, desc=desc)


def deleted(text: str, *, mine: bool, top: int = 400) -> El:
    return bubble(text, mine=mine, row="", top=top, body=(el("icon", (60, top, 100, top + 40)),))


def divider(text: str, id: str = "conversation_row_date_divider", top: int = 400, inner: str = "") -> El:
    return el(id, (0, top, 1080, top + 90), el(inner, (300, top + 20, 780, top + 80), text=text))


def chat(
    *children: El,
    title: str = "Ana",
    status: str = "",
    entry: str | None = "Mensaje",
    send: bool = False,
    read_only: bool = False,
    scroll_bottom: bool = False,
    mirrored: bool = False,
    package: str = APP,
    more: tuple[El, ...] = (),
) -> Tree:
    home = (936, 132, 1080, 276) if mirrored else (0, 132, 144, 276)
    foot = el("footer", (0, 2162, 1080, 2328))
    if read_only:
        foot.inner.append(el("read_only_chat_info", (60, 2200, 1000, 2300), text="Solo administradores"))
    elif entry is not None:
        foot.inner.append(el("entry", (168, 2194, 596, 2291), text=entry))
        foot.inner.append(el("send" if send else "voice_note_btn", (908, 2168, 1052, 2312)))
    return tree(
        el(
            "conversation_root_layout",
            (0, 120, 1080, 2328),
            el(
                "toolbar",
                (0, 120, 1080, 288),
                el("whatsapp_toolbar_home", home),
                el("conversation_contact_name", (300, 142, 441, 211), text=title),
                el("conversation_contact_status", (300, 211, 441, 260), text=status),
            ),
            el("android:id/list", (0, 288, 1080, 2162), *children, scrollable=True),
            *([el("scroll_bottom", (912, 1988, 1080, 2126))] if scroll_bottom else []),
            foot,
            *more,
        ),
        package,
    )
