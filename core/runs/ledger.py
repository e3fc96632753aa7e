"""Every attempt of a run at a model: what came of it, how long it took, and why it went on or stopped there."""

from typing import Any

from core.runs import history
from core.store import Store

_KEPT = (
    "target",
    "class",
    "reason",
    "action",
    "why",
    "tried",
    "again_in_s",
    "seconds",
    "until",
    "repeats",
    "repeats_most",
    "purpose",
    "level",
    "selected",
)


async def attempts(store: Store, run_id: str) -> dict[str, Any]:
    """The attempts in order, who answered last, and what is used of the turn's budget of repeated requests."""
    rows: list[dict[str, Any]] = []
    for step in await history.steps(store, run_id):
        if step["kind"] not in {"reply", "failure", "classified"}:
            continue
        one = {"at": step["at"], "asked": step.get("asked", True)}
        one |= {name: step[name] for name in _KEPT if step.get(name) is not None}
        rows.append({**one, "class": "ok", "action": "answered"} if step["kind"] == "reply" else one)
    # What a small model said beforehand answers nothing, and its failing stops nothing.
    work = [one for one in rows if one.get("purpose") != "classify"]
    answered = [one for one in work if one["class"] == "ok"]
    failed = [one for one in work if one["class"] != "ok"]
    counted = [one for one in rows if "repeats" in one]
    return {
        "attempts": rows,
        "requests": sum(1 for one in rows if one["asked"]),
        "repeated": max((one["repeats"] for one in counted), default=0),
        "repeats_most": counted[-1]["repeats_most"] if counted else None,
        "answered_by": answered[-1].get("target", "") if answered else "",
        "stopped_why": failed[-1].get("why", "") if failed and work[-1] is failed[-1] else "",
    }
