"""One page of the browser: where it may be, what is on it, and when it has come to rest."""

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from core.errors import ApxError, Invalid, Refused, Unavailable
from core.message import OutcomeUnknown
from core.tools import outline
from core.tools.proxy import Proxy

if TYPE_CHECKING:
    from playwright.async_api import Frame, Locator, Page, Request

WAIT_MS = 10_000
LOAD_MS = 25_000
SETTLE_S = 8.0
REST_MS = 1_500
TRIES = 3
BLANK = "about:blank"
PASSWORDS = "input[type=password]"
# Runs in the page: what a click has set going has begun when this answers.
OPENS = """one => {
  const link = one.closest("a[target]")
  return !!link && !/^(_self|_top|_parent)?$/i.test(link.target)
}"""
_TURN = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))"


def errors() -> tuple[type[BaseException], ...]:
    """What the library raises; asked for once something was raised."""
    from playwright.async_api import Error

    return (Error,)


@dataclass(eq=False)  # Playwright notes on it what it listens with
class Tab:
    """The page of one conversation: the newest of those that it opened. `going` is where it was last sent."""

    proxy: Proxy
    pages: "list[Page]" = field(default_factory=list)
    going: str = ""
    crashed: bool = False
    left: asyncio.Event = field(default_factory=asyncio.Event)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def page(self) -> "Page":
        if not self.pages:
            raise Unavailable("The page was closed. Open one with browser_navigate.")
        return self.pages[-1]

    @property
    def site(self) -> str:
        """The host of the page, as the owner is told it."""
        return urlsplit(self.page.url).netloc

    def watch(self, page: "Page") -> None:
        """Follow a page: where it goes, what it opens, and that it closes."""
        self.pages.append(page)
        self.opened.set()
        page.on("request", self._asked)
        page.on("framenavigated", self._arrived)
        page.on("requestfailed", self._failed)
        page.on("download", self._kept_out)
        page.on("popup", self.watch)
        page.on("close", self._closed)
        page.on("crash", self._crashed)
        page.set_default_timeout(WAIT_MS)

    def _asked(self, request: "Request") -> None:
        if request.is_navigation_request() and request.frame.parent_frame is None:
            self.going = request.url
            self.left.set()

    def _arrived(self, frame: "Frame") -> None:
        if frame.parent_frame is None:
            self.arrived.set()

    def _failed(self, request: "Request") -> None:
        if request.is_navigation_request() and request.frame.parent_frame is None:
            self.arrived.set()  # nowhere, but nothing more is to come

    def _kept_out(self, _: object) -> None:
        self.arrived.set()

    def _crashed(self, _: object) -> None:
        self.crashed = True

    def _closed(self, page: "Page") -> None:
        if page in self.pages:
            self.pages.remove(page)

    async def go(self, url: str) -> None:
        """Open an address. Where the proxy did not let it through, its reason is the answer, not an empty page."""
        self.proxy.refused.clear()
        try:
            await self._opened(url)
        except errors():
            await self._let_through()
            raise
        await self._let_through()
        await self._rest()

    async def _opened(self, url: str) -> None:
        for n in range(TRIES):
            try:
                await self.page.goto(url, wait_until="domcontentloaded", timeout=LOAD_MS)
                return
            except errors() as error:
                # The page before was still on its way to somewhere else, such as the sign that it failed.
                if "interrupted by another navigation" not in str(error) or n == TRIES - 1:
                    raise
            await self._rest()

    async def _let_through(self) -> None:
        why = self.proxy.refused.get(urlsplit(self.going).hostname or "")
        if why is not None:
            with suppress(*errors()):
                await self.page.goto(BLANK)
            raise Refused(why)

    async def _rest(self) -> None:
        """Give scripts and pictures a moment; a page that never rests is read as it is."""
        with suppress(*errors()):
            await self.page.wait_for_load_state("load", timeout=REST_MS)

    def begin(self) -> None:
        """Something is about to be done to the page."""
        self.proxy.refused.clear()
        self.left.clear()
        self.arrived.clear()
        self.opened.clear()

    async def settle(self, *, opens: bool = False) -> None:
        """Wait for what an act has set going: where it leads to another page, or `opens` one, for that one."""
        with suppress(*errors()):  # the page may leave meanwhile
            await self.page.evaluate(_TURN)
        if opens:
            with suppress(TimeoutError):
                async with asyncio.timeout(SETTLE_S):
                    await self.opened.wait()
        if self.left.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(SETTLE_S):
                    await self.arrived.wait()
            await self._let_through()
            with suppress(*errors()):
                await self.page.wait_for_load_state("domcontentloaded")
        await self._rest()

    async def here(self) -> str:
        """The address of the page, which must be one of the web."""
        url = self.page.url
        if url in ("", BLANK):
            raise Invalid("No page is open. Open one with browser_navigate.")
        if url.startswith("chrome-error:"):
            raise Unavailable("The page did not load. Open one with browser_navigate.")
        if urlsplit(url).scheme not in ("http", "https"):
            await self.page.goto(BLANK)
            raise Refused(f"The page led to {url[:60]}, which is no page of the web; it was left.")
        return url

    async def outline(self) -> str:
        """The page as lines with references. What stands in password fields stays there."""
        text = await self.page.aria_snapshot(mode="ai")
        secrets: list[str] = []
        for frame in self.page.frames:
            secrets += await frame.locator(PASSWORDS).evaluate_all("all => all.map(one => one.value)")
        return outline.covered(text, secrets)

    async def found(self, ref: str, element: str, site: str) -> "Locator":
        """An element that is what somebody says it is, on the site that they say."""
        await self.here()
        if site.strip().casefold() != self.site.casefold():
            raise Invalid(f"The page is one of {self.site}, not of {site[:100]}.")
        label = outline.elements(await self.page.aria_snapshot(mode="ai")).get(ref)
        if label is None:
            raise Invalid(
                f"There is no element {ref} on the page as it is now. Look again with browser_snapshot."
            )
        if not outline.same(element, label):
            raise Invalid(f"The element {ref} is {label[:200]}, not {element[:200]}.")
        return self.page.locator(f"aria-ref={ref}")


def told(error: BaseException, *, acting: bool, over: bool) -> ApxError:
    """What went wrong in the browser, in one sentence. An act that was cut off may have happened."""
    from playwright.async_api import TimeoutError as TooLate

    words = " ".join(str(error).split("Call log:")[0].split())[:200].removesuffix(".")
    if over or "has been closed" in words or "crashed" in words:
        if acting:
            return OutcomeUnknown("The page or the browser ended meanwhile; what was begun may be done.")
        return Unavailable("The page or the browser ended meanwhile. Open the page again.")
    if isinstance(error, TooLate) and acting and "performing" in str(error):
        return OutcomeUnknown("The page did not answer after it was touched; what was begun may be done.")
    if isinstance(error, TooLate) and "intercepts pointer events" in str(error):
        return Unavailable("Something else of the page lies over this element; it was not touched.")
    if isinstance(error, TooLate):
        return Unavailable(f"The page did not do it in time: {words}.")
    if "Download is starting" in words:
        return Refused(
            "This address is a file to download, and the browser keeps none. Perhaps fetch can read it."
        )
    if "net::ERR_" in words:
        return Unavailable(f"The page did not load: {words}.")
    return Invalid(f"The page does not allow it: {words}.")


def stuck(*, acting: bool) -> ApxError:
    """A script of the page never ends."""
    if acting:
        return OutcomeUnknown("The page does not answer any more and was closed; what was begun may be done.")
    return Unavailable("The page does not answer any more and was closed. Open another one.")


def complaint(text: str) -> str:
    """The last that a program said before it ended, out of the record of its start."""
    said = re.findall(r"\[err\] (.+)", text.split("Call log:")[0])
    ended = re.search(r"exitCode=(\w+), signal=(\w+)", text)
    code = f"it ended with {ended[1] if ended[1] != 'null' else ended[2]}" if ended else "it does not answer"
    return f"{code}: {said[-1][:200]}" if said else f"{code}."
