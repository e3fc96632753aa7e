"""What is asked of a model and what it answers, whoever it is."""

from dataclasses import dataclass, field
from typing import Any

# Reasons for stopping that mean: the answer was longer than allowed.
CUT = frozenset({"length", "max_tokens"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to one model. Messages and tools are in the chat-completions form; no credential is in here."""

    target: str
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] = field(default_factory=list)
    max_tokens: int | None = None
    temperature: float | None = None
    stream: bool = False
    timeout_s: float = 120.0
    purpose: str = "turn"
    lang: str = ""  # for the sentences of a failure


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model wrote it; its arguments are not checked yet."""

    id: str
    name: str
    args_json: str


@dataclass(frozen=True, slots=True)
class Reply:
    """`finish` is the provider's reason for stopping: stop, tool_calls, length."""

    text: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    tokens_in: int = 0
    tokens_out: int = 0
    finish: str = "stop"


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of some texts, in their order."""

    vectors: list[list[float]]
    tokens_in: int = 0
