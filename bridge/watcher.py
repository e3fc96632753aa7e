"""adb itself notices that WhatsApp rang: the event log wakes, one look at the notifications says what came.

Nothing is installed on the phone for it. What comes becomes an alert like any other, kept before anything else happens.
A message alerts once: its mark is the alert's key, so an app that posts twice, a restart, or a cable that was out for
a while make no second one; and what was posted meanwhile is seen when the phone is back.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress

from bridge.adb import Adb
from bridge.event_log import EventLines
from bridge.handset import Handset
from bridge.presence import present
from bridge.shade import marks, shade
from core import alerts
from core.app import App
from core.errors import ApxError, PhoneUnreachable
from core.events import ChannelState, ConfigChanged

log = logging.getLogger(__name__)

CHANNEL = "phone_watch"
COMMAND = "logcat -b events -v epoch -T 1 notification_enqueue:I '*:S'"
QUIET_S = 0.7  # an app posts a message and updates it at once
BURST_S = 3.0
IDLE_S = 300.0  # a log that is silent for so long may have gone without a word
AGAIN_S = (1.0, 2.0, 5.0, 15.0)
IGNORED = 2  # the status of an event that showed nothing
MOST = 50  # alerts of one look


class Watcher:
    """Listens while `whatsapp.watch` is on and a phone is pinned. `state`: off, offline (`why` says more) or online."""

    def __init__(self, app: App, handset: Handset) -> None:
        self._app, self._handset = app, handset
        self._changed = asyncio.Event()
        self._heard = ""  # the last event of a chat, until a look
        self.state, self.why = "off", ""

    @classmethod
    @asynccontextmanager
    async def open(cls, app: App, handset: Handset) -> AsyncIterator["Watcher"]:
        watcher = cls(app, handset)
        leave = app.bus.subscribe(ConfigChanged, watcher._told)
        worker = asyncio.create_task(watcher._work(), name="phone watch")
        try:
            yield watcher
        finally:
            leave()
            worker.cancel()
            with suppress(asyncio.CancelledError):
                await worker

    def _told(self, event: ConfigChanged) -> None:
        if any(key.startswith(("phone", "whatsapp")) for key in event.keys):
            self._changed.set()

    def _be(self, state: str, why: str = "") -> None:
        if (self.state, self.why) != (state, why):
            self.state, self.why = state, why
            self._app.bus.emit(ChannelState(channel=CHANNEL, state=state, detail=why))

    @property
    def _wanted(self) -> bool:
        now = self._app.config.now
        return now.whatsapp.enabled and now.whatsapp.watch and bool(now.phone.serial)

    async def _work(self) -> None:
        tries = 0
        while True:
            self._changed.clear()
            if not self._wanted:
                tries = 0
                self._be("off")
                await self._changed.wait()
                continue
            error = await self._until_changed()
            if error is None:
                continue
            tries = 0 if self.state == "online" else tries + 1
            why = error.state if isinstance(error, PhoneUnreachable) else str(error)
            self._be("offline", why)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), AGAIN_S[min(tries, len(AGAIN_S) - 1)])

    async def _until_changed(self) -> Exception | None:
        """Listen until that fails, or until the configuration is another one (None)."""
        listening = asyncio.create_task(self._listen())
        changed = asyncio.create_task(self._changed.wait())
        try:
            await asyncio.wait({listening, changed}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (listening, changed):
                task.cancel()
            await asyncio.wait({listening, changed})
        if listening.cancelled():
            return None
        error = listening.exception()
        if error is not None and not isinstance(error, ApxError):
            log.error("The watch over the phone failed", exc_info=error)
        return error if isinstance(error, Exception) else ApxError("The event log ended.")

    async def _listen(self) -> None:
        """The event log before the first look, so that nothing falls between the two."""
        adb = await self._handset.adb()
        await present(adb, self._handset.target.serial)
        rang, self._heard = asyncio.Event(), ""
        reading = asyncio.create_task(self._read(adb, rang))
        try:
            await self.look()
            self._be("online")
            while not reading.done():
                waiting = asyncio.create_task(rang.wait())
                await asyncio.wait({waiting, reading}, timeout=IDLE_S, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                await self._settled(rang)
                await self.look()
            await reading
        finally:
            reading.cancel()
            with suppress(asyncio.CancelledError, ApxError):
                await reading

    async def _read(self, adb: Adb, rang: asyncio.Event) -> None:
        target, reader = self._handset.target, EventLines()
        async with aclosing(adb.lines(target.serial, COMMAND)) as lines:
            async for line in lines:
                event = reader.feed(line)
                if event is None or (event.package, event.user) != (target.package, target.user):
                    continue
                if not event.ongoing and event.status != IGNORED:
                    rang.set()
                    if event.of_a_chat:
                        self._heard = f"{event.tag}:{event.at}"

    async def _settled(self, rang: asyncio.Event) -> None:
        """Until a burst is over, or long enough."""
        last = asyncio.get_running_loop().time() + BURST_S
        while rang.is_set() and asyncio.get_running_loop().time() < last:
            rang.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(rang.wait(), QUIET_S)
        rang.clear()

    async def look(self) -> None:
        """Keep an alert for each chat with something that none was kept for."""
        hanging = (await shade(self._handset))[:MOST]
        for notice in hanging:
            last = notice.messages[-1] if notice.messages else None
            await self._keep(marks(notice)[-1], title=notice.chat, text=last.text if last else notice.text)
        if self._heard and not hanging:  # the phone hides it, or it was gone again at once
            await self._keep(f"event:{self._heard}")
        self._heard = ""

    async def _keep(self, key: str, **body: str) -> None:
        await alerts.accept(
            self._app.store,
            self._app.bus,
            project_id="default",
            body=json.dumps(body, ensure_ascii=False).encode() if body else b"",
            content_type="application/json",
            idempotency_key=f"watch:{key}",
            source="watch",
        )
