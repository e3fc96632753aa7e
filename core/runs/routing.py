"""What follows a failure: the same model again, the next one that was granted, or the end. One table; pure.

`why` of a verdict is a key of `assets/locale/routing.*.json`: the sentence the owner reads.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from core.errors import ModelUnavailable
from core.runs.retry import Patience, pause
from core.texts import t

MODEL_FALLBACK = "super_agent.model_fallback"
LLM_ROUTING = "llm_routing.fallback"


class Advance(StrEnum):
    """Whether a class of failure may move on at all."""

    YES = "yes"
    NO = "no"
    QUOTA = "quota"  # only along the list that the owner switched on for this, and not unseen


class Action(StrEnum):
    RETRY = "retry"
    ADVANCE = "advance"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Rule:
    """`retries`: how often the same target is asked again at most; `advance`: whether the next one may be."""

    retries: int
    advance: Advance


TABLE: Mapping[str, Rule] = {
    "rate_limit": Rule(5, Advance.YES),
    "concurrency": Rule(8, Advance.YES),
    "overloaded": Rule(5, Advance.YES),
    "server": Rule(5, Advance.YES),
    "network": Rule(5, Advance.YES),
    "timeout": Rule(0, Advance.YES),
    "empty": Rule(0, Advance.YES),  # the conversation has asked again already
    "quota": Rule(0, Advance.QUOTA),
    "auth": Rule(0, Advance.NO),
    "permission": Rule(0, Advance.NO),
    "invalid": Rule(0, Advance.NO),
    "not_found": Rule(0, Advance.NO),
}
UNKNOWN = Rule(0, Advance.NO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Where a request stands when it fails. `next_via` is the list that grants the next target, "" where none is."""

    tried: int = 1  # attempts made on this target for this answer
    published: bool = False
    started: bool = False
    cancelled: bool = False
    spent_s: float = 0.0
    broken: bool = False  # the provider's circuit is open
    retries_left: int = 32  # of the turn
    next_via: str = ""
    why_none: str = "no_grant"  # no_grant, no_more, narrowed or local
    attended: bool = True
    chosen: bool = False  # the owner named this model for this work
    patience: Patience = field(default_factory=Patience)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`wait_s` goes with a retry. `why` is a code that stays the same in every language."""

    action: Action
    why: str
    wait_s: float | None = None

    def sentence(self, lang: str, **values: str) -> str:
        """The reason for people."""
        return t(f"routing.why.{self.why}", lang, **{"target": "", "next": "", "reason": "", **values})


def _stop(why: str) -> Verdict:
    return Verdict(Action.STOP, why)


def decide(error: ModelUnavailable, at: Situation) -> Verdict:
    """The one place that decides. What was said or begun is never repeated, whoever would answer."""
    rule = TABLE.get(error.kind, UNKNOWN)
    for true, why in ((at.cancelled, "cancelled"), (at.published, "published"), (at.started, "started")):
        if true:
            return _stop(why)
    wait = pause(error, at.tried, published=False, spent_s=at.spent_s, patience=at.patience)
    may_repeat = at.tried <= rule.retries and not (error.kind == "network" and at.broken)
    if wait is not None and may_repeat and at.retries_left > 0:
        return Verdict(Action.RETRY, "again", wait)
    if rule.advance is Advance.NO:
        return _stop("never")
    if rule.advance is Advance.QUOTA:
        if not at.attended and not (at.chosen and at.next_via == MODEL_FALLBACK):
            return _stop("quota_unattended")
        if at.next_via != MODEL_FALLBACK:
            return _stop("quota")
    if at.retries_left <= 0:
        return _stop("budget")
    if at.spent_s >= at.patience.total_s:
        return _stop("time")
    if not at.next_via:
        return _stop(at.why_none)
    return Verdict(Action.ADVANCE, "advance")
