"""`apx demo`: the whole product at work with no account, no key and no phone, and a check of what it did.

Nothing is pretended but the edges: a real adb server, a simulated phone on it, a Telegram on loopback, and the
real app as a program of its own in a temporary home. What it says it did is compared with what the phone saw.
"""

import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from bridge.demo_show import Show
from bridge.program import find
from bridge.simulator.bot_api import BotApi, bot_api
from bridge.simulator.casts import LINES, small_town
from bridge.simulator.phone import SimPhone
from bridge.simulator.stage import SimDevice, adb_server, connect, simulated_phone
from core.cli.client import ApiFailed, Client, health, running
from core.cli.client import connect as app_of
from core.cli.output import INTERRUPTED
from core.errors import Unavailable
from core.paths import Home
from core.texts import t

OWNER = 7001
STARTS_S = 60.0
ROUND_S = 180.0
ENDS_S = 20.0
# What people around it have set must not reach the demo, nor the demo's things them.
FOREIGN = ("APX_", "ADB_", "ANDROID_", "TELEGRAM_BOT_TOKEN", "BOT_TELEGRAM_TOKEN")


@dataclass(slots=True)
class Facts:
    """What the demo saw: the app's own record, and the truth on the phone and at Telegram."""

    unread: list[str]
    round: dict[str, Any]
    telegrams: list[str]
    typed: list[tuple[str, str]]
    in_background: bool
    violations: list[str]
    seconds: float = 0.0
    checks: dict[str, bool] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return all(self.checks.values())


def judged(facts: Facts) -> dict[str, bool]:
    """Whether what was reported is what happened; every line has to hold."""
    text = "\n".join(facts.telegrams)
    said = [
        (chat["title"], words)
        for chat in facts.round.get("conversations", [])
        if chat["outcome"] == "sent" and (words := said_in(chat))
    ]
    return {
        "all_named": all(title in text for title in facts.unread),
        "one_telegram": len(facts.telegrams) == 1,
        "truth": sorted(said) == sorted(facts.typed) and all(words in text for _, words in facts.typed),
        "no_harm": not facts.violations,
        "background": facts.in_background and facts.round.get("in_background") is True,
    }


def said_in(chat: Mapping[str, Any]) -> str:
    """What the app says that it wrote in a chat."""
    args = chat["args"]
    return str(args.get("text" if chat["decision"] == "reply" else "holding_reply", "")).strip()


async def demo(show: Show, *, window: bool = False) -> Facts:
    """One round from the alert to the Telegram; with `window`, until the window is left."""
    with tempfile.TemporaryDirectory(prefix="apx-demo-", ignore_cleanup_errors=True) as folder:
        async with AsyncExitStack() as stack:
            began = time.monotonic()
            home = Home(Path(folder) / "home")
            phone = populated(show.lang)
            adb_port, device, api = await _edges(stack, Path(folder), phone)
            furnish(home, show.lang, adb_port=adb_port, address=device.address, api_base=api.base_url)
            show.step("ready", seconds=time.monotonic() - began)
            program = await stack.enter_async_context(_program(home, adb_port, window=window))
            port = await _answers(home, program)
            show.step("answers", port=port)
            client = await stack.enter_async_context(app_of(home))
            facts = await _round(client, port, phone, api, show)
            facts.seconds = time.monotonic() - began
            facts.checks = judged(facts)
            show.facts(facts)
            if window:
                show.leave()
                await program.wait()
            return facts


async def _edges(stack: AsyncExitStack, folder: Path, phone: SimPhone) -> tuple[int, SimDevice, BotApi]:
    """The adb server with the phone on it, and Telegram."""
    program = await find()
    if program is None:
        raise Unavailable("The demo needs the program adb: install Android's platform-tools.")
    adb_port = await stack.enter_async_context(adb_server(program, folder / "adb"))
    device = await stack.enter_async_context(simulated_phone(phone=phone, latency="brisk"))
    await connect(adb_port, device.address)
    api = await stack.enter_async_context(bot_api())
    return adb_port, device, api


def populated(lang: str) -> SimPhone:
    """The town's phone, asleep on the table, with one thank-you that anybody could answer."""
    phone = small_town(lang)
    words = LINES.get(lang[:2], LINES["en"])
    phone.receive(phone.whatsapp.find(words["sister"]).id, t("demo.thanks", lang))
    phone.sleep()
    return phone


def furnish(home: Home, lang: str, *, adb_port: int, address: str, api_base: str) -> None:
    """A home that is set up: three contacts may be answered, the others wait for the owner."""
    home.make()
    words = LINES.get(lang[:2], LINES["en"])
    trusted = [words["friend"], words["mother"], words["sister"]]
    config = {
        "port": 0,
        "user": {"language": lang},
        "super_agent": {"enabled": True, "model": "practice:rules", "icon": "brasa"},
        "telegram": {
            "enabled": True,
            "api_base": api_base,
            "channels": [{"bot_token": "123456:demo-token", "chat_id": str(OWNER), "owner_user_id": OWNER}],
        },
        "phone": {"serial": address, "adb_port": adb_port},
        "whatsapp": {
            "quiet_s": 1,
            "posture": "draft",
            "contacts": [{"name": name, "posture": "auto"} for name in trusted],
        },
    }
    home.config.write_text(json.dumps(config, indent=2, ensure_ascii=False), encoding="utf-8")
    identity = {"agent_name": "APX", "owner_name": t("demo.owner", lang), "language": lang}
    home.identity.write_text(json.dumps(identity, indent=2, ensure_ascii=False), encoding="utf-8")
    for path in (home.config, home.identity):
        path.chmod(0o600)


def command(*, window: bool) -> list[str]:
    """How the app is started as a program of its own, from a checkout or from a package."""
    more = ["--page", "rounds"] if window else []
    if getattr(sys, "frozen", False):
        return [str(Path(sys.executable).with_name("apx-desktop" if window else "apx-daemon")), *more]
    return [sys.executable, "-m", "desktop.main" if window else "bridge.main", *more]


def environment(home: Home, adb_port: int) -> dict[str, str]:
    """The demo's own home and adb; a key ring of the person's is not asked."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    own = {"APX_HOME": str(home.root), "ANDROID_ADB_SERVER_PORT": str(adb_port)}
    return kept | own | {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}


@asynccontextmanager
async def _program(home: Home, adb_port: int, *, window: bool) -> AsyncIterator[asyncio.subprocess.Process]:
    """The app, in a session of its own so that Ctrl-C reaches it through us; ended by its process id."""
    with (home.logs / "program.err").open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            *command(window=window),
            env=environment(home, adb_port),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        await asyncio.shield(_end(process))


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), ENDS_S)
    except TimeoutError:
        process.kill()
        await process.wait()


async def _answers(home: Home, program: asyncio.subprocess.Process) -> int:
    """The port of the program once it answers there; what it said when it ended instead."""
    loop = asyncio.get_running_loop()
    until = loop.time() + STARTS_S
    while not ((found := running(home)) and await health(found[1])):
        if program.returncode is not None or loop.time() > until:
            said = (home.logs / "program.err").read_text(encoding="utf-8", errors="replace").strip()
            raise Unavailable(said.splitlines()[-1] if said else "The app did not start.")
        await asyncio.sleep(0.05)
    return found[1]


async def _round(client: Client, port: int, phone: SimPhone, api: BotApi, show: Show) -> Facts:
    """Ring as a phone does, and look on until the round's report has arrived."""
    unread = [chat.title for chat in phone.whatsapp.listed() if chat.unread or chat.marked_unread]
    watching = asyncio.create_task(_watched(client, show))
    try:
        accepted = await _ring(client, port, show, len(unread))
        async with asyncio.timeout(ROUND_S):
            id = await _closed(client, accepted["alert_id"])
            round = await _delivered(client, id)
    except TimeoutError as error:
        raise Unavailable("The round did not come to its end in time.") from error
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError, ApiFailed):
            await watching
    return Facts(
        unread=unread,
        round=round,
        telegrams=[one.text for one in api.sent if one.chat_id == OWNER],
        typed=[(sent.title, sent.text) for sent in phone.sent],
        in_background=not phone.in_front,
        violations=list(phone.violations),
    )


async def _ring(client: Client, port: int, show: Show, count: int) -> dict[str, Any]:
    """The alert exactly as a phone's automation posts it, with a token that can do nothing else."""
    begun = await client.call("POST", "/api/pair/init", {"scope": "bridge", "label": "demo"})
    brought = {"pairing_id": begun["pairing_id"], "code": begun["code"]}
    token = (await client.call("POST", "/api/pair/confirm", brought))["token"]
    text = t("demo.alert", show.lang, n=count)
    async with httpx.AsyncClient(trust_env=False, timeout=10) as http:
        answer = await http.post(
            f"http://127.0.0.1:{port}/api/projects/0/super-agent/chat",
            json={"channel": "whatsapp", "prompt": text},
            headers={"authorization": f"Bearer {token}"},
        )
    if answer.status_code != 202:
        raise Unavailable(f"The alert was not accepted (HTTP {answer.status_code}).")
    show.step("rang", text=text)
    accepted: dict[str, Any] = answer.json()
    return accepted


async def _watched(client: Client, show: Show) -> None:
    async for name, data in client.events():
        show.event(name, data)


async def _closed(client: Client, alert_id: str) -> str:
    """The round that took the alert, when it is over."""
    while True:
        alert = await client.get(f"/api/alerts/{alert_id}")
        if alert["state"] in ("worked", "relayed"):
            return str(alert["round_id"])
        await asyncio.sleep(0.2)


async def _delivered(client: Client, id: str) -> dict[str, Any]:
    """The round with its report's fate known."""
    while True:
        round: dict[str, Any] = await client.get(f"/api/rounds/{id}", reveal=True)
        report = round["report"]
        if report is None or report["state"] not in ("queued", "attempted"):
            return round
        await asyncio.sleep(0.1)


async def whole(show: Show, *, window: bool) -> Facts:
    """The demo as a task that a polite kill ends like Ctrl-C does: with everything put away."""
    task = asyncio.ensure_future(demo(show, window=window))
    told = asyncio.Event()

    def stop() -> None:
        told.set()
        task.cancel()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop)
    try:
        return await task
    except asyncio.CancelledError:
        if told.is_set():
            sys.exit(INTERRUPTED)
        raise
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
