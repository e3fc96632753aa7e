"""Which exact model a turn goes to, and who chose it. Pure: nothing is put in the place of one that is missing."""

from dataclasses import dataclass

from core.errors import Invalid, Refused
from core.runs.turn import Turn
from core.settings import RoutingWhen, Settings
from core.texts import t

HEADLESS = frozenset({"cli", "api"})
UNATTENDED = frozenset({"whatsapp", "routine", "a2a"})


@dataclass(frozen=True, slots=True)
class Selected:
    """`by`: turn, super_agent.routing.rules[n], super_agent.model or model."""

    model: str
    by: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What the content rules look at."""

    channel: str
    text: str
    has_image: bool = False
    context_chars: int = 0


def facts(turn: Turn, context_chars: int = 0) -> Facts:
    """The facts of a turn; `context_chars` counts what was said before it."""
    return Facts(
        channel=turn.channel,
        text=turn.text,
        has_image=any(one.kind == "image" for one in turn.attachments),
        context_chars=context_chars + len(turn.context_note) + len(turn.text),
    )


def unattended(turn: Turn) -> bool:
    """Nobody looks at this turn while it runs."""
    return turn.sealed or turn.channel in UNATTENDED


def matches(when: RoutingWhen, of: Facts) -> bool:
    """Every condition that is set holds; none set is a catch-all."""
    length, text = len(of.text), of.text.casefold()
    return (
        (when.has_image is None or when.has_image == of.has_image)
        and (when.min_prompt_chars is None or length >= when.min_prompt_chars)
        and (when.max_prompt_chars is None or length <= when.max_prompt_chars)
        and (when.min_context_chars is None or of.context_chars >= when.min_context_chars)
        and (not when.channels or of.channel in when.channels)
        and (not when.keywords or any(word.strip().casefold() in text for word in when.keywords))
    )


def select(settings: Settings, *, asked: str | None, of: Facts) -> Selected | None:
    """What was asked for, else the first rule that matches fully, else the configured model."""
    if asked:
        return Selected(asked, "turn")
    agent = settings.super_agent
    if agent.routing.enabled:
        for number, rule in enumerate(agent.routing.rules):
            if matches(rule.when, of):
                return Selected(rule.model, f"super_agent.routing.rules[{number}]")
    if agent.model:
        return Selected(agent.model, "super_agent.model")
    return Selected(settings.model, "model") if settings.model else None


def auxiliary(
    settings: Settings, primary: str, *, role: str = "", private: bool, stays: bool, lang: str
) -> Selected:
    """The model of a title, a summary, a compaction or a judge: the primary, unless one is pinned exactly.

    `role` is the pin of that work. `private` is whether the primary is local, `stays` whether the pin is, too: a
    local conversation is not sent elsewhere for auxiliary work either.
    """
    pin = role or settings.small_model
    if not pin:
        return Selected(primary, "primary")
    if private and not stays:
        raise Refused(t("routing.auxiliary_leaves", lang, primary=primary, pin=pin))
    if ":" not in pin.strip(":"):
        raise Invalid(t("routing.bad_pin", lang, pin=pin), fields=("small_model",))
    return Selected(pin, "role" if role else "small_model")
