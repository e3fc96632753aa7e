"""What a model is called: `provider:model`, and what is known of the providers themselves."""

import re
from dataclasses import dataclass

from core.errors import Invalid

PRACTICE = "practice"

# Providers that answer nobody without a key, so that its absence is said before anything is sent.
KEYED = frozenset(
    {
        "anthropic",
        "cerebras",
        "cohere",
        "deepseek",
        "fireworks_ai",
        "gemini",
        "groq",
        "mistral",
        "moonshot",
        "nvidia_nim",
        "openai",
        "openrouter",
        "perplexity",
        "sambanova",
        "together_ai",
        "xai",
        "zai",
    }
)

# What people write, and what the library calls it.
ALIASES = {
    "google": "gemini",
    "fireworks": "fireworks_ai",
    "together": "together_ai",
    "ollama": "ollama_chat",
}

_BARE = (
    (re.compile(r"claude"), "anthropic"),
    (re.compile(r"(gpt|chatgpt|o[1-9])\b|gpt"), "openai"),
    (re.compile(r"gemini"), "gemini"),
)


@dataclass(frozen=True, slots=True)
class Target:
    """A provider as the configuration names it, and its model; model ids may hold `/` and `:`."""

    provider: str
    model: str

    @property
    def engine(self) -> str:
        """The provider as the library knows it."""
        return ALIASES.get(self.provider, self.provider)

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


def parse(text: str) -> Target:
    """The target that `text` names; a bare id of a well-known family finds its provider."""
    text = text.strip()
    if text.startswith("custom:") and text.count(":") >= 2:
        _, slug, model = text.split(":", 2)
        provider = f"custom:{slug}"
    elif ":" in text:
        provider, model = text.split(":", 1)
    else:
        provider, model = next((name for shape, name in _BARE if shape.match(text)), ""), text
    if not provider or not model or re.search(r"\s", provider + model):
        raise Invalid(f'{text!r} does not name a model. Write it as "provider:model".', fields=("model",))
    return Target(provider, model)


def key_variable(provider: str) -> str:
    """The environment variable that may hold a provider's key."""
    return re.sub(r"[^A-Z0-9]+", "_", provider.upper()) + "_API_KEY"
