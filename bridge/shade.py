"""The notifications that hang on the phone now, and what tells one from another that was seen before."""

import hashlib
import re

from bridge import notifications
from bridge.handset import Handset
from bridge.notifications import Notice

DUMP_S = 15.0


async def shade(handset: Handset) -> list[Notice]:
    """The conversations of the pinned app and user that raised something; an `ApxError` when the phone does not say."""
    target = handset.target
    adb = await handset.adb()
    dump = await adb.shell(target.serial, "dumpsys notification --noredact", timeout_s=DUMP_S)
    listed = await adb.shell(target.serial, f"cmd package list packages -U {target.package}")
    # The uid is what a message that imitates a record cannot know.
    uid = re.search(rf"^package:{re.escape(target.package)} uid:(\d+)", listed.stdout, re.MULTILINE)
    number = int(uid[1]) + target.user * 100_000 if uid and int(uid[1]) < 100_000 else None
    found = notifications.notices(dump.stdout, target.package, user=target.user, uid=number)
    return [one for one in found if one.messages or one.text]


def marks(notice: Notice) -> list[str]:
    """What tells this notice from one that was seen: its chat, its messages and their times, in their order."""
    lines = [f"{one.sender}\x1f{one.text}\x1f{one.time_ms}" for one in notice.messages] or [notice.text]
    return [
        hashlib.sha256(f"{notice.key}\x1f{notice.chat}\x1f{line}".encode()).hexdigest()[:16] for line in lines
    ]
