"""The model worker's side of the pipe without the model library: starts at once, asks the stand-in over plain HTTP.

Started as a program by `Models(command=...)`. It does not stream from the server; a text is told in one piece.
"""

import json
import sys
import threading
import urllib.error
import urllib.request
from typing import Any

from core.runs.failures import classify, seconds

writing = threading.Lock()


def send(message: dict[str, Any]) -> None:
    with writing:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def complete(ask: dict[str, Any]) -> None:
    if embeds := ask["op"] == "embed":
        body = {"model": ask["model"], "input": ask["texts"]}
    else:
        body = {name: ask[name] for name in ("model", "messages", "tools", "max_tokens") if ask.get(name)}
    request = urllib.request.Request(
        f"{ask['base_url']}/{'embeddings' if embeds else 'chat/completions'}",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {ask['api_key']}"},
    )
    failed = {"event": "failed", "id": ask["id"], "retry_after_s": None}
    try:
        with urllib.request.urlopen(request, timeout=ask["timeout_s"]) as response:
            whole = json.load(response)
    except urllib.error.HTTPError as error:
        text = error.read().decode()
        pause = seconds(error.headers.get("retry-after"))
        send({**failed, "kind": classify(error.code, text), "detail": "said so", "retry_after_s": pause})
        return
    except OSError as error:
        send({**failed, "kind": classify(None, str(error), connection=True), "detail": "lost"})
        return
    if embeds:
        rows = sorted(whole["data"], key=lambda one: one["index"])
        vectors = [one["embedding"] for one in rows]
        tokens = whole["usage"]["prompt_tokens"]
        send({"event": "done", "id": ask["id"], "vectors": vectors, "tokens_in": tokens})
        return
    message, usage = whole["choices"][0]["message"], whole["usage"]
    text = message.get("content") or ""
    if text and ask["stream"]:
        send({"event": "delta", "id": ask["id"], "text": text})
    calls = [
        {"id": one["id"], "name": one["function"]["name"], "args_json": one["function"]["arguments"]}
        for one in message.get("tool_calls") or ()
    ]
    send(
        {
            "event": "done",
            "id": ask["id"],
            "text": text,
            "calls": calls,
            "tokens_in": usage["prompt_tokens"],
            "tokens_out": usage["completion_tokens"],
            "finish": whole["choices"][0]["finish_reason"],
        }
    )


def main() -> None:
    send({"event": "ready"})
    for line in sys.stdin:
        message = json.loads(line)
        if message["op"] in {"complete", "embed"}:
            threading.Thread(target=complete, args=(message,), daemon=True).start()


if __name__ == "__main__":
    main()
