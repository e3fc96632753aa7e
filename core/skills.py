"""Know-how in folders: a SKILL.md each, read when it is needed. A project's come before the owner's and the built-in.

A skill is text. It gives no rights: what it says to do passes the same gate as everything else.
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.errors import Invalid, NotFound, Refused
from core.paths import PACKAGE, Home
from core.protected import secret_name

BUILT_IN = PACKAGE / "skills"
FILE = "SKILL.md"
MAX_BYTES = 256 * 1024
MAX_TEXT = 15_000  # a tool's result is cut at 16 000
MAX_ABOUT = 300
MAX_SKILLS = 100
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)
_HEAD = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Skill:
    """`tools` are the families that loading it brings; `problem` says why it cannot be used."""

    name: str
    about: str
    scope: str
    folder: Path
    tools: tuple[str, ...] = ()
    problem: str = ""


def folders(home: Home, project: Path | None) -> Iterator[tuple[str, Path]]:
    """Where skills are looked for, the first place first."""
    if project is not None:
        yield "project", project / ".apc" / "skills"
    yield "owner", home.skills
    yield "built_in", BUILT_IN


def listed(home: Home, project: Path | None = None) -> list[Skill]:
    """Every skill once, by name; the nearest of two that share a name."""
    found: dict[str, Skill] = {}
    for scope, folder in folders(home, project):
        try:
            entries = sorted(one.name for one in os.scandir(folder) if one.is_dir())
        except OSError:
            continue
        for name in [one for one in entries if _NAME.fullmatch(one)][:MAX_SKILLS]:
            if name not in found and (folder / name / FILE).exists():
                found[name] = _skill(name, scope, folder)
    return sorted(found.values(), key=lambda one: one.name)


def find(home: Home, project: Path | None, name: str) -> Skill:
    """The skill of that name that counts; a name is never a path."""
    for scope, folder in folders(home, project) if _NAME.fullmatch(name) else ():
        if (folder / name / FILE).exists():
            return _skill(name, scope, folder)
    raise NotFound(f"There is no skill {name[:64]!r}. `apx skills list` shows them.")


def load(skill: Skill) -> str:
    """The instructions of a skill, without its front matter, and the names of what else is in its folder."""
    _, body = parts(_text(skill, FILE))
    others = files(skill)
    if others:
        body += f"\n\n[files of this skill, for read_skill: {', '.join(others)}]"
    return cut(body.strip(), 0)


def read(skill: Skill, file: str = FILE, offset: int = 0) -> str:
    """A piece of one file of a skill's folder."""
    return cut(_text(skill, file), offset)


def files(skill: Skill) -> list[str]:
    """What else a skill's folder has that may be read."""
    root = skill.folder.resolve()
    found: list[str] = []
    for folder, names, inside in os.walk(root):
        names[:] = sorted(one for one in names if not one.startswith("."))
        found += [
            str((Path(folder) / one).relative_to(root)) for one in sorted(inside) if not one.startswith(".")
        ]
        if len(found) > 50:
            break
    return [one for one in found[:50] if one != FILE]


def cut(text: str, offset: int) -> str:
    """As much as one answer may hold, and where it goes on."""
    piece = text[offset : offset + MAX_TEXT]
    end = offset + len(piece)
    if not piece and text:
        raise Invalid(f"There are only {len(text)} letters.", fields=("offset",))
    return (
        piece
        if end >= len(text)
        else f"{piece}\n[cut: read_skill with offset {end} goes on; {len(text)} in all]"
    )


def parts(text: str) -> tuple[dict[str, str], str]:
    """Front matter and body. Only plain fields are understood: `name: value`, a list in brackets, folded lines."""
    head = _HEAD.match(text)
    if head is None:
        return {}, text
    values: dict[str, str] = {}
    name = ""
    for line in head.group(1).splitlines():
        if field := re.match(r"([A-Za-z_-]+):[ \t]*(.*)", line):
            name = field.group(1).lower()
            value = field.group(2).strip()
            values[name] = "" if value in {">", "|", ">-", "|-"} else value.strip("\"'")
        elif name and line.startswith((" ", "\t", "- ")):
            item = line.strip()
            glue = ", " if item.startswith("- ") and values[name] else " "
            values[name] = (values[name] + glue + item.removeprefix("- ")).strip()
    return values, text[head.end() :]


def _skill(name: str, scope: str, parent: Path) -> Skill:
    skill = Skill(name, "", scope, parent / name)
    try:
        head, body = parts(_text(skill, FILE))
    except (NotFound, Refused, Invalid) as error:
        return Skill(name, "", scope, skill.folder, problem=str(error))
    about = " ".join(head.get("description", "").split())
    tools = tuple(filter(None, re.split(r"[\s,\[\]\"']+", head.get("tools", ""))))[:20]
    problem = "" if about else f"{FILE} has no description."
    if not problem and not body.strip():
        problem = f"{FILE} says nothing."
    if not problem and head.get("name", name) != name:
        problem = f"{FILE} is named {head['name'][:64]!r}, its folder {name!r}."
    return Skill(name, about[:MAX_ABOUT], scope, skill.folder, tools, problem)


def _text(skill: Skill, file: str) -> str:
    """The text of a file that really is in the skill's folder."""
    name = file.strip()
    if not name or "\0" in name or len(name) > 400 or Path(name).is_absolute():
        raise Invalid("Name a file of the skill's folder.", fields=("file",))
    # The owner may keep a skill elsewhere and link to it; a project that came from others may not point outside.
    inside = skill.folder.parent.parent.parent if skill.scope == "project" else skill.folder
    root, path = skill.folder.resolve(), (skill.folder / name).resolve()
    if not path.is_relative_to(root) or not root.is_relative_to(inside.resolve()):
        raise Refused(f"{name} is outside of the skill {skill.name}.")
    if secret_name(path.name):
        raise Refused(f"{name} keeps credentials; it is not read.")
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise NotFound(f"The skill {skill.name} has no file {name}.") from None
    except OSError as error:
        raise Refused(f"{name} cannot be read: {error.strerror}.") from error
    with os.fdopen(handle, "rb") as opened:
        info = os.fstat(opened.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise Invalid(f"{name} is no file.", fields=("file",))
        if info.st_size > MAX_BYTES:
            raise Refused(f"{name} is larger than {MAX_BYTES // 1024} kB.")
        data = opened.read(MAX_BYTES)
    if b"\0" in data:
        raise Invalid(f"{name} is not text.", fields=("file",))
    return data.decode("utf-8", "replace")
