"""Secrets at rest: AES-GCM in the database, the key in the desktop's keyring or in a 0600 file.

The owner's name and the secret's are the associated data, so a row copied under another name or owner does not open.
"""

import asyncio
import base64
import logging
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from core.errors import Unavailable
from core.paths import Home, replace
from core.store import Store, now

log = logging.getLogger(__name__)
SERVICE = "apx-vault"
PREFIX = "vault:"


def _from_keyring(account: str) -> bytes | None:
    # The import is slow and only needed once a secret is touched.
    import keyring
    import keyring.errors

    try:
        held = keyring.get_password(SERVICE, account)
        if held is None:
            held = base64.b64encode(AESGCM.generate_key(256)).decode()
            keyring.set_password(SERVICE, account, held)
            if keyring.get_password(SERVICE, account) != held:
                return None
    except (keyring.errors.KeyringError, RuntimeError, OSError) as error:
        log.info("No keyring here (%s): the vault's key stays in a file", type(error).__name__)
        return None
    return base64.b64decode(held)


def _from_file(home: Home) -> bytes:
    if not home.vault_key.exists():
        replace(home.vault_key, base64.b64encode(AESGCM.generate_key(256)).decode())
    return base64.b64decode(home.vault_key.read_text(encoding="ascii"))


class Vault:
    """Named secrets of one owner."""

    def __init__(self, home: Home, store: Store, *, owner: str = "owner") -> None:
        self._home = home
        self._store = store
        self._owner = owner
        self._cipher: AESGCM | None = None
        self._opening = asyncio.Lock()

    async def _open(self) -> AESGCM:
        async with self._opening:
            if self._cipher is None:
                self._cipher = AESGCM(await asyncio.to_thread(self._key))
            return self._cipher

    def _key(self) -> bytes:
        # A key file, once there, stays the one: switching to a keyring that appears later would lock the secrets.
        if self._home.vault_key.exists():
            return _from_file(self._home)
        return _from_keyring(str(self._home.root)) or _from_file(self._home)

    def _bound(self, name: str) -> bytes:
        return f"{self._owner}\0{name}".encode()

    async def keep(self, name: str, secret: str) -> str:
        """Store a secret; the reference that configuration files hold instead of it."""
        cipher = await self._open()
        nonce = os.urandom(12)
        sealed = cipher.encrypt(nonce, secret.encode(), self._bound(name))
        await self._store.run(
            "insert into secrets (name, owner, nonce, ciphertext, created_at) values (?, ?, ?, ?, ?) on conflict (name)"
            " do update set owner = excluded.owner, nonce = excluded.nonce, ciphertext = excluded.ciphertext",
            name,
            self._owner,
            nonce,
            sealed,
            now(),
        )
        return PREFIX + name

    async def reveal(self, name: str) -> str | None:
        """The secret, or None when there is none of that name."""
        row = await self._store.one("select nonce, ciphertext from secrets where name = ?", name)
        if row is None:
            return None
        cipher = await self._open()
        try:
            return cipher.decrypt(row["nonce"], row["ciphertext"], self._bound(name)).decode()
        except InvalidTag as error:
            raise Unavailable(
                f"The secret {name} does not open with this vault's key. Store it again."
            ) from error

    async def forget(self, name: str) -> bool:
        """Remove a secret; whether there was one."""
        return await self._store.run("delete from secrets where name = ?", name) > 0

    async def names(self) -> list[str]:
        """The names that are kept, sorted."""
        return [row["name"] for row in await self._store.all("select name from secrets order by name")]
