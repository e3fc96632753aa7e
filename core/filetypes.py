"""What a file is, by its bytes: a name is only a claim, and every kind that may leave has a check for it.

Each check walks the format as far as it says where the file ends, because what hides usually hides behind the end.
"""

import hashlib
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from core.protected import folded, secret_name

_NEVER = """
exe msi msp mst msix appx bat cmd com scr pif cpl dll sys drv ocx efi ps1 psm1 psd1 ps1xml vb vbs vbe js jse mjs ws wsf
wsc wsh hta msc reg inf lnk url scf sct gadget jar class war apk aab dex ipa app dmg pkg deb rpm snap flatpak flatpakref
appimage xpi crx sh bash zsh fish csh ksh command run bin out so dylib ko elf iso img vhd vhdx desktop py pyw pyc pyz rb
pl php lua tcl scpt applescript workflow docm dotm xlsm xltm xlam pptm potm ppam
"""
NEVER = frozenset(_NEVER.split())
ARCHIVES = frozenset({"zip", "rar", "7z", "tar", "gz", "tgz", "bz2", "xz", "zst", "cab", "arj", "lzh"})
TAILS = (
    b"PK\x03\x04",
    b"PK\x01\x02",
    b"PK\x05\x06",
    b"Rar!\x1a\x07",
    b"7z\xbc\xaf\x27\x1c",
    b"<script",
    b"<?php",
)
HEADS = (b"MZ", b"\x7fELF", b"#!", b"%PDF-", b"<html", b"<!doctype", b"\xca\xfe\xba\xbe")
MARKUP = re.compile(r"\s*<(?:!doctype\s+html|html|svg|script|\?xml)\b|\s*<\?php", re.IGNORECASE)
SECRET_TEXT = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY")
SECRET_KEYS = frozenset(
    {"private_key", "client_secret", "refresh_token", "access_token", "bot_token", "api_key"}
)
MAX_ENTRIES = 10_000


class Wrong(Exception):
    """The bytes do not hold; `reason` is the key of the sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _need(holds: object, reason: str = "bytes") -> None:
    if not holds:
        raise Wrong(reason)


def _end(data: bytes, end: int) -> None:
    tail = data[end:]
    hidden = any(
        mark in tail.lower() for mark in map(bytes.lower, TAILS)
    ) or tail.lstrip().lower().startswith(tuple(map(bytes.lower, HEADS)))
    _need(not hidden, "trailing")


def _png(data: bytes) -> None:
    _need(data.startswith(b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR"))
    at, seen = 8, set()
    while b"IEND" not in seen:
        _need(at + 12 <= len(data), "unreadable")
        size, name = struct.unpack_from(">I4s", data, at)
        at += 12 + size
        _need(at <= len(data), "unreadable")
        seen.add(name)
    _need(b"IDAT" in seen, "unreadable")
    _end(data, at)


_JPEG_MARKER = re.compile(rb"\xff+([^\x00\xd0-\xd7\xff])", re.DOTALL)


def _jpeg(data: bytes) -> None:
    _need(data.startswith(b"\xff\xd8\xff"))
    at, frame = 2, False
    while True:
        found = _JPEG_MARKER.search(data, at)
        if found is None:
            raise Wrong("unreadable")
        at, marker = found.end(), found.group(1)[0]
        if marker == 0xD9:
            break
        if marker in (0x01, 0xD8):
            continue
        _need(at + 2 <= len(data), "unreadable")
        at += int(struct.unpack_from(">H", data, at)[0])
        frame = frame or (0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC))
    _need(frame, "unreadable")
    _end(data, at)


def _gif(data: bytes) -> None:
    _need(data[:6] in (b"GIF87a", b"GIF89a"))
    try:
        at = 13 + (3 << (data[10] & 7) + 1 if data[10] & 0x80 else 0)
        while data[at] != 0x3B:
            if data[at] == 0x2C:
                at += 11 + (3 << (data[at + 9] & 7) + 1 if data[at + 9] & 0x80 else 0)
            else:
                _need(data[at] == 0x21, "unreadable")
                at += 2
            while data[at]:
                at += data[at] + 1
            at += 1
    except IndexError as error:
        raise Wrong("unreadable") from error
    _end(data, at + 1)


def _riff(form: bytes, first: tuple[bytes, ...]) -> Callable[[bytes], None]:
    def check(data: bytes) -> None:
        _need(data[:4] == b"RIFF" and data[8:12] == form)
        _need(data[12:16] in first if first else True)
        size = struct.unpack_from("<I", data, 4)[0] + 8
        _need(size <= len(data) + 1, "unreadable")
        _end(data, size)

    return check


def _boxes(data: bytes) -> None:
    _need(data[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip"))
    _need(data[8:12] not in (b"heic", b"heix", b"mif1", b"msf1", b"avif", b"avis"))
    at, seen = 0, set()
    while at + 8 <= len(data):
        size, name = struct.unpack_from(">I4s", data, at)
        if size == 1 and at + 16 <= len(data):
            size = struct.unpack_from(">Q", data, at + 8)[0]
        seen.add(name)
        at = len(data) if size == 0 else at + max(size, 8)
    _need(at == len(data) and b"moov" in seen, "unreadable")


def _webm(data: bytes) -> None:
    _need(data.startswith(b"\x1a\x45\xdf\xa3") and b"webm" in data[:256])


def _mp3_frame(data: bytes, at: int) -> int:
    """The length of the MPEG layer III frame at this place; 0 if there is none."""
    if at + 4 > len(data) or data[at] != 0xFF or data[at + 1] & 0xE6 != 0xE2:
        return 0
    version, rate, sampling = data[at + 1] >> 3 & 3, data[at + 2] >> 4, data[at + 2] >> 2 & 3
    if version == 1 or rate in (0, 15) or sampling == 3:
        return 0
    one = version == 3
    kbps = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
    low = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
    hertz = (44100, 48000, 32000)[sampling] >> (0 if one else 1 if version == 2 else 2)
    return (144 if one else 72) * (kbps if one else low)[rate - 1] * 1000 // hertz + (data[at + 2] >> 1 & 1)


def _mp3(data: bytes) -> None:
    at = 0
    if data.startswith(b"ID3") and len(data) >= 10:
        at = 10 + (data[6] << 21 | data[7] << 14 | data[8] << 7 | data[9])
        at = next((n for n in range(at, min(at + 4096, len(data))) if _mp3_frame(data, n)), at)
    size = _mp3_frame(data, at)
    _need(size and (at + size + 4 > len(data) or _mp3_frame(data, at + size)))


def _ogg(data: bytes) -> None:
    _need(data.startswith(b"OggS\0"))


def _pdf(data: bytes) -> None:
    _need(data.startswith(b"%PDF-"))
    end = data.rfind(b"%%EOF")
    _need(end >= 0, "unreadable")
    _need(b"/Launch" not in data, "never_inside")
    _end(data, end + 5)


def _text(data: bytes) -> None:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Wrong("not_text") from error
    _need(not re.search(r"[\0-\x08\x0b\x0e-\x1f\x7f]", text), "not_text")
    _need(not text.startswith("#!"), "script")
    _need(not MARKUP.match(text))
    _need(not SECRET_TEXT.search(text), "secret_inside")


def _json(data: bytes) -> None:
    _text(data)
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise Wrong("unreadable") from error
    _need(
        not (isinstance(value, dict) and SECRET_KEYS & {str(key).lower() for key in value}), "secret_inside"
    )


@contextmanager
def _archive(data: bytes) -> Iterator[zipfile.ZipFile]:
    """A zip file open; whatever zipfile says about a broken one is one reason."""
    _need(data.startswith(b"PK\x03\x04"))
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, ValueError, RuntimeError, OSError, EOFError) as error:
        raise Wrong("unreadable") from error


def _entry(entry: zipfile.ZipInfo) -> None:
    name = entry.filename.replace("\\", "/")
    base = name.rstrip("/").rpartition("/")[2]
    outside = name.startswith("/") or ".." in name.split("/") or entry.external_attr >> 28 == 0xA
    _need(not outside, "zip_path")
    _need("vbaproject.bin" not in folded(name) and "/activex/" not in folded(name), "macros")
    _need(not runs(base), "never_inside")
    _need(not secret_name(base), "secret_inside")


def _entries(archive: zipfile.ZipFile) -> list[str]:
    entries = archive.infolist()
    _need(0 < len(entries) <= MAX_ENTRIES, "unreadable")
    for entry in entries:
        _entry(entry)
    return [entry.filename for entry in entries]


def _zip(data: bytes) -> None:
    with _archive(data) as archive:
        for name in _entries(archive):
            _need(folded(name).rpartition(".")[2] not in ARCHIVES, "nested")


def _office(folder: str) -> Callable[[bytes], None]:
    def check(data: bytes) -> None:
        with _archive(data) as archive:
            names = _entries(archive)
            _need("[Content_Types].xml" in names and any(name.startswith(f"{folder}/") for name in names))
            with archive.open("[Content_Types].xml") as file:
                _need(b"macroenabled" not in file.read(1 << 20).lower(), "macros")

    return check


class Type(NamedTuple):
    """One extension that may leave: its kind (a switch of the settings), its MIME type and its check."""

    kind: str
    mime: str
    check: Callable[[bytes], None]


_OFFICE = "application/vnd.openxmlformats-officedocument."
TYPES: dict[str, Type] = {
    "png": Type("image", "image/png", _png),
    "jpg": Type("image", "image/jpeg", _jpeg),
    "jpeg": Type("image", "image/jpeg", _jpeg),
    "gif": Type("image", "image/gif", _gif),
    "webp": Type("image", "image/webp", _riff(b"WEBP", (b"VP8 ", b"VP8L", b"VP8X"))),
    "mp4": Type("video", "video/mp4", _boxes),
    "mov": Type("video", "video/quicktime", _boxes),
    "webm": Type("video", "video/webm", _webm),
    "mp3": Type("audio", "audio/mpeg", _mp3),
    "wav": Type("audio", "audio/wav", _riff(b"WAVE", ())),
    "ogg": Type("audio", "audio/ogg", _ogg),
    "oga": Type("audio", "audio/ogg", _ogg),
    "m4a": Type("audio", "audio/mp4", _boxes),
    "pdf": Type("document", "application/pdf", _pdf),
    "txt": Type("document", "text/plain", _text),
    "md": Type("document", "text/markdown", _text),
    "csv": Type("document", "text/csv", _text),
    "json": Type("document", "application/json", _json),
    "docx": Type("document", f"{_OFFICE}wordprocessingml.document", _office("word")),
    "xlsx": Type("document", f"{_OFFICE}spreadsheetml.sheet", _office("xl")),
    "pptx": Type("document", f"{_OFFICE}presentationml.presentation", _office("ppt")),
    "zip": Type("document", "application/zip", _zip),
}
_ZIPS = frozenset({"docx", "xlsx", "pptx", "zip"})


def digest(data: bytes) -> str:
    """What these bytes are known by."""
    return hashlib.sha256(data).hexdigest()


def extension(name: str) -> str:
    """The last extension, folded; empty if there is none."""
    return folded(name).rpartition(".")[2] if "." in name else ""


def runs(name: str) -> bool:
    """Any extension of the name is one of a program, a script or a disk image."""
    return any(piece.strip() in NEVER for piece in folded(name).split(".")[1:])


def check(name: str, data: bytes) -> str | None:
    """The key of what is wrong with these bytes under this name; None when they are what the name says."""
    ending = extension(name)
    try:
        TYPES[ending].check(data)
        # An archive is found from its end, so one can hide in anything.
        _need(ending in _ZIPS or not zipfile.is_zipfile(io.BytesIO(data)), "trailing")
    except Wrong as wrong:
        return wrong.reason
    return None
