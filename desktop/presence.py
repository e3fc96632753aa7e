"""What the agent is doing, worked out from events alone: the mood of the mascot and the line under its name.

Values in, values out; the clock is an argument. What waits for the owner comes before everything else.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from core import events
from core.events import Event

FAILED_FOR = timedelta(seconds=10)
DONE_FOR = timedelta(seconds=4)


@dataclass(frozen=True, slots=True)
class Presence:
    """`listening` is whether anything can reach the agent by itself: the phone or Telegram."""

    open: bool = False
    listening: bool = False
    waiting: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    tools: tuple[tuple[str, str], ...] = ()  # call id, tool
    round_id: str = ""
    chat: str = ""
    ended: str = ""  # done or failed
    ended_at: datetime | None = None


def after(presence: Presence, event: Event) -> Presence:
    """The presence once this has happened."""
    match event:
        case events.RunStarted():
            return replace(presence, runs=presence.runs | {event.run_id or ""}, ended="")
        case events.RunClosed():
            runs = presence.runs - {event.run_id or ""}
            tools = presence.tools if runs else ()
            return _ended(replace(presence, runs=runs, tools=tools), event.status == "completed", event)
        case events.ToolStarted():
            return replace(presence, tools=(*presence.tools, (event.call_id, event.tool)))
        case events.ToolFinished():
            return replace(presence, tools=tuple(one for one in presence.tools if one[0] != event.call_id))
        case events.RoundStarted():
            return replace(presence, round_id=event.round_id, chat="", ended="")
        case events.ConversationRead():
            return replace(presence, chat=event.title)
        case events.RoundClosed():
            return _ended(replace(presence, round_id="", chat=""), event.status == "closed", event)
        case events.QuestionAsked():
            return replace(presence, waiting=presence.waiting | {event.question_id})
        case events.QuestionAnswered():
            return replace(presence, waiting=presence.waiting - {event.question_id})
        case events.ApprovalRequested():
            return replace(presence, waiting=presence.waiting | {event.approval_id})
        case events.ApprovalDecided():
            return replace(presence, waiting=presence.waiting - {event.approval_id})
    return presence


def _ended(presence: Presence, well: bool, event: Event) -> Presence:
    if isinstance(event, events.RunClosed) and event.status == "cancelled":
        return presence  # whoever pressed Stop knows
    return replace(presence, ended="done" if well else "failed", ended_at=event.at)


def mood(presence: Presence, now: datetime) -> str:
    """One of waiting, failed, working, thinking, done, asleep, idle."""
    if presence.waiting:
        return "waiting"
    if _recent(presence, "failed", now):
        return "failed"
    if presence.tools or presence.round_id:
        return "working"
    if presence.runs:
        return "thinking"
    if _recent(presence, "done", now):
        return "done"
    return "idle" if presence.open and presence.listening else "asleep"


def doing(presence: Presence, now: datetime) -> tuple[str, dict[str, str]]:
    """The key and values of the line that says it in words."""
    if not presence.open:
        return "doing.closed", {}
    match mood(presence, now):
        case "waiting" if len(presence.waiting) > 1:
            return "doing.waiting.many", {"n": str(len(presence.waiting))}
        case "working" if presence.chat:
            return "doing.reading", {"chat": presence.chat}
        case "working" if presence.round_id and not presence.tools:
            return "doing.round", {}
        case "working":
            return "doing.working", {"tool": presence.tools[-1][1].replace("_", " ")}
        case other:
            return f"doing.{other}", {}


def settles_at(presence: Presence) -> datetime | None:
    """When the mood will change by itself, if it will."""
    if presence.ended_at is None or not presence.ended:
        return None
    return presence.ended_at + (FAILED_FOR if presence.ended == "failed" else DONE_FOR)


def _recent(presence: Presence, ended: str, now: datetime) -> bool:
    until = settles_at(presence)
    return presence.ended == ended and until is not None and now < until
