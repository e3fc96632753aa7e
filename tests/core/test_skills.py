"""Skills: the nearest of a name counts, a path never leaves its folder, and loading one brings its tools."""

import os
from pathlib import Path

import pytest

from core import skills
from core.errors import ApxError, Invalid, NotFound, Refused
from core.paths import Home
from core.tools import computer, knowledge
from core.tools import skills as skill_tools
from tests.fakes.house import house, turn
from tests.fakes.openai_server import Answer


def write(
    folder: Path, name: str, text: str = "---\ndescription: When tea is made.\n---\nBoil water."
) -> Path:
    place = folder / name
    place.mkdir(parents=True)
    (place / skills.FILE).write_text(text)
    return place


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "apx")
    home.make()
    return home


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".apc" / "skills").mkdir(parents=True)
    return tmp_path / "project"


def test_the_built_in_ones_can_all_be_used(home: Home) -> None:
    found = skills.listed(home)
    assert [one.name for one in found] == ["files-and-reports", "phone", "whatsapp-round"]
    for one in found:
        assert (one.problem, one.scope) == ("", "built_in")
        assert len(skills.load(one)) < 4000
        assert one.tools


def test_a_project_stands_before_the_owner_and_the_owner_before_the_built_in(
    home: Home, project: Path
) -> None:
    write(home.skills, "phone", "---\ndescription: Mine.\n---\nMine.")
    write(project / ".apc" / "skills", "phone", "---\ndescription: Ours.\n---\nOurs.")
    assert skills.find(home, None, "phone").scope == "owner"
    assert skills.find(home, project, "phone").about == "Ours."
    assert [one.scope for one in skills.listed(home, project) if one.name == "phone"] == ["project"]


@pytest.mark.parametrize(
    "name", ["../phone", "..", ".", "", "phone/..", "/etc", "Phone", "a" * 65, "phone\0", "phone\n"]
)
def test_a_name_is_never_a_path(home: Home, name: str) -> None:
    with pytest.raises(NotFound):
        skills.find(home, None, name)


@pytest.mark.parametrize(
    "file", ["../secret.txt", "/etc/passwd", "x/../../secret.txt", "link", "", "a\0b", "up/secret.txt"]
)
def test_a_file_of_a_skill_is_inside_its_folder(home: Home, file: str) -> None:
    place = write(home.skills, "tea")
    (home.skills / "secret.txt").write_text("secret")
    (place / "link").symlink_to(home.skills / "secret.txt")
    (place / "up").symlink_to(home.skills)
    with pytest.raises(ApxError):
        skills.read(skills.find(home, None, "tea"), file)
    assert "secret" not in skills.load(skills.find(home, None, "tea"))


def test_a_project_cannot_point_at_what_is_not_its_own_and_the_owner_may(home: Home, project: Path) -> None:
    outside = write(project.parent / "elsewhere", "tea")
    (project / ".apc" / "skills" / "tea").symlink_to(outside)
    assert "outside" in skills.find(home, project, "tea").problem
    (home.skills / "tea").symlink_to(outside)
    assert skills.load(skills.find(home, None, "tea")) == "Boil water."


def test_what_is_no_plain_text_is_refused(home: Home) -> None:
    place = write(home.skills, "tea")
    os.mkfifo(place / "pipe")
    (place / "picture").write_bytes(b"\x89PNG\0\0")
    (place / ".env").write_text("KEY=1")
    (place / "big").write_text("x" * (skills.MAX_BYTES + 1))
    skill = skills.find(home, None, "tea")
    for file in ("pipe", "picture", ".env", "big", "nothing"):
        with pytest.raises((Invalid, Refused, NotFound)):
            skills.read(skill, file)


def test_a_long_file_comes_in_pieces(home: Home) -> None:
    place = write(home.skills, "tea")
    (place / "long.md").write_text("a" * skills.MAX_TEXT + "end")
    skill = skills.find(home, None, "tea")
    assert f"offset {skills.MAX_TEXT} goes on" in skills.read(skill, "long.md")
    assert skills.read(skill, "long.md", skills.MAX_TEXT) == "end"
    with pytest.raises(Invalid):
        skills.read(skill, "long.md", 99_999_999)
    assert "[files of this skill, for read_skill: long.md]" in skills.load(skill)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Boil water.", "no description"),
        ("---\ndescription: x\n---\n", "says nothing"),
        ("---\nname: coffee\ndescription: x\n---\nBoil.", "named 'coffee'"),
        ("\0", "not text"),
    ],
)
def test_what_is_wrong_with_a_skill_is_said(home: Home, text: str, problem: str) -> None:
    write(home.skills, "tea", text)
    assert problem in skills.find(home, None, "tea").problem


def test_front_matter_is_read_as_people_write_it() -> None:
    head, body = skills.parts(
        '---\r\nname: "tea"\r\ndescription: >\r\n  When tea\r\n  is made.\r\n'
        "tools:\r\n  - files\r\n  - shell\r\n---\r\nBoil."
    )
    assert (head["name"], head["description"], body) == ("tea", "When tea is made.", "Boil.")
    assert skills.parts("---\ntools: [files, 'shell']\n---\n")[0]["tools"] == "[files, 'shell']"


@pytest.mark.anyio
async def test_a_skill_brings_its_tools_for_the_next_step(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.tools.add(*computer.CORE, *skill_tools.TOOLS)
        here.tools.add(*computer.FULL, *knowledge.FULL, full_only=True)
        write(here.home.skills, "broken", "nothing")
        here.server.next(
            Answer(calls=[("list_skills", {})]),
            Answer(calls=[("load_skill", {"name": "files-and-reports"})]),
            Answer(
                calls=[("load_skill", {"name": "broken"}), ("read_skill", {"name": "phone", "file": "../x"})]
            ),
            Answer("Done."),
        )
        run = await here.runner.run(turn("a report please"))
        assert "- files-and-reports (built_in): The owner wants files" in run.calls[0].result
        assert "broken" not in run.calls[0].result
        assert "# Files, and reports" in run.calls[1].result
        assert "edit_file" in run.calls[1].result.splitlines()[-1]
        assert "no description" in run.calls[2].result
        assert not run.calls[3].ok
        offered = [
            [one["function"]["name"] for one in request.body["tools"]] for request in here.server.requests
        ]
        assert "edit_file" not in offered[1]
        assert "edit_file" in offered[2]
        assert "get_task" not in offered[2]
        assert "load_skill reads to you: files-and-reports, phone, whatsapp-round." in str(
            here.server.requests[0].body["messages"][0]
        )
