"""An open chat: toolbar, bubbles and composer."""

from bridge.simulator.bubbles import Bubbles
from bridge.simulator.layout import Act, Box, Node, clipped, moved
from bridge.simulator.metrics import BUTTON, EDIT, FRAME, IMAGE, IMAGE_BUTTON, LINEAR, LIST, TEXT, Metrics
from bridge.simulator.model import BROADCAST, CHANNEL, GROUP, Chat
from bridge.simulator.whatsapp import WhatsApp
from bridge.simulator.words import day, say, unread

KEYBOARD = 800  # pixels of the recording
LOADS = 30  # messages more for each visit to the top


def chat_screen(app: WhatsApp, chat: Chat, m: Metrics) -> Node:
    """The chat where it is scrolled to."""
    p = app.package + ":id/"
    if chat.unread:
        app.mark_read(chat)  # it was opened behind the lock, and now it is seen
    lifted = KEYBOARD if app.keyboard and not app.faults.is_set("keyboard_covers") else 0
    lines = min(5, chat.draft.count("\n") + 1 + len(chat.draft) // 30) if chat.draft else 1
    foot = m.down - lifted - 166 - 50 * (lines - 1)
    view = m.box(0, 288, m.right, foot)
    rows = _rows(app, chat, m)
    total = sum(row.box.bottom for row, _ in rows) + m.px(20)
    room = view.bottom - view.top
    if app.to_divider:
        above = 0
        for row, kind in rows:
            if kind == "unread":
                app.chat_offset = max(0, total - above - room)
                break
            above += row.box.bottom
        app.to_divider = False
    furthest = max(0, total - room)
    if app.chat_offset >= furthest and chat.loaded is not None and chat.loaded < len(chat.messages):
        chat.loaded += LOADS  # the top was reached: older messages come in above
    app.chat_offset = max(0, min(app.chat_offset, furthest))

    listing = Node(LIST, view, "android:id/list", scrollable=True)
    y = view.bottom - total + app.chat_offset if total > room else view.top
    for row, _ in rows:
        listing.add(moved(row, 0, y))
        y += row.box.bottom
    body = Node(FRAME, Box(0, m.px(288), m.width, m.bottom), p + "conversation_layout")
    body.add(Node(FRAME, view, "android:id/content").add(listing))
    if app.chat_offset > m.px(60):
        below = m.box(m.right - 168, foot - 174, m.right, foot - 36)

        def to_end() -> None:
            app.chat_offset = 0

        body.add(
            Node(FRAME, below, p + "scroll_bottom", tap=to_end).add(
                Node(IMAGE, below, p + "scroll_bottom_icon")
            )
        )
    body.add(_footer(app, chat, m, p, foot, m.down - lifted))
    layout = Node(LINEAR, m.screen, p + "conversation_root_layout").add(
        Node(FRAME, m.box(0, 120, m.right, 288), p + "search_fragment_and_toolbar_holder").add(
            _bar(app, chat, m, p)
        ),
        Node(FRAME, body.box, p + "coordinator").add(
            Node(IMAGE, body.box, p + "conversation_background", fill="wall"), body
        ),
    )
    root = Node(FRAME, m.screen).add(layout)
    return clipped(root, m.screen) or root


def _rows(app: WhatsApp, chat: Chat, m: Metrics) -> list[tuple[Node, str]]:
    """Every child of the list, each made at the top of the screen."""
    bubbles = Bubbles(app, chat, m)
    now, rows = app.now(), list[tuple[Node, str]]()
    date, run = None, ""
    for message in chat.messages[-chat.loaded :] if chat.loaded is not None else chat.messages:
        if message.at.date() != date:
            date, run = message.at.date(), ""
            label = day(app.locale, message.at, now)
            rows.append((bubbles.notice(label, bubbles.p + "conversation_row_date_divider", 92), "day"))
        if app.divider and message.id == app.divider[0]:
            words = unread(app.locale, app.divider[1])
            rows.append((bubbles.notice(words, bubbles.p + "unread_divider_tv", 104), "unread"))
            run = ""
        side = "me" if message.outgoing else message.sender or "them"
        named = chat.kind == GROUP and not message.outgoing and message.kind != "system" and side != run
        run = "" if message.kind == "system" else side
        rows.append((bubbles.row(message, named=named and bool(message.sender)), "message"))
    return rows


def _bar(app: WhatsApp, chat: Chat, m: Metrics, p: str) -> Node:
    def push(screen: str) -> Act:
        return lambda: app.screens.append((screen, chat.id))

    def leave() -> None:
        app.keyboard = False
        app.back()

    def call(kind: str) -> Act:
        def calls() -> None:
            app.touch_forbidden(f"{kind} call to {chat.title}")
            app.screens.append(("call", chat.id))

        return calls

    bar = Node(LINEAR, m.box(0, 120, m.right, 288), p + "toolbar", fill="bar")
    custom = Node(LINEAR, m.box(0, 120, m.right - 408, 288), p + "custom_view")
    custom.add(
        Node(FRAME, m.box(0, 132, 144, 276), p + "back").add(
            Node(
                IMAGE_BUTTON,
                m.box(0, 132, 144, 276),
                p + "whatsapp_toolbar_home",
                desc=say(app.locale, "back"),
                tap=leave,
            )
        )
    )
    custom.add(
        Node(FRAME, m.box(144, 150, 260, 266), p + "contact_photo_view").add(
            Node(
                IMAGE,
                m.box(150, 156, 254, 260),
                p + "conversation_contact_photo",
                tap=push("info"),
                fill="photo",
            )
        )
    )
    right = min(m.right - 420, 300 + 27 * len(chat.title) + 20)
    who = Node(LINEAR, m.box(276, 132, m.right - 414, 276), p + "conversation_contact", tap=push("info"))
    who.add(Node(TEXT, m.box(300, 142, right, 211), p + "conversation_contact_name", text=chat.title))
    members = sorted({x.sender for x in chat.messages if x.sender})
    status = ", ".join([*members, say(app.locale, "you")]) if chat.kind == GROUP else ""
    if status:
        box = m.box(300, 212, m.right - 420, 266)
        who.add(
            Node(FRAME, box, p + "conversation_contact_status_holder").add(
                Node(TEXT, box, p + "conversation_contact_status", text=status)
            )
        )
    bar.add(custom.add(who))
    if chat.kind not in (BROADCAST, CHANNEL):
        bar.add(
            Node(
                BUTTON,
                m.box(m.right - 408, 132, m.right - 264, 276),
                desc=say(app.locale, "video_call"),
                tap=call("video"),
            ),
            Node(
                BUTTON,
                m.box(m.right - 264, 132, m.right - 120, 276),
                desc=say(app.locale, "voice_call"),
                tap=call("voice"),
            ),
        )
    return bar.add(
        Node(
            IMAGE_BUTTON,
            m.box(m.right - 120, 132, m.right, 276),
            p + "menuitem_overflow",
            desc=say(app.locale, "more"),
            tap=push("menu"),
        )
    )


def _footer(app: WhatsApp, chat: Chat, m: Metrics, p: str, top: float, bottom: float) -> Node:
    footer = Node(FRAME, m.box(0, top, m.right, bottom), p + "footer", fill="bar")
    if chat.read_only:
        box = m.box(60, top + 40, m.right - 60, bottom - 40)
        return footer.add(Node(TEXT, box, p + "read_only_chat_info", text=say(app.locale, "read_only")))
    layout = Node(LINEAR, m.box(12, top + 12, 890, bottom - 10), p + "input_layout_content", fill="field")
    entry = Node(
        EDIT,
        m.box(168, top + 32, 596, bottom - 37),
        p + "entry",
        text=chat.draft or say(app.locale, "message"),
        tap=app.focus,
        focused=app.focused,
        hold=lambda: app.touch_forbidden(f"long press on the composer of {chat.title}"),
    )

    def forbidden(what: str) -> Act:
        return lambda: app.touch_forbidden(f"{what} opened in {chat.title}")

    layout.add(
        Node(
            IMAGE_BUTTON,
            m.box(24, bottom - 140, 156, bottom - 20),
            p + "emoji_picker_btn",
            desc=say(app.locale, "emoji"),
            tap=forbidden("emoji picker"),
        ),
        entry,
        Node(
            IMAGE_BUTTON,
            m.box(620, bottom - 140, 740, bottom - 20),
            p + "input_attach_button",
            desc=say(app.locale, "attach"),
            tap=forbidden("attachments"),
        ),
    )
    ready = bool(chat.draft.strip())
    if not ready:
        layout.add(
            Node(
                IMAGE_BUTTON,
                m.box(750, bottom - 140, 870, bottom - 20),
                p + "camera_btn",
                desc=say(app.locale, "camera"),
                tap=forbidden("camera"),
            )
        )
    place = m.box(908, bottom - 160, 1052, bottom - 16)
    button = Node(
        IMAGE_BUTTON,
        place,
        p + ("send" if ready else "voice_note_btn"),
        tap=app.send,
        fill="button",
        desc=say(app.locale, "send" if ready else "record"),
    )
    action = Node(FRAME, place, p + "conversation_entry_action_button").add(
        Node(FRAME, place, p + "send_container").add(button)
    )
    return footer.add(layout, Node(FRAME, place, p + "buttons").add(action))
