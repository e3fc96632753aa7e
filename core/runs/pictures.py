"""Pictures that come with a question: known by their bytes, kept under a name of ours, found again by their id.

Whoever brings one may call it anything; what it is, its bytes say. A refusal is one sentence, and names the picture.
"""

import asyncio
import base64
import binascii
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from core import filetypes
from core.errors import Invalid, NotFound
from core.neutral import one_line
from core.paths import Home
from core.runs.sight import MAX_BYTES, MAX_IMAGES, MIMES
from core.runs.turn import Attachment
from core.store import Store, new_id, now
from core.texts import t

MB = 1024 * 1024
NAME_CHARS = 120
_HEADS = ((b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpg"), (b"GIF8", "gif"), (b"RIFF", "webp"))
_DATA_URL = re.compile(r"data:[\w.+/-]*;base64,")


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that may come along; `name` is what people call it."""

    name: str
    data: bytes
    mime: str
    ending: str


def checked(name: str, data: bytes, lang: str) -> Picture:
    """The picture that these bytes are, or `Invalid` with one sentence."""
    shown = label(name) or t("pictures.nameless", lang)
    if not data:
        raise Invalid(t("pictures.empty", lang, name=shown), fields=("attachments",))
    ending = next((ending for head, ending in _HEADS if data.startswith(head)), "")
    if not ending:
        raise Invalid(t("pictures.type", lang, name=shown), fields=("attachments",))
    if len(data) > MAX_BYTES:
        raise Invalid(too_large(shown, len(data), lang), fields=("attachments",))
    if filetypes.check(f"picture.{ending}", data):
        raise Invalid(t("pictures.broken", lang, name=shown), fields=("attachments",))
    return Picture(shown, data, filetypes.TYPES[ending].mime, ending)


def too_large(name: str, size: int, lang: str) -> str:
    """The sentence for a picture that has too many bytes; its file need not be read for that."""
    return t("pictures.size", lang, name=label(name), size=f"{size / MB:.1f}", max=f"{MAX_BYTES / MB:g}")


def label(name: str) -> str:
    """A name on one line, without folders and without letters that nobody sees."""
    last = re.split(r"[/\\]", name)[-1]
    seen = "".join(one for one in last if unicodedata.category(one) not in {"Cc", "Cf", "Cs", "Zl", "Zp"})
    return one_line(seen, NAME_CHARS)


def decoded(text: str, name: str, lang: str) -> bytes:
    """The bytes of Base64 text, with or without the head of a data address."""
    bare = text[found.end() :] if (found := _DATA_URL.match(text)) else text
    if len(bare) * 3 // 4 > MAX_BYTES + MB:
        raise Invalid(too_large(name, len(bare) * 3 // 4, lang), fields=("attachments",))
    try:
        return base64.b64decode(bare, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Invalid(t("pictures.base64", lang, name=label(name)), fields=("attachments",)) from error


def few_enough(count: int, lang: str) -> None:
    """`Invalid` when more pictures come with one message than a model is shown."""
    if count > MAX_IMAGES:
        raise Invalid(t("pictures.many", lang, max=MAX_IMAGES), fields=("attachments",))


async def keep(store: Store, home: Home, picture: Picture) -> Attachment:
    """Put a picture into the archive; its row is there before this returns."""
    id = new_id("med")
    path = home.media_in / f"{id}.{picture.ending}"
    await asyncio.to_thread(path.write_bytes, picture.data)
    await store.run(
        "insert into media (id, path, name, kind, mime, size, sha256, direction, created_at)"
        " values (?, ?, ?, 'image', ?, ?, ?, 'in', ?)",
        *(id, str(path), picture.name, picture.mime, len(picture.data)),
        *(filetypes.digest(picture.data), now()),
    )
    return Attachment(id, path, picture.name, "image", picture.mime, len(picture.data))


async def kept(store: Store, home: Home, ids: Sequence[str], lang: str) -> list[Attachment]:
    """Pictures of the archive by their ids."""
    found = []
    for id in ids:
        row = await store.one("select * from media where id = ?", id)
        if row is None or row["mime"] not in MIMES:
            raise NotFound(t("pictures.unknown", lang, id=id[:60]))
        path = home.media / row["path"]
        found.append(Attachment(row["id"], path, row["name"], row["kind"], row["mime"], row["size"]))
    return found
