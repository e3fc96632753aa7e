"""For servers that answer a request for a stream with one plain JSON object: the object, told as a stream.

Asking a second time without streaming would pay for the answer twice, and some servers have moved on by then.
Only the worker uses this; it imports no model library itself.
"""

import json
from typing import Any


async def tell_as_stream(response: Any) -> None:
    """A hook on responses of the HTTP client: a plain answer to a request for a stream becomes one."""
    plain = response.headers.get("content-type", "").startswith("application/json")
    if response.status_code != 200 or not plain or not _wants_stream(response.request):
        return
    body = await response.aread()
    try:
        events = as_events(json.loads(body))
    except (ValueError, LookupError, TypeError, AttributeError):
        return
    # The client reads from here once a body has been read; there is no public way to put another one in its place.
    response._content = events
    response.headers["content-type"] = "text/event-stream"


def _wants_stream(request: Any) -> bool:
    try:
        return json.loads(request.content).get("stream") is True
    except (ValueError, AttributeError):
        return False


def as_events(whole: dict[str, Any]) -> bytes:
    """A chat completion as the server-sent events that would have made it."""
    shape = {key: whole.get(key) for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    choice = whole["choices"][0]
    message = {key: value for key, value in choice["message"].items() if value is not None}
    for index, call in enumerate(message.get("tool_calls") or ()):
        call["index"] = index
    first = {"index": 0, "delta": message, "finish_reason": None}
    last: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": choice.get("finish_reason") or "stop"}
    chunks: list[dict[str, Any]] = [{**shape, "choices": [first]}, {**shape, "choices": [last]}]
    if whole.get("usage"):
        chunks.append({**shape, "choices": [], "usage": whole["usage"]})
    return b"".join(b"data: %s\n\n" % json.dumps(one).encode() for one in chunks) + b"data: [DONE]\n\n"
