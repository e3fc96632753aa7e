"""Lines that only look, and only at the project: they run without a question, like any tool that reads.

A list of programs with the options that keep them harmless, judged on the words after quoting. Everything that is not
on it is asked for, however harmless it may be.
"""

import glob
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from core.runs.credentials import Place, holds_credentials, real, secret_name, within
from core.runs.shellwords import Command, Script, Word
from core.runs.visible import deceives

Words = Sequence[str]
MAX_TREE = 5000


def _no(*patterns: str) -> Callable[[Words], bool]:
    """None of the arguments begins like one of these."""
    wrong = re.compile("|".join(patterns))
    return lambda words: not any(wrong.match(word) for word in words)


def _only(pattern: str) -> Callable[[Words], bool]:
    """All of the arguments look like this."""
    right = re.compile(pattern)
    return lambda words: all(right.fullmatch(word) for word in words)


def _anything(words: Words) -> bool:
    return True


def _sed(words: Words) -> bool:
    """Printing lines by their numbers is all of sed that only looks."""
    if not words or words[0] not in {"-n", "--quiet"} or len(words) < 2:
        return False
    return bool(re.fullmatch(r"\d+(,(\d+|\$))?p(;\d+(,(\d+|\$))?p)*", words[1])) and not any(
        word.startswith("-") for word in words[2:]
    )


def _uniq(words: Words) -> bool:
    # The second name is a file that it writes.
    return len([word for word in words if not word.startswith("-")]) < 2


def _apx(words: Words) -> bool:
    verbs = tuple(word for word in words if not word.startswith("-"))
    return verbs[:2] in _APX or verbs[:1] in {("doctor",), ()}


_APX = {
    *(("run", "list"), ("run", "show"), ("project", "list"), ("identity", "show"), ("permission", "show")),
    *(
        ("model", "status"),
        ("config", "show"),
        ("config", "get"),
        ("daemon", "status"),
        ("approvals", "list"),
    ),
}
_FIND = _no(r"-(delete|exec|execdir|ok|okdir|fprint0?|fprintf|fls|files0-from)$", r"-files0-from")
_GREP = _anything
RULES: Mapping[str, Callable[[Words], bool]] = {
    **dict.fromkeys(
        ("pwd", "whoami", "id", "uname", "true", "false", "echo", "basename", "dirname"), _anything
    ),
    **dict.fromkeys(
        ("ls", "cat", "stat", "wc", "du", "df", "cut", "tr", "nl", "realpath", "readlink"), _anything
    ),
    **dict.fromkeys(("sha256sum", "md5sum", "cksum", "cmp", "diff", "test", "[", "which", "cd"), _anything),
    **dict.fromkeys(("grep", "egrep", "fgrep"), _GREP),
    "rg": _no(r"--(pre|hostname-bin|search-zip|hyperlink-format)", r"-[a-zA-Z]*z"),
    "find": _FIND,
    "sed": _sed,
    "head": _anything,
    "tail": _no(r"-[a-zA-Z0-9]*[fF]", r"--(follow|retry|pid)"),
    "sort": _no(r"-[a-zA-Z]*[oT]", r"--(output|compress-program|temporary-directory|files0-from)"),
    "uniq": _uniq,
    "file": _no(r"-[a-zA-Z]*[Cm]", r"--(compile|magic-file)"),
    "date": _only(r"\+.*|-u|--utc|-I.*|--iso-8601.*|-R"),
    "tree": _no(r"-[a-zA-Z]*[oR]", r"--output"),
    "docker": lambda words: (
        list(words[:1]) == ["ps"] and _only(r"-[aqn]+|--all|--quiet|--no-trunc")(words[1:])
    ),
    "apx": _apx,
}
# What reads a whole tree must not meet a file of credentials in it; the others name what they read.
_RECURSES = re.compile(r"-[a-zA-Z]*[rR]|--(recursive|dereference-recursive|directories)|-d")
_TREES = frozenset({"grep", "egrep", "fgrep", "diff"})


def only_looks(script: Script, text: str, place: Place) -> bool:
    """The whole line is plain, and each of its commands is harmless and stays in the project."""
    if script.oddities or deceives(text) or not script.commands:
        return False
    if not within(real(place.cwd), real(place.root)):
        return False
    return all(_harmless(command, place) for command in script.commands)


def _harmless(command: Command, place: Place) -> bool:
    if not command.words or any(one.op not in {">", ">&", "<&", "<"} for one in command.redirects):
        return False
    for redirect in command.redirects:
        source = redirect.target.literal
        if redirect.op == "<" and (source is None or not _inside(source, place)):
            return False
    words: list[str] = []
    for n, word in enumerate(command.words):
        found = _expanded(word, place)
        if found is None or (n == 0 and word.globs):
            return False
        words += found
    name, rest = words[0], words[1:]
    # After `cd` all paths would count from elsewhere.
    if name == "cd" or name not in RULES or not RULES[name](rest):
        return False
    if not all(_inside(path, place) for word in rest for path in _paths(word)):
        return False
    return not _reads_trees(name, rest) or all(_clean(word, place) for word in _roots(rest))


def _expanded(word: Word, place: Place) -> list[str] | None:
    """The words that a plain word becomes; None where that takes more than file names."""
    if any(one.kind not in {"text", "quoted", "glob", "tilde"} for one in word.pieces):
        return None
    text = "".join(str(place.user) if one.kind == "tilde" else one.text for one in word.pieces)
    if not word.globs:
        return [text]
    # Quoted stars are letters; a pattern that mixes both is not worth the trouble.
    if any(one.kind == "quoted" and glob.has_magic(one.text) for one in word.pieces):
        return None
    found = sorted(glob.glob(text, root_dir=place.cwd))[:1000]  # noqa: PTH207
    if any(one.startswith("-") for one in found):
        return None  # a file that is called like an option would be one
    return found or [text]


def _paths(word: str) -> list[str]:
    """What in an argument can name a file, wherever it is stuck to an option."""
    found = [] if word.startswith("-") else [word]
    if "=" in word:
        found.append(word.split("=", 1)[1])
    if word.startswith("-") and len(word) > 2:
        found.append(word[2:])
        if "/" in word:
            found.append(word[word.index("/") :])
    return [one for one in found if one]


def _inside(text: str, place: Place) -> bool:
    """The path is in the project and keeps no credentials; /dev/null is nowhere."""
    if text in {"/dev/null", "-"}:
        return True
    path = real(place.cwd / text)
    ours = real(place.home.root)
    mine = within(path, real(place.root))
    if within(path, ours) and not within(real(place.root), ours):
        return False
    return mine and not holds_credentials(place.cwd / text, place.home, place.user)


def _reads_trees(name: str, words: Words) -> bool:
    return name == "rg" or (name in _TREES and any(_RECURSES.match(word) for word in words))


def _roots(words: Words) -> list[str]:
    return [".", *(word for word in words if not word.startswith("-"))]


def _clean(text: str, place: Place) -> bool:
    """A folder has no file of credentials in it, as far as is worth looking."""
    top, seen = place.cwd / text, 0
    if not top.is_dir():
        return True
    if within(real(place.home.root), real(top)):
        return False
    for folder, folders, files in os.walk(top):
        seen += len(folders) + len(files)
        if seen > MAX_TREE or any(secret_name(name) for name in files):
            return False
        if any(Path(folder, name).is_symlink() for name in (*files, *folders)):
            return False
    return True
