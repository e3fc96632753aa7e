"""Whether two texts are the same for a reader, though a phone showed them in its own way.

WhatsApp puts narrow spaces and direction marks into what it shows, and some Androids print dots, or nothing
readable, where an emoji stood. Different emoji are still different: two chats may differ by them alone.
"""

import re
import unicodedata

_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935"
    "\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff\U000e0020-\U000e007f"
)
_RUN = re.compile(f"[{_EMOJI}]+(?:\\s*[{_EMOJI}]+)*")
_INVISIBLE = re.compile("[\ufe00-\ufe0f\u200b-\u200f\u202a-\u202e\u2060-\u2069\u20e3\ufeff\u00ad]")


def same_text(a: str, b: str) -> bool:
    """Equal but for kinds of space, invisible marks, and emoji that one side could not show."""
    a, b = plain(a), plain(b)
    return a == b or _shows(a, b) or _shows(b, a)


def plain(text: str) -> str:
    """One way of writing it: composed letters, no invisible marks, single ordinary spaces."""
    return " ".join(_INVISIBLE.sub("", unicodedata.normalize("NFC", text)).split())


def _shows(whole: str, shown: str) -> bool:
    """Whether `shown` can be `whole` with its emoji turned into dots or lost characters."""
    if not _RUN.search(whole):
        return False
    pattern, at = "", 0
    for run in _RUN.finditer(whole):
        pattern += re.escape(whole[at : run.start()]) + rf"(?:{re.escape(run[0])}|[.\ufffd]+(?: [.\ufffd]+)*)"
        at = run.end()
    return re.fullmatch(pattern + re.escape(whole[at:]), shown) is not None
