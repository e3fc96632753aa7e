"""The browser tools on a real Chromium: what they read and do, what they do not reach, and that nothing is left."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from core.errors import ApxError, Invalid, Refused, Unavailable
from core.tool import Context, Effect
from core.tools import browsing, chromium
from core.tools.browser import Browser
from core.tools.outline import elements
from core.vault import Vault
from tests.fakes.house import House, house, turn
from tests.fakes.openai_server import Answer
from tests.fakes.sites import Sites, sites

pytestmark = pytest.mark.anyio
BY_NAME = {tool.name: tool for tool in browsing.TOOLS}


class Hands:
    """Calls the tools as the dispatcher does, without its gate."""

    def __init__(self, here: House, web: Sites, browser: Browser) -> None:
        self.here, self.web, self.browser = here, web, browser

    def ctx(self, thread: str = "desktop") -> Context:
        here, asked = self.here, turn(thread=thread)
        services = {Browser: self.browser}
        return Context(
            *(here.store, here.bus, here.home, here.config, here.identity, here.outbox, asked, "run_1"),
            services=services,
        )

    async def __call__(self, name: str, thread: str = "desktop", **args: Any) -> str:
        tool = BY_NAME[f"browser_{name}"]
        return await tool.run(tool.args.model_validate(args), self.ctx(thread))

    async def on(self, name: str, element: str, **args: Any) -> str:
        """An act on an element by its words."""
        found = elements(await self("snapshot"))
        ref = next(ref for ref, label in found.items() if label == element)
        site = f"one.org:{self.web.port}"
        return await self(name, ref=ref, element=element, site=site, **args)


@asynccontextmanager
async def hands(root: Path) -> AsyncIterator[Hands]:
    async with sites() as web, house(root) as here:
        vault = Vault(here.home, here.store)
        browser = Browser(here.home, here.config, here.identity, vault, visitor=web.visitor)
        async with browser.open():
            yield Hands(here, web, browser)
    assert processes(here.home.browser) == []


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def use(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hands]:
    """One browser for all that only uses it."""
    async with hands(tmp_path_factory.mktemp("browsing")) as use:
        yield use


@pytest.fixture(autouse=True)
def _forgotten(request: pytest.FixtureRequest) -> None:
    if "use" in request.fixturenames:
        request.getfixturevalue("use").web.forget()


def processes(profile: Path) -> list[int]:
    """Those that live and work with a profile."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if str(profile) in (folder / "cmdline").read_text():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


async def test_a_page_is_opened_read_and_filled_in(use: Hands) -> None:
    said = await use("navigate", url=use.web.url("/script"))
    assert said.startswith(f"Script: {use.web.url('/script')}\nSite: one.org:{use.web.port}\n{browsing.DATA}")
    assert "Made by a script" in said
    said = await use("navigate", url=use.web.url("/"))
    assert {'link "Second page"', 'textbox "Name"', 'button "Send"', 'button "Deep"'} <= set(
        elements(said).values()
    )
    assert "hunter" not in said
    await use.on("type", 'textbox "Name"', text="Ana")
    await use.on("select", 'combobox "Size"', values=["Large"])
    said = await use.on("click", 'button "Send"')
    assert said.startswith(f'Clicked button "Send". Now: Thanks: {use.web.url("/order")}')
    assert use.web.posted == [{"name": "Ana", "word": "hunter  2", "size": "Large"}]
    assert (await use("get_text")).endswith("\n\nThank you")
    said = await use("screenshot", whole=True)
    (path,) = use.here.home.media_out.iterdir()
    assert f"taken, not sent: {path} (1280x" in said
    assert (path.read_bytes()[:8], path.stat().st_mode & 0o777) == (b"\x89PNG\r\n\x1a\n", 0o600)
    await use("navigate", url=use.web.url("/long"))
    assert "go on: browser_get_text with from_char=12000" in await use("get_text")
    assert (await use("get_text", from_char=12_000)).endswith("word")
    assert use.here.home.browser.stat().st_mode & 0o077 == 0


async def test_nothing_near_home_is_reached_by_any_way_of_a_page(use: Hands) -> None:
    await use("navigate", url=use.web.url("/prying"))
    said = await use("wait", text="all told", seconds=20)
    assert "own socket heard hi" in said
    assert "home socket failed" in said
    assert "candidates 0" in said
    assert "no transport" in said
    assert "[not reached from here: " in said
    assert "fetch 200" not in said
    home = f"127.0.0.1:{use.web.home}"
    for url in (f"http://{home}/", f"https://{home}/", "http://localhost:7430/api", "file:///etc/passwd"):
        with pytest.raises(Refused):
            await use("navigate", url=url)
    for url in (
        "chrome://version",
        "data:text/html,x",
        "view-source:http://one.org/",
        "about:blank",
        "blob:x",
    ):
        with pytest.raises(Refused):
            await use("navigate", url=url)
    for url in (
        use.web.url("/", "inside.org"),
        use.web.url(f"/to?url=http://{home}/x"),
        "https://inside.org/",
    ):
        with pytest.raises(Refused, match="computer or its network"):
            await use("navigate", url=url)
    with pytest.raises(ApxError):
        await use("navigate", url=use.web.url("/to?url=file:///etc/passwd"))
    with pytest.raises(ApxError, match=r"No page is open|did not load"):
        await use("get_text")
    assert (use.web.pried, use.web.heard) == ([], [])
    assert {"one.org", "inside.org"} <= set(use.web.looked_up)
    assert "localhost" not in use.web.looked_up


async def test_what_is_done_is_what_was_said(use: Hands) -> None:
    said = await use("navigate", url=use.web.url("/"))
    by_label = {label: ref for ref, label in elements(said).items()}
    send, site = by_label['button "Send"'], f"one.org:{use.web.port}"
    right = {"ref": send, "element": "send", "site": site}
    click = BY_NAME["browser_click"]
    assert click.effect_of
    judged = await click.effect_of(click.args.model_validate(right), use.ctx())
    assert judged is Effect.DANGER
    for wrong, words in (
        ({"element": "button Cancel"}, 'is button "Send", not'),
        ({"site": "bank.org"}, f"one of {site}, not of bank.org"),
        ({"ref": "e999"}, "Look again"),
    ):
        with pytest.raises(Invalid, match=words):
            await click.effect_of(click.args.model_validate(right | wrong), use.ctx())
        with pytest.raises(Invalid, match=words):
            await use("click", **(right | wrong))
    with pytest.raises(Invalid, match="does not allow it"):
        await use.on("type", 'button "Send"', text="x")
    assert use.web.posted == []
    assert "Second page" in await use.on("click", 'button "Ask"')  # its dialog is put away
    await use.on("click", 'button "Now"')
    with pytest.raises(Invalid, match='is button "Later", not'):
        await asyncio.wait_for(_until_later(use, by_label['button "Now"'], site), 5)
    assert use.web.posted == []
    assert "Now: /two: " in await use.on("click", 'link "In a new window"')
    with pytest.raises(Invalid, match="no element"):
        await use("click", **right)


async def _until_later(use: Hands, ref: str, site: str) -> None:
    await use("wait", text="Later")
    found = {label: one for one, label in elements(await use("snapshot")).items()}
    await use("click", ref=found['button "Later"'], element='button "Now"', site=site)


async def test_files_and_secrets_stay_where_they_are(use: Hands) -> None:
    assert use.browser.vault
    await use.browser.vault.keep("engines.x.api_key", "sk-secret-1")
    with pytest.raises(Refused, match="a file to download"):
        await use("navigate", url=use.web.url("/file"))
    await use("navigate", url=use.web.url("/"))
    await use.on("click", 'link "A file"')
    for text in ("vault:engines.x.api_key", "my key: sk-secret-1"):
        with pytest.raises(Refused, match="vault"):
            await use.on("type", 'textbox "Name"', text=text)
    with pytest.raises(Refused, match="vault"):
        await use("navigate", url=use.web.url("/two?k=sk-secret-1"))
    assert list(use.here.home.root.rglob("a.bin*")) == []
    assert all("sk-" not in path for _, path in use.web.seen)


async def test_a_click_is_asked_about_and_allowed_for_one_site(use: Hands) -> None:
    here = use.here
    here.services[Browser] = use.browser
    here.tools.add(*browsing.TOOLS)
    said = await use("navigate", url=use.web.url("/"))
    ref = next(ref for ref, label in elements(said).items() if label == 'button "Now"')
    args = {"ref": ref, "element": 'button "Now"', "site": f"one.org:{use.web.port}"}
    here.server.next(Answer(calls=[("browser_click", args)]), Answer("Done."))
    run = await here.runner.run(turn(can_ask=True))
    (asked,) = here.asked
    assert (asked.args, asked.effect) == (args, "danger")
    assert asked.grant == f'["one.org:{use.web.port}"]'
    assert run.calls[0].result.startswith('Clicked button "Now".')
    send = next(ref for ref, label in elements(said).items() if label == 'button "Send"')
    wrong = args | {"ref": send, "element": "Pay"}
    here.server.next(Answer(calls=[("browser_click", wrong)]), Answer("Done."))
    run = await here.runner.run(turn(can_ask=True))
    assert len(here.asked) == 1  # nobody is asked about what is not there
    assert "not Pay" in run.calls[0].result
    here.server.next(Answer(calls=[("browser_snapshot", {})]), Answer("Done."))
    run = await here.runner.run(turn(can_ask=True))
    assert run.calls[0].ok
    assert len(here.asked) == 1


async def test_a_page_that_never_ends_or_falls_over_is_left(
    use: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as short:
        short.setattr("core.tools.tab.LOAD_MS", 500)
        short.setattr("core.tools.browser.ANSWER_S", 0.3)
        with pytest.raises(Unavailable, match="was closed"):
            await use("navigate", url=use.web.url("/busy"))
    with pytest.raises(Invalid, match="No page is open"):
        await use("get_text")
    async with use.browser.at("desktop desktop") as tab:
        fallen = asyncio.create_task(tab.page.goto("chrome://crash"))
        await tab.page.wait_for_event("crash")
        await asyncio.wait({fallen})
        assert fallen.exception()
    assert "Page /two" in await use("navigate", url=use.web.url("/two"))


async def test_it_comes_back_and_ends_when_nobody_uses_it(
    use: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    await use("navigate", url=use.web.url("/"))
    await use("navigate", thread="other", url=use.web.url("/two"))
    assert "Page /two" in await use("get_text", thread="other")
    assert "Shop" in await use("get_text")
    profile = use.here.home.browser
    os.kill(chromium.holder(profile / "profile"), signal.SIGKILL)
    with pytest.raises(ApxError):
        await _until_it_fails(use)
    await use("navigate", thread="other", url=use.web.url("/"))
    assert "Page /two" in await use("navigate", url=use.web.url("/two"))
    monkeypatch.setattr(use.browser, "idle_s", 0.1)
    assert await use("close") == "Closed."
    assert await use("close") == "No page was open."
    async with asyncio.timeout(20):
        while use.browser.running or processes(profile):  # noqa: ASYNC110 a process tells nobody
            await asyncio.sleep(0.05)


async def _until_it_fails(use: Hands) -> None:
    for _ in range(50):
        await use("get_text")


async def test_no_browser_is_one_sentence(tmp_path: Path) -> None:
    async with hands(tmp_path) as use:
        await use.here.config.set({"browser.program": str(tmp_path / "none")})
        with pytest.raises(Unavailable, match="Install Chrome, Chromium or Edge"):
            await use("navigate", url=use.web.url("/"))
        broken = tmp_path / "broken"
        broken.write_text("#!/bin/sh\nexit 3\n")
        broken.chmod(0o700)
        await use.here.config.set({"browser.program": str(broken)})
        with pytest.raises(Unavailable, match="did not start"):
            await use("navigate", url=use.web.url("/"))
        with pytest.raises(Refused):
            await use("navigate", url="http://localhost/")
        assert not use.browser.running


def test_a_browser_is_found_where_it_usually_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert chromium.located(), "no browser here: packaging/setup.sh installs one"
    program = tmp_path / "msedge"
    program.write_text("")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f".:{tmp_path}")
    monkeypatch.setattr(chromium, "_LINUX", ())
    assert chromium.located() == str(program)
    assert chromium.located("msedge") == chromium.located(str(program)) == str(program)
    assert chromium.located("other") == ""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".:/nowhere")
    assert chromium.located() == ""
