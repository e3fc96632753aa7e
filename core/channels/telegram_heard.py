"""What happens in a chat and asks for no answer: the next turn there is told."""

from core.channels.telegram_update import Inbound, one_line
from core.store import Store, now
from core.texts import t


async def reaction(store: Store, channel: str, inbound: Inbound, lang: str) -> bool:
    """Keep the owner's reaction to something that we said; False when it is to anything else, or was taken back."""
    said = await store.one(
        "select json_extract(outbox_parts.payload, '$.plain') as text, outbox.recipient from outbox_parts"
        " join outbox on outbox.id = outbox_parts.message_id where outbox_parts.receipt = ?"
        " and outbox_parts.state = 'delivered' and outbox.channel in ('telegram', ?)"
        " order by outbox.rowid desc limit 1",
        *(str(inbound.message_id), channel),
    )
    if said is None or not inbound.text:
        return False
    address = inbound.chat_id if said["recipient"] == "owner" else str(said["recipient"])
    if address.partition("/")[0] != inbound.chat_id:
        return False
    note = t("telegram.reacted", lang, emoji=inbound.text, text=one_line(said["text"] or "", 200))
    await store.run(
        "insert into telegram_heard (channel, address, note, at) values (?, ?, ?, ?)",
        *(channel, address, note, now()),
    )
    return True


async def notes(store: Store, channel: str, address: str) -> dict[int, str]:
    """What has not been told yet, by number."""
    rows = await store.all(
        "select id, note from telegram_heard where channel = ? and address = ? order by id", channel, address
    )
    return {row["id"]: row["note"] for row in rows}


async def forget(store: Store, channel: str, address: str, heard: dict[int, str]) -> None:
    """A turn was told of these."""
    if heard:
        await store.run(
            "delete from telegram_heard where channel = ? and address = ? and id <= ?",
            *(channel, address, max(heard)),
        )
