"""`apx exec`: one question, the answer alone on stdout, what was done for it on stderr."""

import base64
import json
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from core.cli.approvals import AtTerminal, attached
from core.cli.client import ApiFailed
from core.cli.output import app, dump, json_option, verb
from core.cli.words import language, say
from core.errors import Invalid
from core.runs.pictures import too_large
from core.runs.sight import MAX_BYTES
from core.texts import t

MAX_ARGS = 200


@click.command("exec", help=say("exec.about"))
@click.argument("prompt", nargs=-1)
@click.option("-a", "--agent", help=say("exec.agent"))
@click.option("--model", help=say("exec.model"))
@click.option("--max-tokens", type=click.IntRange(min=1), help=say("exec.max_tokens"))
@click.option("--project", default="default", help=say("exec.project"))
@click.option("--contract", is_flag=True, help=say("exec.contract"))
@click.option("--image", "images", multiple=True, type=click.Path(path_type=Path), help=say("exec.image"))
@json_option
@verb
async def ask(
    prompt: tuple[str, ...],
    agent: str | None,
    model: str | None,
    max_tokens: int | None,
    project: str,
    contract: bool,
    images: tuple[Path, ...],
    as_json: bool,
) -> None:
    text = read(" ".join(prompt))
    body: dict[str, Any] = {
        "prompt": text,
        "channel": "cli",
        "model": model,
        "maxTokens": max_tokens,
    }
    body |= {"canAsk": True} if attached() else {}
    body |= {"completionContract": True} if contract else {}
    body |= {"attachments": [_image(one) for one in images]} if images else {}
    body = {name: value for name, value in body.items() if value is not None}
    async with app() as client:
        name = (await client.get("/api/identity"))["agent_name"]
        pid = await client.project(project)
        if agent:
            found = await client.get(f"/api/projects/{pid}/agents/{quote(agent, safe='')}")
            name, body["agent"] = found["name"], found["slug"]
        result: dict[str, Any] | None = None
        async with aclosing(AtTerminal(client)) as terminal:
            async for frame in client.frames(f"/api/projects/{pid}/super-agent/chat/stream", body):
                if frame["type"] == "error":
                    raise ApiFailed(frame["error"], code=frame["code"], status=0)
                if frame["type"] == "final":
                    result = frame["result"]
                elif frame["type"].startswith("approval_"):
                    terminal.frame(frame)
                else:
                    show(frame, name)
    if result is None:
        raise ApiFailed(say("broke_off"), code="unavailable", status=0)
    if as_json:
        dump(result)
    else:
        click.echo(result["text"])
    if unseen := result.get("unseen"):
        click.echo(
            "! " + t("pictures.unseen", language(), model=result["model"], names=", ".join(unseen)), err=True
        )
    usage = result["usage"]
    seconds = f"{usage['seconds']:.1f}s"
    click.echo(f"# {usage['input_tokens']} tok in / {usage['output_tokens']} out · {seconds}", err=True)


def read(given: str) -> str:
    """What was given, or what stdin holds."""
    if given and given != "-":
        return given
    if not given and sys.stdin.isatty():
        raise click.UsageError(say("exec.no_prompt"))
    text = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    if not text:
        raise click.UsageError(say("exec.no_prompt"))
    return text


def _image(path: Path) -> dict[str, str]:
    """A picture as it travels; what it is, the app looks at again."""
    try:
        if (size := path.stat().st_size) > MAX_BYTES:
            raise Invalid(too_large(path.name, size, language()))
        return {"name": path.name, "data": base64.b64encode(path.read_bytes()).decode()}
    except OSError as error:
        raise Invalid(t("pictures.unread", language(), name=path.name)) from error


def show(frame: dict[str, Any], name: str) -> None:
    """The lines beside the answer: who answers with what, which tools, what came with it."""
    kind = frame["type"]
    if kind == "model_routed" and frame.get("purpose", "turn") not in {"judge", "title", "summary"}:
        click.echo(f"{name} · {frame['model']}\n", err=True)
    elif kind == "tool_start":
        click.echo(f"→ tool  {frame['trace']['tool']} {_args(frame['trace']['args'])}", err=True)
    elif kind == "engine_failed":
        click.echo(f"! {frame['model']}: {frame['reason']}", err=True)
    elif kind == "judge_verdict":
        score = say("exec.no_score") if frame["score"] is None else f"{frame['score']:.2f}"
        click.echo(say("exec.judge", score=score, reasoning=frame["reasoning"]), err=True)
    elif kind in {"stuck_detected", "stuck_abort"}:
        words = "exec.stuck" if kind == "stuck_detected" else "exec.closes"
        click.echo(say(words, tool=frame["tool"]), err=True)
    elif kind == "file":
        click.echo(f"→ file  {frame['name']}  /api/media/{frame['media_id']}", err=True)


def _args(args: dict[str, Any]) -> str:
    text = ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in args.items())
    # A control character in an argument must not drive the terminal.
    text = "".join(one if one.isprintable() else "·" for one in text)
    return f"{{ {text[:MAX_ARGS]}{'…' if len(text) > MAX_ARGS else ''} }}" if text else "{ }"
