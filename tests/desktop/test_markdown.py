"""What a model writes is drawn and never obeyed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtWidgets import QApplication

from desktop.markdown import html, opens


def drawn(text: str) -> str:
    return html(text, line="#111111", sunken="#222222")


def test_markdown_becomes_html() -> None:
    assert "<strong>dos</strong>" in drawn("**dos** cosas")
    assert "<li>" in drawn("- una\n- otra")
    assert "<th" in drawn("| a | b |\n|---|---|\n| 1 | 2 |")


def test_html_is_text() -> None:
    assert "<script" not in drawn("<script>x</script>")
    assert "&lt;script&gt;" in drawn("<script>x</script>")
    assert "&lt;b&gt;" in drawn("```\n<b>\n```")


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "http:", "apx:x"]
)
def test_only_web_addresses_can_be_opened(address: str) -> None:
    assert not opens(address)
    shown = drawn(f"[aquí]({address})")
    assert "href" not in shown
    assert "aquí" in shown


def test_a_web_address_is_a_link() -> None:
    assert '<a href="https://example.org/x?a=1&amp;b=2">' in drawn("[x](https://example.org/x?a=1&b=2)")


def test_a_refused_link_shows_where_it_went() -> None:
    assert "(javascript:alert)" in drawn("[x](javascript:alert)")


@pytest.mark.parametrize("text", ["![chart](https://tracker.example/p.png)", "![](http://x.example/a.gif)"])
def test_pictures_are_never_fetched(text: str) -> None:
    assert "<img" not in drawn(text)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_any_piece_of_an_answer_can_be_drawn(text: str) -> None:
    shown = drawn(text)
    assert "<img" not in shown
    assert "<script" not in shown


def test_prose_loads_nothing(qapp: QApplication) -> None:
    from desktop.rows import Prose

    prose = Prose()
    assert prose.loadResource(2, "http://tracker.example/p.png") is None
    prose.deleteLater()
