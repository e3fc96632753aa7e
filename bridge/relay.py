"""When the phone cannot be looked at: the notifications if adb still answers, else the alert as it came.

Never a guess and never silence, and not the same news over and over: within the window one state of the phone is
told once, and what comes meanwhile waits for the end of the window, when the phone is tried again.
"""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from bridge import journal, notifications, report
from bridge.alerts import hear
from bridge.handset import Handset
from bridge.journal import Round
from bridge.notifications import Notice
from core.errors import ApxError
from core.events import AlertRelayed
from core.message import Message

if TYPE_CHECKING:
    from bridge.rounds import Rounds

WINDOW_S = 300.0
DUMP_S = 15.0
SILENT_ADB = {
    "no_adb",
    "absent",
    "unauthorized",
    "offline",
    "no_permissions",
    "other_phone",
    "not_configured",
}


async def relay(rounds: "Rounds", round: Round) -> None:
    """Tell the owner what can be told without the screen, and close the round as relayed."""
    app = rounds.app
    lang = app.identity.language
    state = round.phone_state
    round.why = state
    said = [] if state in SILENT_ADB else await notices(rounds.handset)
    heard = [hear(body) for body in await journal.alerts_of(app.store, round.id)]
    if said:
        round.source = "notifications"
        text = report.from_notifications(said, state, lang)
    elif state:
        round.source = "alert"
        text = report.relayed(heard, state, lang)
    else:
        text = ""  # only the notifications were asked for, and there are none
    round.state = "relayed"
    if text:
        round.report_id = await app.outbox.post(
            Message(
                channel="telegram",
                text=text,
                markup=False,
                key=f"report:{round.id}",
                origin={"round_id": round.id},
            )
        )
        app.bus.emit(AlertRelayed(state=state, text=text, project_id=round.project_id))
    await rounds.close(round, alerts="relayed")


async def notices(handset: Handset) -> list[Notice]:
    """What the notifications of the pinned app and user say; nothing when the phone does not answer that either."""
    target = handset.target
    try:
        adb = await handset.adb()
        dump = await adb.shell(target.serial, "dumpsys notification --noredact", timeout_s=DUMP_S)
        listed = await adb.shell(target.serial, f"cmd package list packages -U {target.package}")
    except ApxError:
        return []
    # The uid is what a message that imitates a record cannot know.
    uid = re.search(rf"^package:{re.escape(target.package)} uid:(\d+)", listed.stdout, re.MULTILINE)
    number = int(uid[1]) + target.user * 100_000 if uid and int(uid[1]) < 100_000 else None
    found = notifications.notices(dump.stdout, target.package, user=target.user, uid=number)
    return [one for one in found if one.messages or one.text]


async def resting_s(rounds: "Rounds") -> float:
    """Seconds until alerts may be tried again: zero, or the rest of the window after the last relay."""
    row = await rounds.app.store.one(
        "select phone_state, closed_at from rounds where state != 'running' order by closed_at desc limit 1"
    )
    if row is None or row["phone_state"] in ("", "ready") or row["closed_at"] is None:
        return 0.0
    until = datetime.fromisoformat(row["closed_at"]) + timedelta(seconds=WINDOW_S)
    left = (until - datetime.now(UTC)).total_seconds()
    if left <= 0:
        return 0.0
    # Another state is other news: a look at the phone costs little and decides.
    state, _, _ = await asyncio.shield(rounds.handset.look())
    return left if state == row["phone_state"] else 0.0
