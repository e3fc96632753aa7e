"""How a device gets a token of its own: the owner asks for a code, the device brings it back in time."""

import hmac
import secrets
from datetime import UTC, datetime, timedelta
from typing import Any

from core.api.access import Access, Scope, Unauthorized, digest
from core.errors import Invalid
from core.store import Store, new_id, now

TTL = timedelta(minutes=5)
MISSES = 5
# No letters or digits that a person reads as one another.
_ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"


async def begin(store: Store, *, scope: Scope, project_id: str, label: str) -> dict[str, Any]:
    """A code that one device may exchange for a token within five minutes."""
    if scope not in (Scope.CLIENT, Scope.BRIDGE):
        raise Invalid(f"A device is paired as client or bridge, not as {scope}.", fields=("scope",))
    code = "".join(secrets.choice(_ALPHABET) for _ in range(8))
    pairing_id, expires = new_id("pair"), datetime.now(UTC) + TTL
    await store.run("delete from pairings where expires_at < ?", now())
    await store.run(
        "insert into pairings (id, scope, project_id, code_hash, label, expires_at) values (?, ?, ?, ?, ?, ?)",
        pairing_id,
        scope.value,
        project_id,
        digest(code),
        label[:64],
        expires.isoformat(timespec="milliseconds"),
    )
    return {
        "pairing_id": pairing_id,
        "code": code,
        "scope": scope.value,
        "project_id": project_id,
        "expires_at": expires.isoformat(timespec="milliseconds"),
        "ttl_s": int(TTL.total_seconds()),
    }


async def confirm(store: Store, access: Access, *, pairing_id: str, code: str, label: str) -> dict[str, Any]:
    """Exchange a code for a token, once. Unknown, late, used and wrong codes are the same refusal."""
    access.attempts.check("pairing")
    given = digest(code.strip().upper().replace("-", "").replace(" ", ""))
    async with store.transaction() as db:
        rows = list(await db.execute_fetchall("select * from pairings where id = ?", (pairing_id,)))
        row = rows[0] if rows else None
        good = (
            row is not None
            and row["confirmed_at"] is None
            and row["misses"] < MISSES
            and row["expires_at"] > now()
            and hmac.compare_digest(row["code_hash"], given)
        )
        if good:
            await db.execute("update pairings set confirmed_at = ? where id = ?", (now(), pairing_id))
        else:
            await db.execute("update pairings set misses = misses + 1 where id = ?", (pairing_id,))
    if not good or row is None:
        access.attempts.wrong("pairing")
        raise Unauthorized("This code opens nothing. Ask for a new one: apx token pair.")
    scope = Scope(row["scope"])
    client_id, token = await access.mint(scope, label=label or row["label"], project_id=row["project_id"])
    return {
        "id": client_id,
        "token": token,
        "scope": scope.value,
        "project_id": row["project_id"],
        "label": label or row["label"],
    }
