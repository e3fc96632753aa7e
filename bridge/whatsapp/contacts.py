"""Which number a chat's name stands for: told by the phone, or not told. A number is never guessed."""

import re
from collections.abc import Iterable

from bridge.notifications import Notice
from bridge.wording import international, same_title

QUERY = "content query --uri content://com.android.contacts/data/phones --projection display_name:data1"
_ROW = re.compile(r"^Row: \d+ display_name=(.*), data1=(.*)$")


def parse_contacts(text: str) -> list[tuple[str, str]]:
    """The names and numbers of an address book query; a name may hold commas and equals signs."""
    return [
        (match[1], match[2].strip()) for line in text.splitlines() if (match := _ROW.match(line.rstrip("\r")))
    ]


def count_in_book(title: str, book: Iterable[tuple[str, str]]) -> int:
    """How many different numbers stand under a name; two ways of writing one number are one."""
    bare = (re.sub(r"\D", "", number) for name, number in book if same_title(name, title))
    return len({number[-8:] for number in bare if number})


def number_in_book(title: str, book: Iterable[tuple[str, str]]) -> str:
    """The one number that the address book ties to a name; nothing if there are two, or none with its country."""
    entries = list(book)
    whole = {full for name, number in entries if same_title(name, title) and (full := international(number))}
    return whole.pop() if len(whole) == 1 and count_in_book(title, entries) == 1 else ""


def number_in_notices(title: str, notices: Iterable[Notice]) -> str:
    """The number in the shortcut of the one chat of that name among the notifications; doubtful ones do not count."""
    named = [notice for notice in notices if same_title(notice.chat, title) and not notice.summary_only]
    numbers = {notice.number for notice in named}
    if len(numbers) != 1 or any(notice.doubtful or notice.group for notice in named):
        return ""
    return numbers.pop()
