"""Who may do what. One function judges every inbound kind; nobody becomes the owner by writing first."""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum

from core.channels.telegram_update import Inbound
from core.settings import Channel
from core.store import Store, now


class Who(StrEnum):
    """What the sender of an update is here."""

    OWNER = "owner"
    CLAIMANT = "claimant"  # nobody owns the bot yet, and this person writes to it in private
    STRANGER = "stranger"
    NOBODY = "nobody"  # nothing to answer: a group, a channel, a bot, a service message


def owner_id(channel: Channel) -> int | None:
    """The owner's user id; a private chat has the id of its person."""
    if channel.owner_user_id is not None:
        return channel.owner_user_id
    return int(channel.chat_id) if channel.chat_id.isdigit() else None


def owner_chat(channel: Channel) -> str:
    """Where the owner is written to; empty if there is no owner."""
    return channel.chat_id or str(owner_id(channel) or "")


def who(inbound: Inbound, channel: Channel) -> Who:
    """Judge the sender, whatever the kind of the update."""
    if inbound.user_id is None or inbound.is_bot:
        return Who.NOBODY
    owner = owner_id(channel)
    if owner is not None and inbound.user_id == owner:
        # A press and a reaction are of something that is ours already; that it is, is looked up later.
        here = inbound.private or inbound.addressed or inbound.kind in {"press", "reaction"}
        return Who.OWNER if here else Who.NOBODY
    if inbound.kind == "press":
        return Who.STRANGER
    if not inbound.private or inbound.kind not in {"message", "edit"}:
        return Who.NOBODY
    return Who.CLAIMANT if owner is None else Who.STRANGER


@dataclass(frozen=True, slots=True)
class Claim:
    """Somebody who wants to be the owner, until the app has been asked."""

    user_id: int
    name: str
    chat_id: str
    state: str = "open"  # open, declined
    at: str = ""


def _key(channel: str) -> str:
    return f"telegram.claim.{channel}"


async def claim_of(store: Store, channel: str) -> Claim | None:
    """The pending or declined claim of a channel."""
    row = await store.one("select value from settings where key = ?", _key(channel))
    return Claim(**json.loads(row["value"])) if row else None


async def keep_claim(store: Store, channel: str, claim: Claim | None) -> None:
    """Put a claim in the place of the former one; None when it is settled."""
    if claim is None:
        await store.run("delete from settings where key = ?", _key(channel))
        return
    await store.run(
        "insert into settings (key, value) values (?, ?) on conflict (key) do update set value = excluded.value",
        *(_key(channel), json.dumps(asdict(claim) | {"at": claim.at or now()})),
    )


async def first_refusal(store: Store, channel: str, user_id: int, name: str) -> bool:
    """Note a stranger; True the first time."""
    fresh = await store.run(
        "insert into telegram_strangers (channel, user_id, name, refused_at) values (?, ?, ?, ?)"
        " on conflict (channel, user_id) do nothing",
        *(channel, user_id, name, now()),
    )
    return fresh > 0
