"""What happened, told to whoever listens: frozen values in the past tense, and the bus that carries them.

The names on the wire (`GET /api/events`) are these class names in snake case.
"""

import logging
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that is already true. `run_id` and `project_id` are empty where there is none."""

    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    project_id: str = "default"
    run_id: str | None = None

    @classmethod
    def wire_name(cls) -> str:
        """The name on the wire: `ToolStarted` is `tool_started`."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()

    def wire(self) -> dict[str, Any]:
        """A JSON-ready dictionary of the fields."""
        values = asdict(self)
        values["at"] = self.at.isoformat()
        return values


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityChanged(Event):
    agent_name: str
    icon: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChanged(Event):
    """The configuration in force is another one; `keys` are the dotted names that differ."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRejected(Event):
    """The file on disk cannot be used; what was in force stays. `why` names key and line."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertReceived(Event):
    alert_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRelayed(Event):
    """The phone was out of reach: the alert went to the owner as it came."""

    state: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStarted(Event):
    round_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRead(Event):
    round_id: str
    conversation_id: str
    title: str
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationDecided(Event):
    round_id: str
    conversation_id: str
    title: str
    decision: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundClosed(Event):
    round_id: str
    status: str
    conversations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked(Event):
    """A decision waits for the owner (a conversation's question, or a permission)."""

    question_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswered(Event):
    question_id: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    channel: str
    sender: str
    thread: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunClosed(Event):
    channel: str
    thread: str
    status: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Said(Event):
    """A piece of the answer, as it arrives; pieces of one `run_id` joined are the text so far."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(Event):
    call_id: str
    tool: str
    args: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished(Event):
    call_id: str
    tool: str
    ok: bool
    result: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundJob(Event):
    """Work that one agent handed to another: `phase` is start, progress (now in the background) or end."""

    phase: str
    job_id: str
    kind: str
    sender: str
    recipient: str
    thread: str
    status: str
    waited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomChanged(Event):
    """A room was made, closed or cut, or somebody came or went; `what` says which."""

    room_id: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomAsked(Event):
    """The owner's line stands in a room and is being answered; `again` when it is an earlier one."""

    room_id: str
    line_id: str
    message_id: int
    text: str
    again: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakerStarted(Event):
    """A member of a room begins to answer; `asked_by` is the owner or the member that named it."""

    room_id: str
    slug: str
    name: str
    icon: str
    asked_by: str
    steps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakerEnded(Event):
    """A member of a room has answered, failed or was stopped; `status` is its run's."""

    room_id: str
    slug: str
    name: str
    status: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomSettled(Event):
    """A line of the owner's is over: answered, capped, spent, stopped or failed; `note` says what was left out."""

    room_id: str
    line_id: str
    state: str
    replies: int
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDelivered(Event):
    """A file joins the answer of a run; `media_id` opens it through `/api/media/{id}`."""

    media_id: str
    name: str
    kind: str
    size: int
    caption: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRouted(Event):
    target: str
    purpose: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFailed(Event):
    target: str
    kind: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StuckDetected(Event):
    """A run goes round in circles; `kind` is a `Circle` of core.runs.stuck. The model is told once."""

    kind: str
    tool: str
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StuckAbort(Event):
    """A run that had been told went round again: it closes early."""

    kind: str
    tool: str
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeVerdict(Event):
    """What the judge thinks of a finished turn; `score` is None where no judgement could be had."""

    iteration: int
    score: float | None
    reasoning: str
    passed: bool
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeBudgetExhausted(Event):
    """The judge would have sent the turn back, and too few of its steps were left for another round."""

    iteration: int
    left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadCompacted(Event):
    """The older lines of a thread are now told to the model as a summary; the lines themselves stay."""

    thread: str
    lines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadTitled(Event):
    """A conversation is called something, or something else than before."""

    thread: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequested(Event):
    approval_id: str
    tool: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalDecided(Event):
    approval_id: str
    decision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialsChanged(Event):
    """Files that keep credentials are others after a tool ran; `expected` when the owner had allowed it."""

    tool: str
    paths: tuple[str, ...]
    expected: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery(Event):
    """An outward message changed its state: queued, attempted, delivered, rejected, unknown or not_attempted."""

    message_id: str
    channel: str
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneState(Event):
    """What is known of the phone; `state` is "ready" or a state of `PhoneUnreachable`."""

    state: str
    serial: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerClaimed(Event):
    """Somebody wrote to a bot that has no owner yet; the app asks before they become it."""

    channel: str
    user_id: int
    user_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StrangerRefused(Event):
    channel: str
    user_id: int
    user_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelState(Event):
    """A channel went up or down; `state` is online, offline, conflict or unauthorized."""

    channel: str
    state: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChanged(Event):
    """A fact was remembered or forgotten; 0 stands for several, after the notebook was edited by hand."""

    fact_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskChanged(Event):
    task_id: int
    state: str


E = TypeVar("E", bound=Event)


class Bus:
    """Tells listeners what happened: in order, at once, on the loop's thread.

    A listener must return quickly and may not fail the teller: what it raises is logged. Listeners that
    need time put the event on a queue of their own.
    """

    def __init__(self) -> None:
        self._listeners: list[tuple[type[Event], Callable[[Any], None]]] = []

    def subscribe(self, kind: type[E], tell: Callable[[E], None]) -> Callable[[], None]:
        """Listen to `kind` and its subclasses; call what is returned to stop."""
        entry = (kind, tell)
        self._listeners.append(entry)
        return lambda: self._listeners.remove(entry) if entry in self._listeners else None

    def emit(self, event: Event) -> None:
        for kind, tell in tuple(self._listeners):
            if isinstance(event, kind):
                try:
                    tell(event)
                except Exception:
                    log.exception("%s could not take %r", tell, event)
