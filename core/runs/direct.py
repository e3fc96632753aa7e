"""One tool call that the owner makes with their own hand: no model, and the same door as every other call."""

import asyncio
import json
from pathlib import Path
from typing import Any

from core import projects
from core.errors import Refused
from core.runs import history
from core.runs.credentials import Place
from core.runs.dispatch import Approval, Dispatch
from core.runs.gate import policy_of
from core.runs.request import ToolCall
from core.runs.turn import Call, Run, Status, Turn
from core.texts import t
from core.tool import Context, Tool


def turn_of(tool: Tool, args: dict[str, Any], *, project_id: str = "default") -> Turn:
    """The turn that such a call is recorded under; it says nothing in any thread."""
    text = f"{tool.name} {json.dumps(args, ensure_ascii=False)}"
    return Turn(
        text=text, channel="api", thread="", sender="owner", project_id=project_id, tools=(tool,), sealed=True
    )


async def call(tool: Tool, args: dict[str, Any], ctx: Context, *, yes: bool) -> Call:
    """Make the call and keep it as a run. What the gate would ask about needs `yes`; what never runs, never runs."""
    run: Run = await history.begin(ctx.store, ctx.turn)
    ctx.run_id, run.status = run.id, Status.FAILED

    async def ask(approval: Approval) -> bool:
        if not yes:
            raise Refused(t("direct.needs_yes", ctx.identity.language, tool=approval.tool, why=approval.why))
        return True

    policy = policy_of(ctx.config.now.super_agent, can_ask=True)
    root = await projects.root(ctx.store, ctx.home, ctx.turn.project_id)
    dispatch = Dispatch({tool.name: tool}, ctx, policy, ask, place=Place(ctx.home, Path.home(), root, root))
    try:
        done = await dispatch(ToolCall(id="", name=tool.name, args_json=json.dumps(args)))
        run.status, run.text = (Status.DONE if done.ok else Status.FAILED), done.result
    except asyncio.CancelledError:
        run.status = Status.CANCELLED
        raise
    except Refused as error:
        run.text = str(error)
        raise
    finally:
        await asyncio.shield(history.close(ctx.store, run))
    return done
