"""Text for Telegram: Markdown becomes styled runs, runs are cut to size, and each piece is valid by itself.

The order is format, measure, cut. What is cut is the styled text and never the markup, so a tag cannot be
split and every piece closes what it opens. Lengths are UTF-16 units, in one function.
"""

import html
import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

TEXT_LIMIT = 4096
CAPTION_LIMIT = 1024

Style = tuple[str, ...]  # tags from the outside in: "b", "i", "s", "code", "a <url>", "pre <language>"


class Piece(NamedTuple):
    """One message: as HTML, and the same words plain for when the HTML is not understood."""

    html: str
    plain: str


class Run(NamedTuple):
    """Text of one style."""

    text: str
    style: Style = ()


def measure(text: str) -> int:
    """The length as Telegram counts it."""
    return len(text) + sum(letter > "\uffff" for letter in text)


def clean(text: str) -> str:
    """Without what cannot be sent: control characters and halves of letters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(
        "\ufffd" if "\ud800" <= letter <= "\udfff" else letter
        for letter in text
        if letter in "\n\t" or unicodedata.category(letter) != "Cc"
    )


def pieces(text: str, *, markup: bool, first: int = TEXT_LIMIT, rest: int = TEXT_LIMIT) -> list[Piece]:
    """The text in messages of at most `first` and then `rest` units, counted plain and formatted."""
    runs = list(parse(clean(text))) if markup else [Run(clean(text))]
    letters = "".join(run.text for run in runs)
    styles = [run.style for run in runs for _ in run.text]
    made: list[Piece] = []
    at, limit = 0, first
    while at < len(letters):
        end = _fits(letters, styles, at, limit)
        cut = end if end == len(letters) else _good_cut(letters, at, end)
        piece = Piece(_html(letters, styles, at, cut), letters[at:cut])
        if piece.plain.strip():
            made.append(piece)
            limit = rest
        at = cut
        while at < len(letters) and cut != end and letters[at] == "\n":
            at += 1  # the line breaks that the cut stands for
    return made


# Markdown


_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[^`\n]*$")
_INLINE = re.compile(
    r"(?P<code>`+)(?P<codetext>.+?)(?P=code)(?!`)"
    r"|\*\*(?=\S)(?P<b>.+?)(?<=\S)\*\*"
    r"|~~(?=\S)(?P<s>.+?)(?<=\S)~~"
    r"|(?<![\w*])\*(?=[^\s*])(?P<i>[^*\n]+?)(?<=\S)\*(?![\w*])"
    r"|\[(?P<label>[^\[\]\n]+)\]\((?P<url>https?://[^\s()]+(?:\([^\s()]*\)[^\s()]*)*)\)",
)


def parse(text: str) -> Iterator[Run]:
    """Styled runs of a Markdown text. What is not understood stays as it is written."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence:
            end = next(
                (n for n in range(at + 1, len(lines)) if _closes(lines[n], fence.group(1))), len(lines)
            )
            language = fence.group(2) if re.fullmatch(r"[\w+#.-]{1,30}", fence.group(2)) else ""
            yield Run("\n".join(lines[at + 1 : end]), (f"pre {language}",))
            at = end + 1
        else:
            yield from _line(lines[at])
            at += 1
        if at < len(lines):
            yield Run("\n")


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return bare.startswith(fence) and not bare.strip(fence[0])


def _line(line: str) -> Iterator[Run]:
    if heading := re.match(r" {0,3}#{1,6}\s+(.*?)\s*#*$", line):
        yield from _inline(heading.group(1), ("b",))
    elif bullet := re.match(r"(\s*)[-*+]\s+(?=\S)", line):
        yield Run(f"{bullet.group(1)}• ")
        yield from _inline(line[bullet.end() :], ())
    else:
        yield from _inline(line, ())


def _inline(text: str, style: Style) -> Iterator[Run]:
    at = 0
    for found in _INLINE.finditer(text):
        if found.start() > at:
            yield Run(text[at : found.start()], style)
        at = found.end()
        if code := found.group("codetext"):
            yield Run(code, ("code",))  # Telegram has nothing around code
        elif found.group("label"):
            yield Run(found.group("label"), (*style, f"a {found.group('url')}"))
        else:
            tag = next(name for name in ("b", "s", "i") if found.group(name))
            yield from _inline(found.group(tag), style if tag in style else (*style, tag))
    if at < len(text):
        yield Run(text[at:], style)


# Markup


def _open(tag: str) -> str:
    name, _, value = tag.partition(" ")
    if name == "a":
        return f'<a href="{html.escape(value)}">'
    if name == "pre" and value:
        return f'<pre><code class="language-{html.escape(value)}">'
    return f"<{name}>"


def _close(tag: str) -> str:
    name, _, value = tag.partition(" ")
    return "</code></pre>" if name == "pre" and value else f"</{name}>"


def _around(style: Style) -> tuple[str, str]:
    return "".join(map(_open, style)), "".join(map(_close, reversed(style)))


def _html(letters: str, styles: list[Style], start: int, end: int) -> str:
    made, at = [], start
    while at < end:
        stop = at
        while stop < end and styles[stop] == styles[at]:
            stop += 1
        before, after = _around(styles[at])
        made.append(f"{before}{html.escape(letters[at:stop], quote=False)}{after}")
        at = stop
    return "".join(made)


# Cutting


def _fits(letters: str, styles: list[Style], start: int, limit: int) -> int:
    """The furthest end whose piece holds both plain and formatted; always past the start."""
    plain = formatted = 0
    style: Style | None = None
    for at in range(start, len(letters)):
        letter = letters[at]
        if styles[at] != style:
            style = styles[at]
            formatted += sum(map(measure, _around(style)))
        plain += measure(letter)
        formatted += measure(html.escape(letter, quote=False))
        if max(plain, formatted) > limit:
            return max(at, start + 1)
    return len(letters)


def _good_cut(letters: str, start: int, end: int) -> int:
    """Back from the furthest end to where a reader would pause, if that is not too far back."""
    floor = start + (end - start) // 2
    for pause in ("\n\n", "\n", ". ", " "):
        found = letters.rfind(pause, floor, end)
        if found > start:
            return found if pause.startswith("\n") else found + len(pause)
    for cut in range(end, max(start, end - 64), -1):
        if not _joined(letters, cut):
            return cut
    return end


def _joined(letters: str, cut: int) -> bool:
    """A cut here would go through what people see as one letter."""
    before, after = letters[cut - 1], letters[cut]
    if "\u200d" in (before, after) or unicodedata.category(after) in {"Mn", "Me", "Mc"}:
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return True
    flags = 0
    while flags < cut and "\U0001f1e6" <= letters[cut - 1 - flags] <= "\U0001f1ff":
        flags += 1
    return "\U0001f1e6" <= after <= "\U0001f1ff" and flags % 2 == 1
