"""Quiet hours: while they last nothing is typed into a chat, and what would be answered becomes a question."""

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from core.app import App


def within(span: str, moment: time) -> bool:
    """Whether a time of day lies in HH:MM-HH:MM, which may go over midnight; its end is not in it any more."""
    if not span:
        return False
    begins, ends = (time.fromisoformat(one) for one in span.split("-"))
    now = moment.replace(second=0, microsecond=0, tzinfo=None)
    if begins <= ends:
        return begins <= now < ends
    return now >= begins or now < ends


def local(moment: datetime, *zones: str) -> datetime:
    """A moment where the owner lives: in the first zone that is known, else in the machine's."""
    for name in zones:
        if name:
            try:
                return moment.astimezone(ZoneInfo(name))
            except (ZoneInfoNotFoundError, ValueError):
                continue
    return moment.astimezone()


def quiet(app: App, moment: datetime | None = None) -> bool:
    """Whether the owner's quiet hours are on."""
    at = local(moment or datetime.now(UTC), app.identity.now.timezone, app.config.now.user.timezone)
    return within(app.config.now.whatsapp.quiet_hours, at.time())
