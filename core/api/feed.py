"""The last events, kept for whoever reconnects, and the streams that follow them."""

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator

from core.events import Bus, Event

KEPT = 1000
BEHIND = 2000
KEEPALIVE_S = 15.0


class Feed:
    """Every event of the bus with an id; a stream that falls too far behind ends and may resume."""

    def __init__(self, bus: Bus) -> None:
        # Ids of an earlier start are told apart from ours, so that nobody resumes into other events.
        self._boot = f"{time.time_ns() // 1_000_000:x}"
        self._count = 0
        self._kept: deque[tuple[int, str]] = deque(maxlen=KEPT)
        self._queues: set[asyncio.Queue[tuple[int, str] | None]] = set()
        self._closed = False
        self._leave = bus.subscribe(Event, self._take)

    def _take(self, event: Event) -> None:
        self._count += 1
        data = json.dumps(event.wire(), ensure_ascii=False, default=str)
        frame = f"id: {self._boot}-{self._count}\nevent: {event.wire_name()}\ndata: {data}\n\n"
        self._kept.append((self._count, frame))
        for queue in tuple(self._queues):
            if queue.qsize() >= BEHIND:
                self._queues.discard(queue)
                queue.put_nowait(None)
            else:
                queue.put_nowait((self._count, frame))

    def close(self) -> None:
        """End every stream and take no more."""
        self._leave()
        self._closed = True
        for queue in self._queues:
            queue.put_nowait(None)

    def _since(self, last_id: str) -> list[tuple[int, str]]:
        boot, _, number = last_id.partition("-")
        if boot != self._boot or not (number.isascii() and number.isdigit()):
            return []
        return [one for one in self._kept if one[0] > int(number)]

    async def follow(self, last_id: str, gone: asyncio.Event) -> AsyncIterator[str]:
        """Frames after `last_id` and then as they come, until the app closes or `gone` is set."""
        queue: asyncio.Queue[tuple[int, str] | None] = asyncio.Queue()
        for one in self._since(last_id):
            queue.put_nowait(one)
        self._queues.add(queue)
        if self._closed:
            queue.put_nowait(None)
        leaving = asyncio.ensure_future(gone.wait())
        leaving.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            yield ": ready\n\n"
            while True:
                try:
                    async with asyncio.timeout(KEEPALIVE_S):
                        one_frame = await queue.get()
                except TimeoutError:
                    yield ": still here\n\n"
                    continue
                if one_frame is None or gone.is_set():
                    return
                yield one_frame[1]
        finally:
            self._queues.discard(queue)
            leaving.cancel()
