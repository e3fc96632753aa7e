"""What a turn may do in the browser: open pages and read them, and, when the owner agrees, click and write in them.

Reading is free; a click or a word may buy, send or delete, so the gate asks. What it shows to the owner is what is
done: the words for the element and the site are held against the page before the question, and again after it.
"""

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from core import filetypes
from core.errors import ApxError, Refused, Unavailable
from core.neutral import one_line
from core.tool import Context, Effect, Tool, tool
from core.tools import outline
from core.tools.addresses import target
from core.tools.browser import Browser
from core.tools.pictures import keep
from core.tools.tab import OPENS, Tab, errors, told
from core.tools.web import DATA, Visitor
from core.vault import PREFIX

if TYPE_CHECKING:
    from playwright.async_api import Locator

    from core.app import App

GROUP = "browser"
MAX_CHARS = 12_000
AFTER_CHARS = 5_000  # what an act shows of the page, so that the next one needs no look
MAX_WAIT_S = 20
MAX_HEIGHT = 8_000
MIN_SECRET = 6
TOLD_REFUSED = 3
_EXTENT = "() => [innerWidth, document.documentElement.scrollHeight]"


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Navigate(Arguments):
    url: str = Field(description="An http or https address of the public web.", max_length=4000)


class Read(Arguments):
    from_char: int = Field(0, description="Where to go on in a long page.", ge=0)


class Screenshot(Arguments):
    whole: bool = Field(False, description="The whole page instead of what fits the window.")


class Wait(Arguments):
    text: str = Field(description="Words that should appear.", min_length=1, max_length=300)
    gone: bool = Field(False, description="Wait until they are gone instead.")
    seconds: int = Field(10, description="How long at most.", ge=1, le=MAX_WAIT_S)


class Nothing(Arguments):
    """No arguments."""


class Act(Arguments):
    ref: str = Field(
        description="The element's reference in browser_snapshot, such as e12.", pattern=r"^\w{2,20}$"
    )
    element: str = Field(
        description='Its role and name as the snapshot has them, such as button "Send": the owner reads this.',
        min_length=1,
        max_length=500,
    )
    site: str = Field(
        description="The host of the page, such as example.org: the owner reads this.", max_length=300
    )


class Type(Act):
    text: str = Field(description="What the field shall hold; it replaces what is there.", max_length=10_000)
    submit: bool = Field(False, description="Press Enter afterwards.")


class Select(Act):
    values: list[str] = Field(description="The options, by their words.", min_length=1, max_length=50)


def browser(ctx: Context) -> Browser:
    """The browser of this home."""
    found = ctx.services.get(Browser)
    if found is None:
        raise Unavailable("This program drives no browser.")
    return found  # type: ignore[no-any-return]


def _key(ctx: Context) -> str:
    return f"{ctx.turn.channel} {ctx.turn.thread or ctx.run_id}"


async def _keeps_secrets(ctx: Context, *texts: str) -> None:
    """Nothing of the vault is handed to a page, by whatever way it came into the conversation."""
    if any(text.strip().startswith(PREFIX) for text in texts):
        raise Refused(
            "Secrets of the vault are not written into pages. The owner can log in with browser.show."
        )
    vault = browser(ctx).vault
    if vault is None:
        return
    for name in await vault.names():
        with suppress(Unavailable):
            secret = await vault.reveal(name) or ""
            if len(secret) >= MIN_SECRET and any(secret in text for text in texts):
                raise Refused(f"The text holds a secret of the vault ({name}); it is not written into pages.")


async def _view(tab: Tab, most: int = AFTER_CHARS, from_char: int = 0) -> str:
    """What the model reads of a page: where it is, and its elements."""
    lines = await _head(tab)
    lines += ["", outline.piece(await tab.outline(), from_char, most, "browser_snapshot")]
    return "\n".join(lines)


async def _head(tab: Tab) -> list[str]:
    url = await tab.here()
    lines = [
        f"{one_line(await tab.page.title(), 200) or 'No title'}: {url[:1000]}",
        f"Site: {tab.site}",
        DATA,
    ]
    refused = [f"{host} ({why})" for host, why in list(tab.proxy.refused.items())[-TOLD_REFUSED:]]
    return [*lines, f"[not reached from here: {'; '.join(refused)}]"] if refused else lines


@tool(Effect.READ, group=GROUP)
async def browser_navigate(args: Navigate, ctx: Context) -> str:
    """Open a page of the public web in the browser, and see its elements. For pages that need scripts or clicks.

    To only read a page fetch is quicker. Addresses of this computer and of the local network are refused.
    """
    parts = target(args.url)
    await _keeps_secrets(ctx, args.url)
    fragment = urlsplit(args.url.strip()).fragment
    async with browser(ctx).at(_key(ctx)) as tab:
        await tab.go(parts.geturl() + (f"#{fragment}" if fragment else ""))
        return await _view(tab)


@tool(Effect.READ, group=GROUP)
async def browser_snapshot(args: Read, ctx: Context) -> str:
    """See the elements of the open page as text, with the references that clicking and writing need."""
    async with browser(ctx).at(_key(ctx)) as tab:
        return await _view(tab, MAX_CHARS, args.from_char)


@tool(Effect.READ, group=GROUP)
async def browser_get_text(args: Read, ctx: Context) -> str:
    """Read the words of the open page, without its elements."""
    async with browser(ctx).at(_key(ctx)) as tab:
        lines = await _head(tab)
        text = await tab.page.inner_text("body")
        return "\n".join([*lines, "", outline.piece(text, args.from_char, MAX_CHARS, "browser_get_text")])


@tool(Effect.READ, group=GROUP)
async def browser_screenshot(args: Screenshot, ctx: Context) -> str:
    """Take a picture of the open page. It is kept on this computer and shown to nobody.

    Use send_file with the path in the result to deliver it to the owner.
    """
    async with browser(ctx).at(_key(ctx)) as tab:
        url = await tab.here()
        options: dict[str, Any] = {"type": "png", "animations": "disabled"}
        if args.whole:
            width, height = await tab.page.evaluate(_EXTENT)
            area = {"x": 0, "y": 0, "width": width, "height": min(height, MAX_HEIGHT)}
            options |= {"full_page": True, "clip": area}
        data = await tab.page.screenshot(**options)
    if await asyncio.to_thread(filetypes.check, "page.png", data) is not None:
        raise Unavailable("The browser's picture is damaged; nothing was kept.")
    path = await asyncio.to_thread(keep, ctx.home, data, "browser")
    width, height = struct.unpack_from(">II", data, 16)
    return f"Screenshot of {url[:300]} taken, not sent: {path} ({width}x{height})"


@tool(Effect.READ, group=GROUP)
async def browser_wait(args: Wait, ctx: Context) -> str:
    """Wait until words appear on the open page, or are gone, and see its elements then."""
    async with browser(ctx).at(_key(ctx)) as tab:
        await tab.here()
        words = tab.page.get_by_text(args.text).first
        await words.wait_for(state="hidden" if args.gone else "visible", timeout=args.seconds * 1000)
        return await _view(tab)


@tool(Effect.READ, group=GROUP)
async def browser_close(args: Nothing, ctx: Context) -> str:
    """Close the page when it is not needed any more. Logins are kept."""
    return "Closed." if await browser(ctx).drop(_key(ctx)) else "No page was open."


async def _acts(args: Act, ctx: Context) -> Effect:
    """Looked at before the owner is asked: what they read must be what is there."""
    if isinstance(args, Type):
        await _keeps_secrets(ctx, args.text)
    async with browser(ctx).at(_key(ctx)) as tab:
        await tab.found(args.ref, args.element, args.site)
    return Effect.DANGER


@asynccontextmanager
async def _acting(args: Act, ctx: Context) -> AsyncIterator[tuple[Tab, "Locator"]]:
    """The page and the element; once the block is done, so is what it has set going."""
    async with browser(ctx).at(_key(ctx), acting=True) as tab:
        element = await tab.found(args.ref, args.element, args.site)
        tab.begin()
        yield tab, element


async def _click(args: Act, ctx: Context) -> str:
    async with _acting(args, ctx) as (tab, element):
        opens = await element.evaluate(OPENS)
        await element.click()
        return await _after(tab, f"Clicked {args.element}.", opens=bool(opens))


async def _type(args: Type, ctx: Context) -> str:
    await _keeps_secrets(ctx, args.text)
    async with _acting(args, ctx) as (tab, element):
        await element.fill(args.text)
        if args.submit:
            await element.press("Enter")
        return await _after(tab, f"Wrote into {args.element}{' and pressed Enter' if args.submit else ''}.")


async def _select(args: Select, ctx: Context) -> str:
    async with _acting(args, ctx) as (tab, element):
        await element.select_option(args.values)
        return await _after(tab, f"Chose {', '.join(args.values)} in {args.element}.")


async def _after(tab: Tab, done: str, *, opens: bool = False) -> str:
    """It is done, whatever can be seen of it."""
    try:
        await tab.settle(opens=opens)
        return f"{done} Now: {await _view(tab)}"
    except ApxError as error:
        return f"{done} Then: {error}"
    except errors() as error:
        return f"{done} Then: {told(error, acting=False, over=False)}"


def _act(name: str, about: str, args: type[Act], run: Callable[[Any, Context], Awaitable[str]]) -> Tool:
    return Tool(
        name=name, about=about, args=args, run=run, effect=Effect.DANGER, group=GROUP, effect_of=_acts
    )


browser_click = _act(
    "browser_click", "Click an element of the open page. The owner may be asked first.", Act, _click
)
browser_type = _act(
    "browser_type",
    "Write into a field of the open page. The owner may be asked first. Never for passwords or keys.",
    Type,
    _type,
)
browser_select = _act(
    "browser_select", "Choose in a list of the open page. The owner may be asked first.", Select, _select
)
TOOLS = (
    *(browser_navigate, browser_snapshot, browser_get_text, browser_screenshot, browser_wait),
    *(browser_click, browser_type, browser_select, browser_close),
)


@asynccontextmanager
async def browsing(app: "App") -> AsyncIterator[None]:
    """The part: the tools, and the browser that is started when one of them is used."""
    visitor = app.services.get(Visitor)
    async with Browser(app.home, app.config, app.identity, app.vault, visitor=visitor).open() as found:
        app.services[Browser] = found
        take_back = app.tools.add(*TOOLS, full_only=True)
        try:
            yield
        finally:
            take_back()
            del app.services[Browser]
