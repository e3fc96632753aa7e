"""`practice:rules`: answers by rules and with no model, so that the product can be tried without an account.

It never pretends: to the owner it says what it is, and a decision it takes is recorded under its own target. In
front of a stranger's message it errs to the side of asking the owner.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from core.runs.practice_words import (
    A_CODE,
    ATTEMPT,
    COMMITMENT,
    GREETING,
    MASS,
    MONEY,
    NOTICE,
    PASS_ON,
    QUESTION,
    THANKS,
    language,
)
from core.runs.request import Reply, Request, ToolCall
from core.texts import t

DECISIONS = frozenset({"reply", "ask_owner", "forward_to_owner", "leave"})


def fresh(text: str) -> str:
    """What the other person wrote and nobody has read, out of the conversation that a sealed turn carries as JSON.

    Text that is not JSON is taken as the message itself.
    """
    try:
        value = json.loads(text)
    except ValueError:
        return text
    items = value.get("messages", ()) if isinstance(value, dict) else ()
    news = [one for one in items if isinstance(one, dict) and one.get("new") and one.get("from") != "owner"]
    return "\n".join(str(one["text"]) for one in news if one.get("text"))


def decide(text: str, *, broadcast: bool = False) -> tuple[str, dict[str, Any]]:
    """The decision on what somebody wrote, as a tool name and its arguments. The first rule that fits is the one."""
    lang = language(text)
    quoted = " ".join(text.split())
    if not quoted:
        return "leave", {"reason": t("practice.nothing_written", lang)}
    if ATTEMPT.search(text):
        return "forward_to_owner", {"text": t("practice.attempt", lang, text=quoted)}
    if PASS_ON.search(text):
        return "forward_to_owner", {"text": t("practice.pass_on", lang, text=quoted)}
    if broadcast or (MASS.search(text) and not A_CODE.search(text)):
        return "leave", {"reason": t("practice.broadcast", lang)}
    question = bool(QUESTION.search(text))
    if NOTICE.search(text) and not question:
        return "forward_to_owner", {"text": text.strip()}
    if MASS.search(text):
        return "leave", {"reason": t("practice.broadcast", lang)}
    if GREETING.match(text):
        return "reply", {"text": t("practice.greeting", lang)}
    if THANKS.match(text) and not question:
        return "reply", {"text": t("practice.welcome", lang)}
    if question or MONEY.search(text) or COMMITMENT.search(text):
        return "ask_owner", {
            "question": t("practice.asks", lang),
            "holding_reply": t("practice.holding", lang),
        }
    return "leave", {"reason": t("practice.no_answer_needed", lang)}


def _content(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
    return str(content)


def _words(text: str, *words: str) -> bool:
    return bool(re.search("|".join(rf"\b(?:{word})" for word in words), text, re.IGNORECASE))


def _wanted(text: str) -> list[str]:
    """The tools that plain words ask for, the most exact first."""
    if _words(text, "ronda", "round", "rodada"):
        if _words(text, "[uú]ltima", "last", "pas[oó]", "happened", "latest"):
            return ["whatsapp_last_round", "rounds_recent"]
        return ["whatsapp_round"]
    if _words(text, "captura", "screenshot", "pantalla", "screen"):
        return ["phone_screenshot"]
    if _words(text, "sin leer", "unread", "no le[ií]dos", "n[aã]o lidas"):
        return ["whatsapp_unread"]
    if _words(text, "tel[eé]fono", "phone", "celular", "m[oó]vil"):
        return ["phone_state"]
    return []


def _path(text: str) -> str | None:
    found = re.search(r"(?<![\w:/])(?:~|[A-Za-z]:)?[/\\][^\s\"'<>|]+\.\w{2,5}\b", text)
    return found.group(0) if found else None


def _wants_file(text: str) -> bool:
    return _words(
        text,
        "m[aá]nda",
        "env[ií]a",
        "p[aá]sa",
        "mu[eé]stra",
        "send",
        "show",
        "give",
        "quiero ver",
        "manda",
        "envia",
    )


def chat(
    asked: str, results: Sequence[tuple[str, str]], offered: frozenset[str]
) -> tuple[str, dict[str, Any]] | str:
    """The next call for the owner's words, or the text that ends the turn. `results` are the calls made so far."""
    lang = language(asked)
    lang = "en" if lang == "pt" else lang
    done = {name for name, _ in results}
    if results:
        name, result = results[-1]
        path = _path(result)
        if name != "send_file" and path and _wants_file(asked) and "send_file" in offered - done:
            return "send_file", {"path": path}
        return t("practice.result", lang, tool=name, result=result)
    wanted = _wanted(asked)
    for name in wanted:
        if name in offered:
            return name, {}
    path = _path(asked)
    if path and _wants_file(asked) and "send_file" in offered:
        return "send_file", {"path": path}
    if wanted:
        return t("practice.not_here", lang)
    if _words(
        asked,
        "qui[eé]n eres",
        "qui[eé]n sos",
        "who are you",
        "what are you",
        "qu[eé] (eres|sos)",
        "c[oó]mo te llamas",
    ):
        return t("practice.who", lang)
    if GREETING.match(asked):
        return t("practice.hello", lang)
    if THANKS.match(asked):
        return t("practice.thanks", lang)
    return t("practice.help", lang)


def complete(request: Request, say: Callable[[str], None] | None = None) -> Reply:
    """What a model would have answered, from rules alone."""
    offered = frozenset(one["function"]["name"] for one in request.tools)
    users = [at for at, one in enumerate(request.messages) if one["role"] == "user"]
    since = request.messages[users[-1] :] if users else []
    asked = _content(since[0]) if since else ""
    if offered and offered <= DECISIONS:
        name, args = decide(
            fresh(asked),
            broadcast=bool(re.search(r'^ ?"kind": "(broadcast|community)"', asked, re.MULTILINE)),
        )
        name = name if name in offered else "leave" if "leave" in offered else next(iter(sorted(offered)))
        return Reply(
            calls=[ToolCall("practice", name, json.dumps(args, ensure_ascii=False))], finish="tool_calls"
        )
    names = {
        call["id"]: call["function"]["name"] for one in since for call in one.get("tool_calls") or () if call
    }
    results = [
        (names.get(one.get("tool_call_id"), ""), _content(one)) for one in since if one["role"] == "tool"
    ]
    step = chat(asked, results, offered)
    if isinstance(step, str):
        if request.stream and say:
            say(step)
        return Reply(step)
    name, args = step
    return Reply(calls=[ToolCall(f"practice{len(results) + 1}", name, json.dumps(args))], finish="tool_calls")
