"""The agent's Markdown as the small HTML that a QTextDocument draws.

What a model writes is data: raw HTML is shown as text, pictures become their description (a remote one would tell
its server that the answer was read), and only http and https addresses can be opened.
"""

from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token


def opens(address: str) -> bool:
    """Whether a click may hand this address to the system's browser."""
    parts = urlsplit(address)
    return parts.scheme in {"http", "https"} and bool(parts.netloc)


def html(text: str, *, line: str, sunken: str) -> str:
    """The text as HTML; an unfinished piece of Markdown, as it streams, is drawn as far as it goes."""
    colours = {"line": line, "sunken": sunken}
    parser = _parser()
    return str(parser.renderer.render(parser.parse(text), parser.options, colours)).strip()


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True, "linkify": False})
    parser.enable(["table", "strikethrough"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # refused where it is drawn
    rules = {
        "image": _image,
        "link_open": _link_open,
        "link_close": _link_close,
        "code_inline": _code,
        "fence": _block,
        "code_block": _block,
        "table_open": _table,
        "th_open": _cell,
        "td_open": _cell,
        "hr": _rule,
    }
    for name, rule in rules.items():
        parser.add_render_rule(name, rule)
    return parser


def _image(_: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return f"<i>[{escape(tokens[index].content or 'image')}]</i>"


def _link_open(_: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    address = str(tokens[index].attrGet("href") or "")
    if opens(address):
        return f'<a href="{escape(address)}">'
    return "<span>"


def _link_close(_: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    depth = 0
    for token in reversed(tokens[: index + 1]):
        depth += {"link_close": 1, "link_open": -1}.get(token.type, 0)
        if token.type == "link_open" and depth == 0:
            address = str(token.attrGet("href") or "")
            return "</a>" if opens(address) else f"</span> ({escape(address)})"
    return ""


def _code(_: Any, tokens: Sequence[Token], index: int, options: Any, env: dict[str, str]) -> str:
    return f'<code style="background:{env["sunken"]}">&nbsp;{escape(tokens[index].content)}&nbsp;</code>'


def _block(_: Any, tokens: Sequence[Token], index: int, options: Any, env: dict[str, str]) -> str:
    text = escape(tokens[index].content.rstrip("\n"))
    return (
        f'<table width="100%" cellpadding="10" cellspacing="0" style="background:{env["sunken"]}; margin-top:6px;'
        f' margin-bottom:6px"><tr><td><pre style="white-space:pre-wrap">{text}</pre></td></tr></table>'
    )


def _table(_: Any, tokens: Sequence[Token], index: int, options: Any, env: dict[str, str]) -> str:
    return (
        f'<table cellpadding="6" cellspacing="0" border="1" style="border-collapse:collapse; border-style:solid;'
        f' border-color:{env["line"]}; margin-top:6px; margin-bottom:6px">'
    )


def _cell(_: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    align = str(token.attrGet("style") or "").removeprefix("text-align:")
    return f'<{token.tag} align="{align}">' if align else f'<{token.tag} align="left">'


def _rule(_: Any, tokens: Sequence[Token], index: int, options: Any, env: dict[str, str]) -> str:
    return f'<hr style="background:{env["line"]}; height:1px">'
