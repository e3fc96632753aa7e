"""What a shell line would do, told from its commands: only look, change a file that keeps credentials, or end us.

All of it is judged on the words as the shell would make them, never on the letters of the line. What is not known to
be harmless is not harmless.
"""

import glob
import re
from pathlib import Path

from core.runs.credentials import OURS, Place, holds_credentials, real, secret_folders, secret_name, within
from core.runs.shellsteps import CODE, Step, located, steps
from core.runs.shellwords import UNKNOWN, Script

READERS = frozenset(
    {
        "cat",
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "head",
        "tail",
        "wc",
        "stat",
        "ls",
        "file",
        "du",
        "df",
        "diff",
        "cmp",
    }
    | {
        "sha256sum",
        "md5sum",
        "cksum",
        "less",
        "more",
        "cut",
        "tr",
        "nl",
        "sort",
        "uniq",
        "test",
        "[",
        "echo",
        "printf",
    }
    | {
        "basename",
        "dirname",
        "realpath",
        "readlink",
        "pwd",
        "cd",
        "pushd",
        "popd",
        "true",
        "false",
        "which",
        "find",
    }
    | {
        "for",
        "export",
        "read",
        "base64",
        "xxd",
        "od",
        "hexdump",
        "strings",
        "tree",
        "jq",
        "sed",
        "date",
        "id",
        "column",
    }
)
_RECURSIVE = frozenset({"rm", "mv", "chmod", "chown", "chgrp", "rsync", "shred", "find"})
_WRITING_FIND = frozenset(
    {"-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls"}
)
_KEYS = ("owner.token", "vault.key", "apx.db")
_TOKEN = re.compile(r"[^\s'\"`(){}\[\];,|&<>=:]+")

# Credentials


def changes_credentials(script: Script, place: Place, environment: dict[str, str]) -> bool:
    """Whether a line names a file that keeps credentials in a way that could change it, or our own keys in any way."""
    followed = list(steps(script, place, environment))
    if "incomplete" in script.oddities:
        # No shell takes such a line, so what it names is looked at without regard to quotes.
        pieces = [(step, token) for step in followed for word in step.words for token in _TOKEN.findall(word)]
        if any(_named(token, step, place) for step, token in pieces):
            return True
    return any(_step_changes(step, place) for step in followed)


def _step_changes(step: Step, place: Place) -> bool:
    for redirect in step.command.redirects:
        targets = redirect.target.values(step.known)
        if redirect.writes and any(_secret(one, step, place, strict=True) for one in targets):
            return True
        if any(_our_key(one, step, place) for one in targets):
            return True
    harmless = _only_reads(step)
    if not harmless and step.cwd is not None and _holds(step.cwd / "x", place) and step.words:
        return True  # a program at work in a folder of secrets needs no path to find them
    for word in step.words[1:] if step.words else ():
        for one in _candidates(word):
            if _our_key(one, step, place) or (not harmless and _named(one, step, place)):
                return True
    if step.program in CODE and not harmless:
        bodies = [one.body for one in step.command.redirects]
        texts = [token for text in (*step.words[1:], *bodies) for token in _TOKEN.findall(text)]
        return any(_named(one.rstrip("."), step, place) for one in texts if "/" in one or secret_name(one))
    return False


def _only_reads(step: Step) -> bool:
    words, name = step.words, step.program
    if name not in READERS or not words or UNKNOWN in words[0]:
        return False
    if name == "find":
        return not _WRITING_FIND & set(words)
    if name == "sed":
        return not any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in words) and not any(
            re.search(r"(^|[;{}\s\d/$])[wWe]\s*\S|/[gpiI\d]*[we]", word) for word in words[1:]
        )
    if name in {"sort", "tree"}:
        return not any(re.match(r"-[a-zA-Z]*o|--output", word) for word in words)
    if name == "uniq":
        return len([word for word in words[1:] if not word.startswith("-")]) < 2
    return True


def _candidates(word: str) -> list[str]:
    """What in a word can be a path: all of it, what follows an equals sign, what is stuck to an option or a host."""
    found = [word]
    if "=" in word:
        found.append(word.split("=", 1)[1])
    if word.startswith("-") and not word.startswith("--") and len(word) > 2:
        found.append(word[2:])
    if "@" in word and not word.startswith("@"):
        found.append(word.split("@", 1)[1])
    return [*found, *(word[1:] for _ in "@" if word.startswith("@"))]


def _expanded(text: str, step: Step, place: Place) -> list[Path]:
    path = located(text, place, step.cwd)
    if path is None:
        return []
    if glob.has_magic(text) and UNKNOWN not in text:
        found = glob.glob(str(path), include_hidden=True)  # noqa: PTH207
        return [path, *(Path(one) for one in found[:200])]
    return [path]


def _holds(path: Path, place: Place) -> bool:
    return holds_credentials(path, place.home, place.user)


def _named(text: str, step: Step, place: Place) -> bool:
    """The text is a credential file, the home itself, or (to what works on whole trees) what such files are in."""
    if _secret(text, step, place, strict=False):
        return True
    for path in _expanded(text, step, place):
        leads = real(path)
        if leads in {place.home.root, real(place.home.root)} or leads in set(secret_folders(place.user)):
            return True
        if step.program in _RECURSIVE and text not in {"", "."} and within(real(place.home.root), leads):
            return True
    return False


def _secret(text: str, step: Step, place: Place, *, strict: bool) -> bool:
    """A path is one that keeps credentials. `strict`: a path nobody can tell might be one, and counts."""
    if not text or len(text) > 4096 or "\n" in text:
        return False
    if UNKNOWN in text:
        before, _, after = text.rpartition(UNKNOWN)
        if strict and not after.strip("\"'"):
            return True
        name = after.rpartition("/")[2]
        inside = before.rpartition("/")[0]
        return (
            ("/" in after and (secret_name(name) or name in OURS))
            or (strict and _might_be_secret(name))
            or (
                bool(inside)
                and UNKNOWN not in inside
                and any(_holds(one / "x", place) for one in _expanded(inside, step, place))
            )
        )
    paths = _expanded(text, step, place)
    if not paths:
        name = text.rpartition("/")[2]
        return secret_name(name) or (strict and name in OURS)
    return any(_holds(path, place) for path in paths)


def _might_be_secret(ending: str) -> bool:
    return any(
        secret_name(before + ending) or (before + ending) in OURS
        for before in ("", "x", "config", ".", ".e", "id", "id_")
    )


def _our_key(text: str, step: Step, place: Place) -> bool:
    """The keys of this house: whoever has read them needs no permission for anything any more."""
    for path in _expanded(text, step, place):
        for one in {path, real(path)}:
            if one.name.startswith(_KEYS) and one.parent in {place.home.root, real(place.home.root)}:
                return True
    return False


# What would end or answer ourselves

_ENDING = frozenset({"stop", "restart", "kill"})
_KILLERS = frozenset({"kill", "pkill", "killall", "skill"})
_US = re.compile(r"\bapx|bridge\.main|desktop\.main|daemon\.json")


def against_us(script: Script, place: Place, environment: dict[str, str], pid: int) -> str | None:
    """The key of the sentence that says why a line may not run at all: it ends us, or answers for the owner."""
    followed = list(steps(script, place, environment))
    about_us = any(
        _US.search(word) for step in followed for word in step.words if step.program not in _KILLERS
    )
    for step in followed:
        words, name = step.words, step.program
        if name == "apx" or (
            len(words) > 2 and words[1] == "-m" and words[2].startswith(("bridge.", "core."))
        ):
            verbs = {one for one in words[1:] if not one.startswith("-")}
            if "approvals" in verbs and {"approve", "deny"} & verbs:
                return "shell.answers_itself"
            if _ENDING & verbs and ("daemon" in verbs or words[1] in _ENDING):
                return "shell.ends_us"
        if name in _KILLERS and _kills_us(step, pid, about_us):
            return "shell.ends_us"
        if name in {"systemctl", "service", "launchctl"} and any("apx" in word for word in words[1:]):
            return "shell.ends_us"
    return None


def _kills_us(step: Step, pid: int, about_us: bool) -> bool:
    targets = [word for word in step.words[1:] if not re.match(r"-(?!1$)", word)]
    if step.program != "kill":
        return any(_US.search(word) or "python" in word for word in targets)
    if any(word == str(pid) for word in targets) or step.words[-1] == "-1":
        return True
    # Which process it is comes from another command, and that one asks about us.
    return about_us and (not targets or any(UNKNOWN in word for word in targets))
