"""The browser that the tools drive: a program of this computer, with a profile of its own, behind our proxy.

It is started by the first use, ended when nobody has used it for a while, and gone when the app is. Each conversation
has a page of its own. Playwright is imported here alone, in a thread at the first use: its driver waits until an
element can be clicked, looks into frames of other sites and finds elements by the references of an outline.
"""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from core.config import Config
from core.errors import Unavailable
from core.identity import IdentityFile
from core.paths import Home
from core.tools import chromium
from core.tools.proxy import Proxy
from core.tools.tab import Tab, complaint, errors, stuck, told
from core.tools.web import Visitor
from core.vault import Vault

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

log = logging.getLogger(__name__)

IDLE_S = 300.0
START_S = 30.0
STOP_S = 5.0
USE_S = 60.0
ANSWER_S = 3.0
MAX_TABS = 8
SIZE = {"width": 1280, "height": 800}


class Engine:
    """A running browser."""

    def __init__(self, proxy: Proxy, context: "BrowserContext") -> None:
        self.proxy = proxy
        self.context = context
        self.tabs: dict[str, Tab] = {}
        self.over = False
        self._spare = list(context.pages)
        context.on("close", self._gone)

    def _gone(self, _: object) -> None:
        self.over = True

    async def tab(self, key: str) -> Tab:
        """The page of a conversation, a fresh one where it has none."""
        tab = self.tabs.get(key)
        if tab is not None and tab.crashed:
            await self.drop(key)
        tab = self.tabs.pop(key, None)
        if tab is None or not tab.pages:
            tab = Tab(self.proxy)
            tab.watch(self._spare.pop() if self._spare else await self.context.new_page())
        self.tabs[key] = tab
        while len(self.tabs) > MAX_TABS:
            await self.drop(next(iter(self.tabs)))
        return tab

    async def answers(self, key: str) -> bool:
        """Whether the page of a conversation still does anything: a script can keep it busy for ever."""
        tab = self.tabs.get(key)
        if tab is None or not tab.pages:
            return True
        try:
            async with asyncio.timeout(ANSWER_S):
                await tab.page.evaluate("1")
        except TimeoutError:
            return False
        except errors():
            pass  # it is on its way to another page
        return True

    async def drop(self, key: str) -> bool:
        """Close the pages of a conversation; whether it had any."""
        tab = self.tabs.pop(key, None)
        for page in list(tab.pages) if tab else ():
            await page.close()
        return tab is not None


class Browser:
    """The browser of this home; whoever uses it waits for the others."""

    def __init__(
        self,
        home: Home,
        config: Config,
        identity: IdentityFile,
        vault: Vault | None = None,
        *,
        visitor: Visitor | None = None,
        idle_s: float = IDLE_S,
    ) -> None:
        self._home, self._config, self._identity = home, config, identity
        self.vault = vault
        self._visitor = visitor or Visitor()
        self.idle_s = idle_s
        self._one = asyncio.Lock()
        self._ending = asyncio.Lock()
        self._used = asyncio.Event()
        self._engine: Engine | None = None
        self._stack = AsyncExitStack()

    @property
    def running(self) -> bool:
        """Whether there is a browser now."""
        return self._engine is not None and not self._engine.over

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Browser"]:
        """It may be used while inside; afterwards no process of it is left."""
        resting = asyncio.create_task(self._rest(), name="browser at rest")
        try:
            yield self
        finally:
            resting.cancel()
            with suppress(asyncio.CancelledError):
                await resting
            await asyncio.shield(self._end())

    async def _rest(self) -> None:
        """End what nobody has used for a while."""
        while await self._used.wait():
            self._used.clear()
            try:
                async with asyncio.timeout(self.idle_s):
                    await self._used.wait()
            except TimeoutError:
                async with self._one:
                    if not self._used.is_set():
                        await asyncio.shield(self._end())

    @asynccontextmanager
    async def at(self, key: str, *, acting: bool = False) -> AsyncIterator[Tab]:
        """The page of a conversation, for one use. What Playwright raises becomes a sentence of ours."""
        async with self._one:
            self._used.set()
            engine = await self._started()
            try:
                async with asyncio.timeout(USE_S):
                    yield await engine.tab(key)
            except TimeoutError as error:
                await self._give_up(engine, key)
                raise stuck(acting=acting) from error
            except errors() as error:
                if not engine.over and not await engine.answers(key):
                    await self._give_up(engine, key)
                    raise stuck(acting=acting) from error
                raise told(error, acting=acting, over=engine.over) from error
            finally:
                self._used.set()

    async def _give_up(self, engine: Engine, key: str) -> None:
        """Close a page that does not answer any more; where that does not work either, the browser."""
        with suppress(TimeoutError, *errors()):
            async with asyncio.timeout(STOP_S):
                await engine.drop(key)
                return
        await asyncio.shield(self._end())

    async def drop(self, key: str) -> bool:
        """Close the page of a conversation; with the last one the browser ends."""
        async with self._one:
            engine = self._engine
            if engine is None or engine.over:
                return False
            with suppress(*errors()):
                known = await engine.drop(key)
                if not engine.tabs:
                    await asyncio.shield(self._end())
                return known
            return False

    async def _started(self) -> Engine:
        if self._engine is not None and not self._engine.over:
            return self._engine
        await self._end()
        settings = self._config.now.browser
        program = chromium.located(settings.program)
        if not program:
            raise Unavailable(f"There is no browser on this computer that can be driven. {chromium.INSTALL}")
        try:
            self._engine = await self._launch(program, show=settings.show)
        except BaseException as error:
            await asyncio.shield(self._end())
            if isinstance(error, errors()):
                why = complaint(str(error))
                log.warning("The browser %s did not start: %s", program, why)
                raise Unavailable(f"{program} did not start: {why}") from error
            raise
        return self._engine

    async def _launch(self, program: str, *, show: bool) -> Engine:
        stack = self._stack
        proxy = await stack.enter_async_context(Proxy(self._visitor).open())
        start = await asyncio.to_thread(_learn)
        starting = start()
        driver = await starting.start()
        stack.push_async_callback(_stopped, starting, driver)
        profile = self._home.browser / "profile"
        for folder in (self._home.browser, profile):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        looks: dict[str, Any] = {"no_viewport": True} if show else {"viewport": SIZE}
        context = await driver.chromium.launch_persistent_context(
            profile,
            executable_path=program,
            headless=not show,
            chromium_sandbox=chromium.sandboxed(),
            args=chromium.flags(proxy.port),
            ignore_default_args=["--disable-popup-blocking"],
            env=chromium.environment(self._home),
            accept_downloads=False,
            service_workers="block",
            locale=self._identity.language,
            timeout=START_S * 1000,
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
            **looks,
        )
        stack.push_async_callback(_closed, context, chromium.holder(profile))
        return Engine(proxy, context)

    async def _end(self) -> None:
        async with self._ending:  # whoever comes second waits for the first
            self._engine = None
            stack, self._stack = self._stack, AsyncExitStack()
            await stack.aclose()


def _learn() -> Any:
    """Import the library, which takes half a second."""
    from playwright.async_api import async_playwright

    return async_playwright


async def _closed(context: "BrowserContext", pid: int) -> None:
    """Close the browser; what does not go by itself is ended with its whole group."""
    with suppress(TimeoutError, *errors()):
        async with asyncio.timeout(STOP_S):
            await context.close()
    # It leads a group of its own, which its helpers belong to.
    with suppress(ProcessLookupError, PermissionError, AttributeError):
        if pid > 1 and os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)


async def _stopped(starting: Any, driver: Any) -> None:
    """End the driver; nothing public ends one that hangs."""
    with suppress(TimeoutError, *errors()):
        async with asyncio.timeout(STOP_S):
            await driver.stop()
            return
    transport = getattr(getattr(starting, "_client", None), "_transport", None)
    process = getattr(transport, "_proc", None)
    if process is not None and process.returncode is None:
        process.kill()
        await process.wait()
