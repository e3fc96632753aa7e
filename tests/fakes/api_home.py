"""A home whose app answers over real HTTP on a free port of loopback, with the model that needs no account."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from core.api.server import serve
from core.app import App, Part
from core.paths import Home

PRACTICE = {"super_agent": {"enabled": True, "model": "practice:rules"}}


@dataclass
class Served:
    """The living app, a client that holds the owner's token, and one that holds none."""

    app: App
    http: httpx.AsyncClient
    bare: httpx.AsyncClient
    token: str
    port: int

    async def paired(self, scope: str, project_id: str = "default") -> tuple[str, dict[str, str]]:
        """A new device: its id and the headers that carry its token."""
        begun = await self.http.post(
            "/api/pair/init", json={"scope": scope, "label": "phone", "project_id": project_id}
        )
        brought = {"pairing_id": begun.json()["pairing_id"], "code": begun.json()["code"]}
        got = (await self.bare.post("/api/pair/confirm", json=brought)).json()
        return got["id"], {"authorization": f"Bearer {got['token']}"}


@asynccontextmanager
async def served(
    root: Path, config: dict[str, Any] | None = None, parts: Sequence[Part] = ()
) -> AsyncIterator[Served]:
    """The API of a home below `root`."""
    home = Home(root / "apx")
    home.make()
    home.config.write_text(json.dumps({"port": 0} | (PRACTICE if config is None else config)))
    async with App.open(home, [*parts, serve]) as app:
        port = json.loads(home.daemon.read_text())["port"]
        token = home.token.read_text().strip()
        base, mine = f"http://127.0.0.1:{port}", {"authorization": f"Bearer {token}"}
        async with (
            httpx.AsyncClient(base_url=base, headers=mine, timeout=20, trust_env=False, verify=False) as http,
            httpx.AsyncClient(base_url=base, timeout=20, trust_env=False, verify=False) as bare,
        ):
            yield Served(app, http, bare, token, port)
