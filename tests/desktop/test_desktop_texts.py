"""Every text on the screen exists in every language, with the same values in it."""

import re
import string
from pathlib import Path

import pytest

from bridge.tools import TOOLS as PHONE
from core.runs.gate import STEERING
from core.texts import catalogue, languages
from core.tools import agents, browsing, computer, knowledge, mcp
from desktop.phone import STATES
from desktop.words import Words

ROOT = Path(__file__).parent.parent.parent
KEY = re.compile(r'(?:words|said|_words)\(\s*"([a-z0-9_.]+)"')


def used() -> set[str]:
    found: set[str] = set()
    for path in (ROOT / "desktop").rglob("*.py"):
        found |= set(KEY.findall(path.read_text(encoding="utf-8")))
    return found | {f"phone.{state}.{part}" for state in STATES for part in ("short", "remedy")}


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("lang", languages())
def test_every_key_in_the_code_has_a_text(lang: str) -> None:
    assert used() - set(catalogue(lang)) == set()


def test_the_languages_have_the_same_keys_and_values() -> None:
    for area in ("desktop", "desktop_chat", "desktop_rooms", "desktop_screens", "settings"):
        texts = {lang: catalogue(lang) for lang in languages()}
        import json

        keys = json.loads((ROOT / f"assets/locale/{area}.en.json").read_text(encoding="utf-8"))
        other = json.loads((ROOT / f"assets/locale/{area}.es.json").read_text(encoding="utf-8"))
        assert set(keys) == set(other)
        for key in keys:
            assert fields(texts["en"][key]) == fields(texts["es"][key]), key


@pytest.mark.parametrize("lang", languages())
def test_plain_words(lang: str) -> None:
    import json

    for area in ("desktop", "desktop_chat", "desktop_rooms", "desktop_screens", "settings"):
        texts = json.loads((ROOT / f"assets/locale/{area}.{lang}.json").read_text(encoding="utf-8"))
        for key, text in texts.items():
            assert "!" not in text, key
            assert "super-agent" not in text.lower(), key
            assert not re.search(r"\badb\b", text, re.IGNORECASE), key


@pytest.mark.parametrize("lang", ["en", "es"])
def test_every_tool_is_called_what_it_does(lang: str) -> None:
    tools = (*computer.CORE, *computer.FULL, *knowledge.CORE, *knowledge.FULL, *agents.CORE, *agents.FULL)
    words = Words(lang)
    for name in [tool.name for tool in (*tools, *mcp.TOOLS, *browsing.TOOLS, *PHONE)] + sorted(STEERING):
        assert words.tool(name) != name.replace("_", " "), name
    assert words.tool("from_elsewhere") == "from elsewhere"
