"""The list of chats, its archived folder, selection mode and search."""

from datetime import datetime

from bridge.simulator.layout import Act, Box, Node, clipped
from bridge.simulator.metrics import (
    BUTTON,
    FRAME,
    GROUP,
    IMAGE,
    IMAGE_BUTTON,
    LINEAR,
    RECYCLER,
    TEXT,
    Metrics,
)
from bridge.simulator.model import COMMUNITY, Chat, Message
from bridge.simulator.whatsapp import WhatsApp
from bridge.simulator.words import clock, day, say, unread

ROW = 228
MEDIA = {
    "photo": "📷 ",
    "video": "📹 ",
    "voice": "🎤 ",
    "document": "📄 ",
    "sticker": "💟 ",
    "gif": "👾 ",
    "poll": "📊 ",
    "location": "📍 ",
    "contact": "👤 ",
    "call": "📞 ",
    "view_once": "📷 ",
}


def preview(message: Message, chat: Chat, locale: str) -> str:
    """One line about the last message, as the list and the notifications show it."""
    if message.deleted:
        return say(locale, "you_deleted" if message.outgoing else "deleted")
    body = message.text.replace("\n", " ")
    if message.kind in MEDIA:
        label = say(locale, message.kind)
        shown = (
            message.title
            if message.kind in ("document", "poll", "contact") and message.title
            else body or label
        )
        if message.kind == "voice":
            shown = f"{label} ({message.length})" if message.length else label
        body = MEDIA[message.kind] + shown
    elif message.kind == "unknown":
        body = say(locale, "unsupported")
    if chat.is_group and message.kind != "system":
        who = (
            say(locale, "you")
            if message.outgoing
            else ("~ " if message.unsaved_sender else "") + message.sender
        )
        return f"{who}: {body}" if who else body
    return body


def stamp(message: Message, app: WhatsApp, now: datetime) -> str:
    if message.at.date() == now.date():
        return clock(app.locale, message.at, twelve=app.twelve_hour)
    return day(app.locale, message.at, now)


def list_screen(app: WhatsApp, m: Metrics, *, archived: bool = False) -> Node:
    """The list where it is scrolled to; below the fold there is nothing, as in a real tree."""
    p = app.package + ":id/"
    now = app.now()
    view = Box(0, m.top, m.width, m.bottom - m.px(0 if archived else 242))
    rows = app.listed(archived=archived)
    height = m.px(168)  # the toolbar's room above the first item
    items: list[tuple[int, int, Chat | str]] = []

    def item(what: Chat | str, tall: int) -> None:
        nonlocal height
        items.append((height, tall, what))
        height += tall

    if not archived:
        item("search", m.px(180))
        height += m.px(24)
        item("filters", 0)
        if app.listed(archived=True):
            item("archive", m.px(156))
    for chat in rows:
        item(chat, m.text_px(ROW))
    height += m.px(170)  # so that the last row can be moved above the buttons
    app.list_offset = max(0, min(app.list_offset, height - (view.bottom - view.top)))

    listing = Node(RECYCLER, view, "android:id/list", scrollable=True)
    for y, tall, what in items:
        top = view.top + y - app.list_offset
        if isinstance(what, Chat):
            listing.add(_row(app, what, m, p, Box(0, top, m.width, top + tall), now))
        elif what == "search":
            listing.add(_search_bar(app, p, Box(0, top, m.width, top + tall), m))
        elif what == "filters":
            filters = p + "conversations_swipe_to_reveal_container"
            listing.add(Node(FRAME, Box(0, top, m.width, top), filters))
        else:
            listing.add(_archive_row(app, p, Box(0, top, m.width, top + tall), m))
    page = Node(FRAME, view, p + "conversations_coordinator_layout").add(
        Node(FRAME, view, p + "conversation_container").add(listing)
    )
    host = Node(FRAME, Box(0, m.top, m.width, m.bottom), p + "conversation_list_view_host")
    host.add(Node(FRAME, view, p + "pager_holder").add(Node(GROUP, view, p + "pager").add(page)))
    host.add(_toolbar(app, m, p, archived=archived))
    if not archived:
        host.add(
            *_buttons(app, m, p),
            _bottom_nav(app, m, p, len([c for c in rows if c.unread or c.marked_unread])),
        )
    root = Node(FRAME, m.screen).add(
        Node(LINEAR, m.screen, p + "action_bar_root").add(
            Node(FRAME, m.screen, "android:id/content").add(Node(FRAME, m.screen, p + "root_view").add(host))
        )
    )
    return clipped(root, m.screen) or root


def _row(app: WhatsApp, chat: Chat, m: Metrics, p: str, box: Box, now: datetime) -> Node:
    t = box.top
    big = m.font

    def at(left: float, top: float, right: float, bottom: float) -> Box:
        return Box(m.px(left), t + m.px(top * big), m.px(right), t + m.px(bottom * big))

    def open_it() -> None:
        app.open(chat)

    row = Node(GROUP, box, p + "contact_row_container", tap=open_it, hold=lambda: app.select(chat))
    start = Node(FRAME, at(0, 12, 216, 216), p + "row_addon_start")
    photo = "parent_stack_photo" if chat.kind == COMMUNITY else "contact_photo"
    start.add(
        Node(FRAME, at(30, 36, 186, 192), p + "contact_selector").add(
            Node(IMAGE, at(30, 36, 186, 192), p + photo, fill="photo")
        )
    )
    content = Node(LINEAR, at(216, 43, m.right - 48, 184), p + "row_content")
    title = chat.title
    if app.faults.is_set("ellipsised_titles") and len(title) > 24:
        title = title[:23].rstrip() + "…"
    wide = min(927, 216 + 26 * len(title) + 20)
    header = Node(LINEAR, at(216, 43, m.right - 48, 112), p + "conversations_row_header")
    header.add(
        Node(LINEAR, at(216, 43, wide, 112)).add(
            Node(TEXT, at(216, 43, wide, 112), p + "conversations_row_contact_name", text=title)
        )
    )
    last = chat.last
    count = chat.unread > 0 or chat.marked_unread
    if chat.kind == COMMUNITY:
        header.add(Node(IMAGE, at(m.right - 96, 55, m.right - 48, 103), p + "conversations_row_chevron"))
    elif last is not None:
        header.add(
            Node(
                TEXT,
                at(m.right - 141, 53, m.right - 48, 102),
                p + "conversations_row_date",
                text=stamp(last, app, now),
                fill="accent" if count else "",
            )
        )
    bottom = Node(LINEAR, at(216, 118, m.right - 48, 184), p + "bottom_row")
    line = preview(last, chat, app.locale) if last is not None else ""
    left = 216.0
    if chat.draft and app.open_chat_shown is not chat:
        line = f"{say(app.locale, 'draft')}: {chat.draft}".replace("\n", " ")
    elif last is not None and last.outgoing and not last.deleted and last.kind != "system":
        icon = say(app.locale, last.status)
        bottom.add(Node(IMAGE, at(216, 130, 264, 172), p + "status_indicator", desc=icon))
        left = 270
    if chat.kind == COMMUNITY:
        bottom.add(
            Node(TEXT, at(216, 118, 420, 184), p + "msg_from_tv", text=say(app.locale, "announcements"))
        )
        bottom.add(Node(IMAGE, at(424, 140, 436, 152), p + "conversation_row_single_subgroup_bullet"))
        left = 444
    bottom.add(
        Node(
            TEXT,
            at(left, 118, min(m.right - 168, left + 24 * len(line) + 20), 184),
            p + "single_msg_tv",
            text=line,
        )
    )
    edge = m.right - 48
    if count:
        number = chat.unread and not app.faults.is_set("badge_without_number")
        words = unread(app.locale, chat.unread) if number else say(app.locale, "marked")
        bottom.add(
            Node(
                TEXT,
                at(edge - 60, 124, edge, 178),
                p + "conversations_row_message_count",
                fill="badge",
                text=str(chat.unread) if number else "",
                desc=words if number else "",
            )
        )
        edge -= 72
    for id, there in (("pin_indicator", chat.pinned), ("mute_indicator", chat.muted)):
        if there:
            bottom.add(Node(IMAGE, at(edge - 48, 128, edge, 176), p + id))
            edge -= 54
    return row.add(start, content.add(header, bottom))


def _search_bar(app: WhatsApp, p: str, box: Box, m: Metrics) -> Node:
    def search() -> None:
        app.search = ""
        app.screens.append(("search", ""))

    inner = Box(m.px(36), box.top + m.px(24), box.right - m.px(36), box.bottom - m.px(24))
    words = Box(inner.left + m.px(120), inner.top + m.px(30), inner.right - m.px(60), inner.bottom - m.px(30))
    icon = Box(inner.left + m.px(36), words.top, inner.left + m.px(96), words.bottom)
    return Node(FRAME, box, p + "my_search_bar").add(
        Node(LINEAR, inner, p + "search_bar_inner_layout", tap=search, fill="field").add(
            Node(IMAGE, icon, p + "search_icon"),
            Node(TEXT, words, p + "search_text", text=say(app.locale, "search")),
        )
    )


def _archive_row(app: WhatsApp, p: str, box: Box, m: Metrics) -> Node:
    def show() -> None:
        app.screens.append(("archived", ""))

    waiting = len([c for c in app.listed(archived=True) if c.unread or c.marked_unread])
    row = Node(GROUP, box, p + "conversations_archive_header", tap=show)
    middle = (box.top + box.bottom) // 2
    row.add(
        Node(
            TEXT,
            Box(m.px(216), middle - m.px(30), m.px(520), middle + m.px(30)),
            p + "archive_row_title",
            text=say(app.locale, "archived"),
        )
    )
    if waiting:
        row.add(
            Node(
                TEXT,
                Box(box.right - m.px(120), middle - m.px(26), box.right - m.px(48), middle + m.px(26)),
                p + "archive_row_counter",
                text=str(waiting),
            )
        )
    return row


def _toolbar(app: WhatsApp, m: Metrics, p: str, *, archived: bool) -> Node:
    top = 120 - (0 if archived else app.list_offset / m.k)  # the toolbar scrolls away with the list
    bar = Node(GROUP, m.box(0, top, m.right, top + 168), p + "toolbar", fill="bar")
    if archived:
        bar.add(
            Node(
                IMAGE_BUTTON,
                m.box(0, top + 12, 144, top + 156),
                "",
                desc=say(app.locale, "back"),
                tap=lambda: void(app.back()),
            )
        )
        bar.add(Node(TEXT, m.box(168, top + 40, 500, top + 128), "", text=say(app.locale, "archived")))
        return Node(FRAME, bar.box.clip(m.box(0, 120, m.right, m.down)), p + "header").add(bar)
    bar.add(
        Node(IMAGE, m.box(48, top + 40, 400, top + 128), p + "toolbar_logo", desc="WhatsApp"),
        Node(
            BUTTON,
            m.box(m.right - 264, top + 12, m.right - 144, top + 156),
            p + "menuitem_camera",
            desc=say(app.locale, "camera"),
            tap=lambda: app.touch_forbidden("camera opened"),
        ),
        Node(
            BUTTON,
            m.box(m.right - 120, top + 12, m.right, top + 156),
            p + "menuitem_overflow",
            desc=say(app.locale, "more"),
            tap=lambda: app.screens.append(("menu", "")),
        ),
    )
    return Node(FRAME, bar.box.clip(m.box(0, 120, m.right, m.down)), p + "header").add(bar)


def _buttons(app: WhatsApp, m: Metrics, p: str) -> list[Node]:
    d = m.down
    return [
        Node(
            IMAGE_BUTTON,
            m.box(m.right - 198, d - 638, m.right - 72, d - 518),
            p + "extended_mini_fab",
            tap=lambda: app.touch_forbidden("assistant opened"),
            fill="button",
        ),
        Node(
            IMAGE_BUTTON,
            m.box(m.right - 216, d - 458, m.right - 48, d - 290),
            p + "fab",
            desc=say(app.locale, "new_chat"),
            tap=lambda: app.screens.append(("picker", "")),
            fill="button",
        ),
    ]


def _tab(app: WhatsApp, key: str) -> Act:
    def go() -> None:
        if key != "chats":
            app.screens.append(("tab", key))

    return go


def _bottom_nav(app: WhatsApp, m: Metrics, p: str, waiting: int) -> Node:
    d = m.down
    bar = Node(FRAME, m.box(0, d - 242, m.right, d), p + "bottom_nav_container")
    inner = Node(FRAME, bar.box, p + "bottom_nav", fill="bar")
    for i, key in enumerate(("chats", "updates", "communities", "calls")):
        left, right = m.right / 4 * i, m.right / 4 * (i + 1)
        label = "navigation_bar_item_large_label_view" if i == 0 else "navigation_bar_item_small_label_view"
        go = _tab(app, key)
        tab = Node(
            FRAME, m.box(left, d - 242, right, d), "", desc=say(app.locale, key), tap=go, selected=i == 0
        )
        tab.add(
            Node(
                FRAME,
                m.box(left + 90, d - 220, right - 90, d - 120),
                p + "navigation_bar_item_icon_container",
            )
        )
        if i == 0 and waiting:
            tab.children[0].add(
                Node(
                    TEXT,
                    m.box(right - 130, d - 224, right - 84, d - 180),
                    p + "bottom_nav_indicator_badge",
                    text=str(waiting),
                    fill="badge",
                )
            )
        tab.add(
            Node(
                LINEAR, m.box(left + 40, d - 110, right - 40, d - 50), p + "navigation_bar_item_labels_group"
            ).add(
                Node(
                    TEXT, m.box(left + 40, d - 110, right - 40, d - 50), p + label, text=say(app.locale, key)
                )
            )
        )
        inner.add(tab)
    return bar.add(inner)


def void(_: object) -> None:
    """A tap's answer is nobody's business."""
