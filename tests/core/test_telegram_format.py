"""Formatting and cutting: format first, measure in UTF-16, cut what is styled, and close what is open."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.simulator.bot_text import parse_html, units
from core.channels.telegram_format import clean, measure, pieces
from core.runs.spoken import without_thinking


def checked(text: str, *, markup: bool = True, first: int = 4096) -> list[str]:
    """The plain text of each piece, after Telegram's own reading of the HTML."""
    made = pieces(text, markup=markup, first=first)
    for place, piece in enumerate(made):
        limit = first if place == 0 else 4096
        plain, _ = parse_html(piece.html)
        assert plain == piece.plain
        assert 0 < units(plain) <= limit
        assert units(piece.html) <= limit
        piece.html.encode()
    return [piece.plain for piece in made]


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("**bold** and *slanted*", "<b>bold</b> and <i>slanted</i>"),
        ("~~gone~~ `a<b`", "<s>gone</s> <code>a&lt;b</code>"),
        ("[site](https://e.org/a_(b)?x=1&y=2)", '<a href="https://e.org/a_(b)?x=1&amp;y=2">site</a>'),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        ("# Title\ntext", "<b>Title</b>\ntext"),
        ("- one\n  * two", "• one\n  • two"),
        ("snake_case_name and __init__", "snake_case_name and __init__"),
        ("2*3*4 = 24", "2*3*4 = 24"),
        ("**a `b` ~~c~~**", "<b>a </b><code>b</code><b> </b><b><s>c</s></b>"),
        ("```c++\nint a<b;\n```", '<pre><code class="language-c++">int a&lt;b;</code></pre>'),
        ("```\nopen and never closed", "<pre>open and never closed</pre>"),
        ('```"><b>\nx\n```', "<pre>x</pre>"),
        ("~~~\n**no**\n~~~\nend", "<pre>**no**</pre>\nend"),
        ("*_[", "*_["),
        ("`", "`"),
        ("<b>", "&lt;b&gt;"),
        ("---", "---"),
    ],
)
def test_markdown_becomes_html_and_the_rest_stays_as_written(markdown: str, html: str) -> None:
    made = pieces(markdown, markup=True)
    assert [piece.html for piece in made] == [html]
    checked(markdown)


def test_without_markup_every_letter_stands_for_itself() -> None:
    assert checked("**hola** [bank](https://evil.example)", markup=False) == [
        "**hola** [bank](https://evil.example)"
    ]


@pytest.mark.parametrize(
    "text", ["😀" * 2049, "!" * 4096, "&" * 4096, "<" * 4096, "a" * 4095 + "🎩", "x" * 20_000]
)
def test_lengths_are_counted_as_telegram_does_and_nothing_is_lost(text: str) -> None:
    for markup in (True, False):
        assert "".join(checked(text, markup=markup)) == text
    assert measure(text) == units(text)


def test_a_family_is_not_cut_apart() -> None:
    family = "👨‍👩‍👧‍👦"
    for part in checked(family * 1000):
        assert part == family * (len(part) // len(family))
    for part in checked("🇦🇷" * 3000):
        assert len(part) % 2 == 0


def test_a_letter_with_endless_accents_does_not_hang() -> None:
    assert "".join(checked("a" + "\u0301" * 9000)) == "a" + "\u0301" * 9000


def test_tags_are_closed_and_opened_again_at_every_cut() -> None:
    source = "\n".join(f"**bold {n} [link](https://e.org/{n}) `code`** and - text" for n in range(400))
    made = pieces(source, markup=True)
    assert len(made) > 2
    checked(source)
    for piece in made:
        assert piece.html.count("<b>") == piece.html.count("</b>") > 0


def test_a_long_single_code_line_goes_on_in_its_language() -> None:
    made = pieces("```python\n" + "x" * 10_000 + "\n```", markup=True)
    assert len(made) == 3
    assert all(piece.html.startswith('<pre><code class="language-python">') for piece in made)
    assert "".join(checked("```python\n" + "x" * 10_000 + "\n```")) == "x" * 10_000


def test_cuts_prefer_paragraphs() -> None:
    first, second = "a" * 3000, "b" * 3000
    assert checked(f"{first}\n\n{second}") == [first, second]


def test_a_caption_takes_what_fits_and_the_rest_follows() -> None:
    assert [len(part) for part in checked("<" * 1024, first=1024)] == [256, 768]
    assert "".join(checked("a" * 1025, first=1024)) == "a" * 1025


def test_nothing_to_say_is_no_message() -> None:
    assert checked(" \n\t\n ") == checked("") == checked("```\n```") == []


def test_what_cannot_be_sent_is_taken_out() -> None:
    assert clean("a\0b\x1b[2Jc\r\nd\ud83d") == "ab[2Jc\nd\ufffd"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("<think>hm</think>Hello", "Hello"),
        ("planning</think>\nHello", "Hello"),
        ("<thinking>a <think>b</think> c</thinking>Hello", "Hello"),
        ("Use `<think>` here", "Use `<think>` here"),
        ("```\n<think>x</think>\n```", "```\n<think>x</think>\n```"),
        ("<think>never closed", ""),
    ],
)
def test_thinking_aloud_does_not_reach_people(text: str, kept: str) -> None:
    assert without_thinking(text) == kept


@given(
    st.text(alphabet=st.sampled_from("ab *`~[]()<>&\n#-😀👨\u200d👩🇦🇷\u0301"), max_size=400),
    st.integers(40, 200),
)
@settings(max_examples=150, deadline=None)
def test_any_text_gives_pieces_that_telegram_reads(text: str, first: int) -> None:
    checked(text, first=first)
    checked(text, markup=False, first=first)


@given(st.text(max_size=300))
@settings(max_examples=100, deadline=None)
def test_any_text_survives_without_markup(text: str) -> None:
    kept = "".join(checked(text, markup=False))
    assert kept == clean(text) or not clean(text).strip()
