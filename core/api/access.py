"""Who is calling, and what they may do: authority comes from the token and from nothing else.

The owner's token is a file that outlives restarts. Everybody else's exists here only as a hash. A request's body
can lower what its token allows; it cannot raise it.
"""

import asyncio
import hashlib
import hmac
import logging
import re
import secrets
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from core.errors import ApxError, NotFound, Refused
from core.paths import Home, replace, set_aside
from core.store import Store, new_id, now

log = logging.getLogger(__name__)

WRONG_PER_WINDOW = 10
WINDOW_S = 60.0
SEEN_EVERY_S = 60.0
_KIND = re.compile(r"apx_(owner|client|bridge|agent)_")
_TOKEN = re.compile(r"[!-~]{32,200}")


class Scope(StrEnum):
    """What kind of token it is; the order is from most to least."""

    OWNER = "owner"
    CLIENT = "client"
    BRIDGE = "bridge"
    AGENT = "agent"


class Unauthorized(ApxError):
    """No token, or one that opens nothing."""

    code = "unauthorized"


class TooManyAttempts(ApxError):
    """Wrong tokens or codes came faster than a person mistypes."""

    code = "too_many_attempts"

    def __init__(self, sentence: str, *, retry_after_s: int) -> None:
        super().__init__(sentence)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class Caller:
    """The one behind a request. `client_id` is "owner" for the owner's own token."""

    scope: Scope
    client_id: str
    project_id: str = "default"

    def needs(self, *scopes: Scope) -> None:
        """Refuse whoever has none of these scopes."""
        if self.scope not in scopes:
            raise Refused(f"A {self.scope} token may not do this.")


def fresh_token(scope: Scope) -> str:
    """256 random bits under a prefix that says what it opens, so that a leaked one is recognised."""
    return f"apx_{scope}_{secrets.token_urlsafe(32)}"


def digest(token: str) -> str:
    """How a token is kept."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def owner_token(home: Home) -> str:
    """The owner's token, made if there is none; what cannot be one is set aside, never accepted."""
    try:
        token = home.token.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return rotate_owner_token(home)
    except UnicodeDecodeError:
        token = ""
    if not _TOKEN.fullmatch(token):
        aside = set_aside(home.token)
        log.warning("owner.token was not a token; it is now %s and a new one was made", aside.name)
        return rotate_owner_token(home)
    if home.token.stat().st_mode & 0o077:
        home.token.chmod(0o600)
    return token


def rotate_owner_token(home: Home) -> str:
    """Make a new owner's token; the old one opens nothing from here on."""
    token = fresh_token(Scope.OWNER)
    replace(home.token, token + "\n")
    return token


class Attempts:
    """Counts what was wrong, by class: a handful of short queues, however many attempts there are."""

    def __init__(self) -> None:
        self._wrong: dict[str, deque[float]] = {}

    def check(self, kind: str) -> None:
        """Refuse when the last minute has seen enough of them."""
        recent = self._wrong.get(kind)
        if recent and len(recent) == WRONG_PER_WINDOW:
            left = WINDOW_S - (time.monotonic() - recent[0])
            if left > 0:
                raise TooManyAttempts(
                    f"Too many wrong attempts. Try again in {int(left) + 1} s.", retry_after_s=int(left) + 1
                )

    def wrong(self, kind: str) -> None:
        """One more."""
        self._wrong.setdefault(kind, deque(maxlen=WRONG_PER_WINDOW)).append(time.monotonic())


class Access:
    """The tokens of a home, and who holds a stream open with which."""

    def __init__(self, home: Home, store: Store) -> None:
        self._home = home
        self._store = store
        self._owner = digest(owner_token(home))
        self._stamp = home.token.stat().st_mtime_ns
        self._seen: dict[str, float] = {}
        self._open: dict[str, set[asyncio.Event]] = {}
        self.attempts = Attempts()

    def _follow(self) -> None:
        """Take an owner's token that was changed in its file; a missing file changes nothing."""
        try:
            stamp = self._home.token.stat().st_mtime_ns
        except OSError:
            return
        if stamp != self._stamp:
            self._owner = digest(owner_token(self._home))
            self._stamp = self._home.token.stat().st_mtime_ns
            self._drop("owner")

    async def caller(self, authorization: str | None) -> Caller:
        """Whose token this is. A right one is always let in, whatever the wrong ones have been doing."""
        scheme, _, token = (authorization or "").strip().partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise Unauthorized("A token is needed: send the header Authorization: Bearer TOKEN.")
        self._follow()
        held = digest(token)
        if hmac.compare_digest(held, self._owner):
            return Caller(Scope.OWNER, "owner")
        row = await self._store.one(
            "select id, scope, project_id from clients where token_hash = ? and revoked_at is null", held
        )
        if row is not None:
            await self._saw(row["id"])
            return Caller(Scope(row["scope"]), row["id"], row["project_id"])
        shape = _KIND.match(token)
        kind = shape.group(1) if shape else "other"
        self.attempts.check(kind)
        self.attempts.wrong(kind)
        raise Unauthorized("This token opens nothing here. It may have been revoked or rotated.")

    async def _saw(self, client_id: str) -> None:
        moment = time.monotonic()
        if moment - self._seen.get(client_id, -SEEN_EVERY_S) >= SEEN_EVERY_S:
            self._seen[client_id] = moment
            await self._store.run("update clients set last_seen_at = ? where id = ?", now(), client_id)

    async def rotate(self) -> str:
        """A new owner's token; streams opened with the old one end at once."""
        token = rotate_owner_token(self._home)
        self._owner = digest(token)
        self._stamp = self._home.token.stat().st_mtime_ns
        self._drop("owner")
        return token

    async def mint(self, scope: Scope, *, label: str, project_id: str) -> tuple[str, str]:
        """A new client and its token, which is shown this once."""
        token, client_id = fresh_token(scope), new_id("cli")
        await self._store.run(
            "insert into clients (id, label, scope, project_id, token_hash, created_at) values (?, ?, ?, ?, ?, ?)",
            client_id,
            label[:64],
            scope.value,
            project_id,
            digest(token),
            now(),
        )
        return client_id, token

    async def revoke(self, client_id: str) -> None:
        """Close a client's token for good, and the streams it holds open."""
        if not await self._store.run(
            "update clients set revoked_at = ? where id = ? and revoked_at is null", now(), client_id
        ):
            raise NotFound("There is no such client.")
        self._drop(client_id)

    async def clients(self) -> list[dict[str, str | None]]:
        """Everybody who holds a token, without it."""
        rows = await self._store.all(
            "select id, label, scope, project_id, created_at, last_seen_at from clients"
            " where revoked_at is null order by created_at"
        )
        return [dict(row) for row in rows]

    @contextmanager
    def stream(self, caller: Caller) -> Iterator[asyncio.Event]:
        """An event that is set when the caller's token stops being good; a long answer ends on it."""
        gone = asyncio.Event()
        self._open.setdefault(caller.client_id, set()).add(gone)
        try:
            yield gone
        finally:
            self._open[caller.client_id].discard(gone)

    def _drop(self, client_id: str) -> None:
        for gone in self._open.get(client_id, ()):
            gone.set()
