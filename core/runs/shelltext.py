"""Reads the words of a shell line: quotes, escapes, and what only running the line would tell."""

import re
from abc import ABC, abstractmethod

from core.runs.shellwords import Command, Piece, Word

BLANK = " \t"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Before a word that stands in place of a missing value, inside of ${...}.
_MISSING = re.compile(r"^[A-Za-z_0-9@*#!]*(:?[-=+?]|[#%/^,]{1,2})?")


class Words(ABC):
    """A place in a text, and what has been found so far."""

    def __init__(self, text: str, depth: int) -> None:
        self.text, self.at, self.depth = text, 0, depth
        self.commands: list[Command] = []
        self.odd: set[str] = set()

    @abstractmethod
    def nested(self, text: str) -> None:
        """Read a script that stands inside a word."""

    def word(self) -> Word:
        """The word that begins here, up to a blank or an operator."""
        pieces: list[Piece] = []
        start = self.at
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter in BLANK or letter in "\n;|)":
                break
            if letter in "<>&(":
                if letter in "<>" and self.text.startswith("(", self.at + 1):
                    self.at += 1
                    self.odd.add("substitution")
                    pieces.append(self._parenthesis())
                    continue
                break
            pieces += self._piece(letter, first=self.at == start)
        return Word(_joined(pieces))

    def _piece(self, letter: str, *, first: bool) -> list[Piece]:
        self.at += 1
        if letter == "'":
            return [Piece("quoted", self._until("'"))]
        if letter == '"':
            return self._double()
        if letter == "\\":
            taken = self.text[self.at : self.at + 1]
            self.at += 1
            if not taken:
                self.odd.add("incomplete")
            return [Piece("quoted", taken)]
        if letter == "`":
            return [self._backtick()]
        if letter == "$":
            return self._dollar(quoted=False)
        if letter in "*?[":
            return [Piece("glob", letter)]
        if letter == "~" and first:
            return [self._tilde()]
        return [Piece("text", letter)]

    def _tilde(self) -> Piece:
        after = self.text[self.at : self.at + 1]
        if not after or after in "/ \t\n;|&)<>:":
            return Piece("tilde", "~")
        self.odd.add("expansion")
        end = re.compile(r"[A-Za-z0-9_.+-]*").match(self.text, self.at)
        self.at = end.end() if end else self.at
        return Piece("unknown", "~")

    def _until(self, quote: str) -> str:
        end = self.text.find(quote, self.at)
        if end < 0:
            self.odd.add("incomplete")
            end = len(self.text)
        taken, self.at = self.text[self.at : end], end + 1
        return taken

    def _double(self) -> list[Piece]:
        pieces = [Piece("quoted", "")]
        while self.at < len(self.text):
            letter = self.text[self.at]
            self.at += 1
            if letter == '"':
                return pieces
            if letter == "\\" and self.text[self.at : self.at + 1] in {"$", "`", '"', "\\"}:
                pieces.append(Piece("quoted", self.text[self.at]))
                self.at += 1
            elif letter == "$":
                pieces += self._dollar(quoted=True)
            elif letter == "`":
                pieces.append(self._backtick())
            else:
                pieces.append(Piece("quoted", letter))
        self.odd.add("incomplete")
        return pieces

    # What is only known by running

    def _dollar(self, *, quoted: bool) -> list[Piece]:
        text, at = self.text, self.at
        if text.startswith("(", at):
            self.odd.add("substitution")
            return [self._parenthesis()]
        if text.startswith("{", at):
            return [self._parameter(quoted)]
        if text.startswith("'", at) and not quoted:
            self.odd.add("expansion")
            self.at += 1
            return [Piece("quoted", _ansi(self._ansi_quoted()))]
        if text.startswith('"', at) and not quoted:
            self.at += 1
            return self._double()
        if found := _NAME.match(text, at):
            self.odd.add("expansion")
            self.at = found.end()
            return [Piece("var", found.group(), split=not quoted)]
        if at < len(text) and text[at] in "0123456789@*#?$!-":
            self.odd.add("expansion")
            self.at += 1
            return [Piece("unknown", "$")]
        return [Piece("quoted", "$")]

    def _ansi_quoted(self) -> str:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] != "'":
            self.at += 2 if self.text[self.at] == "\\" else 1
        if self.at >= len(self.text):
            self.odd.add("incomplete")
        taken = self.text[start : self.at]
        self.at += 1
        return taken

    def _parenthesis(self) -> Piece:
        """`$(...)`, `<(...)`, `$((...))`: read as a script of its own."""
        start, level = self.at + 1, 0
        while self.at < len(self.text):
            letter = self.text[self.at]
            self.at += 1
            if letter == "\\":
                self.at += 1
            elif letter == "'":
                self._until("'")
            elif letter == '"':
                self._plain_double()
            elif letter == "(":
                level += 1
            elif letter == ")":
                level -= 1
                if level == 0:
                    break
        else:
            self.odd.add("incomplete")
        self.nested(self.text[start : self.at - 1])
        return Piece("unknown", "$()")

    def _plain_double(self) -> None:
        while self.at < len(self.text) and self.text[self.at] != '"':
            self.at += 2 if self.text[self.at] == "\\" else 1
        self.at += 1

    def _parameter(self, quoted: bool) -> Piece:
        self.odd.add("expansion")
        self.at += 1
        start, level = self.at, 1
        while self.at < len(self.text) and level:
            letter = self.text[self.at]
            if letter == "\\":
                self.at += 1
            elif letter in "{}":
                level += 1 if letter == "{" else -1
            self.at += 1
        if level:
            self.odd.add("incomplete")
        inner = self.text[start : self.at - 1 if not level else self.at]
        if _NAME.fullmatch(inner):
            return Piece("var", inner, split=not quoted)
        # What stands in place of a missing value may be a path, or a command.
        self.nested(_MISSING.sub("", inner))
        return Piece("unknown", "${}")

    def _backtick(self) -> Piece:
        self.odd.add("substitution")
        start = self.at
        while self.at < len(self.text) and self.text[self.at] != "`":
            self.at += 2 if self.text[self.at] == "\\" else 1
        if self.at >= len(self.text):
            self.odd.add("incomplete")
        inner, self.at = self.text[start : self.at], self.at + 1
        self.nested(re.sub(r"\\([\\`$])", r"\1", inner))
        return Piece("unknown", "``")

    def quoted(self) -> None:
        """What a here-document runs while it is read."""
        while self.at < len(self.text):
            letter = self.text[self.at]
            self.at += 1
            if letter == "\\":
                self.at += 1
            elif letter == "$":
                self._dollar(quoted=True)
            elif letter == "`":
                self._backtick()


def _joined(pieces: list[Piece]) -> tuple[Piece, ...]:
    """Neighbours of one kind as one."""
    found: list[Piece] = []
    closes = [n for n, one in enumerate(pieces) if one.kind == "text" and "]" in one.text]
    for n, one in enumerate(pieces):
        if one == Piece("glob", "[") and not any(close > n for close in closes):
            one = Piece("text", "[")
        if found and found[-1].kind == one.kind and one.kind in {"text", "quoted"}:
            found[-1] = Piece(one.kind, found[-1].text + one.text)
        else:
            found.append(one)
    return tuple(found)


def tilde_first(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The value of an assignment may begin with the home folder."""
    if pieces and pieces[0].kind == "text" and re.match(r"~(/|$)", pieces[0].text):
        rest = pieces[0].text[1:]
        return (Piece("tilde", "~"), *((Piece("text", rest),) if rest else ()), *pieces[1:])
    return pieces


def _ansi(text: str) -> str:
    """`$'...'` as bash reads it; a shell that knows no such quotes sees a dollar sign and the letters."""
    try:
        return text.encode("latin-1", "backslashreplace").decode("unicode_escape")
    except UnicodeDecodeError:
        return text
