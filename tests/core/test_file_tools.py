"""The file tools stay in the project, keep away from secrets, and lose nothing."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core import projects
from core.runs.turn import Status
from core.tools import files, search
from tests.fakes.house import House, house, turn
from tests.fakes.openai_server import Answer

pytestmark = pytest.mark.anyio


@pytest.fixture
async def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[House]:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    (tmp_path / "user" / ".ssh").mkdir(parents=True)
    (tmp_path / "user" / ".ssh" / "id_rsa").write_text("PRIVATE")
    (tmp_path / "work").mkdir()
    async with house(tmp_path, **{"super_agent.permission_mode": "total"}) as built:
        built.tools.add(*files.TOOLS, *search.TOOLS)
        await projects.add(built.store, str(tmp_path / "work"))
        yield built


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return tmp_path / "work"


async def call(here: House, name: str, **args: object) -> str:
    here.server.next(Answer(calls=[(name, args)]), Answer("Done."))
    run = await here.runner.run(turn(project_id="work"))
    assert run.status is Status.DONE
    return run.calls[0].result


async def test_writing_reading_and_listing(here: House, work: Path) -> None:
    assert await call(here, "write_file", path="a/b.txt", content="one\ntwo\n") == "Made a/b.txt (8 bytes)."
    assert await call(here, "write_file", path="a/b.txt", content="ñ") == "Replaced a/b.txt (2 bytes)."
    assert await call(here, "read_file", path="a/b.txt") == "ñ"
    assert await call(here, "list_files", path=".", depth=3) == "a/\na/b.txt  2"
    assert (work / "a" / "b.txt").read_text() == "ñ"
    assert [one.name for one in (work / "a").iterdir()] == ["b.txt"]


async def test_the_default_project_has_a_folder_of_its_own(here: House) -> None:
    here.server.next(Answer(calls=[("write_file", {"path": "x.txt", "content": "x"})]), Answer("Done."))
    run = await here.runner.run(turn())
    assert run.calls[0].ok
    assert (here.home.projects / "default" / "files" / "x.txt").read_text() == "x"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("../outside.txt", "outside of the project"),
        ("/etc/passwd", "outside of the project"),
        ("~/.ssh/id_rsa", "outside of the project"),
        ("link/id_rsa", "outside of the project"),
        ("file-link", "outside of the project"),
        (".env", "keeps credentials"),
        ("hard.txt", "keeps credentials"),
        ("work2/../../work-evil/x", "outside of the project"),
        ("a\0b", "Give the path"),
        ("a\u202eb", "not what they look like"),
        (" ", "Give the path"),
        ("none.txt", "no file none.txt"),
        ("folder", "is a folder"),
        ("pipe", "no plain file"),
        ("binary", "not text"),
        ("loop", "cannot be read"),
    ],
)
async def test_what_is_not_read(here: House, work: Path, tmp_path: Path, path: str, said: str) -> None:
    (tmp_path / "outside.txt").write_text("no")
    (tmp_path / "work-evil").mkdir()  # the same beginning is not the same folder
    (tmp_path / "work-evil" / "x").write_text("no")
    (work / "link").symlink_to(tmp_path / "user" / ".ssh")
    (work / "file-link").symlink_to(tmp_path / "user" / ".ssh" / "id_rsa")
    (work / "loop").symlink_to(work / "loop")
    (work / "hard.txt").hardlink_to(tmp_path / "user" / ".ssh" / "id_rsa")
    (work / ".env").write_text("KEY=1")
    (work / "folder").mkdir()
    os.mkfifo(work / "pipe")
    (work / "binary").write_bytes(b"\0\1")
    result = await call(here, "read_file", path=path)
    assert result.startswith("error:")
    assert said in result
    assert "PRIVATE" not in result


async def test_a_home_inside_of_the_project_stays_closed(here: House, tmp_path: Path) -> None:
    await projects.add(here.store, str(tmp_path), name="wide")
    for name, args in (
        ("read_file", {"path": "apx/config.json"}),
        ("read_file", {"path": "apx/memory.md"}),
        ("write_file", {"path": "apx/memory.md", "content": "x"}),
    ):
        here.server.next(Answer(calls=[(name, args)]), Answer("Done."))
        run = await here.runner.run(turn(project_id="wide"))
        assert "error" in run.calls[0].result
    here.server.next(Answer(calls=[("grep", {"pattern": "standin"})]), Answer("Done."))
    run = await here.runner.run(turn(project_id="wide"))
    assert run.calls[0].result == "No line matches."


async def test_what_came_with_a_message_may_be_read(here: House) -> None:
    came = here.home.media_in / "note.txt"
    came.write_text("hello")
    assert await call(here, "read_file", path=str(came)) == "hello"
    assert "outside of the project" in await call(here, "write_file", path=str(came), content="x")


async def test_long_files_come_in_pieces(here: House, work: Path) -> None:
    (work / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 20_001)))
    first = await call(here, "read_file", path="long.txt", lines=20_000)
    assert len(first) <= 16_100
    small = await call(here, "read_file", path="long.txt", from_line=19_999)
    assert small == "line 19999\nline 20000\n"
    middle = await call(here, "read_file", path="long.txt", from_line=5, lines=2)
    assert middle == "line 5\nline 6\n\n[lines 5 to 6 of 20000; the next ones with from_line=7]"
    assert "has 20000 lines" in await call(here, "read_file", path="long.txt", from_line=30_000)
    (work / "one.txt").write_text("x" * 100_000)
    assert "[lines 1 to 1 of 1" not in await call(here, "read_file", path="one.txt")
    (work / "empty").write_text("")
    assert await call(here, "read_file", path="empty") == "The file is empty."


async def test_reading_has_a_bound(work: Path, here: House) -> None:
    (work / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 20_001)))
    from core.tools.places import Place

    where = Place(here.home, Path.home(), work, work)
    text = files._read(files.ReadFile(path="long.txt", lines=20_000), where)
    assert len(text.encode()) < files.MAX_READ + 200
    assert "the next ones with from_line=" in text


async def test_editing_is_exact(here: House, work: Path) -> None:
    (work / "a.txt").write_bytes(b"uno\r\ndos\r\nuno\r\n")
    (work / "a.txt").chmod(0o750)
    assert "2 times" in await call(here, "edit_file", path="a.txt", old="uno", new="x")
    assert "not in a.txt" in await call(here, "edit_file", path="a.txt", old="tres", new="x")
    assert (
        await call(here, "edit_file", path="a.txt", old="dos\nuno", new="2\n1") == "Changed a.txt in 1 place."
    )
    assert (work / "a.txt").read_bytes() == b"uno\r\n2\r\n1\r\n"
    assert (work / "a.txt").stat().st_mode & 0o777 == 0o750
    (work / "b.txt").write_text("a a a")
    assert "3 places" in await call(here, "edit_file", path="b.txt", old="a", new="b", all=True)
    (work / "latin.txt").write_bytes(b"\xe9")
    assert "not UTF-8" in await call(here, "edit_file", path="latin.txt", old="e", new="x")
    (work / "big.txt").write_bytes(b"x" * (files.MAX_EDIT + 1))
    assert "too large" in await call(here, "edit_file", path="big.txt", old="x", new="y")


async def test_writing_through_a_link_out_is_refused(here: House, work: Path, tmp_path: Path) -> None:
    (work / "out").symlink_to(tmp_path / "user")
    assert "outside" in await call(here, "write_file", path="out/x.txt", content="x")
    (work / "d").mkdir()
    assert "is a folder" in await call(here, "write_file", path="d", content="x")
    (work / "plain").write_text("")
    assert "cannot be written" in await call(here, "write_file", path="plain/x", content="x")


async def test_half_characters_are_told(here: House) -> None:
    here.server.next(Answer(calls=[("write_file", {"path": "x", "content": "\ud800"})]), Answer("Done."))
    run = await here.runner.run(turn(project_id="work"))
    assert "error" in run.calls[0].result
    assert run.status is Status.DONE


async def test_searching(here: House, work: Path, tmp_path: Path) -> None:
    (work / "src").mkdir()
    (work / "src" / "m.py").write_text("def foo():\n    return 'Hola'\n")
    (work / "note.md").write_text("hola foo\n")
    (work / ".env").write_text("hola=1\n")
    (work / "node_modules").mkdir()
    (work / "node_modules" / "x.py").write_text("foo")
    (work / "l.py").symlink_to(tmp_path / "user" / ".ssh" / "id_rsa")
    assert await call(here, "glob", pattern="*.py") == "src/m.py"
    assert await call(here, "glob", pattern="src/**/*.py") == "src/m.py"
    assert await call(here, "glob", pattern="*/*.md") == "No file has such a name."
    assert await call(here, "glob", pattern="**") == "note.md\nsrc/m.py"
    assert await call(here, "grep", pattern=r"fo+\b") == "note.md:1: hola foo\nsrc/m.py:1: def foo():"
    assert await call(here, "grep", pattern="HOLA", ignore_case=True, include="*.md") == "note.md:1: hola foo"
    assert await call(here, "grep", pattern="foo", path="src/m.py") == "m.py:1: def foo():"
    assert (
        await call(here, "search_files", text="HOLA") == "note.md:1: hola foo\nsrc/m.py:2:     return 'Hola'"
    )
    assert await call(here, "search_files", text="note") == "note.md"
    assert "does not work" in await call(here, "grep", pattern="(")
    assert "There is no none" in await call(here, "grep", pattern="x", path="none")
    assert "PRIVATE" not in await call(here, "grep", pattern="PRIVATE")


async def test_a_pattern_that_takes_for_ever_is_ended(
    here: House, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SEARCH_S", 1.0)
    (work / "a.txt").write_text("a" * 5000 + "!")
    assert "took longer" in await call(here, "grep", pattern=r"(a|a)+$")


async def test_many_results_are_cut(here: House, work: Path) -> None:
    (work / "a.txt").write_text("x\n" * 1000)
    result = await call(here, "grep", pattern="x")
    assert result.count("\n") == search.MAX_FOUND
    assert "only the first" in result
    for n in range(files.MAX_LISTED + 5):
        (work / f"f{n}").touch()
    assert "only the first" in await call(here, "list_files")


async def test_folders_that_are_not_there_or_empty(here: House, work: Path) -> None:
    assert "no folder none" in await call(here, "list_files", path="none")
    (work / "link").symlink_to("/etc")
    assert await call(here, "list_files") == "link -> /etc"
    (work / "e").mkdir()
    assert await call(here, "list_files", path="e") == "The folder is empty."
    assert json.dumps(await call(here, "list_files", path="../")).startswith('"error')
