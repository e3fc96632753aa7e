"""MCP servers over HTTP: which there are, what they offer, and a call by the owner's own hand."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from core.api.request import Apx, Owner, reply
from core.api.stow import set_config
from core.app import App
from core.errors import ApxError, NotFound, Refused, Unavailable
from core.mcp_servers import McpServers, Offer, declared
from core.runs import direct
from core.settings import McpServer
from core.tool import Context
from core.tools.mcp import call_mcp

router = APIRouter(prefix="/api/mcp", tags=["mcp"])
KEY = "mcp.servers"


class Server(BaseModel):
    """A server to add: `command` with `args` and `env`, or `url` with `headers`. Their values go to the vault."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(max_length=40)
    command: str = ""
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    url: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    enabled: bool = True
    timeout_s: float = 60.0
    replace: bool = False


class Change(BaseModel):
    """What may be changed without naming the secrets again."""

    model_config = ConfigDict(extra="forbid")
    enabled: bool


class Called(BaseModel):
    """A call. `yes` is the owner's yes to what the gate asks about."""

    model_config = ConfigDict(extra="forbid")
    tool: str = Field(min_length=1, max_length=200)
    args: dict[str, Any] = Field(default_factory=dict)
    yes: bool = False
    project_id: str = "default"


def _servers(app: App) -> McpServers:
    found: McpServers | None = app.services.get(McpServers)
    if found is None:
        raise Unavailable("This program looks after no MCP servers.")
    return found


def _shown(spec: McpServer, servers: McpServers) -> dict[str, Any]:
    """A server without its secrets."""
    problem = servers.problems.get(spec.name, "")
    state = "off" if not spec.enabled else "running" if servers.running(spec.name) else "idle"
    return {
        "name": spec.name,
        "kind": "http" if spec.url else "stdio",
        "command": spec.command,
        "args": list(spec.args),
        "env": sorted(spec.env),
        "url": spec.url,
        "headers": sorted(spec.headers),
        "enabled": spec.enabled,
        "timeout_s": spec.timeout_s,
        "state": "failed" if problem and state == "idle" else state,
        "problem": problem,
    }


def _tool(offer: Offer) -> dict[str, Any]:
    return {"name": offer.name, "about": offer.about, "reads": offer.reads, "schema": offer.schema}


@router.get("")
async def list_servers(app: Apx, _: Owner) -> Response:
    """The servers of the settings and how each stands; nothing is started."""
    servers = _servers(app)
    return reply({"data": [_shown(spec, servers) for spec in servers.listed()]})


@router.post("")
async def add(server: Server, app: Apx, _: Owner) -> Response:
    """Add a server, or with `replace` change the one of that name. It is started at its first use."""
    servers = _servers(app)
    wanted = server.model_dump(exclude={"replace"})
    kept = _raw(app)
    there = any(one.get("name") == server.name for one in kept)
    if there and not server.replace:
        raise Refused(f"There is an MCP server {server.name} already. Replace it, or choose another name.")
    declared(wanted)
    changed = [wanted if one.get("name") == server.name else one for one in kept]
    before = await _secrets(app, server.name) if there else set()
    await set_config(app, {KEY: changed if there else [*kept, wanted]})
    for gone in before - _referred(app, server.name):
        await app.vault.forget(gone)
    return reply(_shown(servers.find(server.name), servers), 201)


@router.patch("/{name}")
async def change(name: str, change: Change, app: Apx, _: Owner) -> Response:
    """Switch a server on or off; one that runs and is switched off ends."""
    servers = _servers(app)
    kept = _own(app, servers.find(name).name)
    rows = [one | {"enabled": change.enabled} if one.get("name") == name else one for one in kept]
    await app.config.set({KEY: rows})
    return reply(_shown(servers.find(name), servers))


@router.delete("/{name}")
async def remove(name: str, app: Apx, _: Owner) -> Response:
    """Forget a server and its secrets; if it runs, it ends."""
    kept = _own(app, _servers(app).find(name).name)
    left = [one for one in kept if one.get("name") != name]
    secrets = await _secrets(app, name)
    await app.config.set({KEY: left})
    for secret in secrets:
        await app.vault.forget(secret)
    return reply({"removed": name})


@router.get("/{name}/tools")
async def tools(name: str, app: Apx, _: Owner) -> Response:
    """What a server offers; it is started for that. What it says of its tools is its own word."""
    return reply({"data": [_tool(one) for one in await _servers(app).tools(name)]})


@router.post("/{name}/check")
async def check(name: str, app: Apx, _: Owner) -> Response:
    """Start a server anew and see whether it answers."""
    servers = _servers(app)
    await servers.restart(name)
    try:
        offers = await servers.tools(name)
    except ApxError as error:
        return reply({"name": name, "ok": False, "problem": str(error), "tools": 0})
    return reply({"name": name, "ok": True, "problem": "", "tools": len(offers)})


@router.post("/{name}/call")
async def call(name: str, wanted: Called, app: Apx, _: Owner) -> Response:
    """Call a tool of a server through the same gate as the agent."""
    _servers(app).find(name)
    args = {"server": name, "tool": wanted.tool, "args": wanted.args}
    ctx = Context(
        store=app.store,
        bus=app.bus,
        home=app.home,
        config=app.config,
        identity=app.identity,
        outbox=app.outbox,
        turn=direct.turn_of(call_mcp, args, project_id=wanted.project_id),
        run_id="",
        services=app.services,
    )
    done = await direct.call(call_mcp, args, ctx, yes=wanted.yes)
    return reply({"ok": done.ok, "result": done.result, "seconds": done.seconds, "run_id": ctx.run_id})


def _raw(app: App) -> list[dict[str, Any]]:
    """The servers as the file has them."""
    section = app.config.raw().get("mcp") or {}
    return list(section.get("servers") or [])


def _own(app: App, name: str) -> list[dict[str, Any]]:
    """The servers of the file, this one among them: what is laid over the file cannot be changed here."""
    kept = _raw(app)
    if not any(one.get("name") == name for one in kept):
        raise NotFound(f"The MCP server {name} is not in the configuration file; it is laid over it.")
    return kept


async def _secrets(app: App, name: str) -> set[str]:
    """The secrets that were kept for a server of this name."""
    return {one for one in await app.vault.names() if one.startswith(f"{KEY}.{name}.")}


def _referred(app: App, name: str) -> set[str]:
    """The secrets that the settings of a server name."""
    spec = next(one for one in app.config.now.mcp.servers if one.name == name)
    return {value.removeprefix("vault:") for value in (*spec.env.values(), *spec.headers.values())}
