"""Looking at a project's history with git: what changed, what was committed. Nothing here changes anything.

A repository's own settings can name programs that git would run, other folders it would read, and places it would
fetch from. None of them counts here: git is told its folder, and every such setting is switched off before it looks.
"""

import re
import shlex
import shutil
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from core.errors import Invalid, NotFound, Unavailable
from core.protected import FILES
from core.runs.credentials import Place
from core.runs.surroundings import surroundings
from core.tool import Context, Effect, tool
from core.tools import places, shell

GROUP = "git"
TIME_S = 20.0
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./@^~+-]{0,199}")
_RUNS = re.compile(
    r"(filter\.(?:.+)\.(clean|smudge|process|required)|diff\.(?:.+)\.(command|textconv))",
    re.IGNORECASE | re.DOTALL,
)
_OFF = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.quotePath": "false",
    "log.showSignature": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "color.ui": "never",
}
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
}
# What keeps credentials is not shown, in whatever version.
_HIDDEN = tuple(f":(exclude,icase,glob)**/{name}" for name in FILES)


class Arguments(BaseModel):
    """Arguments of these tools: what is not declared is a mistake of the model, and told to it."""

    model_config = ConfigDict(extra="forbid")


class Status(Arguments):
    path: str = Field("", description="Only this file or folder of the project.", max_length=4096)


class Diff(Status):
    staged: bool = Field(False, description="What is ready to be committed, instead of what is not.")
    since: str = Field("", description="Since this commit, branch or tag.", max_length=200)


class Log(Status):
    limit: int = Field(20, description="How many commits.", ge=1, le=200)
    since: str = Field("", description="Begin at this commit, branch or tag; empty: now.", max_length=200)


class Show(Status):
    commit: str = Field("HEAD", description="A commit, branch or tag.", max_length=200)


@tool(Effect.READ, group=GROUP)
async def git_status(args: Status, ctx: Context) -> str:
    """What has changed in the project since the last commit, and on which branch it is."""
    words = ("status", "--short", "--branch", "--ignore-submodules=all")
    return await _asked(ctx, words, args.path)


@tool(Effect.READ, group=GROUP)
async def git_diff(args: Diff, ctx: Context) -> str:
    """The changes themselves: those not committed, or all since a commit."""
    words = ["diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all"]
    words += ["--cached"] if args.staged else []
    words += [f"{_ref(args.since)}^{{commit}}"] if args.since else []
    return await _asked(ctx, words, args.path)


@tool(Effect.READ, group=GROUP)
async def git_log(args: Log, ctx: Context) -> str:
    """The last commits, newest first."""
    form = "--format=%h %ad %an: %s"
    words = ["log", f"-n{args.limit}", form, "--date=iso-strict", _ref(args.since or "HEAD") + "^{commit}"]
    return await _asked(ctx, words, args.path)


@tool(Effect.READ, group=GROUP)
async def git_show(args: Show, ctx: Context) -> str:
    """One commit with what it changed."""
    # Its own format could ask for a signature to be checked by a program of the repository's choice.
    words = [
        "show",
        "--format=medium",
        "--no-ext-diff",
        "--no-textconv",
        "--stat",
        "--patch",
        "--ignore-submodules=all",
    ]
    return await _asked(ctx, [*words, _ref(args.commit) + "^{commit}"], args.path)


def _ref(named: str) -> str:
    """A commit's name: never an option, a range, or the way into a file."""
    if not _REF.fullmatch(named) or ".." in named:
        raise Invalid(f"{named[:60]!r} is no name of a commit, branch or tag.")
    return named


async def _asked(ctx: Context, words: list[str] | tuple[str, ...], path: str) -> str:
    where = await places.place(ctx)
    program = shutil.which("git", path=surroundings()["PATH"])
    if not program:
        raise Unavailable("git is not installed on this computer.")
    top = where.root.resolve()
    if not (top / ".git").exists():
        raise NotFound(f"{top} is no git repository.")
    only = [f":(literal){_inside(path, where, top)}"] if path else ["."]
    base = [program, "--no-pager", f"--git-dir={top / '.git'}", f"--work-tree={top}"]
    # The names of all that it could run; 1 is git's word for none.
    named = await _git([*base, "config", "--name-only", "-z", "--get-regexp", r"^(filter|diff)\."], top)
    if named.code not in (0, 1):
        raise Unavailable(f"git cannot read this repository: {named.err.strip()[:300]}")
    off = _OFF | {one: "" for one in named.out.split("\0") if _RUNS.fullmatch(one)}
    off |= {one: "false" for one in off if one.lower().endswith(".required")}
    if "[... cut:" in named.out or any("=" in one for one in off):
        raise Unavailable("This repository's settings name programs in a way that cannot be switched off.")
    settings = [word for name, value in off.items() for word in ("-c", f"{name}={value}")]
    said = await _git([base[0], *settings, *base[1:], *words, "--", *only, *_HIDDEN], top)
    if said.code:
        raise Invalid(f"git did not do it: {said.err.strip()[:500] or said.text[:200]}")
    return said.out.strip("\n") or "Nothing."


def _inside(path: str, where: Place, top: Path) -> str:
    return places.resolve(path, where).relative_to(top).as_posix()


async def _git(words: list[str], top: Path) -> shell.Ran:
    return await shell.ran(shlex.join(words), top, TIME_S, _ENVIRONMENT)


TOOLS = (git_status, git_diff, git_log, git_show)
