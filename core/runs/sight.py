"""Pictures that came with a question: shown to models that see, named in a line to those that do not.

The conversation keeps a note of the file, not its bytes: a record of the run stays readable, and a turn that moves
to another model shows it to that one, or does not.
"""

import asyncio
import base64
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from core.runs.turn import Attachment

KIND = "image_file"
MIMES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
MAX_BYTES = 5 * 1024 * 1024
MAX_IMAGES = 8

_SEEING = re.compile(
    r"gpt-4o|gpt-4\.1|gpt-4-turbo|gpt-4\.5|gpt-[5-9]|chatgpt-4o|\bo1(?!-mini|-preview)|\bo3(?!-mini)|\bo4"
    r"|claude-(?:[3-9]|opus|sonnet|haiku)|gemini|gemma-?3(?!.*\b1b)|gemma-?4|llava|bakllava|moondream|minicpm-?v"
    r"|pixtral|mistral-(?:small-3\.[1-9]|medium-3|large-3)|llama-?4|llama-?3\.2-(?:11b|90b)|\bvl\b|[-_/.\d]vl\b"
    r"|vision|grok-4|grok-2-vision|phi-[34](?:\.5)?-(?:vision|multimodal)|glm-4(?:\.\d)?v|internvl|nova-(?:lite|pro)"
    r"|kimi-(?:vl|k2\.5)|qwen-?2\.5-?vl|qwen-?3-?vl|omni",
    re.IGNORECASE,
)
_BLIND = re.compile(r"embed|whisper|\btts\b|audio", re.IGNORECASE)


def sees(model: str, listed: Sequence[str] = ()) -> bool:
    """Whether a model takes pictures: the families that are known to, and what the settings list."""
    if any(fnmatchcase(model.casefold(), one.casefold()) for one in listed):
        return True
    return bool(_SEEING.search(model)) and not _BLIND.search(model)


def parts(text: str, files: Sequence[Attachment]) -> str | list[dict[str, Any]]:
    """The content of a question: its text alone, or with a note for each picture."""
    pictures = [one for one in files if one.mime in MIMES and one.size <= MAX_BYTES][:MAX_IMAGES]
    if not pictures:
        return text
    notes = [{"type": KIND, "path": str(one.path), "mime": one.mime, "name": one.name} for one in pictures]
    return [{"type": "text", "text": text}, *notes]


async def shown(messages: list[dict[str, Any]], target: str, seeing: bool) -> list[dict[str, Any]]:
    """The messages as this model gets them: pictures as data, or left to the line that names their file."""
    if not any(isinstance(one.get("content"), list) for one in messages):
        return messages
    return await asyncio.to_thread(_resolved, messages, target, seeing)


def _resolved(messages: list[dict[str, Any]], target: str, seeing: bool) -> list[dict[str, Any]]:
    told = []
    for one in messages:
        content = one.get("content")
        if isinstance(content, list):
            made = [_part(part, target, seeing) for part in content]
            # Some servers know nothing but text.
            plain = all(part["type"] == "text" for part in made)
            one = {**one, "content": "\n".join(part["text"] for part in made) if plain else made}
        told.append(one)
    return told


def _part(part: dict[str, Any], target: str, seeing: bool) -> dict[str, Any]:
    if part.get("type") != KIND:
        return part
    if not seeing:
        return {
            "type": "text",
            "text": f"[{part['name']}: you ({target}) cannot see pictures; say so if it matters]",
        }
    try:
        data = Path(part["path"]).read_bytes()
    except OSError:
        return {"type": "text", "text": f"[{part['name']}: the file is not there any more]"}
    url = f"data:{part['mime']};base64,{base64.b64encode(data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}
