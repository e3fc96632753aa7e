"""The two tools with which a model ends its own turn: it declares that it has finished, or it asks the owner.

They change nothing; the loop reads what they say out of the call.
"""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from core.runs.turn import Asked, Call, Turn
from core.tool import Context, Effect, Tool, tool

GROUP = "steering"
# Turns on these surfaces are code work by contract: they stop at `finish`, not at a number.
CONTRACT_CHANNELS = frozenset({"code", "web_code"})
# Nobody there could answer a card.
UNASKED = frozenset({"a2a", "group", "routine", "whatsapp"})

UNDECLARED = (
    "[system note] You have not called finish. If everything that was asked is done, or you are blocked, call finish "
    "with what you did. Otherwise go on with the next tool call, without announcing it."
)
ACKS = 2


class Finish(BaseModel):
    model_config = ConfigDict(extra="forbid")
    summary: str = Field(
        description="For the owner: what was done, what was checked, and what is left.", min_length=1
    )


@tool(Effect.READ, group=GROUP)
async def finish(args: Finish, ctx: Context) -> str:
    """Declare that the work is over: done, or blocked for a reason that you give. Nothing runs after this."""
    return "The turn is over."


class Question(BaseModel):
    model_config = ConfigDict(extra="forbid")
    question: str = Field(description="One question, in the owner's language.", min_length=1, max_length=600)
    options: list[str] = Field(
        default_factory=list,
        description="Short answers to choose from; none for a free answer.",
        max_length=8,
    )
    multiple: bool = Field(False, description="More than one of the options may be chosen.")


class Questions(BaseModel):
    model_config = ConfigDict(extra="forbid")
    questions: list[Question] = Field(min_length=1, max_length=4)


@tool(Effect.READ, group=GROUP)
async def ask_questions(args: Questions, ctx: Context) -> str:
    """Ask the owner what you need to know before you go on, with answers to choose from. This ends your turn.

    Only for what you cannot find out yourself and what would change what you do.
    """
    return "Asked. The turn is over; the answer comes as the owner's next message."


def is_contract(turn: Turn) -> bool:
    """Whether a turn has to say that it has finished."""
    return not turn.sealed and (turn.contract or turn.channel in CONTRACT_CHANNELS)


def at_hand(turn: Turn, tools: Sequence[Tool]) -> tuple[Tool, ...]:
    """The tools of a turn with those that may end it here."""
    kept = [one for one in tools if one.name != ask_questions.name or turn.channel not in UNASKED]
    if is_contract(turn) and all(one.name != finish.name for one in kept):
        kept.append(finish)
    return tuple(kept)


def ends(call: Call) -> bool:
    """Whether a call that held is the last one of its turn."""
    return call.tool == finish.name or bool(asked(call))


def asked(call: Call) -> list[Asked]:
    """The questions of a call that held."""
    if call.tool != ask_questions.name or not call.args:
        return []
    return [
        Asked(one.question.strip(), tuple(filter(None, (o.strip() for o in one.options))), one.multiple)
        for one in Questions.model_validate(call.args).questions
    ]


def as_text(questions: Sequence[Asked], before: str = "") -> str:
    """The questions as any surface can show them: numbered where there are several, options as a list."""
    blocks = [before.strip()] if before.strip() else []
    for number, one in enumerate(questions, 1):
        head = f"{number}. {one.question}" if len(questions) > 1 else one.question
        blocks.append("\n".join([head, *(f"- {option}" for option in one.options)]))
    return "\n\n".join(blocks)
