"""The grammar of a POSIX shell, as far as anybody sends it over adb.

Quoting is parsed for real: whoever escapes wrongly gets the wrong words, as on a phone.
"""

import re
from dataclasses import dataclass, field

OPERATORS = ("&&", "||", ";;", ">>", ">&", "<&", "&>", ";", "&", "|", ">", "<", "(", ")", "\n")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[?$#@*!0-9-]")
RESERVED = {"then", "do", "done", "fi", "else", "elif", "}"}


class Syntax(Exception):
    """The shell cannot read the line."""


@dataclass(slots=True)
class Part:
    """A piece of a word: literal text, a variable or a command's output."""

    kind: str  # text, var, command
    value: str
    quoted: bool


@dataclass(slots=True)
class Word:
    parts: list[Part] = field(default_factory=list)

    @property
    def plain(self) -> str | None:
        """The word's text when nothing in it was quoted or expanded."""
        if all(p.kind == "text" and not p.quoted for p in self.parts):
            return "".join(p.value for p in self.parts)
        return None


@dataclass(slots=True)
class Redirect:
    fd: int
    op: str
    target: Word


@dataclass(slots=True)
class Simple:
    assigns: list[tuple[str, Word]]
    words: list[Word]
    redirects: list[Redirect]


@dataclass(slots=True)
class Pipeline:
    commands: list["Command"]
    negated: bool


@dataclass(slots=True)
class Sequence:
    """Pipelines, each with the operator before it: ";", "&&" or "||"."""

    items: list[tuple[str, Pipeline]]


@dataclass(slots=True)
class Compound:
    """group, subshell, if, while, until or for; `blocks` are its parts in order."""

    kind: str
    blocks: list[Sequence]
    redirects: list[Redirect]
    name: str = ""
    words: list[Word] = field(default_factory=list)


Command = Simple | Compound
Token = Word | str


def tokens(line: str) -> list[Token]:
    """Words and operators; a digit glued to a redirection belongs to the operator."""
    out: list[Token] = []
    i = 0
    while i < len(line):
        c = line[i]
        if c in " \t\r":
            i += 1
        elif c == "\\" and line[i + 1 : i + 2] == "\n":
            i += 2
        elif c == "#":
            while i < len(line) and line[i] != "\n":
                i += 1
        elif m := re.match(r"\d(?=[<>])", line[i:]):
            op = next(o for o in OPERATORS if line.startswith(o, i + 1))
            out.append(m.group() + op)
            i += 1 + len(op)
        elif op := next((o for o in OPERATORS if line.startswith(o, i)), ""):
            out.append(op)
            i += len(op)
        else:
            word, i = _word(line, i)
            out.append(word)
    return out


def _word(line: str, i: int) -> tuple[Word, int]:
    word = Word()
    text = ""

    def flush() -> None:
        nonlocal text
        if text:
            word.parts.append(Part("text", text, False))
            text = ""

    while i < len(line) and line[i] not in " \t\r\n;&|<>()":
        c = line[i]
        if c == "'":
            end = line.find("'", i + 1)
            if end < 0:
                raise Syntax("no closing quote")
            flush()
            word.parts.append(Part("text", line[i + 1 : end], True))
            i = end + 1
        elif c == '"':
            flush()
            i = _double(line, i + 1, word)
        elif c == "\\":
            if line[i + 1 : i + 2] != "\n":
                flush()
                word.parts.append(Part("text", line[i + 1 : i + 2], True))
            i += 2
        elif c in "$`" and (found := _expansion(line, i, quoted=False)) is not None:
            flush()
            word.parts.append(found[0])
            i = found[1]
        else:
            text += c
            i += 1
    flush()
    return word, i


def _double(line: str, i: int, word: Word) -> int:
    text = ""
    while True:
        if i >= len(line):
            raise Syntax("no closing quote")
        c = line[i]
        if c == '"':
            word.parts.append(Part("text", text, True))
            return i + 1
        if c == "\\" and line[i + 1 : i + 2] in ("$", "`", '"', "\\", "\n"):
            text += "" if line[i + 1] == "\n" else line[i + 1]
            i += 2
        elif c in "$`" and (found := _expansion(line, i, quoted=True)) is not None:
            word.parts += [Part("text", text, True), found[0]]
            text = ""
            i = found[1]
        else:
            text += c
            i += 1


def _expansion(line: str, i: int, *, quoted: bool) -> tuple[Part, int] | None:
    if line[i] == "`":
        end = line.find("`", i + 1)
        if end < 0:
            raise Syntax("no closing quote")
        return Part("command", line[i + 1 : end].replace("\\`", "`"), quoted), end + 1
    if line.startswith("$(", i):
        end = _closing(line, i + 2)
        return Part("command", line[i + 2 : end], quoted), end + 1
    if line.startswith("${", i):
        end = line.find("}", i)
        if end < 0:
            raise Syntax("bad substitution")
        return Part("var", line[i + 2 : end], quoted), end + 1
    if m := VARIABLE.match(line, i + 1):
        return Part("var", m.group(), quoted), m.end()
    return None


def _closing(line: str, i: int) -> int:
    depth, quote = 1, ""
    while i < len(line):
        c = line[i]
        if quote:
            if c == "\\" and quote == '"':
                i += 1
            elif c == quote:
                quote = ""
        elif c in "'\"":
            quote = c
        elif c == "\\":
            i += 1
        elif c in "()":
            depth += 1 if c == "(" else -1
            if depth == 0:
                return i
        i += 1
    raise Syntax("no closing quote")


def parse(line: str) -> Sequence:
    """The whole line, or `Syntax`."""
    reader = _Reader(tokens(line))
    sequence = reader.sequence()
    if reader.here is not None:
        raise Syntax(
            f"syntax error: unexpected '{reader.here if isinstance(reader.here, str) else reader.here.plain}'"
        )
    return sequence


class _Reader:
    def __init__(self, found: list[Token]) -> None:
        self._tokens, self._at = found, 0

    @property
    def here(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def next(self) -> Token | None:
        token = self.here
        self._at += 1
        return token

    def word_is(self, *names: str) -> bool:
        return isinstance(self.here, Word) and self.here.plain in names

    def expect(self, name: str) -> None:
        if not (self.word_is(name) or self.here == name):
            raise Syntax(f"syntax error: '{name}' expected")
        self._at += 1

    def sequence(self) -> Sequence:
        items: list[tuple[str, Pipeline]] = []
        op = ";"
        while True:
            while self.here in ("\n",) or (self.here == ";" and op == ";" and items):
                self._at += 1
            if self.here is None or self.here == ")" or self.word_is(*RESERVED):
                break
            items.append((op, self.pipeline()))
            op = ";"
            if self.here in (";", "&", "\n"):
                self._at += 1
            elif self.here in ("&&", "||"):
                op = str(self.next())
            else:
                break
        if op != ";":
            raise Syntax(f"syntax error: unexpected end after '{op}'")
        return Sequence(items)

    def pipeline(self) -> Pipeline:
        negated = self.word_is("!")
        if negated:
            self._at += 1
        commands = [self.command()]
        while self.here == "|":
            self._at += 1
            commands.append(self.command())
        return Pipeline(commands, negated)

    def command(self) -> Command:
        if self.here == "(":
            self._at += 1
            return self._closed(Compound("subshell", [self.sequence()], []), ")")
        if self.word_is("{"):
            self._at += 1
            return self._closed(Compound("group", [self.sequence()], []), "}")
        if self.word_is("if"):
            return self._if()
        if self.word_is("while", "until"):
            kind = str(self.next().plain)  # type: ignore[union-attr]
            condition = self.sequence()
            self.expect("do")
            return self._closed(Compound(kind, [condition, self.sequence()], []), "done")
        if self.word_is("for"):
            self._at += 1
            name = self.next()
            loop = Compound("for", [], [], name=(name.plain or "") if isinstance(name, Word) else "")
            if self.word_is("in"):
                self._at += 1
                while isinstance(self.here, Word):
                    loop.words.append(self.here)
                    self._at += 1
            while self.here in (";", "\n"):
                self._at += 1
            self.expect("do")
            loop.blocks = [self.sequence()]
            return self._closed(loop, "done")
        return self._simple()

    def _if(self) -> Compound:
        blocks: list[Sequence] = []
        self._at += 1
        while True:
            blocks.append(self.sequence())
            self.expect("then")
            blocks.append(self.sequence())
            if self.word_is("elif"):
                self._at += 1
                continue
            if self.word_is("else"):
                self._at += 1
                blocks.append(self.sequence())
            return self._closed(Compound("if", blocks, []), "fi")

    def _closed(self, command: Compound, name: str) -> Compound:
        self.expect(name)
        while (found := self._redirect()) is not None:
            command.redirects.append(found)
        return command

    def _redirect(self) -> Redirect | None:
        token = self.here
        if not isinstance(token, str) or not (m := re.fullmatch(r"(\d?)(>>|>&|<&|>|<)|&>", token)):
            return None
        self._at += 1
        target = self.next()
        if not isinstance(target, Word):
            raise Syntax("syntax error: unexpected end of redirection")
        if token == "&>":
            return Redirect(-1, ">", target)
        return Redirect(int(m.group(1) or (0 if m.group(2)[0] == "<" else 1)), m.group(2), target)

    def _simple(self) -> Simple:
        command = Simple([], [], [])
        while True:
            if (found := self._redirect()) is not None:
                command.redirects.append(found)
            elif isinstance(self.here, Word):
                word = self.here
                self._at += 1
                assigned = self._assignment(word) if not command.words else None
                if assigned is not None:
                    command.assigns.append(assigned)
                else:
                    command.words.append(word)
            else:
                break
        if not command.words and not command.assigns and not command.redirects:
            raise Syntax(f"syntax error: unexpected '{self.here}'")
        return command

    @staticmethod
    def _assignment(word: Word) -> tuple[str, Word] | None:
        first = word.parts[0] if word.parts else None
        if first is None or first.kind != "text" or first.quoted:
            return None
        name, sign, rest = first.value.partition("=")
        if not sign or not NAME.fullmatch(name):
            return None
        return name, Word([Part("text", rest, False), *word.parts[1:]])
