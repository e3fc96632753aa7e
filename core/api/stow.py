"""Settings that arrive from a screen or a command: their secrets go to the vault, a reference stays in the file."""

from collections.abc import Mapping, Sequence
from typing import Any

from core.app import App
from core.config import MARKER, SECRET_KEYS, key_below
from core.errors import Invalid
from core.vault import PREFIX


async def set_config(app: App, changes: Mapping[str, Any], unset: Sequence[str] = ()) -> None:
    """Change settings, all or none; a change that does not hold leaves the vault as it was, too."""
    before: dict[str, str | None] = {}

    async def keep(name: str, secret: str) -> str:
        if name not in before:
            before[name] = await app.vault.reveal(name)
        return await app.vault.keep(name, secret)

    async def stowed(value: Any, path: str, key: str) -> Any:
        if isinstance(value, dict):
            return {
                name: await stowed(inner, f"{path}.{name}", key_below(key, name))
                for name, inner in value.items()
            }
        if isinstance(value, list):
            # By name, so that a reordered list does not swap its secrets.
            return [
                await stowed(
                    one, f"{path}.{one.get('name', 'default') if isinstance(one, dict) else at}", key
                )
                for at, one in enumerate(value)
            ]
        plain = key in SECRET_KEYS and isinstance(value, str) and value.strip()
        if plain and not value.startswith((MARKER, PREFIX)):
            return await keep(path, value.strip())
        return value

    try:
        kept = {key: await stowed(value, key, key.rpartition(".")[2]) for key, value in changes.items()}
        await app.config.set(kept, unset=list(unset))
    except Invalid:
        for name, secret in before.items():
            if secret is None:
                await app.vault.forget(name)
            else:
                await app.vault.keep(name, secret)
        raise
