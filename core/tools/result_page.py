"""The results on DuckDuckGo's page without scripts. It is a page for people: when it changes, that is said."""

from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import parse_qs, urljoin, urlsplit

BASE = "https://duckduckgo.com/"
_NOTHING = frozenset({"no-results", "no-results__message"})
# They ask whether a person is there.
_DOUBT = frozenset({"anomaly-modal__title", "anomaly-modal__modal", "challenge-form"})


class Changed(Exception):
    """The answer is not what is known of this provider."""


@dataclass(frozen=True, slots=True)
class Found:
    """One result, as the provider wrote it."""

    title: str
    url: str
    snippet: str


class _Results(HTMLParser):
    """Collects titles with their addresses and the snippet that follows each."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[dict[str, str]] = []
        self.nothing = self.doubt = False
        self._into = self._tag = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        names = set((given.get("class") or "").split())
        self.nothing |= bool(names & _NOTHING)
        self.doubt |= bool(names & _DOUBT) or given.get("id") in _DOUBT
        if tag == "a" and "result__a" in names:
            self.found.append({"url": given.get("href") or "", "title": "", "snippet": ""})
            self._into, self._tag = "title", tag
        elif "result__snippet" in names and self.found:
            self._into, self._tag = "snippet", tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._tag:
            self._into = self._tag = ""

    def handle_data(self, data: str) -> None:
        if self._into:
            self.found[-1][self._into] += data


def duckduckgo(body: bytes) -> list[Found]:
    """The results of a page; what is advertised is left out."""
    page = _Results()
    page.feed(body.decode("utf-8", "replace"))
    page.close()
    if page.doubt and not page.found:
        raise Changed("it asks whether a person is there")
    if not page.found and not page.nothing:
        raise Changed("no results, and not a word that there are none")
    found = [Found(one["title"], _onward(one["url"]), one["snippet"]) for one in page.found]
    return [one for one in found if one.url]


def _onward(href: str) -> str:
    """Where a result leads, out of the address that counts the click; an advertisement leads nowhere."""
    url = urljoin(BASE, href.strip())
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    if not f".{parts.hostname or ''}".endswith(".duckduckgo.com"):
        return url
    return parse_qs(parts.query).get("uddg", [""])[0] if parts.path == "/l/" else ""
