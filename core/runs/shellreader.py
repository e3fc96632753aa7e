"""Reads a shell line the way a POSIX shell does, and runs nothing of it.

It never fails: what does not parse is marked as incomplete and read as far as it goes. Where two shells would read a
line in two ways, both readings are in the result, so that nothing can hide in the other one.
"""

import re
from dataclasses import dataclass, field

from core.runs.shelltext import BLANK, Words, tilde_first
from core.runs.shellwords import Command, Piece, Redirect, Script, Word

_ASSIGN = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_REDIRECT = re.compile(r"(?P<fd>\d*)(?P<op><<<|<<-|<<|<>|<&|>>|>&|>\||<|>)|(?P<both>&>>|&>)")
_OPERATOR = re.compile(r"&&|\|\||;;&|;;|;&|\|&|[;&|\n()]")
_RESERVED = frozenset(
    {
        "if",
        "then",
        "elif",
        "else",
        "fi",
        "do",
        "done",
        "while",
        "until",
        "for",
        "case",
        "esac",
        "in",
        "{",
        "}",
    }
    | {"!", "function", "select", "time", "coproc", "[[", "]]"}
)
MAX_DEPTH = 20


@dataclass(slots=True)
class _Draft:
    before: str = ""
    words: list[Word] = field(default_factory=list)
    assigns: list[tuple[str, Word]] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)


def parse(text: str, *, depth: int = 0) -> Script:
    """Read a whole script."""
    reader = _Reader(text.replace("\\\n", ""), depth)
    reader.script()
    if "\\\n" in text:
        # Joined lines are one word in a command and two in a comment or a quoted document.
        other = _Reader(text, depth)
        other.script()
        reader.commands += [one for one in other.commands if one not in reader.commands]
        reader.odd |= {*other.odd, "continuation"}
    return Script(tuple(reader.commands), frozenset(reader.odd))


class _Reader(Words):
    def __init__(self, text: str, depth: int) -> None:
        super().__init__(text, depth)
        self._draft = _Draft()
        self._waiting: list[tuple[int, str, bool, bool]] = []  # here-documents: redirect, end, quoted, tabs
        if depth > MAX_DEPTH:
            self.odd.add("incomplete")
            self.text = ""

    # Commands

    def script(self) -> None:
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter in BLANK:
                self.at += 1
            elif letter == "#":
                self._skip_line()
            elif found := self._redirection():
                self._redirect(found)
            elif found := _OPERATOR.match(self.text, self.at):
                self._operator(found.group())
            else:
                self._take(self.word())
        if self._waiting:
            self.odd.add("incomplete")
        self._close("")

    def _skip_line(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def _operator(self, op: str) -> None:
        self.at += len(op)
        if op in "()" or op.startswith(";;") or op == ";&":
            self.odd.add("compound")
            if op == "(" and self._draft.words:
                self.odd.add("function")
        elif op == "&":
            self.odd.add("background")
        self._close(op)
        if op == "\n":
            self._here_documents()

    def _close(self, op: str) -> None:
        draft = self._draft
        if draft.words or draft.assigns or draft.redirects:
            self.commands.append(
                Command(
                    tuple(draft.words),
                    tuple(draft.assigns),
                    tuple(draft.redirects),
                    draft.before,
                    nested=self.depth > 0,
                )
            )
            # A document that is still to come belongs to the command that is now closed.
            if op != "\n" and any(one[0] >= 0 for one in self._waiting):
                self._waiting = [(-1, *one[1:]) for one in self._waiting]
        self._draft = _Draft(before=op)

    def _take(self, word: Word) -> None:
        if word.braces:
            self.odd.add("brace")
        draft = self._draft
        if not draft.words:
            found = (
                _ASSIGN.match(word.pieces[0].text) if word.pieces and word.pieces[0].kind == "text" else None
            )
            if found:
                rest = word.pieces[0].text[found.end() :]
                pieces = ((Piece("text", rest),) if rest else ()) + word.pieces[1:]
                draft.assigns.append((found[1], Word(tilde_first(pieces))))
                self.odd.add("assignment")
                return
            if word.bare and word.literal in _RESERVED:
                self.odd.add("compound")
                if word.literal == "function":
                    self.odd.add("function")
                if word.literal != "for":
                    return
        draft.words.append(word)

    # Redirections and here-documents

    def _redirection(self) -> re.Match[str] | None:
        if self.text.startswith(("<(", ">("), self.at):
            return None  # a process in the place of a file: part of a word
        return _REDIRECT.match(self.text, self.at)

    def _redirect(self, found: re.Match[str]) -> None:
        self.at = found.end()
        while self.at < len(self.text) and self.text[self.at] in BLANK:
            self.at += 1
        op = found["both"] or found["op"]
        target = self.word()
        if not target.pieces:
            self.odd.add("incomplete")
        redirect = Redirect(op, target)
        if op in {"<<", "<<-"}:
            self.odd.add("heredoc")
            end = "".join(one.text for one in target.pieces)
            quoted = any(one.kind == "quoted" for one in target.pieces)
            self._waiting.append((len(self._draft.redirects), end, quoted, op == "<<-"))
        elif redirect.writes and target.literal != "/dev/null":
            self.odd.add("output")
        self._draft.redirects.append(redirect)

    def _here_documents(self) -> None:
        waiting, self._waiting = self._waiting, []
        for place, end, quoted, tabs in waiting:
            lines: list[str] = []
            while True:
                if self.at >= len(self.text):
                    self.odd.add("incomplete")
                    break
                stop = self.text.find("\n", self.at)
                stop = len(self.text) if stop < 0 else stop
                line, self.at = self.text[self.at : stop], stop + 1
                if tabs:
                    line = line.lstrip("\t")
                if line == end:
                    break
                lines.append(line)
            body = "\n".join(lines)
            if not quoted:
                self._inside(body)
            self._fill(place, body)

    def _fill(self, place: int, body: str) -> None:
        """Give a document to its redirection, which may be of any command of the line."""
        for n in range(len(self.commands) - 1, -1, -1):
            redirects = list(self.commands[n].redirects)
            for m, one in enumerate(redirects):
                if one.op in {"<<", "<<-"} and not one.body and (place < 0 or m == place):
                    redirects[m] = Redirect(one.op, one.target, body or "\n")
                    old = self.commands[n]
                    self.commands[n] = Command(
                        old.words, old.assigns, tuple(redirects), old.before, old.nested
                    )
                    return

    def _inside(self, body: str) -> None:
        reader = _Reader(body, self.depth + 1)
        reader.quoted()
        self.commands += reader.commands
        self.odd |= reader.odd

    def nested(self, text: str) -> None:
        inner = parse(text, depth=self.depth + 1)
        self.commands += inner.commands
        self.odd |= inner.oddities
