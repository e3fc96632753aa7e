"""Alerts at the door: kept and answered before any framework is imported, however early they come.

A phone posts to the same address as everybody's chat. What makes a request an alert is decided here, and
an alert needs nothing but the store.
"""

import json
import re
from typing import Any
from urllib.parse import parse_qs

from core import alerts
from core.api.access import Caller, Scope
from core.app import App
from core.errors import NotFound
from core.store import Store

ADDRESS = re.compile(r"/api/projects/([^/]+)/super-agent/chat(?:/stream)?")
_PROJECT = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)
_WHATSAPP = re.compile(rb"""["']?channel["']?\s*[:=]\s*["']?whatsapp\b""", re.IGNORECASE)


async def project(store: Store, named: str, caller: Caller | None = None) -> str:
    """The id of a project that exists and is the caller's; anything else is not found, and never a path."""
    wanted = "default" if named == "0" else named
    if not _PROJECT.fullmatch(wanted) or (
        caller is not None and caller.scope is Scope.BRIDGE and wanted != caller.project_id
    ):
        raise NotFound("There is no such project.")
    if await store.one("select 1 from projects where id = ?", wanted) is None:
        raise NotFound("There is no such project.")
    return wanted


def data_of(body: bytes) -> Any:
    """The body as JSON, or None when it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def is_alert(caller: Caller, body: bytes) -> bool:
    """A bridge can only alert. Anybody else alerts by saying so, in broken JSON too: phones paste text into it."""
    if caller.scope is Scope.BRIDGE:
        return True
    data = data_of(body)
    if isinstance(data, dict):
        return str(data.get("channel", "")).strip().lower() == "whatsapp"
    if data is None and _WHATSAPP.search(body[: alerts.KEPT_BYTES]):
        return True
    return data is None and parse_qs(body[:4096].decode("utf-8", "replace")).get("channel") == ["whatsapp"]


async def take(app: App, caller: Caller, path: str, headers: dict[str, str], body: bytes) -> dict[str, Any]:
    """Keep an alert; what its sender is told. The row is on disk before this returns."""
    found = ADDRESS.fullmatch(path)
    if found is None:
        raise NotFound("There is nothing at this address.")
    accepted = await alerts.accept(
        app.store,
        app.bus,
        project_id=await project(app.store, found[1], caller),
        body=body,
        content_type=headers.get("content-type", ""),
        idempotency_key=headers.get("idempotency-key"),
        client_id=caller.client_id,
    )
    return {"alert_id": accepted.alert_id, "status": accepted.status, "round_id": accepted.round_id}
