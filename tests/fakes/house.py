"""A runner with everything real around it, except that its models are the stand-in on loopback."""

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.config import Config
from core.events import Bus, Event
from core.identity import IdentityFile
from core.outbox import Outbox
from core.paths import Home
from core.runs.dispatch import Approval
from core.runs.llm import Models
from core.runs.registry import Tools
from core.runs.runner import Runner
from core.runs.turn import Turn
from core.store import Store
from tests.fakes.openai_server import OpenAIServer

WORKER = (sys.executable, str(Path(__file__).with_name("model_worker.py")))


@dataclass
class House:
    home: Home
    bus: Bus
    store: Store
    config: Config
    identity: IdentityFile
    outbox: Outbox
    tools: Tools
    models: Models
    runner: Runner
    server: OpenAIServer
    events: list[Event] = field(default_factory=list)
    asked: list[Approval] = field(default_factory=list)
    says_yes: bool = True
    services: dict[type, Any] = field(default_factory=dict)

    async def ask(self, approval: Approval) -> bool:
        self.asked.append(approval)
        return self.says_yes

    def seen(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


@asynccontextmanager
async def house(root: Path, *, command: Sequence[str] = WORKER, **settings: Any) -> AsyncIterator[House]:
    home, bus = Home(root / "apx"), Bus()
    home.make()
    events: list[Event] = []
    bus.subscribe(Event, events.append)
    async with OpenAIServer() as server, Store.open(home.db) as store:
        config = Config(home, bus)
        usual = {
            "super_agent.enabled": True,
            "super_agent.model": "standin:small",
            "engines.standin.base_url": server.url,
            "engines.standin.api_key": "sk-standin-0123456789",
            "user.language": "en",
        }
        await config.set(usual | settings)
        identity, tools, outbox = IdentityFile(home, bus, config), Tools(), Outbox(store, bus)
        models = Models(config, command=command, environment={} if command == WORKER else None)
        services: dict[type, Any] = {}
        runner = Runner(
            store=store,
            bus=bus,
            home=home,
            config=config,
            identity=identity,
            outbox=outbox,
            models=models,
            tools=tools,
            services=services,
        )
        built = House(home, bus, store, config, identity, outbox, tools, models, runner, server, events)
        built.services = services
        runner.ask = built.ask
        try:
            async with runner.open():
                yield built
        finally:
            await models.aclose()


def turn(text: str = "hello", **changes: Any) -> Turn:
    values = {"text": text, "channel": "desktop", "thread": "desktop", "sender": "owner"} | changes
    return Turn(**values)
