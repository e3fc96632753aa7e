"""What Telegram takes as a photo, as a document and as an album, and the bytes that were checked.

Judged by the bytes and not by the name; a file of ours is called by its hash.
"""

import struct
from collections.abc import Sequence
from pathlib import Path

from core import filetypes
from core.errors import Refused
from core.message import File
from core.texts import t

MB = 1024 * 1024
PHOTO_BYTES, FILE_BYTES = 10 * MB, 50 * MB
SIDES, RATIO = 10_000, 20
HEAD_BYTES = 256 * 1024  # enough to find the size of a picture behind what cameras write first
ALBUM = 10


def dimensions(data: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG, GIF or JPEG; None where they cannot be told."""
    if data.startswith(b"\x89PNG") and len(data) >= 24:
        return struct.unpack_from(">II", data, 16)
    if data.startswith(b"GIF8") and len(data) >= 10:
        return struct.unpack_from("<HH", data, 6)
    at = 2
    while data.startswith(b"\xff\xd8") and at + 9 < len(data) and data[at] == 0xFF:
        if 0xC0 <= data[at + 1] <= 0xCF and data[at + 1] not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        at += 2 + int(struct.unpack_from(">H", data, at + 2)[0])
    return None


def is_photo(data: bytes, size: int | None = None) -> bool:
    """Telegram would take these bytes as a photo; everything else goes as a document, unchanged.

    `size` is that of the whole file when `data` is only its beginning.
    """
    if (len(data) if size is None else size) > PHOTO_BYTES or data.startswith(b"GIF8"):
        return False
    sides = dimensions(data)
    if sides is None:
        return data[8:12] == b"WEBP"
    width, height = sides
    return (
        min(width, height) > 0
        and width + height <= SIDES
        and max(width, height) <= RATIO * min(width, height)
    )


def checked_size(file: File, lang: str) -> int:
    """How large a file is; one that a bot may not send is refused with the number."""
    path = Path(file.path)
    size = path.stat().st_size if path.is_file() else 0
    if size > FILE_BYTES:
        raise Refused(t("telegram.file_too_big", lang, name=file.name, size=f"{size / MB:.1f}"))
    return size


def read(file: File, lang: str) -> bytes:
    """The bytes that were checked: a file of ours is called by its hash."""
    path = Path(file.path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Refused(t("telegram.file_gone", lang, name=file.name)) from error
    ours = path.parent.parts[-2:] == ("media", "out")
    if ours and filetypes.digest(data)[:16] != path.stem:
        raise Refused(t("telegram.file_changed", lang, name=file.name))
    if len(data) > FILE_BYTES:
        raise Refused(t("telegram.file_too_big", lang, name=file.name, size=f"{len(data) / MB:.1f}"))
    return data


def albums(files: Sequence[File], lang: str) -> list[tuple[str, tuple[File, ...]]]:
    """The files in as few messages as Telegram allows: photos first, never mixed with documents, ten at most."""
    kinds: dict[str, list[File]] = {"photo": [], "document": []}
    for file in files:
        size = checked_size(file, lang)
        kinds["photo" if _looks_like_photo(Path(file.path), size) else "document"].append(file)
    return [
        (kind, tuple(some[at : at + ALBUM]))
        for kind, some in kinds.items()
        for at in range(0, len(some), ALBUM)
    ]


def _looks_like_photo(path: Path, size: int) -> bool:
    try:
        with path.open("rb") as file:
            return is_photo(file.read(HEAD_BYTES), size)
    except OSError:
        return False  # what is gone is said when it is sent
