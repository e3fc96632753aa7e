"""Files that come with the owner's messages: fetched as soon as they are known, kept under names of ours."""

import asyncio
from typing import TYPE_CHECKING

from core import filetypes
from core.channels.telegram_update import InboundFile
from core.channels.telegram_wire import BotError, Line
from core.runs.turn import Attachment
from core.store import new_id, now
from core.texts import t

if TYPE_CHECKING:
    from core.app import App

MB = 1024 * 1024
DOWNLOAD_BYTES = 20 * MB
ENDINGS = {
    "photo": "jpg",
    "voice": "ogg",
    "audio": "mp3",
    "video": "mp4",
    "video_note": "mp4",
    "animation": "mp4",
}


class Downloads:
    """The downloads of one chat. One that was begun goes on when its question joins another."""

    def __init__(self, app: "App", line: Line) -> None:
        self._app, self._line = app, line
        self._tasks: dict[str, asyncio.Task[Attachment | str]] = {}

    def begin(self, file: InboundFile) -> None:
        """Fetch a file beside everything else."""
        if file.id not in self._tasks:
            self._tasks[file.id] = asyncio.create_task(self._fetch(file), name=f"file {file.id[:20]}")

    async def ended(
        self, files: list[InboundFile], timeout_s: float | None
    ) -> tuple[list[Attachment], list[tuple[InboundFile, str]]]:
        """What came, in order, and what did not come in time or at all, with the reason."""
        for file in files:
            self.begin(file)
        tasks = [self._tasks[file.id] for file in files]
        if tasks:
            await asyncio.wait(tasks, timeout=timeout_s)
        came: list[Attachment] = []
        lost: list[tuple[InboundFile, str]] = []
        for file, task in zip(files, tasks, strict=True):
            if not task.done():
                self.forget([file])
                lost.append((file, t("telegram.incoming_slow", self._app.identity.language, name=file.name)))
                continue
            if task.exception():
                self.forget([file])  # a bug: the next try fetches it again
            result = task.result()
            if isinstance(result, str):
                lost.append((file, result))
            else:
                came.append(result)
        return came, lost

    def forget(self, files: list[InboundFile]) -> None:
        """They were told of: nobody asks for them again."""
        for file in files:
            if task := self._tasks.pop(file.id, None):
                task.cancel()

    async def leave(self) -> None:
        """End whatever is still on its way."""
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _fetch(self, file: InboundFile) -> Attachment | str:
        """The file under a name of ours, or why it stays where it is. What the sender calls it is only remembered."""
        lang = self._app.identity.language
        if file.size is not None and file.size > DOWNLOAD_BYTES:
            size = f"{file.size / MB:.1f}"
            return t("telegram.incoming_too_big", lang, name=file.name, size=size)
        try:
            data = await self._line.fetch(file.id, DOWNLOAD_BYTES)
        except BotError as error:
            return t("telegram.incoming_failed", lang, name=file.name, why=error.description)
        claimed = filetypes.extension(file.name)
        ending = claimed if claimed in filetypes.TYPES else ENDINGS.get(file.kind, "bin")
        type = filetypes.TYPES.get(ending)
        id = new_id("med")
        path = self._app.home.media_in / f"{id}.{ending}"
        await asyncio.to_thread(path.write_bytes, data)
        kind, mime = (type.kind, type.mime) if type else ("document", "application/octet-stream")
        await self._app.store.run(
            "insert into media (id, path, name, kind, mime, size, sha256, direction, created_at)"
            " values (?, ?, ?, ?, ?, ?, ?, 'in', ?)",
            *(id, str(path), file.name, kind, mime, len(data), filetypes.digest(data), now()),
        )
        return Attachment(id, path, file.name, kind, mime, len(data))
