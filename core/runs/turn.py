"""What is asked (`Turn`) and what came of it (`Run`): the two ends of every surface."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.runs.budget import Budget
    from core.tool import Tool


class Status(StrEnum):
    """How a run stands. Only `RUNNING` is not an ending."""

    RUNNING = "running"
    DONE = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    BUDGET_EXCEEDED = "budget_exceeded"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A checked file that joins an answer (or came with a question)."""

    media_id: str
    path: Path
    name: str
    kind: str
    mime: str
    size: int
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One line of a conversation; `role` is user or assistant, `files` came with it."""

    role: str
    text: str
    files: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One request to the agent, whichever surface it came from.

    `tools=None` means the set of the channel. A `sealed` turn has exactly `tools`, its own `system` text, no
    history, no memory; its one tool call ends the run, and nothing it writes is said to anybody.
    `timeout_s` bounds the whole run in seconds. A turn with a `contract` ends with the `finish` tool. One that
    is not `judged` answers as it likes: it is part of another turn's work.

    Between agents: `answerer` is who answers (empty: the assistant, in a conversation of the owner's), `role` what it
    is told it is, `depth` how often the work was handed on, `aside` that what it writes is its own note and no
    answer. `run_id` names the run beforehand, `job_id` the work that it is part of.

    A turn with a `cue` answers a line that stands in its thread and in `previous` already, as in a room: `text` is that
    line, and the cue is what the model is told last in its place.
    """

    text: str
    channel: str
    thread: str
    sender: str
    project_id: str = "default"
    model: str | None = None
    max_iters: int | None = None
    max_tokens: int | None = None
    timeout_s: float | None = None
    context_note: str = ""
    previous: tuple[Message, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    tools: "tuple[Tool, ...] | None" = None
    system: str | None = None
    sealed: bool = False
    can_ask: bool = False
    contract: bool = False
    judged: bool = True
    answerer: str = ""
    role: str = ""
    depth: int = 0
    aside: bool = False
    cue: str = ""
    run_id: str = ""
    job_id: str = ""
    budget: "Budget | None" = None  # steps shared with whoever delegates
    meta: Mapping[str, Any] = field(default_factory=dict)
    # The chat of the owner that this came out of (channel, to, thread). Only a channel says so, never a request.
    origin: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Call:
    """One tool call of a run, as it ended."""

    id: str
    tool: str
    args: dict[str, Any]
    result: str = ""
    ok: bool = True
    seconds: float = 0.0


class Ending(StrEnum):
    """How the last word of a run came about."""

    NONE = ""
    ANSWER = "answer"
    FINISH = "finish"  # the contract's tool said so
    QUESTIONS = "questions"  # it waits for the owner
    UNDECLARED = "undeclared"  # a contract turn that only talked
    CLOSING = "closing"  # the reserved last step
    STUCK = "stuck"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to the owner, with the answers that are offered."""

    question: str
    options: tuple[str, ...] = ()
    multiple: bool = False


@dataclass(slots=True)
class Run:
    """What became of a turn. `text` is the answer, or the sentence that says why there is none."""

    id: str
    turn: Turn
    status: Status = Status.RUNNING
    text: str = ""
    target: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost_micros: int = 0  # millionths of a US dollar; a floor where not `priced`
    priced: bool = True
    seconds: float = 0.0
    calls: list[Call] = field(default_factory=list)
    files: list[Attachment] = field(default_factory=list)
    error_kind: str | None = None
    ending: Ending = Ending.NONE
    questions: list[Asked] = field(default_factory=list)
    judge: list[dict[str, Any]] = field(default_factory=list)  # the verdicts, in order
