"""What the doctor says of the phone: whether it can be had, and whether a round would find it open."""

from bridge.handset import Handset
from bridge.watcher import Watcher
from core.api.doctor import Check, Level
from core.app import App
from core.texts import t

MENDED = frozenset(
    {
        "no_adb",
        "absent",
        "unauthorized",
        "offline",
        "no_permissions",
        "not_configured",
        "whatsapp_missing",
    }
)


async def phone_checks(app: App) -> list[Check]:
    """One look at the chosen phone; nothing on it is touched."""
    lang = app.identity.language
    state, condition, _ = await app.services[Handset].look()
    said = t(f"phone.{state}", lang)
    text = f"{said[0].upper()}{said[1:]}."
    if state != "ready":
        level = Level.WARN if state == "not_configured" else Level.FAIL
        return [Check("phone", level, text, t(f"doctor.phone.{state if state in MENDED else 'else'}", lang))]
    if condition is not None and condition.keyguard == "secure":
        return [
            Check("phone", Level.WARN, t("doctor.phone.locked", lang), t("doctor.phone.locked.mend", lang))
        ]
    return [Check("phone", Level.OK, text), *_watch(app, lang)]


def _watch(app: App, lang: str) -> list[Check]:
    watcher = app.services.get(Watcher)
    if not isinstance(watcher, Watcher) or watcher.state == "off":
        return []
    if watcher.state == "online":
        return [Check("phone_watch", Level.OK, t("doctor.watch.online", lang))]
    text = t("doctor.watch.offline", lang, why=watcher.why)
    return [Check("phone_watch", Level.FAIL, text, t("doctor.watch.mend", lang))]
