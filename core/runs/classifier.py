"""Asks a small model how hard a question is, once and briefly; whatever goes wrong there changes nothing."""

import asyncio
import time
from dataclasses import replace
from typing import Any

from core.errors import ApxError, ModelUnavailable, NotConfigured
from core.runs import auxiliary, complexity
from core.runs.attempts import Desk, Record
from core.runs.complexity import LIMIT_S, SETTING, Decision, Level
from core.runs.router import Plan
from core.runs.turn import Run
from core.settings import Settings
from core.texts import t

PURPOSE = "classify"
QUIET = frozenset({"off", "sealed", "chosen"})  # nothing that a record would tell


async def classified(
    run: Run, plan: Plan, *, desk: Desk, settings: Settings, record: Record, lang: str
) -> Plan:
    """The route of a turn after its question was weighed: the same one, unless a level has a model of its own.

    The request is one of the turn's: what it takes, no repetition can take any more.
    """
    pin, router = complexity.auxiliary(settings), desk.router
    private = router.is_private(plan.primary)
    why = complexity.why_not(
        settings,
        selected_by=plan.selected_by,
        sealed=run.turn.sealed,
        private=private,
        stays=bool(pin) and router.runs_here(pin),
        requests_left=plan.retries,
    )
    if why in QUIET:
        return plan
    if why:
        await record("classified", _told(plan.primary, pin, why, lang, asked=False) | {"class": why})
        return plan
    began = time.monotonic()
    level, failed, reason = await _ask(run, plan, desk, settings, lang)
    plan = replace(plan, retries=plan.retries - 1)
    decision = Decision(plan.primary, "failed")
    if level is not None:
        decision = complexity.decide(
            level,
            settings.llm_routing.classifier,
            primary=plan.primary,
            private=private,
            here=router.runs_here,
        )
        if decision.why == "moved" and (problem := await _unusable(decision.target, desk, lang)):
            decision, reason = Decision(plan.primary, problem[0]), problem[1]
    told = _told(decision.target, pin, decision.why, lang, level=level, reason=reason)
    await record(
        "classified", told | {"class": failed or "ok", "seconds": round(time.monotonic() - began, 3)}
    )
    if decision.why != "moved":
        return plan
    ladder = await router.ladder(decision.target, run.turn.project_id)
    return replace(plan, primary=decision.target, selected_by=f"{SETTING}.{level}", ladder=ladder)


async def _ask(
    run: Run, plan: Plan, desk: Desk, settings: Settings, lang: str
) -> tuple[Level | None, str, str]:
    """The level, or the class of the failure and its sentence."""
    try:
        async with asyncio.timeout(LIMIT_S):
            reply, _ = await auxiliary.ask(
                desk,
                run,
                complexity.question(run.turn.text),
                purpose=PURPOSE,
                role=settings.llm_routing.classifier.model,
                primary=plan.primary,
                max_tokens=complexity.MAX_TOKENS,
                lang=lang,
                unattended=plan.unattended,
            )
    except TimeoutError:
        return None, "timeout", t("routing.classified.slow", lang, seconds=f"{LIMIT_S:g}")
    except ApxError as error:
        return None, error.kind if isinstance(error, ModelUnavailable) else error.code, str(error)
    level = complexity.read(reply.text)
    return (level, "", "") if level else (None, "unclear", t("routing.classified.unclear", lang))


async def _unusable(target: str, desk: Desk, lang: str) -> tuple[str, str] | None:
    """Why the model of a level cannot answer now, so that the selected one is not left for it."""
    if cooling := (await desk.quota.cooling()).get(target):
        return "cooling", cooling.why
    try:
        await desk.models.configured(target, lang)
    except NotConfigured as error:
        return "missing", str(error)
    return None


def _told(
    target: str,
    pin: str,
    why: str,
    lang: str,
    *,
    level: Level | None = None,
    reason: str = "",
    asked: bool = True,
) -> dict[str, Any]:
    named = t(f"routing.level.{level}", lang) if level else ""
    said = t(f"routing.classified.{why}", lang, target=target, level=named, pin=pin, reason=reason)
    return {
        "target": pin,
        "purpose": PURPOSE,
        "level": str(level or ""),
        "selected": target,
        "action": "moved" if why == "moved" else "kept",
        "why": why,
        "reason": said,
        "asked": asked,
    }
