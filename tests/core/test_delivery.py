"""Which files may leave: every refusal has its own sentence, and the bytes checked are the bytes sent."""

import io
import json
import os
import shutil
import socket
import struct
import threading
import wave
import zipfile
import zlib
from pathlib import Path
from string import Formatter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core import filetypes
from core.delivery import MB, Facts, NotSendable, Place, deliver, judge, judge_text, take
from core.errors import Refused
from core.paths import ASSETS, Home
from core.settings import FileDelivery, Kinds
from core.store import Store

ALL = FileDelivery(kinds=Kinds(image=True, video=True, audio=True, document=True))


def chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(width: int = 1, height: int = 1) -> bytes:
    rows = zlib.compress(b"".join(b"\0" + b"\x80" * width for _ in range(height)))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def zipped(*names: str, body: bytes = b"x", more: dict[str, bytes] | None = None) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, body)
        for name, inside in (more or {}).items():
            archive.writestr(name, inside)
    return file.getvalue()


def linked_zip() -> bytes:
    entry = zipfile.ZipInfo("photo.txt")
    entry.external_attr = 0o120777 << 16
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(entry, "/etc/passwd")
    return file.getvalue()


def sound() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setparams((1, 2, 8000, 0, "NONE", ""))
        out.writeframes(b"\0\0" * 10)
    return file.getvalue()


def box(name: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">I4s", 8 + len(body), name) + body


SEGMENTS = b"\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0" + b"\xff\xc0\0\x0b\x08\0\1\0\1\1\1\x11\0"
JPEG = b"\xff\xd8" + SEGMENTS + b"\xff\xda\0\x08\1\1\0\0\x3f\0" + b"\x12\xff\0\x34\xff\xd0\x56" + b"\xff\xd9"
GIF = b"GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\4\0\0\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"
WEBP = b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0/" + b"\0" * 13
MP4 = box(b"ftyp", b"isom\0\0\2\0") + box(b"moov", b"x") + box(b"mdat", b"data")
MP3 = b"ID3\4\0\0\0\0\0\0" + (b"\xff\xfb\x90\0" + b"\0" * 413) * 2
PDF = b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\ntrailer <<>>\n%%EOF\n"
DOCX = zipped("word/document.xml", more={"[Content_Types].xml": b"<Types/>"})
GOOD = {
    **{"png": png(), "jpg": JPEG, "jpeg": JPEG, "gif": GIF, "webp": WEBP, "mp4": MP4, "m4a": MP4, "mov": MP4},
    **{
        "webm": b"\x1a\x45\xdf\xa3\x9f\x42\x82\x84webm",
        "mp3": MP3,
        "wav": sound(),
        "ogg": b"OggS\0x",
        "oga": b"OggS\0x",
    },
    **{
        "pdf": PDF,
        "txt": "ñandú\n".encode(),
        "md": b"# hi\n",
        "csv": b"a,b\n",
        "json": b'{"a": 1}',
        "zip": zipped("a.txt"),
    },
    **{"docx": DOCX, "xlsx": zipped("xl/workbook.xml", more={"[Content_Types].xml": b"<Types/>"})},
    **{"pptx": zipped("ppt/presentation.xml", more={"[Content_Types].xml": b"<Types/>"})},
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    home = Home(tmp_path / "owner" / ".apx")
    home.make()
    project = tmp_path / "project"
    project.mkdir()
    return Place(home, tmp_path / "owner", project)


def put(path: Path, data: bytes | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png() if data is None else data)
    return path


def why(text: str | Path, place: Place, policy: FileDelivery = ALL) -> str:
    with pytest.raises(NotSendable) as refused:
        take(str(text), policy, place)
    assert str(refused.value).endswith(".")
    return refused.value.reason


@pytest.mark.parametrize("ending", GOOD)
def test_every_kind_is_taken_when_its_bytes_hold(ending: str, place: Place, tmp_path: Path) -> None:
    path = put(tmp_path / f"Foto 1.{ending}", GOOD[ending])
    assert take(str(path), ALL, place).data == GOOD[ending]


def test_every_known_ending_has_an_example_here() -> None:
    assert set(GOOD) == set(filetypes.TYPES)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty_path"),
        ("/tmp/x.png\0.exe", "nul"),
        ("/tmp/a.PNG\u202egpj.exe", "invisible"),
        ("/tmp/a\nb.png", "invisible"),
        ("/tmp/\u200bx.png", "invisible"),
        ("file:///etc/passwd", "file_url"),
        ("FILE:/etc/passwd", "file_url"),
        ("https://example.org/x.png", "url"),
        ("data:image/png;base64,AAAA", "url"),
        ("\\\\server\\share\\x.png", "unc"),
        ("//server/share/x.png", "unc"),
        ("C:\\Users\\x\\.aws\\credentials", "windows"),
        ("c:x.png", "windows"),
        ("pics\\x.png", "windows"),
        ("/tmp/x.png:evil", "stream"),
        ("/tmp/x.exe.", "trailing_dot"),
        ("/tmp/x.png ", "trailing_dot"),
        ("~root/x.png", "relative"),
        ("~root", "relative"),
    ],
)
def test_a_path_that_is_not_a_plain_path_is_refused_as_written(text: str, reason: str, place: Place) -> None:
    assert why(text, place) == reason


def test_a_colon_of_a_clock_is_no_stream() -> None:
    assert judge_text("/home/ana/Screenshot from 2026-11-30 12:30:01.png") is None


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("~/.ssh/id_ed25519", "secret_folder"),
        ("~/.ssh/../.ssh/x.png", "secret_folder"),
        ("~/.SSH/x.png", "secret_folder"),
        ("~/.config/google-chrome/Default/x.png", "secret_folder"),
        ("~/.mozilla/firefox/x.json", "secret_folder"),
        ("~/.local/share/keyrings/x.png", "secret_folder"),
        ("/proc/self/environ", "system"),
        ("/dev/zero", "system"),
        ("~/project/.env", "secret_file"),
        ("~/.envrc", "secret_file"),
        ("~/.env.local", "secret_file"),
        ("~/google_token.json", "secret_file"),
        ("~/my-credentials.json", "secret_file"),
        ("~/passwords.KDBX", "secret_file"),
        ("~/id_rsa", "secret_file"),
        ("~/photo.png.exe", "runs"),
        ("~/photo.exe.png", "runs"),
        ("~/photo.ＥＸＥ", "runs"),
        ("~/run.sh", "runs"),
        ("~/.apx/config.json", "own_home"),
        ("~/.apx/skills/x.png", "own_home"),
        ("~/nowhere.png", "not_found"),
        ("~", "not_a_file"),
        ("~/drawing.svg", "unknown_type"),
        ("~/page.html", "unknown_type"),
        ("~/README", "unknown_type"),
    ],
)
def test_protected_places_and_names_are_refused_whatever_is_switched_on(
    path: str, reason: str, place: Place
) -> None:
    for name in ("drawing.svg", "page.html", "README"):
        put(place.owner / name)
    assert why(path, place) == reason


def test_a_home_elsewhere_is_protected_too(tmp_path: Path) -> None:
    home = Home(tmp_path / "agent")
    home.make()
    place = Place(home, tmp_path)
    assert why(put(home.root / "shot.png"), place) == "own_home"
    assert take(str(put(home.media_in / "shot.png")), ALL, place).name == "shot.png"


def test_what_was_made_in_the_default_project_may_leave_and_nothing_else_of_the_home(place: Place) -> None:
    home = place.home
    here = Place(home, place.owner, home.workspace)
    assert take(str(put(home.workspace / "out" / "chart.png")), ALL, place).name == "chart.png"
    assert take("out/chart.png", ALL, here).name == "chart.png"
    assert why(put(home.projects / "default" / "chart.png"), place) == "own_home"
    assert why(put(home.projects / "default" / "files-of-mine" / "chart.png"), place) == "own_home"
    assert why(put(home.projects / "other" / "files" / "chart.png"), place) == "own_home"
    assert why("../../../config.json", here) == "own_home"
    assert why(home.workspace / ".." / ".." / ".." / "owner.token", place) == "own_home"
    # The usual rules hold inside of it as they do everywhere.
    assert why(put(home.workspace / ".ssh" / "a.png"), place) == "secret_folder"
    assert why(put(home.workspace / ".apx" / "a.png"), place) == "secret_folder"
    assert why(put(home.workspace / ".env"), place) == "secret_file"
    assert why(put(home.workspace / "run.sh"), place) == "runs"
    os.link(put(home.token, b"secret"), home.workspace / "note.txt")
    assert why(home.workspace / "note.txt", place) == "hard_link"
    (home.workspace / "db.png").symlink_to(put(home.db, b"rows"))
    assert why(home.workspace / "db.png", place) == "own_home"


@pytest.mark.parametrize("folder", ["workspace", "media"])
def test_a_link_in_the_place_of_an_open_folder_opens_nothing(place: Place, folder: str) -> None:
    home, open_folder = place.home, getattr(place.home, folder)
    put(home.root / "shot.png")
    put(home.config, b"{}")
    if open_folder.exists():
        shutil.rmtree(open_folder)
    open_folder.parent.mkdir(parents=True, exist_ok=True)
    open_folder.symlink_to(home.root)
    assert why(open_folder / "shot.png", place) == "own_home"
    assert why(open_folder / "config.json", place) == "own_home"


def test_relative_paths_belong_to_the_project_and_stay_in_it(place: Place, tmp_path: Path) -> None:
    assert place.project is not None
    put(place.project / "out" / "chart.png")
    put(tmp_path / "outside.png")
    assert take("out/chart.png", ALL, place).name == "chart.png"
    assert why("../outside.png", place) == "outside_project"
    assert why("chart.png", Place(place.home, place.owner)) == "relative"
    put(place.owner / "here.png")
    assert take("~/here.png", ALL, place).name == "here.png"


def test_a_link_is_judged_by_where_it_leads(place: Place, tmp_path: Path) -> None:
    secret = put(place.owner / ".aws" / "credentials", b"key")
    keys = put(place.owner / ".ssh" / "pic.png")
    (tmp_path / "pic.png").symlink_to(secret)
    (tmp_path / "folder").symlink_to(keys.parent)
    (tmp_path / "environ.txt").symlink_to("/proc/self/environ")
    (tmp_path / "loop.png").symlink_to(tmp_path / "loop.png")
    (place.home.media / "config.png").symlink_to(put(place.home.config, b"{}"))
    assert why(tmp_path / "pic.png", place) == "secret_folder"
    assert why(tmp_path / "folder" / "pic.png", place) == "secret_folder"
    assert why(tmp_path / "environ.txt", place) == "system"
    assert why(tmp_path / "loop.png", place) == "not_found"
    assert why(place.home.media / "config.png", place) == "own_home"
    (tmp_path / "fine.png").symlink_to(put(tmp_path / "real.png"))
    assert take(str(tmp_path / "fine.png"), ALL, place).name == "real.png"


def test_a_second_name_of_a_file_is_refused_where_it_could_be_a_secret(place: Place, tmp_path: Path) -> None:
    os.link(put(place.home.token, b"secret"), place.home.media_out / "note.txt")
    os.link(put(place.owner / ".netrc", b"login"), tmp_path / "note.txt")
    os.link(put(tmp_path / "a.png"), tmp_path / "b.png")
    assert why(place.home.media_out / "note.txt", place) == "hard_link"
    assert why(tmp_path / "note.txt", place) == "hard_link"
    assert take(str(tmp_path / "b.png"), ALL, place).name == "b.png"


def test_only_ordinary_files_are_opened(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind("sock.png")
        for name in ("pipe.png", "sock.png", ""):
            assert why(tmp_path / name, place) == "not_a_file"


def test_sizes_have_a_floor_and_a_ceiling(place: Place, tmp_path: Path) -> None:
    policy = FileDelivery(max_mb=1)
    exact = png() + b"\0" * (MB - len(png()))
    assert len(take(str(put(tmp_path / "exact.png", exact)), policy, place).data) == MB
    with pytest.raises(NotSendable, match=r" has 1\.1 MB; the limit is 1\.0 MB"):
        take(str(put(tmp_path / "over.png", exact + b"\0")), policy, place)
    assert why(put(tmp_path / "empty.png", b""), place) == "empty"
    with (tmp_path / "sparse.png").open("wb") as file:
        file.truncate(10 * 1024 * MB)
    with pytest.raises(NotSendable, match=r"10240\.0 MB.*20\.0 MB"):
        take(str(tmp_path / "sparse.png"), FileDelivery(), place)


def test_a_kind_that_is_off_names_what_is_on_and_the_setting(place: Place, tmp_path: Path) -> None:
    path = put(tmp_path / "a.pdf", PDF)
    with pytest.raises(NotSendable, match=r"allowed: image.*file_delivery\.kinds") as refused:
        take(str(path), FileDelivery(), place)
    assert refused.value.reason == "kind_off"


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.png", zipped("x.txt"), "bytes"),
        ("a.png", b"\x7fELF" + b"\0" * 60, "bytes"),
        ("a.png", b"<html></html>", "bytes"),
        ("a.png", JPEG, "bytes"),
        ("a.jpg", b"MZ" + b"\0" * 60, "bytes"),
        ("a.gif", b"GIF90a" + GIF[6:], "bytes"),
        ("a.webp", b"RIFF\x1a\0\0\0WAVE" + WEBP[12:], "bytes"),
        ("a.mp4", b"\0\0\0\x18ftypheic" + b"\0" * 16, "bytes"),
        ("a.webm", b"\x1a\x45\xdf\xa3\x9f\x42\x82\x84matroska", "bytes"),
        ("a.mp3", b"\xff\xd8\xff" + b"\0" * 60, "bytes"),
        ("a.mp3", b"ID3", "bytes"),
        ("a.mp3", b"\xff\xfb\xf0\0", "bytes"),
        ("a.ogg", b"fLaC", "bytes"),
        ("a.pdf", b"MZ" + PDF, "bytes"),
        ("a.docx", zipped("xl/workbook.xml", more={"[Content_Types].xml": b""}), "bytes"),
        ("a.txt", b"<!DOCTYPE html><script>", "bytes"),
        ("a.png", png()[:-8], "unreadable"),
        ("a.png", png()[:20], "unreadable"),
        ("a.jpg", JPEG[:-2], "unreadable"),
        ("a.jpg", b"\xff\xd8\xff\xe0", "unreadable"),
        ("a.jpg", b"\xff\xd8\xff\xd9", "unreadable"),
        ("a.gif", GIF[:-1], "unreadable"),
        ("a.gif", GIF[:19] + b"\x07", "unreadable"),
        ("a.webp", WEBP[:-4], "unreadable"),
        ("a.mp4", MP4[:-2], "unreadable"),
        ("a.pdf", b"%PDF-1.7\n", "unreadable"),
        ("a.json", b"{", "unreadable"),
        ("a.zip", b"PK\x03\x04" + b"\0" * 40, "unreadable"),
        ("a.png", png() + zipped("x.txt"), "trailing"),
        ("a.jpg", JPEG + zipped("x.exe"), "trailing"),
        ("a.jpg", JPEG + b"\n<script>x</script>", "trailing"),
        ("a.gif", GIF + b"MZ", "trailing"),
        ("a.webp", WEBP + b"Rar!\x1a\x07\0", "trailing"),
        ("a.ogg", b"OggS\0" + zipped("x.txt"), "trailing"),
        ("a.pdf", PDF + zipped("x.txt"), "trailing"),
        ("a.txt", b"a\0b", "not_text"),
        ("a.txt", "ñ".encode("latin-1"), "not_text"),
        ("a.csv", b"\x1b[2J", "not_text"),
        ("a.txt", b"#!/bin/sh\nrm", "script"),
        ("a.txt", b"-----BEGIN OPENSSH PRIVATE KEY-----\n", "secret_inside"),
        ("a.json", json.dumps({"type": "service_account", "private_key": "x"}).encode(), "secret_inside"),
        ("a.zip", zipped("home/.env"), "secret_inside"),
        ("a.zip", zipped("setup.exe"), "never_inside"),
        ("a.zip", zipped("photo.png.scr"), "never_inside"),
        ("a.docx", zipped("word/run.js", more={"[Content_Types].xml": b""}), "never_inside"),
        ("a.pdf", b"%PDF-1.7 /Launch %%EOF", "never_inside"),
        ("a.docx", zipped("word/vbaProject.bin", more={"[Content_Types].xml": b""}), "macros"),
        (
            "a.xlsx",
            zipped("xl/a.xml", more={"[Content_Types].xml": b"ms-excel.sheet.macroEnabled"}),
            "macros",
        ),
        ("a.zip", zipped("../../x.txt"), "zip_path"),
        ("a.zip", zipped("/x.txt"), "zip_path"),
        ("a.zip", linked_zip(), "zip_path"),
        ("a.zip", zipped("inner.zip"), "nested"),
    ],
)
def test_bytes_have_to_be_what_the_ending_says(
    name: str, data: bytes, reason: str, place: Place, tmp_path: Path
) -> None:
    assert why(put(tmp_path / name, data), place) == reason


@pytest.mark.parametrize(
    ("name", "facts", "reason"),
    [
        ("a.png", Facts(regular=True, size=10, links=1), None),
        ("a.png", Facts(regular=False, size=10, links=1), "not_a_file"),
        ("a.png", Facts(regular=True, size=21 * MB, links=1), "too_large"),
        ("a.pdf", Facts(regular=True, size=10, links=1), "kind_off"),
        ("a.svg", Facts(regular=True, size=10, links=1), "unknown_type"),
        ("a.sh", Facts(regular=True, size=10, links=1), "runs"),
        (".ssh/a.png", Facts(regular=True, size=10, links=1), "secret_folder"),
    ],
)
def test_an_open_file_is_judged_without_reading_it(
    name: str, facts: Facts, reason: str | None, place: Place
) -> None:
    assert judge(place.owner / name, facts, place, FileDelivery()) == reason


def test_odd_but_honest_files_are_taken() -> None:
    assert filetypes.check("a.jpg", JPEG[:2] + b"\xff\x01" + JPEG[2:]) is None
    big = struct.pack(">I4sQ", 1, b"mdat", 20) + b"data"
    assert filetypes.check("a.mp4", box(b"ftyp", b"isom\0\0\2\0") + box(b"moov") + big) is None


def test_what_phones_add_behind_a_picture_is_no_reason() -> None:
    assert filetypes.check("a.jpg", JPEG + b"SEFH\0\0\0\0SEFT") is None
    assert filetypes.check("motion.jpg", JPEG + MP4) is None


def test_a_file_swapped_in_a_loop_is_sent_as_it_was_checked_or_not_at_all(
    place: Place, tmp_path: Path
) -> None:
    path, good = tmp_path / "swap.png", png(3, 3)
    secret = put(place.owner / ".ssh" / "key", b"SECRET" * 20)
    put(path, good)
    stop = threading.Event()

    def swap() -> None:
        for n in range(1_000_000):
            if stop.is_set():
                return
            fresh = tmp_path / f"fresh{n % 3}"
            fresh.unlink(missing_ok=True)
            if n % 3 == 0:
                fresh.symlink_to(secret)
            else:
                fresh.write_bytes(good if n % 3 == 1 else zipped("a.exe"))
            fresh.replace(path)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        outcomes = set()
        for _ in range(1000):
            try:
                assert take(str(path), ALL, place).data == good
                outcomes.add("sent")
            except NotSendable as refused:
                outcomes.add(refused.reason)
    finally:
        stop.set()
        thread.join()
    assert outcomes <= {
        "sent",
        "not_a_file",
        "secret_folder",
        "bytes",
        "changed",
        "not_found",
        "empty",
        "unreadable",
    }


def test_a_folder_swapped_for_a_link_is_not_followed(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "album" / "pic.png")
    put(place.owner / ".ssh" / "pic.png")
    resolve = Path.resolve

    def late(self: Path, strict: bool = False) -> Path:
        real = resolve(self, strict=strict)
        if self.name == "pic.png":
            shutil.rmtree(tmp_path / "album")
            (tmp_path / "album").symlink_to(place.owner / ".ssh")
        return real

    monkeypatch.setattr(Path, "resolve", late)
    assert why(tmp_path / "album" / "pic.png", place) == "not_found"


def test_a_growing_file_is_refused(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, read = put(tmp_path / "grow.png"), os.read

    def growing(handle: int, size: int) -> bytes:
        data = read(handle, size)
        with path.open("ab") as file:
            file.write(b"more")
        return data

    monkeypatch.setattr(os, "read", growing)
    assert why(path, place) == "changed"


@given(st.text(max_size=80))
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_text_at_all_gets_past_without_a_verdict(place: Place, text: str) -> None:
    with pytest.raises(NotSendable):
        take(text, ALL, place)


REASONS = {None} | {
    key.removeprefix("delivery.")
    for key in json.loads((ASSETS / "locale" / "delivery.en.json").read_text(encoding="utf-8"))
}


@given(st.binary(max_size=200), st.sampled_from(sorted(GOOD)), st.integers(0, 400))
@settings(max_examples=150, deadline=None)
def test_no_bytes_crash_a_check(noise: bytes, ending: str, at: int) -> None:
    good = GOOD[ending]
    for data in (noise, good[:at] + noise, good[:at] + noise + good[at + len(noise) :]):
        assert filetypes.check(f"a.{ending}", data) in REASONS


def test_every_sentence_is_there_in_both_languages_and_is_its_own() -> None:
    texts = [
        json.loads((ASSETS / "locale" / f"delivery.{lang}.json").read_text(encoding="utf-8"))
        for lang in ("en", "es")
    ]
    assert texts[0].keys() == texts[1].keys()
    for catalogue in texts:
        assert len(set(catalogue.values())) == len(catalogue)
    for key in texts[0]:
        fields = [{name for _, name, _, _ in Formatter().parse(text[key])} for text in texts]
        assert fields[0] == fields[1]


@pytest.mark.anyio
async def test_a_delivered_file_is_a_copy_under_its_hash_and_the_same_one_twice_is_one(
    place: Place, tmp_path: Path
) -> None:
    path = put(tmp_path / "chart.png", png(2, 2))
    async with Store.open(place.home.db) as store:

        async def go(**values: object) -> object:
            return await deliver(
                str(path),
                policy=ALL,
                home=place.home,
                store=store,
                run_id="run_1",
                owner=place.owner,
                **values,
            )

        first = await go(caption="The month", name="Ventas/nov\u202eiembre: 1")
        assert await go(caption="The month", name="Ventas/nov\u202eiembre: 1") == first
        path.write_bytes(b"changed afterwards")
        assert first.path.read_bytes() == png(2, 2)
        assert first.path.parent == place.home.media_out
        assert (first.name, first.kind, first.mime, first.size) == (
            "Ventasnoviembre 1.png",
            "image",
            "image/png",
            len(png(2, 2)),
        )
        rows = await store.all("select * from media")
        assert [(row["id"], row["direction"], row["run_id"]) for row in rows] == [
            (first.media_id, "out", "run_1")
        ]
        put(path)
        with pytest.raises(Refused, match="program"):
            await go(name="setup.exe")
        long = await go(name="x" * 300)
        assert len(long.name) == 120
        assert long.name.endswith(".png")
        first.path.write_bytes(b"tampered")
        put(path, png(2, 2))
        assert (await go()).path.read_bytes() == png(2, 2)
