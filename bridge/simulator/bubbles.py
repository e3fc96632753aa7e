"""One message as a row of the open chat. Rows are made at the top of the screen and moved to their place."""

import re
from collections.abc import Callable
from textwrap import wrap

from bridge.simulator.layout import Box, Node
from bridge.simulator.metrics import BUTTON, FRAME, GROUP, IMAGE, IMAGE_BUTTON, LINEAR, TEXT, Metrics
from bridge.simulator.model import Chat, Message
from bridge.simulator.whatsapp import WhatsApp
from bridge.simulator.words import clock, say

LINK = re.compile(r"https?://|www\.", re.IGNORECASE)
WIDE = 800.0  # the widest bubble's text
LINE = 56.0


class Bubbles:
    """Draws the messages of one chat on one screen."""

    def __init__(self, app: WhatsApp, chat: Chat, m: Metrics) -> None:
        self.app, self.chat, self.m = app, chat, m
        self.p = app.package + ":id/"

    def lines(self, text: str) -> int:
        columns = self.m.columns(WIDE - 120)
        return sum(len(wrap(line, columns)) or 1 for line in text.split("\n"))

    def row(self, message: Message, *, named: bool) -> Node:
        """The list's child for a message; `named` puts the sender's name above it."""
        if message.kind == "system":
            return self.notice(message.text, self.p + "info", 100)
        draw = {
            "text": self._text,
            "photo": self._photo,
            "video": self._photo,
            "view_once": self._photo,
            "gif": self._photo,
            "voice": self._voice,
            "document": self._document,
        }.get(message.kind, self._other)
        if message.deleted:
            draw = self._deleted
        return draw(message, named)

    def notice(self, text: str, id: str, height: float) -> Node:
        """A line in the middle: a day, what is new, or what the system says."""
        m, half = self.m, min(480.0, 15.0 * len(text) + 40)
        middle = m.right / 2
        line = Node(TEXT, m.box(middle - half, 20, middle + half, height - 12), id, text=text, fill="notice")
        return Node(FRAME, m.box(0, 0, m.right, height)).add(line)

    def _frame(
        self, message: Message, id: str, width: float, height: float, named: bool
    ) -> tuple[Node, Node, float]:
        """The row, its `main_layout`, and where the body starts."""
        m, p = self.m, self.p
        label = 52.0 if named else 0.0
        height = height * m.font + label
        left = m.right - 51 - width if message.outgoing else 51.0
        row = Node(
            GROUP,
            m.box(0, 0, m.right, height),
            p + id if id else "",
            hold=lambda: self.app.touch_forbidden(f"long press on a message of {self.chat.title}"),
        )
        main = Node(
            LINEAR,
            m.box(left, 8, left + width, height - 8),
            p + "main_layout",
            fill="mine" if message.outgoing else "theirs",
        )
        if named:
            who = ("~ " if message.unsaved_sender else "") + message.sender
            tag = "pushname_in_group_tv" if message.unsaved_sender else "name_in_group_tv"
            box = m.box(left + 24, 14, left + width - 24, 60)
            main.add(
                Node(LINEAR, box, p + "name_in_group").add(Node(TEXT, box, p + tag, text=who, fill="accent"))
            )
        return row.add(main), main, 8.0 + label

    def _stamp(self, message: Message, main: Node) -> Node:
        m, p, b = self.m, self.p, main.box
        right, bottom = b.right - m.px(20), b.bottom - m.px(8)
        tick = m.px(50) if message.outgoing and not message.deleted else 0
        wrapper = Node(
            LINEAR, Box(right - tick - m.px(110), bottom - m.px(44), right, bottom), p + "date_wrapper"
        )
        if message.edited:
            wrapper.box = Box(wrapper.box.left - m.px(120), *wrapper.box[1:])
            wrapper.add(
                Node(
                    TEXT,
                    Box(wrapper.box.left, bottom - m.px(44), wrapper.box.left + m.px(116), bottom),
                    p + "edit_label",
                    text=say(self.app.locale, "edited"),
                )
            )
        wrapper.add(
            Node(
                TEXT,
                Box(right - tick - m.px(110), bottom - m.px(44), right - tick, bottom),
                p + "date",
                text=clock(self.app.locale, message.at, twelve=self.app.twelve_hour),
            )
        )
        if tick:
            wrapper.add(
                Node(
                    IMAGE,
                    Box(right - tick + m.px(4), bottom - m.px(40), right, bottom),
                    p + "status",
                    desc=say(self.app.locale, message.status),
                )
            )
        return wrapper

    def _width(self, message: Message, text: str, named: bool) -> float:
        longest = max((len(line) for line in text.split("\n")), default=1)
        if message.quoted:
            longest = max(longest, len(message.quoted[0]), min(30, len(message.quoted[1])))
        if named:
            longest = max(longest, len(message.sender) + 2)
        return min(WIDE, 25.0 * self.m.font * longest + 250)

    def _text(self, message: Message, named: bool) -> Node:
        m, p = self.m, self.p
        text = message.shown_text
        cut = message.is_long and not message.expanded
        if cut:
            text = f"{text}… {say(self.app.locale, 'read_more')}"
        lines, quoted = self.lines(text), 150.0 if message.quoted else 0.0
        width = self._width(message, text, named)
        row, main, y = self._frame(message, "conversation_row_text", width, 72 + LINE * lines + quoted, named)
        body = Node(
            LINEAR, Box(main.box.left, m.px(y), main.box.right, main.box.bottom), p + "conversation_text_row"
        )
        if message.quoted:
            body.add(self._quoted(message.quoted, main.box, y, m, p))
            y += quoted
        words = Box(
            main.box.left + m.px(24), m.px(y + 10), main.box.right - m.px(24), main.box.bottom - m.px(38)
        )
        body.add(Node(TEXT, words, p + "message_text", text=text, tap_at=self._reads(message, text, cut)))
        return_to = self._stamp(message, main)
        main.add(body.add(return_to))
        return row

    def _reads(self, message: Message, text: str, cut: bool) -> Callable[[int, int], None] | None:
        """What a tap on the words does: the last line of a cut text unfolds it, a link opens."""
        if not cut and not LINK.search(text):
            return None

        def tapped(_: int, from_bottom: int) -> None:
            if cut and from_bottom <= self.m.text_px(LINE * 1.5):
                message.expanded = True
            elif LINK.search(text):
                self.app.touch_forbidden(f"link opened in {self.chat.title}")

        return tapped

    @staticmethod
    def _quoted(quoted: tuple[str, str], main: Box, y: float, m: Metrics, p: str) -> Node:
        frame = Box(main.left + m.px(16), m.px(y + 12), main.right - m.px(16), m.px(y + 144))
        inner = Node(LINEAR, frame, p + "bubble_quoted_message_frame", fill="quote")
        title = Box(frame.left + m.px(20), frame.top + m.px(10), frame.right - m.px(20), frame.top + m.px(60))
        text = Box(title.left, title.bottom, title.right, frame.bottom - m.px(10))
        inner.add(Node(TEXT, title, p + "quoted_title", text=quoted[0], fill="accent"))
        inner.add(Node(TEXT, text, p + "quoted_text", text=quoted[1]))
        return Node(FRAME, frame, p + "quoted_message_holder").add(inner)

    def _deleted(self, message: Message, named: bool) -> Node:
        m, p = self.m, self.p
        words = say(self.app.locale, "you_deleted" if message.outgoing else "deleted")
        row, main, y = self._frame(message, "", self._width(message, words, named) + 60, 128, named)
        top, bottom = m.px(y + 10), main.box.bottom - m.px(38)
        main.add(
            Node(IMAGE, Box(main.box.left + m.px(24), top, main.box.left + m.px(72), bottom), p + "icon"),
            Node(
                TEXT,
                Box(main.box.left + m.px(84), top, main.box.right - m.px(24), bottom),
                p + "message_text",
                text=words,
            ),
            self._stamp(message, main),
        )
        return row

    def _photo(self, message: Message, named: bool) -> Node:
        m, p = self.m, self.p
        caption = self.lines(message.text) * LINE + 20 if message.text else 0.0
        row, main, y = self._frame(
            message,
            "conversation_row_" + ("image" if message.kind == "photo" else message.kind),
            640,
            620 + caption,
            named,
        )
        picture = Box(main.box.left + m.px(10), m.px(y + 8), main.box.right - m.px(10), m.px(y + 540))
        if message.kind == "video":
            seconds = sum(
                int(part) * 60**i for i, part in enumerate(reversed((message.length or "0:30").split(":")))
            )
            id, desc = "thumb", f"{say(self.app.locale, 'video')}, HD, {seconds} s"
        elif message.kind == "photo":
            id, desc = "image", say(self.app.locale, "enlarge")
        else:
            id, desc = "image", say(self.app.locale, message.kind)
        main.add(
            Node(FRAME, picture, p + "media_container").add(
                Node(IMAGE, picture, p + id, desc=desc, tap=self._view(message), fill="photo")
            )
        )
        if message.text:
            words = Box(
                main.box.left + m.px(24),
                picture.bottom + m.px(8),
                main.box.right - m.px(24),
                main.box.bottom - m.px(46),
            )
            main.add(Node(TEXT, words, p + "message_text", text=message.text))
        main.add(self._stamp(message, main))
        return row

    def _view(self, message: Message) -> Callable[[], None]:
        def view() -> None:
            self.app.touch_forbidden(f"{message.kind} opened in {self.chat.title}")
            self.app.screens.append(("viewer", self.chat.id))

        return view

    def _voice(self, message: Message, named: bool) -> Node:
        m, p, app = self.m, self.p, self.app
        row, main, y = self._frame(message, "conversation_row_voice_note", 760, 194, named)
        time = clock(app.locale, message.at, twelve=app.twelve_hour)
        parts = [message.sender] if message.sender and not message.outgoing else []
        row.desc = ", ".join([*parts, say(app.locale, "voice"), message.length or "0:05", time])
        b, top = main.box, m.px(y)
        player = Node(
            FRAME, Box(b.left, top, b.right, b.bottom - m.px(50)), p + "conversation_row_audio_player_view"
        )
        player.add(
            Node(
                IMAGE_BUTTON,
                Box(b.left + m.px(110), top + m.px(20), b.left + m.px(200), top + m.px(110)),
                p + "control_btn",
                tap=lambda: app.touch_forbidden(f"voice note played in {self.chat.title}"),
                fill="button",
            ),
            Node(
                "android.widget.SeekBar",
                Box(b.left + m.px(220), top + m.px(40), b.right - m.px(40), top + m.px(90)),
                p + "audio_seekbar",
                desc=message.length,
            ),
        )
        low = Box(b.left + m.px(220), b.bottom - m.px(52), b.left + m.px(330), b.bottom - m.px(8))
        main.add(
            player,
            Node(TEXT, low, p + "description", text=message.length or "0:05"),
            self._stamp(message, main),
        )
        return row

    def _document(self, message: Message, named: bool) -> Node:
        m, p = self.m, self.p
        row, main, y = self._frame(message, "conversation_row_document", 760, 230, named)
        b, top = main.box, m.px(y)
        content = Node(
            LINEAR,
            Box(b.left + m.px(10), top + m.px(8), b.right - m.px(10), top + m.px(160)),
            p + "content",
            tap=lambda: self.app.touch_forbidden(f"document opened in {self.chat.title}"),
            fill="quote",
        )
        name = message.title or "documento.pdf"
        low = top + m.px(90)
        content.add(
            Node(
                TEXT,
                Box(b.left + m.px(110), top + m.px(20), b.right - m.px(30), top + m.px(80)),
                p + "title",
                text=name,
            ),
            Node(
                TEXT,
                Box(b.left + m.px(110), low, b.left + m.px(300), low + m.px(50)),
                p + "file_size",
                text=message.length or "120 kB",
            ),
            Node(
                TEXT,
                Box(b.left + m.px(320), low, b.left + m.px(460), low + m.px(50)),
                p + "file_type",
                text=name.rpartition(".")[2].upper(),
            ),
        )
        main.add(content, self._stamp(message, main))
        return row

    def _other(self, message: Message, named: bool) -> Node:
        """Kinds that no recording shows: ids here are guesses, and readers must get along without them."""
        m, p = self.m, self.p
        known = message.kind in ("sticker", "poll", "location", "contact", "call")
        tall = {"sticker": 440, "poll": 420, "location": 520, "contact": 300}.get(message.kind, 160)
        row, main, y = self._frame(
            message, f"conversation_row_{message.kind}" if known else "", 620, tall, named
        )
        if message.kind == "unknown":
            row.id = ""
        b = main.box
        words = say(self.app.locale, message.kind if known else "unsupported")
        inner = Box(b.left + m.px(24), m.px(y + 12), b.right - m.px(24), b.bottom - m.px(60))
        if message.kind == "sticker":
            main.add(Node(IMAGE, inner, p + "sticker_image", desc=words, fill="photo"))
        elif message.kind == "location":
            place = Box(inner.left, inner.bottom - m.px(70), inner.right, inner.bottom)
            picture = Box(inner.left, inner.top, inner.right, place.top)
            main.add(Node(FRAME, picture, p + "map_frame", desc=words, fill="photo"))
            main.add(Node(TEXT, place, p + "location_name", text=message.title or message.text))
        else:
            id = {"poll": "poll_name", "contact": "vcard_text", "call": "call_title"}.get(message.kind, "")
            title = message.title or message.text if message.kind in ("poll", "contact") else words
            line = Box(inner.left, inner.top, inner.right, inner.top + m.px(70))
            main.add(Node(TEXT, line, p + id if id else "", text=title))
            for i, option in enumerate(message.text.split("\n") if message.kind == "poll" else ()):
                at = line.bottom + m.px(20 + 80 * i)
                vote = lambda: self.app.touch_forbidden(f"vote in {self.chat.title}")  # noqa: E731
                main.add(
                    Node(
                        BUTTON,
                        Box(inner.left, at, inner.right, at + m.px(70)),
                        p + "poll_option_name",
                        text=option,
                        tap=vote,
                    )
                )
        main.add(self._stamp(message, main))
        return row
