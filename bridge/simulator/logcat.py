"""`logcat -b events`: the ring as it is, and then as it grows."""

import asyncio
import re
from datetime import datetime

from bridge.simulator.phone import SimPhone
from bridge.simulator.shell import Io

Event = tuple[datetime, str, str]


async def logcat(phone: SimPhone, args: list[str], io: Io) -> int:
    """Only the events buffer has anything in it; without `-d` or `-t` it never ends."""
    buffers, form, tail, stop, tags, pattern = ["main"], "threadtime", None, False, set[str](), ""
    words = iter(args[1:])
    for word in words:
        if word in ("-b", "--buffer"):
            buffers = next(words, "").split(",")
        elif word == "-v":
            form = next(words, "").split(",")[0] if form != "epoch" else (next(words, "") and form)
        elif word in ("-T", "-t"):
            tail, stop = next(words, ""), stop or word == "-t"
        elif word in ("-d", "--dump"):
            stop = True
        elif word in ("-c", "--clear"):
            phone.events.clear()
            return 0
        elif word in ("-e", "--regex"):
            pattern = next(words, "")
        elif not word.startswith("-") and ":" in word and word.partition(":")[2].upper() != "S":
            tags.add(word.partition(":")[0])
    if not {"events", "all"} & set(buffers):
        await io.say("--------- beginning of main\n")
        if not stop:
            await asyncio.get_running_loop().create_future()
        return 0

    def wanted(event: Event) -> bool:
        return (not tags or event[1] in tags or "*" in tags) and (
            not pattern or bool(re.search(pattern, event[2]))
        )

    queue: asyncio.Queue[Event] = asyncio.Queue()
    backlog = list(phone.events)
    phone.event_listeners.add(queue.put_nowait)
    try:
        if tail is not None and tail.isdigit():
            backlog = backlog[len(backlog) - min(int(tail), len(backlog)) :]
        elif tail:
            backlog = [event for event in backlog if _after(event[0], tail)]
        await io.say("--------- beginning of events\n")
        for event in backlog:
            if wanted(event):
                await io.say(_line(event, form))
        while not stop:
            event = await queue.get()
            if wanted(event):
                await io.say(_line(event, form))
    finally:
        phone.event_listeners.discard(queue.put_nowait)
    return 0


def _after(at: datetime, since: str) -> bool:
    if re.fullmatch(r"\d+\.\d+", since):
        return at.timestamp() > float(since)
    return f"{at:%m-%d %H:%M:%S.%f}"[:-3] > since


def _line(event: Event, form: str) -> str:
    at, tag, fields = event
    ms = f"{at.microsecond // 1000:03}"
    if form == "epoch":
        return f"{int(at.timestamp()):>16}.{ms}  1508  1508 I {tag}: {fields}\n"
    if form == "brief":
        return f"I/{tag}( 1508): {fields}\n"
    if form == "raw":
        return fields + "\n"
    if form == "time":
        return f"{at:%m-%d %H:%M:%S}.{ms} I/{tag}( 1508): {fields}\n"
    return f"{at:%m-%d %H:%M:%S}.{ms}  1508  1508 I {tag}: {fields}\n"
