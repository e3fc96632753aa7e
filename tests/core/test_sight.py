"""Pictures with a question: bytes for models that see, a line for those that do not, and a short record."""

import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.runs.manifest import manifest
from core.runs.sight import MAX_BYTES, parts, sees
from core.runs.turn import Attachment
from tests.fakes.house import House, house, turn
from tests.fakes.openai_server import Answer, fault

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 100


def picture(path: Path, *, size: int = len(PNG), mime: str = "image/png") -> Attachment:
    path.write_bytes(PNG)
    return Attachment("med_1", path, path.name, "image", mime, size)


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4o-mini",
        "gpt-5.1",
        "o3",
        "claude-sonnet-4-5",
        "anthropic/claude-3-haiku",
        "gemini-2.5-flash",
        "qwen2.5-vl:7b",
        "llava:13b",
        "meta-llama/llama-4-scout",
        "llama3.2-vision",
        "pixtral-12b",
        "gemma3:12b",
    ],
)
def test_families_that_see(model: str) -> None:
    assert sees(model)


@pytest.mark.parametrize(
    "model", ["gpt-3.5-turbo", "o1-mini", "llama-3.3-70b", "qwen3:8b", "deepseek-chat", "mistral-7b", "rules"]
)
def test_families_that_do_not_unless_the_settings_say_so(model: str) -> None:
    assert not sees(model)
    assert sees(model, (model[:3] + "*",))


def test_only_pictures_of_a_sendable_size_go_along(tmp_path: Path) -> None:
    small, huge = picture(tmp_path / "a.png"), picture(tmp_path / "b.png", size=MAX_BYTES + 1)
    drawing = picture(tmp_path / "c.svg", mime="image/svg+xml")
    assert parts("look", [huge, drawing]) == "look"
    made = parts("look", [small, huge] + [small] * 20)
    assert isinstance(made, list)
    assert [one["type"] for one in made] == ["text"] + ["image_file"] * 8


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path, **{"super_agent.model": "standin:gpt-4o"}) as built:
        yield built


@pytest.mark.anyio
async def test_a_model_that_sees_gets_the_bytes_and_the_record_does_not(here: House, tmp_path: Path) -> None:
    run = await here.runner.run(turn("what is it?", attachments=(picture(tmp_path / "a.png"),)))
    content = here.server.requests[0].body["messages"][-1]["content"]
    assert content[0]["text"].startswith("what is it?\n[file: a.png, image/png")
    url = content[1]["image_url"]["url"]
    assert url == "data:image/png;base64," + base64.b64encode(PNG).decode()
    kept = (await manifest(here.store, run.id))["requests"][0]["messages"][-1]["content"]
    assert kept[1]["type"] == "image_file"


@pytest.mark.anyio
async def test_a_model_that_does_not_see_is_told_so_in_plain_text(here: House, tmp_path: Path) -> None:
    await here.config.set({"super_agent.model": "standin:small"})
    await here.runner.run(turn("what is it?", attachments=(picture(tmp_path / "a.png"),)))
    content = here.server.requests[0].body["messages"][-1]["content"]
    assert isinstance(content, str)
    assert "cannot see pictures" in content


@pytest.mark.anyio
async def test_the_model_that_stands_in_gets_what_it_can_take(here: House, tmp_path: Path) -> None:
    await here.config.set(
        {
            "super_agent.model_fallback.enabled": True,
            "super_agent.model_fallback.models": ["standin:small"],
        }
    )
    here.server.next(fault("quota"), Answer("I cannot see it."))
    run = await here.runner.run(turn("what is it?", attachments=(picture(tmp_path / "a.png"),)))
    assert run.text == "I cannot see it."
    first, second = (one.body["messages"][-1]["content"] for one in here.server.requests)
    assert isinstance(first, list)
    assert isinstance(second, str)


@pytest.mark.anyio
async def test_a_picture_that_is_gone_is_a_line(here: House, tmp_path: Path) -> None:
    file = picture(tmp_path / "a.png")
    file.path.unlink()
    await here.runner.run(turn("what is it?", attachments=(file,)))
    assert "not there any more" in here.server.requests[0].body["messages"][-1]["content"]
