"""What an approval shows, and what it holds to: the yes counts for these arguments, this folder and these files.

If a script that a command runs is another file by the time the yes arrives, the yes was for something else.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.paths import Home
from core.runs.credentials import Place, real
from core.runs.gate import Facts, Risk
from core.runs.shellsteps import INTERPRETERS, WRAPPERS, located, steps
from core.runs.shellwords import UNKNOWN
from core.runs.surroundings import surroundings
from core.runs.visible import deceives, visible
from core.texts import t
from core.tool import Effect, Tool

MAX_FILES = 50
MAX_BYTES = 16 * 1024 * 1024
SYSTEM = ("/bin/", "/sbin/", "/usr/", "/lib", "/opt/", "/System/", "/nix/store/")
# Families whose tools reach other people, or anything at all: a yes for one call says nothing about the next.
_NEVER_ALWAYS = frozenset({"phone", "code", "whatsapp"})
_NOWHERE = Place(Home(Path("/")), Path("/"), Path("/"), Path("/"))


@dataclass(frozen=True, slots=True)
class Bound:
    """What was shown. `files` are those that the call would run or write through, with what is in them now."""

    digest: str
    files: tuple[tuple[str, str], ...]

    def differs(self, now: "Bound") -> str:
        """What is not as it was: a path, or the arguments; empty when all is the same."""
        before = dict(self.files)
        for path, print_ in now.files:
            if before.get(path) != print_:
                return path
        if gone := set(before) - {path for path, _ in now.files}:
            return min(gone)
        return "" if now.digest == self.digest else "the arguments"


def bind(tool: Tool, args: Mapping[str, Any], place: Place, facts: Facts) -> Bound:
    """Tie a call to what is there now."""
    files = tuple(sorted(_files(tool, args, place, facts).items()))
    whole = json.dumps(
        [tool.name, args, str(place.cwd), files], sort_keys=True, ensure_ascii=False, default=str
    )
    return Bound(hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest(), files)


def _files(tool: Tool, args: Mapping[str, Any], place: Place, facts: Facts) -> dict[str, str]:
    found: dict[str, str] = {}
    if facts.script is not None:
        for step in steps(facts.script, place, surroundings()):
            if step.words and "/" not in step.words[0] and UNKNOWN not in step.words[0]:
                found[step.words[0]] = f"at {shutil.which(step.words[0]) or 'nowhere'}"
            runs = step.words[:1] if step.program not in INTERPRETERS else step.words
            for word in runs:
                path = None if UNKNOWN in word else located(word, place, step.cwd)
                if path is not None and len(found) < MAX_FILES and (word not in runs[:1] or "/" in word):
                    found |= _print(path)
            if step.program in {"make", "npm", "npx", "yarn", "pnpm"} and step.cwd is not None:
                for name in ("Makefile", "makefile", "GNUmakefile", "package.json"):
                    found |= _print(step.cwd / name)
    elif tool.group == "files" and isinstance(path_text := args.get("path"), str):
        # Where a path really leads must not change between the question and the write.
        found[path_text] = f"at {real(place.cwd / path_text)}"
    return found


def _print(path: Path) -> dict[str, str]:
    try:
        found = real(path)
        if str(found).startswith(SYSTEM) or not found.is_file() or found.stat().st_size > MAX_BYTES:
            return {}
        return {str(path): hashlib.sha256(found.read_bytes()).hexdigest()}
    except (OSError, ValueError, RuntimeError):
        return {}


def shown(tool: Tool, args: Mapping[str, Any], facts: Facts, lang: str) -> str:
    """All of what would run: nothing cut, nothing invisible, and the words after quoting where they differ."""
    if facts.script is None:
        return visible(json.dumps(dict(args), ensure_ascii=False, indent=2))
    text = visible(str(args.get("command", "")))
    rest = {name: value for name, value in args.items() if name != "command" and value not in (None, "")}
    lines = [text]
    for command in facts.script.commands:
        words = [
            "".join(one.text if one.kind != "var" else f"${one.text}" for one in word.pieces)
            for word in command.words
        ]
        plain = " ".join(words)
        if visible(plain) not in text:
            argv = visible(json.dumps(words, ensure_ascii=False))
            lines.append(t("approval.runs", lang, argv=argv))
    if rest:
        lines.append(visible(json.dumps(rest, ensure_ascii=False)))
    return "\n".join(dict.fromkeys(lines))


def warnings(args: Mapping[str, Any], facts: Facts, bound: Bound, lang: str) -> tuple[str, ...]:
    """What deserves a second look before a yes."""
    found = []
    if deceives(json.dumps(dict(args), ensure_ascii=False)):
        found.append(t("approval.warning.deceives", lang))
    for name in _interpreters(facts):
        found.append(t("approval.warning.interpreter", lang, program=visible(name)))
    found += [
        t("approval.warning.changed", lang, path=visible(path))
        for path, print_ in bound.files
        if print_[:3] != "at "
    ]
    return tuple(found)


def _interpreters(facts: Facts) -> list[str]:
    if facts.script is None:
        return []
    names = [step.program for step in steps(facts.script, _NOWHERE, {})]
    return sorted({name for name in names if name in INTERPRETERS or name in WRAPPERS})


def grant(tool: Tool, args: Mapping[str, Any], facts: Facts, place: Place, risk: Risk) -> str:
    """What "always in this project" would stand for; empty where it is not to be had.

    A shell line is granted letter by letter, and only when it runs plain programs: what an interpreter does is in a
    text or a file that may be another one tomorrow. Messages are never granted, and credentials are a floor.
    """
    if facts.credentials or risk is Risk.HIGH or facts.effect is Effect.SEND or tool.effect is Effect.SEND:
        return ""
    if tool.group in _NEVER_ALWAYS:
        return ""
    if tool.group == "mcp":  # one tool of ours stands for many of theirs
        return json.dumps([args.get("server"), args.get("tool")]) if "tool" in args else "*"
    if tool.group == "browser":  # what a click does depends on where it is
        return json.dumps([args.get("site")]) if "site" in args else "*"
    if facts.script is None:
        return "*"
    strict = facts.script.oddities - {"output", "compound"}
    if strict or _interpreters(facts) or deceives(str(args.get("command", ""))):
        return ""
    programs = [step.words[0] if step.words else "" for step in steps(facts.script, place, {})]
    if not all(programs) or any("/" in name or UNKNOWN in name for name in programs):
        return ""
    whole = json.dumps([dict(args), str(place.cwd)], sort_keys=True, default=str)
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
