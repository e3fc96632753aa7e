"""What the model was given, as it was sent, out of the record of a run. Credentials are no part of a request."""

import json
from typing import Any

from core.errors import NotFound
from core.runs import history
from core.runs.failures import redact
from core.store import Store

MAX_CHARS = 400_000
STAGES = (
    ("tool results cut at 2000 characters", "tool", 2000),
    ("all messages cut at 1000 characters", "", 1000),
)


async def manifest(store: Store, run_id: str, *, max_chars: int = MAX_CHARS) -> dict[str, Any]:
    """Every request of a run with its messages, its tools and what came back; failures stand with their class.

    Raises `NotFound` when the run reached no model. What is too long is cut in stages, and `trimmed` says which.
    """
    row = await history.find(store, run_id)
    entries: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = []
    tools: list[dict[str, Any]] = []
    recalled: dict[str, Any] = {}
    for step in await history.steps(store, run_id):
        if step["kind"] == "memory":
            recalled = {name: value for name, value in step.items() if name != "kind"}
        elif step["kind"] == "request":
            messages = [*messages[: step.pop("since")], *step.pop("messages")]
            tools = step.pop("tools", tools)
            entries.append({**step, "messages": messages, "tools": tools if step["offers_tools"] else []})
        elif step["kind"] in {"reply", "failure"} and entries:
            if step["kind"] == "failure":
                entries[-1].setdefault("attempts", []).append(step)
            entries[-1][step["kind"]] = {name: value for name, value in step.items() if name != "kind"}
    if not entries:
        raise NotFound(f"The run {run_id} reached no model.")
    trimmed: list[str] = []
    for words, role, limit in STAGES:
        if len(json.dumps(entries, ensure_ascii=False)) <= max_chars:
            break
        entries = [{**one, "messages": [_cut(m, role, limit) for m in one["messages"]]} for one in entries]
        trimmed.append(words)
    while len(entries) > 2 and len(json.dumps(entries, ensure_ascii=False)) > max_chars:
        entries.pop(len(entries) // 2)
        if "requests in the middle left out" not in trimmed:
            trimmed.append("requests in the middle left out")
    told: dict[str, Any] = {"run_id": run_id, "target": row.target, "trimmed": trimmed}
    return told | ({"memory": recalled} if recalled else {}) | {"requests": _plain(entries)}


def _plain(value: Any) -> Any:
    """The same without whatever looks like a credential: a tool's result may have held one."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _cut(message: dict[str, Any], role: str, limit: int) -> dict[str, Any]:
    content = message.get("content")
    if (role and message["role"] != role) or not isinstance(content, str) or len(content) <= limit:
        return message
    return {**message, "content": f"{content[:limit]} [cut: {len(content) - limit} characters]"}
