"""How the Bot API reads a text: its HTML subset, its entities, and lengths in UTF-16 units after parsing."""

import html
import re
from dataclasses import dataclass

TAGS = {
    **{"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline"},
    **{"s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "code": "code", "pre": "pre"},
    **{"a": "text_link", "blockquote": "blockquote", "tg-spoiler": "spoiler"},
}
_TOKEN = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9-]*)((?:\s[^<>]*)?)>|<|&(#\d+|#x[0-9a-fA-F]+|lt|gt|amp|quot);")
_HREF = re.compile(r"""href\s*=\s*["']([^"']*)["']""")
_LANGUAGE = re.compile(r"""class\s*=\s*["']language-([^"']*)["']""")


class CannotParse(ValueError):
    """The text is not the HTML that Telegram knows; the message is what Telegram would answer."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A stretch of formatted text; offsets count UTF-16 units."""

    type: str
    offset: int
    length: int
    detail: str = ""

    def wire(self) -> dict[str, object]:
        """As the Bot API writes it."""
        values: dict[str, object] = {"type": self.type, "offset": self.offset, "length": self.length}
        if self.detail:
            values["url" if self.type == "text_link" else "language"] = self.detail
        return values


def units(text: str) -> int:
    """The length as Telegram counts it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def parse_html(source: str) -> tuple[str, list[Entity]]:
    """The plain text and its entities, or `CannotParse`."""
    text, at = "", 0
    stack: list[tuple[str, int, str]] = []
    found: list[Entity] = []
    for token in _TOKEN.finditer(source):
        text, at = text + source[at : token.start()], token.end()
        closing, name, rest, entity = (
            token.group(1),
            (token.group(2) or "").lower(),
            token.group(3),
            token.group(4),
        )
        place = len(source[: token.start()].encode())
        if entity:
            text += html.unescape(token.group())
        elif not name:
            raise CannotParse(f'can\'t parse entities: Unsupported start tag "" at byte offset {place}')
        elif closing:
            if not stack or stack[-1][0] != name:
                raise CannotParse(f"can't parse entities: Unexpected end tag at byte offset {place}")
            _, start, detail = stack.pop()
            if length := units(text) - start:
                found.append(Entity(TAGS[name], start, length, detail))
        elif name not in TAGS:
            raise CannotParse(f'can\'t parse entities: Unsupported start tag "{name}" at byte offset {place}')
        else:
            detail = next((m.group(1) for m in (_HREF.search(rest), _LANGUAGE.search(rest)) if m), "")
            stack.append((name, units(text), html.unescape(detail)))
    if stack:
        raise CannotParse(
            f"can't parse entities: Can't find end tag corresponding to start tag {stack[-1][0]}"
        )
    return text + source[at:], sorted(found, key=lambda one: (one.offset, -one.length))
