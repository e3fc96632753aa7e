"""A web page as text: what it says and where it links to, without what it runs or how it looks."""

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

_SILENT = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "head"})
_BLOCKS = frozenset(
    {
        "p",
        "div",
        "section",
        "article",
        "header",
        "footer",
        "main",
        "nav",
        "aside",
        "br",
        "hr",
        "tr",
        "table",
        "ul",
        "ol",
    }
    | {
        "li",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "pre",
        "blockquote",
        "form",
        "dl",
        "dt",
        "dd",
        "figure",
        "title",
    }
)
MAX_LINKS = 400


class _Text(HTMLParser):
    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self._base, self._silent, self._links = base, 0, 0
        self._href = ""
        self._in_title = False
        self.title = ""
        self.out: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
        if tag in _SILENT:
            self._silent += 1
        elif tag in _BLOCKS:
            self.out.append("\n- " if tag == "li" else "\n")
            if re.fullmatch(r"h[1-6]", tag):
                self.out.append("#" * int(tag[1]) + " ")
        elif tag in {"td", "th"}:
            self.out.append("\t")
        elif tag == "a":
            self._href = dict(attrs).get("href") or ""
        elif tag == "img" and (alt := dict(attrs).get("alt")):
            self.out.append(f"[{alt}]")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _SILENT:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag == "a" and self._href:
            if (
                self._links < MAX_LINKS
                and not self._href.startswith(("#", "javascript:", "data:"))
                and not self._silent
            ):
                self.out.append(f" <{self._absolute(self._href)}>")
                self._links += 1
            self._href = ""
        elif tag in _BLOCKS:
            self.out.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._silent:
            self.out.append(data)

    def _absolute(self, href: str) -> str:
        try:
            return urljoin(self._base, href.strip())[:500]
        except ValueError:
            return href[:500]


def as_text(html: str, base: str) -> str:
    """The words of a page, a line for each block; links stand behind their words."""
    parser = _Text(base)
    parser.feed(html)
    parser.close()
    lines = (re.sub(r"[ \t\r\f\v\xa0]+", " ", line).strip() for line in "".join(parser.out).split("\n"))
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    title = " ".join(parser.title.split())
    return f"{title}\n\n{text}" if title else text
