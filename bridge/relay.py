"""When the phone cannot be looked at: the notifications if adb still answers, else the alert as it came.

Never a guess and never silence, and not the same news over and over: within the window one state of the phone is
told once, and what comes meanwhile waits for the end of the window, when the phone is tried again.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from bridge import journal, report
from bridge.alerts import hear
from bridge.handset import Handset, in_use
from bridge.journal import Round
from bridge.notifications import Notice
from bridge.shade import marks, shade
from core.errors import ApxError
from core.events import AlertRelayed
from core.message import Message
from core.store import Store

if TYPE_CHECKING:
    from bridge.rounds import Rounds

WINDOW_S = 300.0
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
    news = await _untold(app.store, round, said)
    if said and not news and not any(one.what for one in heard):
        text = ""  # these very notifications were told already, and the alert adds nothing
    elif news:
        said = news
        round.source = "notifications"
        text = report.from_notifications(said, state, lang)
    elif state:
        round.source = "alert"
        text = report.relayed(heard, state, lang)
    else:
        text = ""  # only the notifications were asked for, and there are none
    round.state = "relayed"
    if text and round.in_background is False:
        text = f"{text}\n\n{report.background(False, lang)}"
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


async def _untold(store: Store, round: Round, said: list[Notice]) -> list[Notice]:
    """The notices with something that no relay of the last day has told; what is told now is written down."""
    rows = await store.all(
        "select detail from round_steps where name = 'notices_told' and at > ?",
        (datetime.now(UTC) - timedelta(days=1)).isoformat(timespec="milliseconds"),
    )
    told = {mark for row in rows for mark in json.loads(row["detail"])["marks"]}
    news = [one for one in said if not set(marks(one)) <= told]
    if news:
        fresh = sorted({mark for one in news for mark in marks(one)})
        await journal.step(store, round.id, "notices_told", marks=fresh)
    return news


async def notices(handset: Handset) -> list[Notice]:
    """What hangs on the phone; nothing when it does not answer that either."""
    try:
        return await shade(handset)
    except ApxError:
        return []


async def resting_s(rounds: "Rounds") -> float:
    """Seconds until alerts may be tried again: zero, or the rest of the window after the last relay."""
    row = await rounds.app.store.one(
        "select state, phone_state, closed_at from rounds where state != 'running' order by closed_at desc limit 1"
    )
    if row is None or row["state"] != "relayed" or not row["phone_state"] or row["closed_at"] is None:
        return 0.0
    until = datetime.fromisoformat(row["closed_at"]) + timedelta(seconds=WINDOW_S)
    left_s = (until - datetime.now(UTC)).total_seconds()
    if left_s <= 0 or not await _still(rounds.handset, row["phone_state"]):
        return 0.0
    return left_s


async def _still(handset: Handset, told: str) -> bool:
    """Whether the phone is as it was told to be. A look costs little; what a look cannot see may have passed."""
    state, condition, _ = await handset.look()
    if state != "ready" or condition is None:
        return state == told
    if told == "locked":
        return condition.keyguard == "secure"
    return told == "busy" and in_use(condition)
