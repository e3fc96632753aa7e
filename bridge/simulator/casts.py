"""Ready-made phones. Everybody in them is invented."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from bridge.simulator.model import BROADCAST, GROUP, Chat, Message
from bridge.simulator.phone import SimPhone

LINES: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("lines.json").read_text("utf-8"))


class Author:
    """Writes history into a phone, each thing so many minutes ago."""

    def __init__(self, phone: SimPhone) -> None:
        self._phone = phone

    def said(
        self, chat: Chat, ago: float, text: str, *, sender: str = "", mine: bool = False, kind: str = "text"
    ) -> Message:
        """Something already read."""
        at = self._phone.now() - timedelta(minutes=ago)
        message = Message(text, at, outgoing=mine, sender=sender, kind=kind)
        chat.messages.append(message)
        return message

    def waiting(
        self, chat: Chat, ago: float, text: str, *, sender: str = "", kind: str = "text", length: str = ""
    ) -> Message:
        """Something that arrived and nobody has looked at, notification included."""
        message = self.said(chat, ago, text, sender=sender, kind=kind)
        message.length = length
        chat.unread += 1
        if not chat.muted and not chat.archived:
            self._phone.inbox.notify(self._phone.whatsapp, chat, message)
        return message


def empty(locale: str = "es") -> SimPhone:
    """A phone whose WhatsApp has no chats."""
    return SimPhone(locale=locale)


def small_town(locale: str = "es") -> SimPhone:
    """The demo's people: seven unread chats of every kind of decision, some read ones, one archived."""
    phone = SimPhone(locale=locale)
    words = LINES.get(locale[:2], LINES["en"])
    app, write = phone.whatsapp, Author(phone)

    archived = app.add(words["archived"], number="34600100900", kind=BROADCAST, archived=True, read_only=True)
    write.waiting(archived, 400, words["archived_1"])
    sister = app.add(words["sister"], number="34600100108")
    write.said(sister, 3000, "", kind="photo")
    write.said(sister, 2990, "❤️", mine=True)
    work = app.add(words["work"], number="34600100107")
    write.said(work, 1800, words["work_1"])
    building = app.add(words["building"], kind=GROUP, id="120363040000000002@g.us", muted=True)
    write.said(building, 1500, words["neighbour_1"], sender=words["neighbour"])
    keys = app.add("", number="34600100106", saved=False)
    write.said(keys, 1450, words["read_1"])
    write.said(keys, 1440, words["read_2"], mine=True)

    friend = app.add(words["friend"], number="34600100101")
    write.said(friend, 2000, words["friend_old"])
    write.said(friend, 1990, words["friend_mine"], mine=True)
    mother = app.add(words["mother"], number="34600100102", pinned=True)
    write.said(mother, 2900, "👍", mine=True)
    group = app.add(words["group"], kind=GROUP, id="120363040000000001@g.us")
    write.said(group, 8000, words["group_2"], mine=True)
    bank = app.add(words["bank"], number="34600100103")
    notice = app.add(words["notice"], number="34600100104")
    client = app.add("", number="34600100105", saved=False)
    attacker = app.add("", number="5215500001234", saved=False)

    write.waiting(notice, 190, words["notice_1"])
    write.waiting(attacker, 95, words["attack"])
    write.waiting(group, 60, words["group_1"], sender=words["group_a"])
    write.waiting(group, 55, words["group_2"], sender=words["group_b"])
    write.waiting(group, 54, words["group_3"], sender=words["group_b"])
    write.waiting(client, 40, words["price"])
    write.waiting(mother, 30, words["mother_1"])
    write.waiting(mother, 29, words["mother_2"])
    write.waiting(bank, 12, words["bank_1"])
    write.waiting(friend, 5, words["friend_q"])
    return phone


CASTS: dict[str, Callable[[str], SimPhone]] = {"small_town": small_town, "empty": empty}
