"""The one Telegram of a round, written from what was stored, never from what a model remembers.

Pure: a round and its conversations in, plain text out. Nothing in it is markup, so that no name and no message
can change how it looks.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bridge.alerts import Heard
from bridge.journal import Conversation, Line, Round
from bridge.notifications import Notice
from core.texts import t

SHOWN_LINES = 12
SHOWN_CHARS = 500


@dataclass(frozen=True, slots=True)
class Question:
    """A decision that waits for the owner, numbered as the report shows it."""

    id: str
    conversation_id: str
    question: str
    draft: str


def written(
    round: Round,
    chats: Sequence[Conversation],
    lang: str,
    *,
    questions: Sequence[Question] = (),
    limited: bool = False,
) -> str:
    """The report of a round that looked at the screen; empty when there is nothing to tell."""
    news = [chat for chat in chats if is_news(chat)]
    if not news and not round.why:
        return ""
    numbers = {question.conversation_id: n for n, question in enumerate(questions, 1)}
    which = {0: "none", 1: "one"}.get(len(news), "many")
    title = t(f"report.title.{which}", lang, n=len(news))
    blocks = [title, *(_chat(chat, lang, numbers.get(chat.id)) for chat in news)]
    ending = []
    if limited:
        ending.append(t("report.limit", lang))
    if round.why:
        ending.append(t("report.stopped", lang, why=why_not(round.why, lang)))
    ending.append(background(round.in_background, lang))
    return "\n\n".join([*blocks, "\n".join(ending)])


def is_news(chat: Conversation) -> bool:
    """Whether the owner hears of this chat: all but those that turned out to hold nothing new."""
    return not (chat.decision == "leave" and chat.reason == "nothing_new" and chat.unread is not None)


def background(left: bool | None, lang: str) -> str:
    """The line that says where WhatsApp was left."""
    which = "unknown" if left is None else "yes" if left else "no"
    return t(f"report.background.{which}", lang)


def from_notifications(notices: Sequence[Notice], why: str, lang: str) -> str:
    """The report of a round that could only read the notifications, marked as such."""
    blocks = [t("report.title.notifications", lang)]
    if why:  # else the owner wants it so
        blocks.append(t("report.why.notifications", lang, why=why_not(why, lang)))
    for notice in notices:
        lines = [
            f"{one.sender}: {one.text}" if notice.group and one.sender else one.text
            for one in notice.messages[-SHOWN_LINES:]
        ]
        nothing = notice.text or t("relay.hidden" if notice.hidden else "relay.summary", lang)
        said = "\n".join(f"  {_cut(line)}" for line in lines or [nothing])
        blocks.append(f"• {notice.chat}\n{said}")
    return "\n\n".join(blocks)


def relayed(heard: Sequence[Heard], why: str, lang: str) -> str:
    """The alert as it came, with the reason why nobody could go and look."""
    said = list(dict.fromkeys(one.line(t("relay.nothing", lang)) for one in heard)) or [
        t("relay.nothing", lang)
    ]
    carried = (
        t("relay.carried", lang, text=said[0])
        if len(said) == 1
        else "\n".join([t("relay.carried.many", lang), *(f"• {line}" for line in said[-SHOWN_LINES:])])
    )
    return "\n".join([t("relay.title", lang), t("relay.why", lang, why=why_not(why, lang)), carried])


def why_not(state: str, lang: str) -> str:
    """A state of the phone as people read it; a sentence stays a sentence."""
    return sentence(f"phone.{state}", lang) if state.isidentifier() else sentence(state, lang)


def model_why(reason: str, lang: str) -> str:
    """Why a model did not decide, as people read it."""
    kind = reason.removeprefix("model:")
    try:
        return t(f"model.{kind}", lang)
    except KeyError:
        return t("model.failed", lang)


def line_text(line: Line, lang: str) -> str:
    """One message as a line: who in a group, what kind if it is no text, the words."""
    words = " ".join(line.text.split("\n")) if line.kind in ("text", "long") else line.text.replace("\n", " ")
    if line.kind not in ("text", "long", "edited", "quoted"):
        length = f" {line.seconds // 60}:{line.seconds % 60:02d}" if line.seconds is not None else ""
        label = f"[{t(f'kind.{line.kind}', lang)}{length}]"
        words = f"{label} {words}".strip()
    if line.quoted:
        words += f" ({t('line.quoting', lang, text=_cut(line.quoted, 60))})"
    if line.edited:
        words += f" ({t('line.edited', lang)})"
    return _cut(f"{line.sender}: {words}" if line.sender else words)


def _cut(text: str, limit: int = SHOWN_CHARS) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _count(chat: Conversation, lang: str) -> str:
    unopened = chat.state == "failed" or chat.reason == "never"
    count = (chat.unread or 0) if unopened else len(chat.fresh)
    if chat.unread is None and not count:
        return t("report.messages.marked", lang)
    if not count:
        return t("report.messages.nothing", lang)
    said = t("report.messages.one", lang) if count == 1 else t("report.messages.many", lang, n=count)
    return said if chat.complete else f"{said}, {t('report.more', lang)}"


def _chat(chat: Conversation, lang: str, number: int | None) -> str:
    mark = f"{number}. " if number else "• "
    parts = [f"{mark}{chat.title} ({_count(chat, lang)})"]
    if chat.state == "failed" or chat.reason == "never":
        if chat.preview:
            parts.append(f"  {_cut(chat.preview)}")
    else:
        if (earlier := len(chat.fresh) - SHOWN_LINES) > 0:
            parts.append(f"  {t('report.earlier', lang, n=earlier)}")
        parts.extend(f"  {line_text(line, lang)}" for line in chat.fresh[-SHOWN_LINES:])
    parts.extend(f"→ {line}" for line in _done(chat, lang))
    return "\n".join(parts)


def _same(chat: Conversation) -> bool:
    """Whether what is forwarded is already shown as the chat's messages."""
    forwarded = " ".join(str(chat.args.get("text", "")).split())
    shown = " ".join(" ".join(line.text.split()) for line in chat.fresh[-SHOWN_LINES:])
    return forwarded in shown or (bool(shown) and shown in forwarded)


def _done(chat: Conversation, lang: str) -> list[str]:
    if chat.state == "failed":
        return [t("report.done.unread", lang, why=why_not(chat.outcome_why or "failed", lang))]
    if chat.decision == "reply":
        return [_reply(chat, lang)]
    if chat.decision == "ask_owner":
        return _asked(chat, lang)
    if chat.decision == "forward":
        if _same(chat):
            return [t("report.done.forward_same", lang)]
        return [f"{t('report.done.forward', lang)} {chat.args.get('text', '')}"]
    return [_left(chat, lang)]


def _reply(chat: Conversation, lang: str) -> str:
    text = str(chat.args.get("text", ""))
    if chat.outcome in ("sent", "unknown"):
        which = "pending" if chat.outcome == "sent" and chat.outcome_why == "pending" else chat.outcome
        return t(f"report.done.{which}", lang, text=text)
    return t("report.done.not_sent", lang, why=sentence(chat.outcome_why, lang))


def sentence(why: str, lang: str) -> str:
    """A reason kept as a catalogue key ("guard.code", "phone.locked") in words; anything else as it is."""
    try:
        return t(why, lang)
    except KeyError:
        return t("phone.failed", lang) if re.fullmatch(r"[a-z]+\.[a-z_]*", why) else why


def _asked(chat: Conversation, lang: str) -> list[str]:
    lines = [t("report.done.ask", lang, question=chat.args.get("question", ""))]
    if chat.reason.startswith("guard."):
        lines.append(t("report.done.not_sent", lang, why=sentence(chat.reason, lang)))
    if chat.reason == "quiet":
        lines.append(t("report.done.quiet", lang))
    if draft := chat.args.get("draft"):
        lines.append(t("report.done.draft", lang, text=draft))
    if held := chat.args.get("holding_reply"):
        if chat.outcome == "sent":
            lines.append(t("report.done.held", lang, text=held))
        elif chat.outcome == "unknown":
            lines.append(t("report.done.held_unknown", lang))
        else:
            lines.append(t("report.done.held_not_sent", lang, why=sentence(chat.outcome_why, lang)))
    return lines


def _left(chat: Conversation, lang: str) -> str:
    reason = chat.reason
    if reason.startswith("model:"):
        return t("report.why.model", lang, reason=model_why(reason, lang))
    if reason in ("no_model", "undecided"):
        return t(f"report.why.{reason}", lang)
    if reason in ("read_only", "nothing_new", "broadcast", "never"):
        return t("report.done.left_why", lang, why=t(f"report.why.{reason}", lang))
    return t("report.done.left_why", lang, why=reason) if reason else t("report.done.left", lang)
