"""Moments as people say them, in their language and their timezone."""

from datetime import date, datetime

from PySide6.QtCore import QDate, QLocale

from desktop.words import Words


def clock(moment: datetime) -> str:
    """The time of day, here."""
    return f"{moment.astimezone():%H:%M}"


def day(moment: datetime, words: Words, today: date) -> str:
    """Today, yesterday, or the date."""
    here = moment.astimezone().date()
    back = (today - here).days
    if back == 0:
        return words("when.today")
    if back == 1:
        return words("when.yesterday")
    shown = "d MMM" if here.year == today.year else "d MMM yyyy"
    return QLocale(words.lang.replace("-", "_")).toString(QDate(here.year, here.month, here.day), shown)


def span(seconds: int) -> str:
    """How long it took."""
    return f"{seconds} s" if seconds < 90 else f"{seconds // 60} min {seconds % 60:02d} s"
