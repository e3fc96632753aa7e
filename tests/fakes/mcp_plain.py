"""An MCP server of another author: no SDK, the older handshake, one thing at a time. It starts at once."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def tool(name: str, **hints: bool) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, "annotations": hints}


TOOLS = [tool("add", readOnlyHint=True), tool("sleep"), tool("die")]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; None for what is not known here."""
    if method == "initialize":
        told = {"name": "plain", "version": "1"}
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": told,
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": call(params["name"], params.get("arguments") or {})}]}
    return None


def call(name: str, args: dict[str, Any]) -> str:
    if name == "die":
        os._exit(3)
    if name == "sleep":
        if mark := args.get("mark"):
            Path(mark).write_text("began")
        time.sleep(args["seconds"])
        return "slept"
    return str(args["a"] + args["b"])


def main() -> None:
    log = os.environ.get("MCP_LOG")
    pids = [os.getpid()]
    if "child" in os.environ.get("MCP_FAKE", ""):
        pids.append(subprocess.Popen(["sleep", "300"]).pid)
    if log:
        with Path(log).open("a") as file:
            file.writelines(f"{pid}\n" for pid in pids)
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked or "method" not in asked:
            continue
        result = answer(asked["method"], asked.get("params") or {})
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
        reply |= {"error": {"code": -32601, "message": "unknown"}} if result is None else {"result": result}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
