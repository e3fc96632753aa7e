"""What happens with the phone and its rounds, told in a line for people."""

from collections.abc import Mapping
from typing import Any

from bridge.report import why_not
from core.texts import t


def narrated(name: str, data: Mapping[str, Any], lang: str) -> str | None:
    """An event by its name on the wire; None for those that are not of the phone."""
    if name == "phone_state":
        line = f"{t('watch.phone_state', lang)} {why_not(data['state'], lang)}"
        return f"{line} ({data['serial']})" if data.get("serial") else line
    if name == "conversation_read":
        which = "one" if data["messages"] == 1 else "many"
        return f"{data['title']}: {t(f'report.messages.{which}', lang, n=data['messages'])}"
    if name == "conversation_decided":
        done = t(f"watch.decided.{data['decision'] or 'none'}", lang)
        how = t(f"watch.outcome.{data['outcome']}", lang) if data["outcome"] else ""
        return f"{data['title']}: {done}" + (f", {how}" if how else "")
    if name == "alert_relayed":
        return t("watch.alert_relayed", lang, why=why_not(data["state"], lang))
    if name == "round_closed":
        return t("watch.round_closed", lang, n=data["conversations"])
    if name in ("alert_received", "round_started", "question_asked", "question_answered"):
        return t(f"watch.{name}", lang)
    return None
