"""Shell lines read as a shell reads them."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.runs.shellreader import parse
from core.runs.shellwords import UNKNOWN


def words(line: str) -> list[list[str | None]]:
    return [[word.literal for word in command.words] for command in parse(line).commands]


@pytest.mark.parametrize(
    ("line", "argv"),
    [
        ('r""m -rf x', ["rm", "-rf", "x"]),
        ("r\\m x", ["rm", "x"]),
        ("'a b' c", ["a b", "c"]),
        ('"a $" b', ["a $", "b"]),
        ('"a \\" \\$x \\\\ \\n"', ['a " $x \\ \\n']),
        ("a # not this", ["a"]),
        ("a#b", ["a#b"]),
        ("a '#' b", ["a", "#", "b"]),
        ('echo ""', ["echo", ""]),
        ("[ -f x ]", ["[", "-f", "x", "]"]),
        ("a\tb", ["a", "b"]),
        ("$", ["$"]),
        ('$"hello"', ["hello"]),
    ],
)
def test_plain_words(line: str, argv: list[str]) -> None:
    assert words(line) == [argv]
    assert not parse(line).oddities


@pytest.mark.parametrize("joint", [" ; ", "\n", " && ", " || ", " | ", ";", "&&", "|"])
def test_operators_part_commands(joint: str) -> None:
    assert words(f"ls -l{joint}wc x") == [["ls", "-l"], ["wc", "x"]]


@pytest.mark.parametrize(
    ("line", "oddity"),
    [
        ("a &", "background"),
        ("a & b", "background"),
        ("echo $(id)", "substitution"),
        ("echo `id`", "substitution"),
        ("diff <(a) b", "substitution"),
        ("echo $HOME", "expansion"),
        ("echo ${HOME:-x}", "expansion"),
        ("echo $1", "expansion"),
        ("echo ~root", "expansion"),
        ("echo $'\\x41'", "expansion"),
        ("X=1 a", "assignment"),
        ("(a)", "compound"),
        ("{ a; }", "compound"),
        ("if a; then b; fi", "compound"),
        ("for x in 1; do a; done", "compound"),
        ("! a", "compound"),
        ("f() { a; }", "function"),
        ("function f { a; }", "function"),
        ("a > b", "output"),
        ("a >> b", "output"),
        ("a >| b", "output"),
        ("a &> b", "output"),
        ("a 2> b", "output"),
        ("a <<X\nX", "heredoc"),
        ("a {b,c}", "brace"),
        ("a {1..3}", "brace"),
        ("a \\\n b", "continuation"),
        ("a 'b", "incomplete"),
        ('a "b', "incomplete"),
        ('a "b $(c', "incomplete"),
        ("a `b", "incomplete"),
        ("a ${b", "incomplete"),
        ("a \\", "incomplete"),
        ("a >", "incomplete"),
        ("a <<X\nb", "incomplete"),
        ("a <<X", "incomplete"),
        ("a $'b", "incomplete"),
        ("case x in (x) a;; esac", "compound"),
    ],
)
def test_oddities_have_names(line: str, oddity: str) -> None:
    assert oddity in parse(line).oddities


def test_output_to_nowhere_and_copies_of_streams_are_not_odd() -> None:
    script = parse("a >/dev/null 2>&1 </dev/null")
    assert not script.oddities
    assert [one.writes for one in script.commands[0].redirects] == [True, False, False]
    assert parse("a >& file").commands[0].redirects[0].writes


@pytest.mark.parametrize(
    ("line", "inner"),
    [
        ("echo $(rm x)", ["rm", "x"]),
        ('echo "$(rm x)"', ["rm", "x"]),
        ("echo `rm x`", ["rm", "x"]),
        ("echo `echo \\`rm x\\``", ["rm", "x"]),
        ("echo $(a $(rm x))", ["rm", "x"]),
        ("echo $(a ')' ; rm x)", ["rm", "x"]),
        ('echo $(a ")" \\) ; rm x)', ["rm", "x"]),
        ("a <(rm x)", ["rm", "x"]),
        ("echo ${A:-$(rm x)}", ["rm", "x"]),
        ("cat <<E\n$(rm x)\nE", ["rm", "x"]),
        ("cat <<E\n`rm x` \\$ $y\nE", ["rm", "x"]),
        ("( rm x )", ["rm", "x"]),
        ("{ rm x; }", ["rm", "x"]),
        ("if true; then rm x; fi", ["rm", "x"]),
        ("f() { rm x; }", ["rm", "x"]),
        ("a <<-E\n\tb\n\tE\nrm x", ["rm", "x"]),
        ("# c \\\nrm x", ["rm", "x"]),
        ("cat <<'E'\nfoo\\\nE\nrm x", ["rm", "x"]),
        ("case a in b) rm x;; esac", ["rm", "x"]),
    ],
)
def test_no_command_hides(line: str, inner: list[str]) -> None:
    assert inner in words(line)


def test_a_quoted_document_runs_nothing() -> None:
    script = parse("cat <<'E'\n$(rm x)\nE\n")
    assert [[word.literal for word in one.words] for one in script.commands] == [["cat"]]
    assert script.commands[0].redirects[0].body == "$(rm x)"


def test_documents_find_their_commands() -> None:
    script = parse("a <<A <<B\n1\nA\n2\nB\nc <<C | d\n3\nC\n")
    assert [[one.body for one in command.redirects] for command in script.commands] == [["1", "2"], ["3"], []]


def test_values_of_variables() -> None:
    def value(line: str, **known: tuple[str, ...]) -> list[str]:
        return parse(line).commands[-1].words[-1].values(known)

    assert value("a $X/c", X=("b",)) == ["b/c"]
    assert value("a $X", X=("b c",)) == ["b", "c"]
    assert value('a "$X"', X=("b c",)) == ["b c"]
    assert value("a $X", X=("b", "c")) == ["b", "c"]
    assert value("a ~/x", HOME=("/h",)) == ["/h/x"]
    assert value("a $X") == [UNKNOWN]
    assert value("a x$(b)y") == [f"x{UNKNOWN}y"]
    assert sorted(value("a x{b,c}")) == ["xb", "xc"]
    assert value("a $'\\x2eenv'") == [".env"]
    assert value("a $'\\xZZ'") == ["\\xZZ"]


def test_assignments_and_loops() -> None:
    command = parse("A=~/x B= C+=d run").commands[0]
    assert [(name, value.values({"HOME": ("/h",)})) for name, value in command.assigns] == [
        ("A", ["/h/x"]),
        ("B", [""]),
        ("C", ["d"]),
    ]
    loop = parse("for f in a b; do x; done").commands[0].loop
    assert loop is not None
    assert (loop[0], [word.literal for word in loop[1]]) == ("f", ["a", "b"])


def test_depth_has_an_end() -> None:
    assert "incomplete" in parse("$(" * 100 + ")" * 100).oddities


def test_braces_have_an_end() -> None:
    assert len(parse("a " + "{a,b}" * 12).commands[0].words[1].values({})) < 200


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab'\"\\$`(){}[]<>|&;# \n\t~*=-.E", max_size=40))
def test_any_text_can_be_read(text: str) -> None:
    parse(text)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="ab'\"\\ #~-=.", max_size=8), min_size=1, max_size=4))
def test_words_without_oddities_are_what_the_shell_makes_of_them(parts: list[str]) -> None:
    line = "printf '%s\\0' " + " ".join(parts)
    script = parse(line)
    if script.oddities or len(script.commands) != 1:
        return
    found = [word.literal for word in script.commands[0].words[2:]]
    if any(word is None for word in found):
        return  # a tilde
    said = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=True).stdout
    assert said.split("\0")[:-1] == (found or [""])
