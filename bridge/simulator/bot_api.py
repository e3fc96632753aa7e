"""A Telegram Bot API on loopback, for the demo and for tests: it remembers, counts like the real one, and can fail.

async with bot_api(token="123:abc") as api:
    ...                                     # telegram.api_base = api.base_url
    await api.say(7, 7, "hola")
    await api.until(lambda: api.sent)
"""

import asyncio
import itertools
import json
import re
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from bridge.simulator.bot_chats import MB, Chats, Press, Sent
from bridge.simulator.bot_faults import Fault, Rejected, conflict
from bridge.simulator.bot_text import units
from bridge.simulator.bot_wire import Drop, Request, Response, Server

__all__ = ["BotApi", "Call", "Press", "Sent", "bot_api"]


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it came, whether or not it worked."""

    method: str
    params: dict[str, str]
    files: dict[str, tuple[str, bytes]]


class BotApi(Chats):
    """One bot. What was asked is in `calls`, what arrived in `sent`, what is left to fail in `faults`."""

    def __init__(self, token: str, *, username: str = "apx_demo_bot") -> None:
        super().__init__(int(token.partition(":")[0]))
        self.token, self.username = token, username
        self.calls: list[Call] = []
        self.answers: dict[str, str] = {}  # callback query id → toast
        self.faults: defaultdict[str, deque[Fault]] = defaultdict(deque)
        self.missing: set[str] = set()  # methods that this server does not know
        self.commands: list[dict[str, str]] = []
        self.webhook = ""  # where updates go instead of to whoever polls
        self.files: dict[str, bytes] = {}
        self.updates: list[dict[str, Any]] = []
        self._update_ids = itertools.count(1000)
        self._polls = 0
        self._changed = asyncio.Condition()
        self._server = Server(self._answer)

    @property
    def base_url(self) -> str:
        """What `telegram.api_base` is set to."""
        return f"http://127.0.0.1:{self._server.port}"

    async def start(self, port: int = 0) -> None:
        """Listen."""
        await self._server.start(port)

    async def stop(self) -> None:
        """Hang up on everybody; what was said and sent stays."""
        await self._server.stop()

    def script(self, method: str, *faults: Fault) -> None:
        """The next requests of this method fail like this, one fault each."""
        self.faults[method].extend(faults)

    async def until(self, holds: Callable[[], object], timeout_s: float = 30) -> None:
        """Wait until something is true of what happened here."""
        async with asyncio.timeout(timeout_s), self._changed:
            await self._changed.wait_for(lambda: bool(holds()))

    async def update(self, **body: Any) -> int:
        """Let an update of any shape wait for the bot; its id."""
        id = next(self._update_ids)
        self.updates.append({"update_id": id, **body})
        async with self._changed:
            self._changed.notify_all()
        return id

    async def say(
        self,
        user_id: int,
        chat_id: int,
        text: str = "",
        *,
        name: str = "Ana",
        kind: str = "message",
        chat_type: str = "private",
        message_id: int | None = None,
        photo: bytes | None = None,
        document: tuple[str, bytes] | None = None,
        file_size: int | None = None,
        **more: Any,
    ) -> int:
        """A person writes to the bot; the id of the message. `more` are fields of the message itself."""
        id = message_id or next(self._ids)
        message: dict[str, Any] = {
            "message_id": id,
            "date": int(time.time()),
            "chat": {
                "id": chat_id,
                "type": chat_type,
                "first_name" if chat_type == "private" else "title": name,
            },
            "from": {"id": user_id, "is_bot": False, "first_name": name},
        }
        if kind.startswith("edited"):
            message["edit_date"] = int(time.time())
        if text:
            message["caption" if photo or document else "text"] = text
            if text.startswith("/"):
                command = {"type": "bot_command", "offset": 0, "length": units(text.split()[0])}
                message["caption_entities" if photo or document else "entities"] = [command]
        if photo is not None:
            message["photo"] = [self._stored("photos/a.jpg", photo, file_size) | {"width": 90, "height": 90}]
        if document is not None:
            file = self._stored("documents/b", document[1], file_size)
            message["document"] = file | {"file_name": document[0]}
        await self.update(**{kind: message | more})
        return id

    async def press(self, button: Press, user_id: int | None = None, timeout_s: float = 30) -> str:
        """Press a button and return the toast that came back."""
        id = str(next(self._ids))
        message = {
            "message_id": button.message_id,
            "date": int(time.time()),
            "chat": {"id": button.chat_id, "type": "private", "first_name": "Ana"},
            "reply_markup": next(
                (one.reply_markup for one in self.sent if one.message_id == button.message_id), {}
            ),
        }
        who = {"id": button.chat_id if user_id is None else user_id, "is_bot": False, "first_name": "Ana"}
        await self.update(
            callback_query={
                "id": id,
                "from": who,
                "message": message,
                "chat_instance": "1",
                "data": button.data,
            }
        )
        await self.until(lambda: id in self.answers, timeout_s)
        return self.answers[id]

    async def react(
        self, user_id: int, chat_id: int, message_id: int, emoji: str, *, before: str = ""
    ) -> int:
        """Somebody puts an emoji under a message, or takes it back."""
        kinds = [[{"type": "emoji", "emoji": one}] if one else [] for one in (before, emoji)]
        return await self.update(
            message_reaction={
                "chat": {"id": chat_id, "type": "private" if chat_id > 0 else "group"},
                "message_id": message_id,
                "user": {"id": user_id, "is_bot": False, "first_name": "Ana"},
                "date": int(time.time()),
                "old_reaction": kinds[0],
                "new_reaction": kinds[1],
            }
        )

    def _stored(self, path: str, data: bytes, size: int | None) -> dict[str, Any]:
        id = f"file{next(self._ids)}"
        self.files[id] = data
        return {"file_id": id, "file_unique_id": f"u{id}", "file_size": len(data) if size is None else size}

    # -- the server's side ------------------------------------------------------------------------------

    async def _answer(self, request: Request) -> Response:
        prefix, _, rest = request.path.lstrip("/").partition("/")
        if prefix == "file":
            data = self.files.get(rest.rpartition("/")[2])
            known = rest.startswith(f"bot{self.token}/") and data is not None
            return Response(200, data) if known else Response(404, {"ok": False, "error_code": 404})
        method = rest
        self.calls.append(Call(method, request.params, request.files))
        try:
            return await self._fails(method, prefix, request)
        except Rejected as error:
            body = {"ok": False, "error_code": error.status, "description": error.description}
            return Response(
                error.status, body | ({"parameters": error.parameters} if error.parameters else {})
            )
        finally:
            async with self._changed:
                self._changed.notify_all()

    async def _fails(self, method: str, prefix: str, request: Request) -> Response:
        fault = self.faults[method].popleft() if self.faults[method] else None
        if fault and fault.hang:
            async with self._changed:
                self._changed.notify_all()
            await asyncio.Event().wait()
        if fault and fault.status and not fault.after:
            raise Rejected(fault.status, fault.description, **fault.parameters)
        if prefix != f"bot{self.token}":
            raise Rejected(401, "Unauthorized")
        work = getattr(self, f"_{method}", None) if method.isalpha() and method not in self.missing else None
        if work is None:
            raise Rejected(404, "Not Found")
        result = await work(request)
        if fault and fault.drop:
            raise Drop
        if fault and fault.body is not None:
            return Response(fault.status, fault.body)
        return Response(200, {"ok": True, "result": result})

    async def _getMe(self, _: Request) -> Any:
        return {"id": self.bot_id, "is_bot": True, "first_name": "APX", "username": self.username}

    async def _getUpdates(self, request: Request) -> Any:
        if self.webhook:
            raise Rejected(409, "Conflict: can't use getUpdates method while webhook is active")
        offset, timeout_s = int(request.params.get("offset", 0)), float(request.params.get("timeout", 0))
        self.updates = [one for one in self.updates if one["update_id"] >= offset]
        self._polls += 1
        mine = self._polls
        async with self._changed:
            self._changed.notify_all()  # ends an older poll
            try:
                async with asyncio.timeout(timeout_s):
                    await self._changed.wait_for(lambda: self.updates or self._polls != mine)
            except TimeoutError:
                return []
        if self._polls != mine:
            raise Rejected(409, conflict().description)
        limit = int(request.params.get("limit", 100))
        return self.updates[:limit]

    async def _sendChatAction(self, _: Request) -> Any:
        return True

    async def _answerCallbackQuery(self, request: Request) -> Any:
        text = request.params.get("text", "")
        if units(text) > 200:
            raise Rejected(400, "Bad Request: MESSAGE_TOO_LONG")
        self.answers[request.params["callback_query_id"]] = text
        return True

    async def _getFile(self, request: Request) -> Any:
        id = request.params["file_id"]
        if id not in self.files:
            raise Rejected(400, "Bad Request: invalid file_id")
        if len(self.files[id]) > 20 * MB:
            raise Rejected(400, "Bad Request: file is too big")
        return {
            "file_id": id,
            "file_unique_id": f"u{id}",
            "file_size": len(self.files[id]),
            "file_path": f"f/{id}",
        }

    async def _deleteWebhook(self, _: Request) -> Any:
        self.webhook = ""
        return True

    async def _getWebhookInfo(self, _: Request) -> Any:
        return {"url": self.webhook, "pending_update_count": len(self.updates)}

    async def _setMyCommands(self, request: Request) -> Any:
        commands = json.loads(request.params["commands"])
        if len(commands) > 100:
            raise Rejected(400, "Bad Request: BOT_COMMANDS_TOO_MUCH")
        for one in commands:
            if (
                not re.fullmatch(r"[a-z0-9_]{1,32}", one["command"])
                or not 1 <= units(one["description"]) <= 256
            ):
                raise Rejected(400, "Bad Request: BOT_COMMAND_INVALID")
        self.commands = commands
        return True


@asynccontextmanager
async def bot_api(token: str = "123456:demo-token", *, port: int = 0) -> AsyncIterator[BotApi]:
    """A running Bot API for one bot; everything it holds open is closed at the end."""
    api = BotApi(token)
    await api.start(port)
    try:
        yield api
    finally:
        await api.stop()
